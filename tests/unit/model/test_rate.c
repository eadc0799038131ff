/*
 * test_rate.c - token buckets: the formula in every interval, exact times, text; names with "*".
 */
#include "model/rate.h"

#include "base/random.h"
#include "model/limits.h"
#include "support/support.h"

#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

#define SECOND_US INT64_C(1000000)
#define START_US (INT64_C(1767312000) * SECOND_US)

/* Takes tokens at random times, and whenever there is one, and checks every interval: for i < j,
 * j - i + 1 <= burst + count * (t[j] - t[i]) / per, that is, j + 1 - r * t[j] never exceeds the
 * least i - r * t[i] by more than the burst. */
static void check_formula(const struct faina_rate *rate, struct fa_random *random, int takes)
{
    struct fa_bucket bucket = {0};
    int64_t now = START_US, per_us = rate->per_ms * 1000;
    long double r = (long double)rate->count / (long double)per_us, least = 1e30L;

    for (int i = 0; i < takes; i++) {
        long double at;

        now = fa_bucket_next_us(&bucket, rate, now);
        CHECK_TRUE(fa_bucket_tokens(&bucket, rate, now) >= 1);
        if (fa_random_below(random, 4) == 0)
            now += (int64_t)fa_random_below(random, (uint64_t)(3 * per_us / rate->count + 2));
        fa_bucket_take(&bucket, rate, now);
        at = r * (long double)(now - START_US);
        if ((long double)i - at < least)
            least = (long double)i - at;
        CHECK((long double)i + 1 - at - least <= (long double)rate->burst + 1e-6L,
              "take %d of %lld per %lld ms, burst %lld: too early", i, (long long)rate->count,
              (long long)rate->per_ms, (long long)rate->burst);
    }
}

static void test_rate__holds_in_every_interval(void **state)
{
    uint64_t seed = fa_t_seed();
    struct fa_random random;

    (void)state;
    fa_random_seed(&random, seed);
    for (int i = 0; i < 300; i++) {
        struct faina_rate rate = {1 + (int64_t)fa_random_below(&random, i % 2 ? 20 : 1000000),
                                  1 + (int64_t)fa_random_below(&random, i % 3 ? 5000 : 2678400000),
                                  1 + (int64_t)fa_random_below(&random, i % 5 ? 10 : 1000000)};

        check_formula(&rate, &random, 300);
    }
}

static void test_rate__tokens_come_evenly_and_exactly(void **state)
{
    struct faina_rate rate = {3, 1000, 3};
    struct fa_bucket bucket = {0};

    (void)state;
    CHECK_INT(fa_bucket_tokens(&bucket, &rate, START_US), 3);
    for (int i = 0; i < 3; i++)
        fa_bucket_take(&bucket, &rate, START_US);
    CHECK_INT(fa_bucket_tokens(&bucket, &rate, START_US), 0);
    CHECK_INT(fa_bucket_next_us(&bucket, &rate, START_US), START_US + 333334);
    CHECK_INT(fa_bucket_tokens(&bucket, &rate, START_US + 333333), 0);
    CHECK_INT(fa_bucket_tokens(&bucket, &rate, START_US + 333334), 1);
    CHECK_INT(fa_bucket_tokens(&bucket, &rate, START_US + 999999), 2);
    CHECK_INT(fa_bucket_tokens(&bucket, &rate, START_US + SECOND_US), 3);
    CHECK_INT(fa_bucket_tokens(&bucket, &rate, START_US + 3600 * SECOND_US), 3);
}

/* A long run at the rate loses no more than a millionth. */
static void test_rate__is_reached(void **state)
{
    static const struct faina_rate rates[] = {{10, 1000, 1},
                                              {7, 1000, 3},
                                              {900000, 1000, 1},
                                              {1, 2678400000, 1},
                                              {1000000, 2678400000, 5}};

    (void)state;
    for (size_t i = 0; i < FA_COUNT(rates); i++) {
        const struct faina_rate *rate = &rates[i];
        struct fa_bucket bucket = {0};
        int64_t now = START_US, takes = 20000;
        double wanted_us =
            (double)(takes - rate->burst) * (double)rate->per_ms * 1000.0 / (double)rate->count;

        for (int64_t n = 0; n < takes; n++) {
            now = fa_bucket_next_us(&bucket, rate, now);
            fa_bucket_take(&bucket, rate, now);
        }
        CHECK((double)(now - START_US) <= wanted_us * (1 + 2e-6) + 2.0 * (double)takes,
              "%lld per %lld ms took %lld us, not %.0f", (long long)rate->count,
              (long long)rate->per_ms, (long long)(now - START_US), wanted_us);
    }
}

/* B2: a clock that was set back gives no token for the time between, and delays none for long. */
static void test_rate__clock_set_back(void **state)
{
    struct faina_rate rate = {1, 1000, 1};
    struct fa_bucket bucket = {0};

    (void)state;
    fa_bucket_take(&bucket, &rate, START_US + 3600 * SECOND_US);
    CHECK_INT(fa_bucket_tokens(&bucket, &rate, START_US), 0);
    CHECK_INT(fa_bucket_next_us(&bucket, &rate, START_US), START_US + SECOND_US);
}

