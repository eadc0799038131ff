/*
 * test_rates.c - rates of resources: strict in every interval, served on time; names with "*".
 */
#include "support/crew.h"
#include "support/ops.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdlib.h>

#define HOUR_MS (3600 * INT64_C(1000))

static enum faina_code set_rate(struct fa_t *t, const char *name, int64_t max,
                                struct faina_rate rate)
{
    return fa_t_run(
        t, &(struct fa_op){.kind = FA_OP_RESOURCE_SET,
                           .resource = {.name = name, .max_concurrency = max, .rate = rate}});
}

static const char *submit(struct fa_t *t, const char *type, const char *resource)
{
    return fa_t_submit(t, .type = type, .resources = &resource, .resource_count = 1,
                       .max_attempts = 5, .retry = {.base_ms = 1, .max_ms = 1});
}

static size_t claim_many(struct fa_t *t)
{
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 100));
    return t->op.tasks->count;
}

static void test_rate__burst_then_nothing(struct fa_t *t)
{
    const char *last = NULL;

    CHECK_OK(t, set_rate(t, "smtp", -1, (struct faina_rate){2, HOUR_MS, 3}));
    for (int i = 0; i < 5; i++)
        last = submit(t, "mail", "smtp");
    submit(t, "mail", "other");
    CHECK_INT(claim_many(t), 4); /* three, and the one of the other resource */
    CHECK_INT(claim_many(t), 0);
    CHECK_CODE(t, fa_t_claim(t, last, "w"), FAINA_OVERLOADED);
    CHECK(strstr(t->op.error.message, "smtp") && strstr(t->op.error.message, "2/h"), "%s",
          t->op.error.message);
    CHECK_CODE(t, fa_t_start(t, last, NOBODY), FAINA_OVERLOADED);
}

static void test_rate__limit_and_rate_together(struct fa_t *t)
{
    const struct faina_resource *item;
    const char *first;

    CHECK_OK(t, set_rate(t, "smtp", 2, (struct faina_rate){5, HOUR_MS, 0}));
    CHECK_OK(t, fa_t_resource_list(t, "SMTP"));
    item = &t->op.resources->items[0];
    CHECK_INT(item->max_concurrency, 2);
    CHECK_INT(item->rate.count, 5);
    CHECK_INT(item->rate.per_ms, HOUR_MS);
    CHECK_INT(item->rate.burst, 5);
    CHECK_OK(t, fa_t_resource_list(t, NULL));
    CHECK_INT(t->op.resources->items[0].rate.burst, 5);
    for (int i = 0; i < 8; i++)
        submit(t, "mail", "smtp");
    CHECK_INT(claim_many(t), 2);
    first = fa_arena_strdup(&t->arena, t->op.tasks->items[0].id);
    CHECK_OK(t, fa_t_complete(t, first, BY("w"), NULL));
    CHECK_INT(claim_many(t), 1);
    CHECK_OK(t, fa_t_resource_set(t, "smtp", -1)); /* replaces the rate */
    CHECK_OK(t, fa_t_resource_list(t, "smtp"));
    CHECK_INT(t->op.resources->items[0].rate.count, 0);
    CHECK_INT(claim_many(t), 5);
}

/* Tokens stay spent: by a release, by a failed attempt, and when the rate is set again. */
static void test_rate__no_token_comes_back(struct fa_t *t)
{
    const struct faina_rate rate = {3, HOUR_MS, 3};
    const char *id;

    CHECK_OK(t, set_rate(t, "smtp", 1, rate));
    id = submit(t, "mail", "smtp");
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_OK(t, fa_t_release(t, id, BY("w")));
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_OK(t, fa_t_release(t, id, BY("w")));
    CHECK_OK(t, set_rate(t, "smtp", 5, rate));
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_OK(t, fa_t_release(t, id, BY("w")));
    CHECK_CODE(t, fa_t_claim(t, id, "w"), FAINA_OVERLOADED);
    CHECK_OK(t, set_rate(t, "smtp", 5, rate));
    CHECK_CODE(t, fa_t_claim(t, id, "w"), FAINA_OVERLOADED);
    CHECK_OK(t, set_rate(t, "smtp", 5, (struct faina_rate){1000, 1000, 1000}));
    CHECK_OK(t, fa_t_claim(t, id, "w"));
}

static void test_rate__survives_reopening(struct fa_t *t)
{
    CHECK_OK(t, set_rate(t, "smtp", -1, (struct faina_rate){1, HOUR_MS, 2}));
    for (int i = 0; i < 4; i++)
        submit(t, "mail", "smtp");
    CHECK_INT(claim_many(t), 2);
    fa_t_reopen(t);
    CHECK_INT(claim_many(t), 0);
    CHECK_OK(t, fa_t_resource_list(t, "smtp"));
    CHECK_INT(t->op.resources->items[0].rate.burst, 2);
}

