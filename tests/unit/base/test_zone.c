/*
 * test_zone.c - every zone of the system's database against the C library, and files that lie.
 */
#include "unit/base/unit.h"

#include "base/calendar.h"
#include "base/random.h"
#include "base/zone.h"

#include <ftw.h>
#include <time.h>
#include <unistd.h>

#define YEAR_SECONDS INT64_C(31556952)
#define TIME_MIN (-70 * YEAR_SECONDS) /* 1900 */
#define TIME_END (430 * YEAR_SECONDS) /* 2400 */

static struct fa_zone *open_zone(const char *name)
{
    struct fa_zone *zone = NULL;
    struct faina_error err = {0};

    if (fa_zone_open(&zone, NULL, name, "timezone", &err) != FAINA_OK)
        fail_msg("%s: %s", name, err.message);
    return zone;
}

static void check_offset(const struct fa_zone *zone, int64_t at)
{
    struct fa_zone_span span = fa_zone_span_at(zone, at);
    time_t time = at;
    struct tm tm;

    assert_non_null(localtime_r(&time, &tm));
    if (span.offset != tm.tm_gmtoff)
        fail_msg("%s at %lld: offset %d, expected %ld", fa_zone_name(zone), (long long)at,
                 span.offset, tm.tm_gmtoff);
    assert_true(span.from <= at);
    assert_true(span.until > at);
}

/* Both ends of each span, and a random time inside. */
static void check_zone(const char *name, struct fa_random *random)
{
    struct fa_zone *zone = open_zone(name);
    int64_t at = TIME_MIN;

    setenv("TZ", name, 1);
    tzset();
    while (at < TIME_END) {
        struct fa_zone_span span = fa_zone_span_at(zone, at);
        int64_t until = span.until < TIME_END ? span.until : TIME_END;

        check_offset(zone, at);
        check_offset(zone, until - 1);
        check_offset(zone, at + (int64_t)fa_random_below(random, (uint64_t)(until - at)));
        at = until;
    }
    fa_zone_close(zone);
}

static struct fa_random walk_random;
static int walked;

static int visit(const char *path, const struct stat *info, int kind, struct FTW *at)
{
    const char *name = path + strlen(FA_ZONE_FOLDER) + 1;
    char magic[5] = "";
    FILE *file;

    if (kind == FTW_D && at->level == 1 &&
        (strcmp(name, "right") == 0 || strcmp(name, "posix") == 0))
        return FTW_SKIP_SUBTREE;
    if (kind != FTW_F || strcmp(name, "localtime") == 0 || strcmp(name, "posixrules") == 0)
        return FTW_CONTINUE;
    file = fopen(path, "rb");
    assert_non_null(file);
    if (fread(magic, 1, 4, file) == 4 && strcmp(magic, "TZif") == 0) {
        check_zone(name, &walk_random);
        walked++;
    }
    fclose(file);
    return FTW_CONTINUE;
}

static void test_zone__all_are_as_the_c_library_says(void **state)
{
    fa_random_seed(&walk_random, SEED);
    assert_int_equal(nftw(FA_ZONE_FOLDER, visit, 16, FTW_ACTIONRETVAL), 0);
    assert_true(walked > 400);
}

/* What from_local promises, checked second by second around changes. */
static void test_zone__local_times_come_back(void **state)
{
    static const char *const names[] = {"Europe/Berlin",  "America/New_York", "Australia/Lord_Howe",
                                        "Asia/Kathmandu", "Pacific/Apia",     "Africa/Casablanca",
                                        "Europe/Dublin",  "America/Sao_Paulo"};

    for (size_t i = 0; i < FA_COUNT(names); i++) {
        struct fa_zone *zone = open_zone(names[i]);
        int64_t at = 30 * YEAR_SECONDS, end = 80 * YEAR_SECONDS;

        while (at < end) {
            int64_t change = fa_zone_span_at(zone, at).until, last_local = INT64_MIN, next;

            if (change >= end)
                break;
            for (int64_t t = change - 7200; t < change + 7200; t += 60) {
                int64_t local = fa_zone_to_local(zone, t), time = fa_zone_from_local(zone, local);

                if (local > last_local) {
                    assert_int_equal(time, t); /* for the first time */
                    last_local = local;
                } else {
                    assert_true(time < t);
                }
            }
            /* Skipped: the moment of the change. */
            next = fa_zone_to_local(zone, change);
            for (int64_t local = fa_zone_to_local(zone, change - 1) + 1; local < next; local += 300)
                assert_int_equal(fa_zone_from_local(zone, local), change);
            at = change;
        }
        fa_zone_close(zone);
    }
}