static void test_rate__change_keeps_what_was_spent(void **state)
{
    struct faina_rate slow = {2, 3600000, 2}, fast = {10, 1000, 5}, same = slow;
    struct fa_bucket bucket = {0};

    (void)state;
    fa_bucket_take(&bucket, &slow, START_US);
    fa_bucket_take(&bucket, &slow, START_US);
    CHECK_INT(fa_bucket_tokens(&bucket, &same, START_US), 0);
    CHECK_INT(fa_bucket_tokens(&bucket, &fast, START_US), 3);
    CHECK_INT(fa_bucket_tokens(&bucket, &(struct faina_rate){1, 1000, 1}, START_US), 0);
    CHECK_INT(fa_bucket_next_us(&bucket, &(struct faina_rate){1, 1000, 1}, START_US),
              START_US + SECOND_US);
}

static void test_rate__text(void **state)
{
    static const struct {
        const char *text;
        int64_t count, per_ms; /* 0: refused */
        const char *shown;
    } cases[] = {
        {"10/s", 10, 1000, "10/s"},
        {"600/m", 600, 60000, "600/m"},
        {"600/min", 600, 60000, "600/m"},
        {"5000/day", 5000, 86400000, "5000/d"},
        {"3/90s", 3, 90000, "3/90s"},
        {"1/2h", 1, 7200000, "1/2h"},
        {"5/250ms", 5, 250, "5/250ms"},
        {"100/hour", 100, 3600000, "100/h"},
        {"10", 0, 0, NULL},
        {"/s", 0, 0, NULL},
        {"10/", 0, 0, NULL},
        {"10/week", 0, 0, NULL},
        {"-1/s", 0, 0, NULL},
        {"1.5/s", 0, 0, NULL},
        {"", 0, 0, NULL},
        {"99999999999999999999/s", 0, 0, NULL},
    };

    (void)state;
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        char shown[FA_RATE_TEXT_SIZE];
        struct faina_rate rate = {0};
        struct faina_error err;
        enum faina_code code = fa_rate_parse(cases[i].text, "rate", &rate, &err);

        CHECK(code == (cases[i].count ? FAINA_OK : FAINA_INVALID_REQUEST), "%s: %s", cases[i].text,
              faina_code_name(code));
        if (code != FAINA_OK)
            continue;
        CHECK_INT(rate.count, cases[i].count);
        CHECK_INT(rate.per_ms, cases[i].per_ms);
        CHECK_INT(fa_rate_check(&rate, &err), FAINA_OK);
        CHECK_INT(rate.burst, rate.count);
        fa_rate_format(&rate, shown);
        CHECK_STR(shown, cases[i].shown);
        rate.burst = rate.count + 7;
        fa_rate_format(&rate, shown);
        CHECK(strstr(shown, ", burst ") != NULL, "%s", shown);
    }
}

static void test_rate__limits(void **state)
{
    static const struct {
        struct faina_rate rate;
        const char *refused; /* the member; NULL: accepted */
    } cases[] = {
        {{1, 1, 1}, NULL},
        {{FA_RATE_COUNT_MAX, FA_RATE_PER_MS_MAX, FA_RATE_BURST_MAX}, NULL},
        {{0, 1, 1}, "rate.count"},
        {{FA_RATE_COUNT_MAX + 1, 1, 1}, "rate.count"},
        {{1, 0, 1}, "rate.per"},
        {{1, FA_RATE_PER_MS_MAX + 1, 1}, "rate.per"},
        {{1, 1, -1}, "rate.burst"},
        {{1, 1, FA_RATE_BURST_MAX + 1}, "rate.burst"},
    };

    (void)state;
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct faina_rate rate = cases[i].rate;
        struct faina_error err = {0};
        enum faina_code code = fa_rate_check(&rate, &err);

        CHECK_INT(code, cases[i].refused ? FAINA_INVALID_REQUEST : FAINA_OK);
        CHECK(!cases[i].refused || strstr(err.message, cases[i].refused) == err.message, "%s",
              err.message);
    }
}

static void test_rate__names(void **state)
{
    static const struct {
        const char *prefix, *name;
        bool applies;
    } cases[] = {
        {"mail:*", "mail:a", true},
        {"mail:*", "MAIL:a", true},
        {"mail:*", "mail:", true},
        {"mail:*", "mail", false},
        {"mail:*", "smtp", false},
        {"*", "anything", true},
        {"*", "", true},
        {"mail:*", "", false},
    };

    (void)state;
    CHECK_TRUE(fa_resource_is_prefix("*") && fa_resource_is_prefix("a*"));
    CHECK_TRUE(!fa_resource_is_prefix("") && !fa_resource_is_prefix("a*b"));
    for (size_t i = 0; i < FA_COUNT(cases); i++)
        CHECK(fa_resource_prefix_applies(cases[i].prefix, cases[i].name) == cases[i].applies,
              "%s and %s", cases[i].prefix, cases[i].name);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rate__holds_in_every_interval),
        cmocka_unit_test(test_rate__tokens_come_evenly_and_exactly),
        cmocka_unit_test(test_rate__is_reached),
        cmocka_unit_test(test_rate__clock_set_back),
        cmocka_unit_test(test_rate__change_keeps_what_was_spent),
        cmocka_unit_test(test_rate__text),
        cmocka_unit_test(test_rate__limits),
        cmocka_unit_test(test_rate__names),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("rate", tests, NULL, NULL);
}
