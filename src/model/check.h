/*
 * check.h - checks the fields of requests. Pure: no store, no clock.
 *
 * Every field of every request is checked here, against limits.h, before it reaches the engine. So
 * all data in the engine is well-formed UTF-8, valid JSON and within its limits.
 */
#ifndef FA_MODEL_CHECK_H
#define FA_MODEL_CHECK_H

#include "base/error.h"

/* A name: 1..max bytes of UTF-8 without control characters. */
FA_MUST_CHECK enum faina_code fa_check_name(const char *text, size_t max, const char *field,
                                            enum faina_code code, struct faina_error *err);
/* Free text: up to max bytes of UTF-8. */
FA_MUST_CHECK enum faina_code fa_check_text(const char *text, size_t max, const char *field,
                                            enum faina_code code, struct faina_error *err);
/* JSON of up to max bytes; NULL is fine. */
FA_MUST_CHECK enum faina_code fa_check_json(const char *json, size_t max, const char *field,
                                            enum faina_code code, struct faina_error *err);
FA_MUST_CHECK enum faina_code fa_check_submit(const struct faina_submit *task, size_t input_max,
                                              struct faina_error *err);
/* The same for one that was read from checked JSON (fa_wire_read_submit): of its JSON only the size
 * is checked. */
FA_MUST_CHECK enum faina_code fa_check_submit_read(const struct faina_submit *task,
                                                   size_t input_max, struct faina_error *err);
FA_MUST_CHECK enum faina_code fa_check_worker(const char *worker_id, struct faina_error *err);
/* A worker's registration, and the tasks whose leases it renews. */
FA_MUST_CHECK enum faina_code fa_check_heartbeat(const struct faina_worker *worker,
                                                 const struct faina_held *held, size_t held_count,
                                                 int64_t lease_ms, struct faina_error *err);
FA_MUST_CHECK enum faina_code fa_check_claim(const struct faina_claim *claim,
                                             struct faina_error *err);
FA_MUST_CHECK enum faina_code fa_check_report(const struct faina_report *report,
                                              struct faina_error *err);
FA_MUST_CHECK enum faina_code fa_check_type_policy(const struct faina_type_policy *policy,
                                                   struct faina_error *err);
FA_MUST_CHECK enum faina_code fa_check_update(const struct faina_update *update,
                                              struct faina_error *err);
/* Not negative, and at most FA_DURATION_MS_MAX. */
FA_MUST_CHECK enum faina_code fa_check_duration(int64_t ms, const char *field,
                                                struct faina_error *err);
FA_MUST_CHECK enum faina_code fa_check_failure(const struct faina_failure *failure,
                                               struct faina_error *err);
/* A task that continues in the background: the reason and the time-out. */
FA_MUST_CHECK enum faina_code fa_check_background(const char *reason, int64_t timeout_ms,
                                                  struct faina_error *err);
FA_MUST_CHECK enum faina_code fa_check_query(const struct faina_query *query,
                                             struct faina_error *err);

#endif
