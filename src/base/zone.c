/*
 * zone.c - reading TZif files, and the POSIX rule in their footer.
 *
 * A file has a list of changes, and a footer such as "CET-1CEST,M3.5.0,M10.5.0/3" for the time
 * after them. The changes are kept as an array; changes of the footer's rule are computed on demand
 * for the years around a time.
 */
#include "base/zone.h"

#include "base/calendar.h"
#include "base/source_position.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_SIZE_MAX ((size_t)1024 * 1024) /* the largest files have about 4 KiB */
#define HEADER_SIZE 44
#define PATH_SIZE (FA_ZONE_NAME_SIZE_MAX + 1024)
#define TIMES_MAX 100000
#define TYPES_MAX 256
#define RULE_HOURS_MAX 167
#define HOUR 3600
#define RULE_DEFAULT_TIME (2 * HOUR)
#define YEAR_LIMIT INT64_C(100000) /* the footer's rule is not computed for later years */

/* On which day of a year something changes: "J60", "59" or "M3.5.0". */
enum day_kind { JULIAN, ORDINAL, MONTHLY };

struct rule_day {
    enum day_kind kind;
    int month, week, day; /* only `day` unless it is MONTHLY */
    int time;             /* local seconds after midnight; may be negative or beyond the day */
};

/* The rule after the last change of the file. */
struct rule {
    bool is_there, has_dst;
    int standard, dst; /* offsets */
    struct rule_day start, end;
};

struct change {
    int64_t at;
    int offset; /* from then on */
};

struct fa_zone {
    int first_offset; /* before the first change */
    size_t count;
    struct change *changes;
    struct rule rule;
    char name[FA_ZONE_NAME_SIZE_MAX + 1];
};

/* ------------------------------------------------------------------------------------------
 * The footer's rule
 */

/* A cursor over the footer, which ends with a NUL. */
struct footer {
    const char *at;
    bool is_bad;
};

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static int footer_number(struct footer *f, int max)
{
    int value = 0;

    if (!fa_is_digit(*f->at))
        f->is_bad = true;
    for (; fa_is_digit(*f->at); f->at++)
        if (value <= max)
            value = value * 10 + (*f->at - '0');
    if (value > max)
        f->is_bad = true;
    return f->is_bad ? 0 : value;
}

static bool footer_char(struct footer *f, char c)
{
    if (*f->at != c)
        return false;
    f->at++;
    return true;
}

/* "CET", "<+0530>". Skipped. */
static void footer_name(struct footer *f)
{
    const char *from = f->at;

    if (footer_char(f, '<')) {
        while (*f->at && *f->at != '>')
            f->at++;
        f->is_bad = f->is_bad || !footer_char(f, '>');
        return;
    }
    while (is_letter(*f->at))
        f->at++;
    f->is_bad = f->is_bad || f->at - from < 3;
}

/* "1", "-5:30", "+01:00:00", in seconds. */
static int footer_time(struct footer *f, int hours_max)
{
    int sign = *f->at == '-' ? -1 : 1;
    int seconds;

    if (*f->at == '-' || *f->at == '+')
        f->at++;
    seconds = footer_number(f, hours_max) * HOUR;
    if (footer_char(f, ':'))
        seconds += footer_number(f, 59) * 60;
    if (footer_char(f, ':'))
        seconds += footer_number(f, 59);
    return sign * seconds;
}

static struct rule_day footer_day(struct footer *f)
{
    struct rule_day day = {.kind = ORDINAL, .time = RULE_DEFAULT_TIME};

    if (footer_char(f, 'M')) {
        day.kind = MONTHLY;
        day.month = footer_number(f, 12);
        f->is_bad = f->is_bad || !footer_char(f, '.');
        day.week = footer_number(f, 5);
        f->is_bad = f->is_bad || !footer_char(f, '.');
        day.day = footer_number(f, 6);
        f->is_bad = f->is_bad || day.month == 0 || day.week == 0;
    } else if (footer_char(f, 'J')) {
        day.kind = JULIAN;
        day.day = footer_number(f, 365);
        f->is_bad = f->is_bad || day.day == 0;
    } else {
        day.day = footer_number(f, 365);
    }
    if (footer_char(f, '/'))
        day.time = footer_time(f, RULE_HOURS_MAX);
    return day;
}