/* Each resource by itself; its own limits first; a longer name with "*" before a shorter one. */
static void test_rate__names_with_an_asterisk(struct fa_t *t)
{
    static const char *const names[] = {"mail:a", "MAIL:b", "mail:vip:c", "mail:own", "other"};
    static const int wanted[] = {1, 1, 2, 3, 5};
    int counts[FA_COUNT(names)] = {0};

    submit(t, "early", "mail:a"); /* named before its limit is set */
    CHECK_OK(t, set_rate(t, "mail:*", -1, (struct faina_rate){1, HOUR_MS, 1}));
    CHECK_OK(t, set_rate(t, "mail:vip:*", -1, (struct faina_rate){2, HOUR_MS, 2}));
    CHECK_OK(t, set_rate(t, "mail:own", -1, (struct faina_rate){3, HOUR_MS, 3}));
    for (int i = 0; i < 5; i++)
        for (size_t k = 0; k < FA_COUNT(names); k++)
            submit(t, "mail", names[k]);
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 100));
    for (size_t i = 0; i < t->op.tasks->count; i++)
        for (size_t k = 0; k < FA_COUNT(names); k++)
            counts[k] += strcmp(t->op.tasks->items[i].resources[0], names[k]) == 0;
    for (size_t k = 0; k < FA_COUNT(names); k++)
        CHECK(counts[k] == wanted[k], "%s: %d tasks, not %d", names[k], counts[k], wanted[k]);
    CHECK_OK(t, fa_t_resource_list(t, "mail:a"));
    CHECK_INT(t->op.resources->items[0].rate.count, 1);
    CHECK_STR(t->op.resources->items[0].limited_by, "mail:*");
    CHECK_OK(t, fa_t_resource_list(t, "mail:vip:c"));
    CHECK_STR(t->op.resources->items[0].limited_by, "mail:vip:*");
    CHECK_OK(t, fa_t_resource_list(t, "mail:own"));
    CHECK(t->op.resources->items[0].limited_by == NULL, "mail:own has its own");
    CHECK_OK(t, fa_t_resource_remove(t, "mail:*"));
    CHECK_INT(claim_many(t), 9); /* of mail:a, with the early one, and of MAIL:b */
    CHECK_OK(t, fa_t_resource_set(t, "mail:vip:*", 3)); /* and no rate */
    CHECK_INT(claim_many(t), 1);
}

static void test_rate__prefix_limits_how_many_run(struct fa_t *t)
{
    CHECK_OK(t, fa_t_resource_set(t, "gpu:*", 1));
    for (int i = 0; i < 3; i++) {
        submit(t, "x", "gpu:0");
        submit(t, "x", "gpu:1");
    }
    CHECK_INT(claim_many(t), 2);
    CHECK_INT(fa_t_in_use(t, "gpu:0"), 1);
    CHECK_INT(fa_t_in_use(t, "gpu:1"), 1);
    CHECK_INT(claim_many(t), 0);
    CHECK_OK(t, fa_t_resource_set(t, "gpu:*", 2));
    CHECK_INT(claim_many(t), 2);
}

static void test_rate__explain_names_the_time(struct fa_t *t)
{
    int64_t before_us = fa_clock_now_us();
    const struct faina_reason *reason = NULL;
    const char *id;

    CHECK_OK(t, set_rate(t, "mail:*", -1, (struct faina_rate){1, HOUR_MS, 1}));
    submit(t, "mail", "mail:a");
    id = submit(t, "mail", "mail:a");
    CHECK_INT(claim_many(t), 1);
    CHECK_OK(t, fa_t_explain(t, id));
    for (size_t i = 0; i < t->op.explanation->count; i++)
        if (strcmp(t->op.explanation->reasons[i].kind, "resource") == 0)
            reason = &t->op.explanation->reasons[i];
    CHECK(reason != NULL, "no reason in \"%s\"", t->op.explanation->summary);
    CHECK(strstr(reason->message, "mail:a") && strstr(reason->message, "1/h"), "%s",
          reason->message);
    CHECK(reason->until_us > before_us + (HOUR_MS - 60000) * 1000 &&
              reason->until_us < fa_clock_now_us() + (HOUR_MS + 60000) * 1000,
          "until %lld", (long long)reason->until_us);
}

static void test_rate__bad_input(struct fa_t *t)
{
    static const struct faina_rate bad[] = {
        {-1, 1000, 0},      {1, 0, 0},          {1, -5, 0},
        {1, 1000, -1},      {0, 1000, 0},       {0, 0, 5},
        {1000001, 1000, 0}, {1, 1000, 1000001}, {1, 32LL * 24 * HOUR_MS, 0},
    };

    for (size_t i = 0; i < FA_COUNT(bad); i++)
        CHECK_CODE(t, set_rate(t, "smtp", 1, bad[i]), FAINA_INVALID_REQUEST);
    CHECK_CODE(t, fa_t_resource_list(t, "smtp"), FAINA_NOT_FOUND);
}