static void test_zone__names(void **state)
{
    static const char *const bad[] = {
        "",
        "/",
        "/etc/passwd",
        "../../etc/passwd",
        "Europe/../UTC",
        "Europe/",
        "Europe//Berlin",
        ".",
        "Europe/Berlin\n",
        "Europe/Nowhere",
        "Europe",
        "tzdata.zi",
        "a b",
        "zone1970",
        "Europe/Berlin/x",
        "right/UTC",
    };
    char name[FA_ZONE_NAME_SIZE_MAX + 2];
    struct fa_zone *zone = NULL;
    struct faina_error err;

    for (size_t i = 0; i < FA_COUNT(bad); i++) {
        assert_int_equal(fa_zone_open(&zone, NULL, bad[i], "timezone", &err),
                         FAINA_INVALID_REQUEST);
        assert_string_equal(err.field, "timezone");
        assert_null(zone);
    }
    assert_int_equal(fa_zone_open(&zone, NULL, NULL, "timezone", &err), FAINA_INVALID_REQUEST);
    assert_int_equal(fa_zone_open(&zone, NULL, "../x", "timezone", &err), FAINA_INVALID_REQUEST);
    assert_string_equal(err.message, "timezone: there is no time zone \"../x\"; write it as "
                                     "Europe/Berlin or UTC");
    memset(name, 'a', sizeof(name));
    name[FA_ZONE_NAME_SIZE_MAX + 1] = '\0';
    assert_int_equal(fa_zone_open(&zone, NULL, name, "timezone", &err), FAINA_INVALID_REQUEST);
    assert_int_equal(fa_zone_open(&zone, "/nonexistent", "Europe/Rome", "timezone", &err),
                     FAINA_INVALID_REQUEST);
    assert_non_null(strstr(err.message, "tzdata"));
    assert_null(zone);
}

static void test_zone__utc_needs_no_file(void **state)
{
    struct fa_zone *zone = NULL;

    assert_int_equal(fa_zone_open(&zone, "/nonexistent", "UTC", "timezone", NULL), FAINA_OK);
    assert_string_equal(fa_zone_name(zone), "UTC");
    assert_int_equal(fa_zone_to_local(zone, 12345), 12345);
    assert_int_equal(fa_zone_from_local(zone, 12345), 12345);
    fa_zone_close(zone);
    fa_zone_close(NULL);
}