/* An empty footer is fine: then nothing is known about the time after the last change. */
static bool read_footer(const char *text, struct rule *out)
{
    struct footer f = {.at = text};
    struct rule rule = {.is_there = true};

    *out = (struct rule){0};
    if (*text == '\0')
        return true;
    footer_name(&f);
    rule.standard = -footer_time(&f, 24); /* POSIX counts westward */
    if (*f.at) {
        rule.has_dst = true;
        footer_name(&f);
        rule.dst = rule.standard + HOUR;
        if (*f.at && *f.at != ',')
            rule.dst = -footer_time(&f, 24);
        f.is_bad = f.is_bad || !footer_char(&f, ',');
        rule.start = footer_day(&f);
        f.is_bad = f.is_bad || !footer_char(&f, ',');
        rule.end = footer_day(&f);
    }
    if (f.is_bad || *f.at)
        return false;
    *out = rule;
    return true;
}

static int64_t rule_date(const struct rule_day *rule, int64_t year)
{
    int64_t january = fa_date_to_days((struct fa_date){year, 1, 1}), first;
    int day;

    switch (rule->kind) {
    case JULIAN: /* February 29 doesn't count */
        return january + rule->day - 1 + (rule->day >= 60 && fa_is_leap_year(year));
    case ORDINAL:
        return january + rule->day;
    case MONTHLY:
        break;
    }
    first = fa_date_to_days((struct fa_date){year, rule->month, 1});
    day = (rule->day - fa_weekday(first) + 7) % 7 + 7 * (rule->week - 1);
    if (day >= fa_days_in_month(year, rule->month)) /* week 5 is the last one */
        day -= 7;
    return first + day;
}

/* The changes that the rule makes in a year, the earlier one first. */
static void rule_changes(const struct rule *rule, int64_t year, struct change out[2])
{
    struct change start = {
        rule_date(&rule->start, year) * FA_DAY_SECONDS + rule->start.time - rule->standard,
        rule->dst,
    };
    struct change end = {
        rule_date(&rule->end, year) * FA_DAY_SECONDS + rule->end.time - rule->dst,
        rule->standard,
    };

    out[0] = start.at <= end.at ? start : end;
    out[1] = start.at <= end.at ? end : start;
}

/* The rule's span around `time`, as if the rule had always held. */
static struct fa_zone_span rule_span(const struct rule *rule, int64_t time)
{
    struct fa_zone_span span = {INT64_MIN, INT64_MAX, rule->standard};
    int64_t days = time / FA_DAY_SECONDS, year;

    if (!rule->has_dst || days > YEAR_LIMIT * 365 || days < -YEAR_LIMIT * 365)
        return span;
    year = fa_date_from_days(days).year;
    /* A change may lie some days before or after the year that it belongs to. A permanent summer
     * time is written as two changes at one moment: then the later one has no effect. */
    for (int64_t y = year - 2; y <= year + 2; y++) {
        struct change changes[2];

        rule_changes(rule, y, changes);
        for (int i = 0; i < 2; i++) {
            if (changes[i].at <= time) {
                if (changes[i].offset != span.offset || span.from == INT64_MIN)
                    span.from = changes[i].at;
                span.offset = changes[i].offset;
            } else if (span.until == INT64_MAX && changes[i].offset != span.offset) {
                span.until = changes[i].at;
            }
        }
    }
    return span;
}

/* ------------------------------------------------------------------------------------------
 * Queries
 */

const char *fa_zone_name(const struct fa_zone *zone)
{
    return zone->name;
}

