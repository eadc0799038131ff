/*
 * bench_cost.c - what a property of the engine costs: whole lives in batches of 1,000 on two
 * stores that take turns, one of which lacks it.
 *
 *   history  the counts by type and minute (txn/history_log.h), and the thread that stores them.
 *            The engine has no option for it: its log is taken away here.
 *   updated  the indexes for lists in the order of the last change (migration `updated`), which one
 *            of the stores has dropped
 *   names    types in letters of both cases, claimed by another spelling, against lower case
 */
#include "base/clock.h"
#include "bench/bench_engine.h"
#include "bench/bench_driver.h"
#include "bench/bench_raw.h"
#include "bench/bench_raw_postgres.h"
#include "store/txn/writer.h"
#include "store/upkeep/history_store.h"

#include <stdlib.h>

#define TASKS 60000
#define POSTGRES_TASKS 20000
#define QUICK_TASKS 2000
#define BATCH 1000
#define TURNS 4 /* in each round: differences of a few percent need many short turns */

struct subject {
    struct fa_bench_speed speed;
    struct fa_service *service;
    struct fa_bench_engine *engine; /* closes the service */
    struct fa_history_log *history; /* of the engine, which has none meanwhile */
};

static const struct cost {
    const char *part, *ratio;
    enum fa_bench_aim aim;
    double target;
    bool drops_history, drops_indexes; /* in the second store */
    const char *type, *claimed_type;   /* of the first store; NULL: as in the second */
} costs[] = {
    {.part = "history",
     .ratio = "submit, claim and complete by 1,000: with history / without",
     .aim = FA_BENCH_AT_LEAST,
     .target = 0.97,
     .drops_history = true},
    {.part = "updated",
     .ratio = "submit, claim and complete by 1,000: with indexes of changes / without",
     .aim = FA_BENCH_AT_LEAST,
     .target = 0.95,
     .drops_indexes = true},
    {.part = "names",
     .ratio = "submit, claim and complete by 1,000: types in both cases / in lower case",
     .aim = FA_BENCH_AT_LEAST,
     .target = 0.97,
     .type = "Bench.Task",
     .claimed_type = "BENCH.task"},
};

/* ------------------------------------------------------------------------------------------
 * Leaving something out
 */

static struct fa_engine *engine_of(struct fa_service *service)
{
    return FA_CONTAINER_OF(service, struct fa_engine, base);
}

/* No operation runs, and the thread that stores the history has ended: nothing else uses the log.
 * Readers have a pointer of their own. */
static void take_history(struct subject *subject)
{
    struct fa_engine *engine = engine_of(subject->service);

    fa_history_store_stop(engine);
    subject->history = engine->history;
    engine->history = NULL;
}

static void give_history_back(struct subject *subject)
{
    if (subject->history != NULL)
        engine_of(subject->service)->history = subject->history;
}

static enum faina_code drop_indexes(const struct fa_bench *bench, const char *location,
                                    const char *name, struct faina_error *err)
{
    static const char sql[] =
        "DROP INDEX ended_updated; DROP INDEX parked_updated; DROP INDEX ready_updated";
    struct fa_bench_session *session;
    enum faina_code code;
    char where[4200];

    if (!fa_bench_is_postgres(bench)) {
        snprintf(where, sizeof where, "%s/%s.db", location, name);
        return fa_bench_raw_run(where, sql, err);
    }
    snprintf(where, sizeof where, "%.90s_%s", location, name);
    code = fa_bench_session_open(&session, bench, where, err);
    if (code != FAINA_OK)
        return code;
    code = fa_bench_session_run(session, sql, NULL, err);
    fa_bench_session_close(session);
    return code;
}

/* ------------------------------------------------------------------------------------------
 * Measuring
 */

/* `is_second`: the store that lacks it. */
static enum faina_code subject_open(struct subject *subject, const struct fa_bench *bench,
                                    const struct cost *cost, const char *location, bool is_second,
                                    struct faina_error *err)
{
    const char *name = is_second ? "without" : "with";
    enum faina_code code = fa_bench_service_open(&subject->service, bench, location, name, err);

    if (code == FAINA_OK && is_second && cost->drops_indexes) {
        fa_service_close(subject->service); /* the tables are there */
        subject->service = NULL;
        code = drop_indexes(bench, location, name, err);
        if (code == FAINA_OK)
            code = fa_bench_service_open(&subject->service, bench, location, name, err);
    }
    if (code != FAINA_OK)
        return code;
    if (is_second && cost->drops_history)
        take_history(subject);
    subject->speed = (struct fa_bench_speed){
        .part = cost->part,
        .subject = FA_BENCH_ENGINE,
        .callers = fa_bench_is_postgres(bench) ? 2 : 1,
        .batch = BATCH,
        .tasks = bench->is_quick               ? QUICK_TASKS
                 : fa_bench_is_postgres(bench) ? POSTGRES_TASKS
                                               : TASKS,
        .type = !is_second ? cost->type : NULL,
        .claimed_type = cost->claimed_type == NULL ? NULL
                        : !is_second               ? cost->claimed_type
                                                   : FA_BENCH_TYPE,
    };
    subject->engine = fa_bench_engine_create(subject->service, bench, &subject->speed);
    return bench->is_quick || strcmp(bench->url, "sqlite:") != 0
               ? FAINA_OK
               : fa_bench_engine_grow_log(subject->engine, err);
}

static void subject_close(struct subject *subject)
{
    give_history_back(subject);
    if (subject->engine != NULL)
        fa_bench_engine_close(subject->engine);
    else
        fa_service_close(subject->service);
}

static enum faina_code measure(struct fa_bench *bench, struct subject subjects[2],
                               const struct cost *cost, struct faina_error *err)
{
    int turns = bench->is_quick ? bench->rounds : bench->rounds * TURNS;

    for (int turn = 0; turn <= turns; turn++) { /* the first one is a warm-up */
        fa_bench_progress_bar(bench, cost->part, turn, turns + 1);
        for (int i = 0; i < 2; i++) {
            struct subject *subject = &subjects[(i + turn) % 2];
            int64_t ns[FA_BENCH_STEPS];
            enum faina_code code = fa_bench_engine_round(subject->engine, ns, err);

            if (code != FAINA_OK)
                return code;
            if (turn > 0)
                fa_bench_speed_add(&subject->speed, ns);
        }
    }
    return FAINA_OK;
}

enum faina_code fa_bench_cost(struct fa_bench *bench, const char *name, struct faina_error *err)
{
    const struct cost *cost = costs;
    struct subject *subjects = fa_alloc_zero(2, sizeof *subjects);
    char location[4100];
    enum faina_code code = fa_bench_location_make(bench, name, location, sizeof location, err);

    while (strcmp(cost->part, name) != 0)
        cost++;
    for (int i = 0; code == FAINA_OK && i < 2; i++)
        code = subject_open(&subjects[i], bench, cost, location, i == 1, err);
    if (code == FAINA_OK)
        code = measure(bench, subjects, cost, err);
    fa_bench_progress_clear(bench);
    for (int i = 0; i < 2; i++)
        subject_close(&subjects[i]);
    if (code == FAINA_OK)
        fa_bench_ratio_add(&bench->report, &subjects[0].speed.rates[FA_BENCH_LIFE],
                           &subjects[1].speed.rates[FA_BENCH_LIFE], cost->aim, cost->target, "%s",
                           cost->ratio);
    free(subjects);
    fa_bench_location_remove(bench, location);
    return code;
}