/* ------------------------------------------------------------------------------------------
 * Over time
 */

enum { TASKS = 60, CLAIMERS = 6 };

struct starts {
    pthread_mutex_t mutex;
    int64_t at_us[TASKS];
    int count;
};

static void note_starts(struct starts *starts, const struct faina_tasks *tasks)
{
    pthread_mutex_lock(&starts->mutex);
    for (size_t i = 0; i < tasks->count; i++)
        starts->at_us[starts->count++] = tasks->items[i].claimed_us;
    pthread_mutex_unlock(&starts->mutex);
}

static int by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Every interval that begins and ends with a start. */
static void check_intervals(struct starts *starts, const struct faina_rate *rate)
{
    qsort(starts->at_us, (size_t)starts->count, sizeof(int64_t), by_time);
    for (int i = 0; i < starts->count; i++)
        for (int k = i; k < starts->count; k++) {
            double us = (double)(starts->at_us[k] - starts->at_us[i]) + 20;
            double most =
                (double)rate->burst + us * (double)rate->count / ((double)rate->per_ms * 1000.0);

            CHECK(k - i + 1 <= (int)most, "%d starts in %.0f us", k - i + 1, us);
        }
}

static void claim_all(struct fa_t *mine, size_t index, void *arg)
{
    struct starts *starts = arg;
    struct faina_claim claim = {.worker_id = fa_arena_printf(&mine->arena, "w%zu", index),
                                .limit = 1 + (int)(index % 3),
                                .wait_ms = FA_T_DEADLINE_MS};
    bool is_over = false;

    while (!is_over) {
        pthread_mutex_lock(&starts->mutex);
        is_over = starts->count >= TASKS - CLAIMERS;
        pthread_mutex_unlock(&starts->mutex);
        if (is_over)
            return;
        CHECK_OK(mine, fa_t_claim_wait(mine, &claim));
        note_starts(starts, mine->op.tasks);
    }
}

/* Claims that wait are served when tokens come, each by one of them. */
static void test_rate__waiting_claims_in_every_interval(struct fa_t *t)
{
    const struct faina_rate rate = {100, 1000, 5};
    struct starts starts = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    int64_t took_us;

    CHECK_OK(t, set_rate(t, "smtp", -1, rate));
    for (int i = 0; i < TASKS + 3 * CLAIMERS; i++)
        submit(t, "mail", "smtp");
    fa_t_crew_join(fa_t_crew_start(t, CLAIMERS, claim_all, &starts));
    check_intervals(&starts, &rate);
    took_us = starts.at_us[starts.count - 1] - starts.at_us[0];
    CHECK(took_us < FA_T_DEADLINE_MS * INT64_C(500), "claims waited too long: %lld us",
          (long long)took_us);
}

/* One claim waits for the one token, by types and by any; a poll would come much later. */
static void test_rate__waiting_claim_is_served_on_time(struct fa_t *t)
{
    static const char *const type = "mail";
    const struct faina_rate rate = {5, 1000, 1};
    int64_t last_us = 0;

    CHECK_OK(t, set_rate(t, "smtp", -1, rate));
    for (int i = 0; i < 6; i++)
        submit(t, "mail", "smtp");
    for (int i = 0; i < 6; i++) {
        struct faina_claim claim = {.worker_id = "w", .limit = 3, .wait_ms = FA_T_DEADLINE_MS};

        if (i % 2) {
            claim.types = &type;
            claim.type_count = 1;
        }
        CHECK_OK(t, fa_t_claim_wait(t, &claim));
        CHECK_INT(t->op.tasks->count, 1);
        CHECK(t->op.tasks->items[0].claimed_us - last_us >= 199980, "after %lld us",
              (long long)(t->op.tasks->items[0].claimed_us - last_us));
        last_us = t->op.tasks->items[0].claimed_us;
    }
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE_SQL(test_rate__burst_then_nothing),
        FA_T_CASE_SQL(test_rate__limit_and_rate_together),
        FA_T_CASE_SQL(test_rate__no_token_comes_back),
        FA_T_CASE_NEEDS(test_rate__survives_reopening, FA_T_DURABLE | FA_T_SQL),
        FA_T_CASE_SQL(test_rate__names_with_an_asterisk),
        FA_T_CASE_SQL(test_rate__prefix_limits_how_many_run),
        FA_T_CASE_SQL(test_rate__explain_names_the_time),
        FA_T_CASE_SQL(test_rate__bad_input),
        FA_T_CASE_SQL(test_rate__waiting_claims_in_every_interval),
        FA_T_CASE_SQL(test_rate__waiting_claim_is_served_on_time),
    };

    return fa_t_main(argc, argv, "rates", cases, FA_COUNT(cases));
}