/* How many changes are not after `time`. */
static size_t changes_until(const struct fa_zone *zone, int64_t time)
{
    size_t low = 0, high = zone->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (zone->changes[middle].at <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct fa_zone_span fa_zone_span_at(const struct fa_zone *zone, int64_t time)
{
    size_t passed = changes_until(zone, time);
    int64_t from = passed ? zone->changes[passed - 1].at : INT64_MIN;
    int offset = passed ? zone->changes[passed - 1].offset : zone->first_offset;
    struct fa_zone_span span;

    if (passed < zone->count)
        return (struct fa_zone_span){from, zone->changes[passed].at, offset};
    if (!zone->rule.is_there)
        return (struct fa_zone_span){from, INT64_MAX, offset};
    span = rule_span(&zone->rule, time);
    if (span.from < from)
        span.from = from;
    return span;
}

int64_t fa_zone_to_local(const struct fa_zone *zone, int64_t time)
{
    return time + fa_zone_span_at(zone, time).offset;
}

int64_t fa_zone_from_local(const struct fa_zone *zone, int64_t local)
{
    struct fa_zone_span span = fa_zone_span_at(zone, local - FA_ZONE_OFFSET_MAX);

    /* In each span the local time would be reached at `time`: it is there, or in a later span, or
     * it is skipped by the change to this one. */
    for (;;) {
        int64_t time = local - span.offset;

        if (time < span.from)
            return span.from;
        if (time < span.until)
            return time;
        span = fa_zone_span_at(zone, span.until);
    }
}

/* ------------------------------------------------------------------------------------------
 * Reading a file
 */

struct header {
    char version;
    uint32_t isut, isstd, leap, times, types, chars;
};

static uint32_t read_u32(const char *at)
{
    const unsigned char *b = (const unsigned char *)at;

    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static int64_t read_time(const char *at, size_t size)
{
    if (size == 4)
        return (int32_t)read_u32(at);
    return (int64_t)((uint64_t)read_u32(at) << 32 | read_u32(at + 4));
}

static bool read_header(struct fa_bytes file, size_t at, struct header *out)
{
    const char *h = file.ptr + at;

    if (at > file.len || file.len - at < HEADER_SIZE || memcmp(h, "TZif", 4) != 0)
        return false;
    *out = (struct header){
        .version = h[4],
        .isut = read_u32(h + 20),
        .isstd = read_u32(h + 24),
        .leap = read_u32(h + 28),
        .times = read_u32(h + 32),
        .types = read_u32(h + 36),
        .chars = read_u32(h + 40),
    };
    return out->times <= TIMES_MAX && out->types >= 1 && out->types <= TYPES_MAX &&
           out->chars <= TIMES_MAX && out->leap <= TIMES_MAX && out->isstd <= TYPES_MAX &&
           out->isut <= TYPES_MAX;
}

static size_t block_size(const struct header *h, size_t time_size)
{
    return h->times * (time_size + 1) + h->types * (size_t)6 + h->chars +
           h->leap * (time_size + 4) + h->isstd + h->isut;
}

/* The offset of a local time type. */
static bool read_offset(const char *types, const struct header *h, unsigned index, int *out)
{
    int32_t offset;

    if (index >= h->types)
        return false;
    offset = (int32_t)read_u32(types + index * (size_t)6);
    if (offset < -FA_ZONE_OFFSET_MAX || offset > FA_ZONE_OFFSET_MAX)
        return false;
    *out = offset;
    return true;
}

/* The changes of one block of data. */
static bool read_changes(struct fa_zone *zone, const char *block, const struct header *h,
                         size_t time_size)
{
    const char *indexes = block + h->times * time_size;
    const char *types = indexes + h->times;
    int64_t last = INT64_MIN;

    if (!read_offset(types, h, 0, &zone->first_offset))
        return false;
    zone->changes = fa_alloc_zero(h->times + 1, sizeof(*zone->changes));
    for (size_t i = 0; i < h->times; i++) {
        int64_t at = read_time(block + i * time_size, time_size);
        int next;

        if ((i > 0 && at <= last) || !read_offset(types, h, (unsigned char)indexes[i], &next))
            return false;
        last = at;
        zone->changes[zone->count++] = (struct change){at, next};
    }
    return true;
}

/* The rule takes over at the last change, so it must agree with it. */
static bool is_rule_joined(const struct fa_zone *zone)
{
    const struct change *last = zone->changes + zone->count - 1;

    return !zone->rule.is_there || zone->count == 0 ||
           rule_span(&zone->rule, last->at).offset == last->offset;
}

static bool read_file(struct fa_zone *zone, struct fa_bytes file)
{
    struct header h;
    size_t at = HEADER_SIZE, time_size = 4, end;
    char footer[256] = "";

    if (!read_header(file, 0, &h))
        return false;
    if (h.version >= '2') {
        at += block_size(&h, time_size);
        if (!read_header(file, at, &h))
            return false;
        at += HEADER_SIZE;
        time_size = 8;
    }
    /* With leap seconds, times differ from those of the other zones and of the system clock. */
    if (h.leap > 0 || at > file.len || file.len - at < block_size(&h, time_size))
        return false;
    if (!read_changes(zone, file.ptr + at, &h, time_size))
        return false;
    end = at + block_size(&h, time_size);
    if (time_size == 8) {
        size_t len = file.len - end;

        if (len < 2 || len > sizeof(footer) || file.ptr[end] != '\n' ||
            file.ptr[file.len - 1] != '\n')
            return false;
        memcpy(footer, file.ptr + end + 1, len - 2);
        if (strlen(footer) != len - 2)
            return false;
    }
    return read_footer(footer, &zone->rule) && is_rule_joined(zone);
}

static struct fa_zone *zone_create(const char *name)
{
    struct fa_zone *zone = fa_alloc_zero(1, sizeof(*zone));

    snprintf(zone->name, sizeof(zone->name), "%s", name);
    return zone;
}

void fa_zone_close(struct fa_zone *zone)
{
    if (!zone)
        return;
    free(zone->changes);
    free(zone);
}

enum faina_code fa_zone_parse(struct fa_zone **out, struct fa_bytes file, const char *name,
                              const char *field, struct faina_error *err)
{
    struct fa_zone *zone = zone_create(name);

    if (!read_file(zone, file)) {
        fa_zone_close(zone);
        return fa_error_field(err, FAINA_INVALID_REQUEST, field,
                              "%s: the file of the time zone \"%s\" can't be understood", field,
                              name);
    }
    *out = zone;
    return FAINA_OK;
}

/* ------------------------------------------------------------------------------------------
 * Opening
 */

static bool is_name_char(char c)
{
    return is_letter(c) || fa_is_digit(c) || c == '_' || c == '-' || c == '+';
}

/* Z3. */
static bool is_name(const char *name)
{
    size_t len = strlen(name);

    if (len == 0 || len > FA_ZONE_NAME_SIZE_MAX || name[len - 1] == '/')
        return false;
    for (size_t i = 0; i < len; i++) {
        bool is_slash = name[i] == '/' && i > 0 && name[i - 1] != '/';

        if (!is_name_char(name[i]) && !is_slash)
            return false;
    }
    return true;
}

/* The content of a regular file, or NULL with errno. A pipe might block. */
static char *read_whole(const char *path, size_t *len)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat info;
    char *text = NULL;

    *len = 0;
    if (fd < 0)
        return NULL;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size > (off_t)FILE_SIZE_MAX) {
        errno = ENOENT;
        goto out;
    }
    text = fa_alloc((size_t)info.st_size + 1);
    while (*len < (size_t)info.st_size) {
        ssize_t got = read(fd, text + *len, (size_t)info.st_size - *len);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        *len += (size_t)got;
    }
out:
    close(fd);
    return text;
}

static enum faina_code refuse(const char *name, const char *field, const char *why,
                              struct faina_error *err)
{
    char shown[FA_SNIPPET_SIZE];

    return fa_error_field(err, FAINA_INVALID_REQUEST, field, "%s: there is no time zone \"%s\"%s",
                          field, fa_snippet(fa_str(name), shown), why);
}

enum faina_code fa_zone_open(struct fa_zone **out, const char *folder, const char *name,
                             const char *field, struct faina_error *err)
{
    char path[PATH_SIZE];
    enum faina_code code;
    size_t len;
    char *file;

    if (!name || !is_name(name))
        return refuse(name ? name : "", field, "; write it as Europe/Berlin or UTC", err);
    if (strcmp(name, "UTC") == 0) {
        *out = zone_create(name);
        return FAINA_OK;
    }
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder ? folder : FA_ZONE_FOLDER, name) >=
        sizeof(path))
        return refuse(name, field, "", err);
    file = read_whole(path, &len);
    if (!file && access(folder ? folder : FA_ZONE_FOLDER, R_OK) != 0)
        return refuse(name, field, ", because the tz database (tzdata) isn't installed", err);
    if (!file)
        return refuse(name, field, "", err);
    code = fa_zone_parse(out, (struct fa_bytes){file, len}, name, field, err);
    free(file);
    return code;
}
