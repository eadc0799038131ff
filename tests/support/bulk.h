/*
 * bulk.h - operations on many tasks, for tests.
 */
#ifndef FA_TEST_BULK_H
#define FA_TEST_BULK_H

#include "support/ops.h"

#include "model/bulk.h"

/* A request with the conditions of a struct faina_query: fa_t_bulk(t, RETRY, .type = "x"). */
#define FA_T_BULK(kind_, ...)                                                                      \
    (&(struct fa_bulk_request){.kind = FA_BULK_##kind_, .has_filter = true, .query = {__VA_ARGS__}})
#define fa_t_bulk(t, kind_, ...) fa_t_bulk_start(t, FA_T_BULK(kind_, __VA_ARGS__))

/* Starts it, which must be accepted. The operation lives as long as the test's results. */
const struct fa_bulk *fa_t_bulk_start(struct fa_t *t, const struct fa_bulk_request *request);
enum faina_code fa_t_bulk_try(struct fa_t *t, const struct fa_bulk_request *request);
/* How many tasks a dry run finds. */
int64_t fa_t_bulk_count(struct fa_t *t, const struct fa_bulk_request *request);
const struct fa_bulk *fa_t_bulk_get(struct fa_t *t, const char *id);
/* Waits until it has ended. */
const struct fa_bulk *fa_t_bulk_end(struct fa_t *t, const char *id);
/* Waits until it is completed with these numbers. */
void fa_t_bulk_completes(struct fa_t *t, const struct fa_bulk *bulk, int64_t done, int64_t failed);
/* As many pending tasks of a type. */
void fa_t_submit_many(struct fa_t *t, const char *type, int64_t count);
/* How many tasks of the default namespace have this status. */
int64_t fa_t_count_status(struct fa_t *t, enum faina_status status);

#endif