/* A version 2 file with no changes, one type of UTC-3 and this footer. */
static size_t make_file(const char *footer, char out[512])
{
    static const char counts[] = "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" /* no lists, no changes */
                                 "\0\0\0\1\0\0\0\4";                /* a type, and its name */
    char *at = out;

    for (int i = 0; i < 2; i++) {
        at = mempcpy(at, "TZif2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20);
        at = mempcpy(at, counts, 24);
        at = mempcpy(at, "\xff\xff\xd5\xd0\0\0XYZ\0", 10);
    }
    return (size_t)(at - out) + (size_t)snprintf(at, 256, "\n%s\n", footer);
}

static enum faina_code parse_footer(const char *footer, struct fa_zone **zone)
{
    char file[512];
    size_t len = make_file(footer, file);

    return fa_zone_parse(zone, (struct fa_bytes){file, len}, "test", "timezone", NULL);
}

static void test_zone__footers(void **state)
{
    static const struct {
        const char *footer;
        int64_t at;
        int offset;
    } cases[] = {
        {"", 0, -10800},
        {"XYZ3", 0, -10800},
        {"<-03>3", 0, -10800},
        {"XYZ-5:30", 0, 19800},
        {"XYZ-5:30:15", 0, 19815},
        {"EST5EDT,M3.2.0,M11.1.0", 1720000000, -14400},
        {"EST5EDT,M3.2.0,M11.1.0", 1704067200, -18000},
        {"AEST-10AEDT,M10.1.0,M4.1.0/3", 1704067200, 39600},
        {"IST-1GMT0,M10.5.0,M3.5.0/1", 1704067200, 0}, /* winter is what differs */
        {"IST-1GMT0,M10.5.0,M3.5.0/1", 1720000000, 3600},
        {"XXX3EDT4,0/0,J365/23", 1720000000, -14400}, /* for ever */
        {"XXX3EDT4,0/0,J365/23", 1704077999, -14400},
        {"XXX3EDT4,0/0,J365/23", 1704078000, -14400},
        {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 1711846800, -3600}, /* the Saturday before */
        {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 1711846799, -7200},
        {"A3B,J60/0,J61/0", 0, 0},                  /* names are too short */
        {"AAA3BBB,J60/0,J61/0", 1709262000, -7200}, /* March 1st, leap years too */
        {"AAA3BBB,J60/0,J61/0", 1709261999, -10800},
        {"AAA3BBB,59/0,60/0", 1709175600, -7200}, /* February 29th */
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct fa_zone *zone = NULL;

        if (parse_footer(cases[i].footer, &zone) != FAINA_OK) {
            check_int(cases[i].footer, 0, cases[i].offset); /* 0: it is to be refused */
            continue;
        }
        check_int(cases[i].footer, fa_zone_span_at(zone, cases[i].at).offset, cases[i].offset);
        fa_zone_close(zone);
    }
}

static void test_zone__bad_footers(void **state)
{
    static const char *const bad[] = {
        "X",
        "XYZ",
        "XYZ25",
        "XYZ3,",
        "XYZ3ABC",
        "XYZ3ABC,M3.2.0",
        "XYZ3ABC,M13.2.0,M4.1.0",
        "XYZ3ABC,M3.6.0,M4.1.0",
        "XYZ3ABC,M3.2.7,M4.1.0",
        "XYZ3ABC,J0,J5",
        "XYZ3ABC,J366,J5",
        "XYZ3ABC,400,5",
        "XYZ3ABC,1/168,5",
        "XYZ3ABC,1,5 ",
        "<XYZ3",
        "XYZ3\nXYZ3",
        "XYZ3:60",
        "XYZ-",
        "3",
    };

    for (size_t i = 0; i < FA_COUNT(bad); i++) {
        struct fa_zone *zone = NULL;

        check_int(bad[i], parse_footer(bad[i], &zone), FAINA_INVALID_REQUEST);
        assert_null(zone);
    }
}

/* Cut anywhere, or with any byte another one: an answer or a refusal, never more. */
static void test_zone__damaged_files(void **state)
{
    char *file = NULL;
    size_t len = 0;
    FILE *stream = fopen(FA_ZONE_FOLDER "/Europe/Berlin", "rb");
    struct fa_random random;
    int refused = 0;

    assert_non_null(stream);
    file = fa_alloc(65536);
    len = fread(file, 1, 65536, stream);
    fclose(stream);
    for (size_t cut = 0; cut < len; cut++) {
        struct fa_zone *zone = NULL;
        char *copy = fa_alloc(cut); /* so that the sanitizer sees a read behind it */

        memcpy(copy, file, cut);
        check_int("cut", fa_zone_parse(&zone, (struct fa_bytes){copy, cut}, "x", "timezone", NULL),
                  FAINA_INVALID_REQUEST);
        free(copy);
    }
    fa_random_seed(&random, SEED);
    for (int i = 0; i < 5000; i++) {
        size_t place = fa_random_below(&random, len);
        struct fa_zone *zone = NULL;
        char kept = file[place];

        file[place] = (char)fa_random_next(&random);
        if (fa_zone_parse(&zone, (struct fa_bytes){file, len}, "x", "timezone", NULL) == FAINA_OK)
            fa_zone_from_local(zone, (int64_t)fa_random_below(&random, 4102444800));
        else
            refused++;
        fa_zone_close(zone);
        file[place] = kept;
    }
    assert_true(refused > 0);
    free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zone__all_are_as_the_c_library_says),
        cmocka_unit_test(test_zone__local_times_come_back),
        cmocka_unit_test(test_zone__names),
        cmocka_unit_test(test_zone__utc_needs_no_file),
        cmocka_unit_test(test_zone__footers),
        cmocka_unit_test(test_zone__bad_footers),
        cmocka_unit_test(test_zone__damaged_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
