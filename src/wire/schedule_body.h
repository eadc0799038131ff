/*
 * schedule_body.h - schedules as users give them: is one within the rules, and what task does it
 * make?
 *
 * The task is the body of a submit. It has no key (the time is its key), no namespace of its own,
 * no runAt and no dependsOn: what depends on the moment of the submit makes no sense in it.
 *
 * Threads: pure functions, but for reading the file of a time zone.
 */
#ifndef FA_WIRE_SCHEDULE_BODY_H
#define FA_WIRE_SCHEDULE_BODY_H

#include "base/bytes.h"
#include "json/json.h"
#include "model/cron.h"
#include "model/operation.h"
#include "wire/shape.h"

/* {name, namespace, schedule, timezone, task, catchUp, overlap, jitter, paused, nextAt, lastAt,
 * problem, createdAt, updatedAt, version}, of a struct fa_cron_job; and {items} of many. */
extern const struct fa_shape fa_shape_cron, fa_shape_crons;

/* "none", "one" or "all"; "allow", "skip" or "cancel". */
const char *fa_catch_up_name(enum fa_catch_up catch_up);
const char *fa_overlap_name(enum fa_overlap overlap);
/* NULL leaves *out as it is. */
FA_MUST_CHECK enum faina_code fa_catch_up_parse(const char *text, enum fa_catch_up *out,
                                                struct faina_error *err);
FA_MUST_CHECK enum faina_code fa_overlap_parse(const char *text, enum fa_overlap *out,
                                               struct faina_error *err);

/* Everything a user sets. */
FA_MUST_CHECK enum faina_code fa_cron_check(const struct fa_cron_job *job, size_t input_max,
                                            struct faina_error *err);

/* The task's JSON as a submit in the schedule's namespace, with pointers into `arena`. */
FA_MUST_CHECK enum faina_code fa_cron_task(const struct fa_cron_job *job, struct fa_arena *arena,
                                           struct faina_submit *out, struct faina_error *err);

/* The stored schedule and its zone, which the caller closes. */
FA_MUST_CHECK enum faina_code fa_cron_times(const struct fa_cron_job *job, struct fa_cron *cron,
                                            struct fa_zone **zone, struct faina_error *err);

#endif
