/*
 * crons.h - schedules as users give them: is one within the rules, and what task does it make?
 *
 * The task is the body of a submit. It has no key (the time is its key), no namespace of its own,
 * no runAt and no dependsOn: what depends on the moment of the submit makes no sense in it.
 *
 * Threads: pure functions, but for reading the file of a time zone.
 */
#ifndef FA_CRONS_H
#define FA_CRONS_H

#include "base/bytes.h"
#include "base/json.h"
#include "model/cron.h"
#include "service/service.h"

/* "none", "one" or "all". */
const char *fa_catch_up_name(enum fa_catch_up catch_up);
FA_MUST_CHECK enum faina_code fa_catch_up_parse(const char *text, enum fa_catch_up *out,
                                                struct faina_error *err);

/* Everything a user sets. */
FA_MUST_CHECK enum faina_code fa_cron_check(const struct fa_cron_job *job, size_t input_max,
                                            struct faina_error *err);

/* The task's JSON as a submit in the schedule's namespace, with pointers into `arena`. */
FA_MUST_CHECK enum faina_code fa_cron_task(const struct fa_cron_job *job, struct fa_arena *arena,
                                           struct faina_submit *out, struct faina_error *err);

/* The schedule and its zone, which the caller closes. */
FA_MUST_CHECK enum faina_code fa_cron_times(const struct fa_cron_job *job, struct fa_cron *cron,
                                            struct fa_zone **zone, struct faina_error *err);

/* {name, namespace, schedule, timezone, task, catchUp, paused, nextAt, lastAt, problem, createdAt,
 * updatedAt, version} */
void fa_cron_put(struct fa_json_writer *w, const struct fa_cron_job *job);

#endif
