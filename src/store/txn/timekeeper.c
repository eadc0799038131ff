/*
 * timekeeper.c - see timekeeper.h.
 *
 * A step is a transaction of its own, before those of the callers. If the process ends between its
 * commit and the step in memory, the next process starts at the wall clock, which is the target of
 * the step.
 */
#include "store/txn/timekeeper.h"

#include "base/clock.h"
#include "base/steady.h"
#include "model/limits.h"

#define AGAIN_US 1000000

#define AHEAD_US_MAX INT64_C(630720000000000) /* 20 years; a later time is a damaged row's */

/* Moves the ends of spans (K1) and, after a step back, the other times ahead of the clock (K5). */
static enum faina_code move_times(struct fa_db *db, int64_t step_us, int64_t now_us,
                                  struct faina_error *err)
{
    static const enum fa_sql spans[] = {FA_SQL_CLOCK_MOVE_HELD, FA_SQL_CLOCK_MOVE_PARKED,
                                        FA_SQL_CLOCK_MOVE_JOINS, FA_SQL_CLOCK_MOVE_WORKERS,
                                        FA_SQL_CLOCK_MOVE_RATES};
    static const enum fa_sql days[] = {FA_SQL_CLOCK_BACK_CRONS, FA_SQL_CLOCK_BACK_LOG};
    struct fa_value step = fa_value_int(step_us), now = fa_value_int(now_us);
    enum faina_code code = fa_db_begin(db, true, err);

    for (size_t i = 0; code == FAINA_OK && i < FA_COUNT(spans); i++)
        code = fa_db_one(db, spans[i], &step, 1, NULL, NULL, err);
    for (size_t i = 0; code == FAINA_OK && step_us < 0 && i < FA_COUNT(days); i++)
        code = fa_db_one(db, days[i], &now, 1, NULL, NULL, err);
    if (code == FAINA_OK)
        code = fa_db_commit(db, err);
    if (code != FAINA_OK)
        fa_db_rollback(db);
    return code;
}

enum faina_code fa_timekeeper_resume(struct fa_writer *writer, struct faina_error *err)
{
    struct fa_steady *clock = writer->engine->clock;
    int64_t newest_us = 0, ahead_us;
    enum faina_code code;

    if (clock == NULL)
        return FAINA_OK;
    code = fa_db_one(writer->db, FA_SQL_CLOCK_NEWEST, NULL, 0, fa_db_sink_int, &newest_us, err);
    if (code != FAINA_OK)
        return code;
    if (newest_us > fa_clock_now_us() + AHEAD_US_MAX)
        newest_us = 0;
    ahead_us = fa_steady_resume(clock, newest_us);
    return ahead_us > 0 ? move_times(writer->db, -ahead_us, newest_us - ahead_us, err) : FAINA_OK;
}

static void move_time(atomic_llong *at_us, int64_t step_us)
{
    if (atomic_load(at_us) > 0)
        atomic_fetch_add(at_us, step_us);
}

/* Moves the times that the engine has in memory. The chores run at once, since something may be
 * due. */
static void move_engine(struct fa_engine *engine, int64_t step_us, int64_t now_us)
{
    int64_t next_us = atomic_load(&engine->next_us);

    move_time(&engine->forget_us, step_us);
    move_time(&engine->commit_us, step_us);
    move_time(&engine->fail_us, step_us);
    move_time(&engine->still_us, step_us);
    move_time(&engine->grace_until_us, step_us);
    if (atomic_load(&engine->token_us) != INT64_MAX)
        atomic_store(&engine->token_us, now_us);
    if (next_us > 0) /* 0: they are due because the store was opened */
        atomic_store(&engine->next_us, next_us < now_us - step_us ? next_us + step_us : now_us);
}

/* After a failed step the next one waits for AGAIN_US. */
static int64_t step_due(struct fa_engine *engine)
{
    if (fa_clock_mono_us() < atomic_load(&engine->step_again_us))
        return 0;
    return fa_steady_step_due(engine->clock);
}

static void make_step(struct fa_writer *writer)
{
    struct fa_engine *engine = writer->engine;
    int64_t step_us = step_due(engine), now_us;
    struct faina_error err = {0};
    enum faina_code code = FAINA_OK;

    if (step_us == 0)
        return;
    now_us = fa_steady_now(engine->clock) + step_us;
    if (engine->store->ops->check != NULL)
        code = engine->store->ops->check(engine->store, &err);
    if (code == FAINA_OK)
        code = move_times(writer->db, step_us, now_us, &err);
    if (code != FAINA_OK) {
        atomic_store(&engine->step_again_us, fa_clock_mono_us() + AGAIN_US);
        return;
    }
    fa_steady_step(engine->clock, step_us);
    move_engine(engine, step_us, now_us);
    writer->needs_load = true; /* the token buckets */
}

void fa_timekeeper_show(struct fa_engine *engine, struct fa_service_clock *out)
{
    struct fa_steady_report report = {0};

    if (engine->clock != NULL)
        fa_steady_report(engine->clock, &report);
    *out = (struct fa_service_clock){
        .offset_ms = report.offset_us / 1000,
        .jumps = report.jump_count,
        .jump_ms = report.jump_us / 1000,
        .jump_at_us = report.jump_at_us,
    };
}

static bool has_unreported_jump(struct fa_engine *engine, struct fa_service_clock *clock)
{
    if (!fa_waiters_has_counters(engine->waiters))
        return false;
    fa_timekeeper_show(engine, clock);
    return clock->jumps != atomic_load(&engine->jumps_reported);
}

static void report_jump(struct fa_engine *engine)
{
    struct fa_service_clock clock;

    if (!has_unreported_jump(engine, &clock))
        return;
    atomic_store(&engine->jumps_reported, clock.jumps);
    fa_waiters_publish_stats(engine->waiters, &(struct fa_commit_stats){.jump = &clock});
}

void fa_timekeeper_follow(struct fa_writer *writer)
{
    if (writer->engine->clock == NULL)
        return;
    make_step(writer);
    report_jump(writer->engine);
}

bool fa_timekeeper_is_due(struct fa_engine *engine)
{
    struct fa_service_clock clock;

    return engine->clock != NULL && (step_due(engine) != 0 || has_unreported_jump(engine, &clock));
}
