/*
 * resource_file.h - applies the limits of a resources file to the store.
 *
 *   Z1  A limit that is in the store already is not written again.
 *   Z2  A name that the file had at the last call and hasn't now loses its limit, unless the store
 *       has another one than the file had.
 *
 * Threads: the owner's.
 */
#ifndef FA_WORKER_RESOURCE_FILE_H
#define FA_WORKER_RESOURCE_FILE_H

#include "model/limits_file.h"
#include "service/service.h"
#include "worker/reporter.h"

struct fa_resource_file;

/* `file` is its name for the log. Both are borrowed. */
struct fa_resource_file *fa_resource_file_create(const char *file, const struct fa_reporter *log);
void fa_resource_file_destroy(struct fa_resource_file *limits); /* NULL is fine */

FA_MUST_CHECK enum faina_code fa_resource_file_apply(struct fa_resource_file *limits,
                                                     struct fa_service *service,
                                                     const struct fa_file_limits *wanted,
                                                     struct faina_error *err);

#endif
