/*
 * limits_file.h - limits of resources, as written in resources.yaml.
 *
 *     resources:
 *       ollama: 2                      # at most two tasks at once
 *       gpu: { maxConcurrency: 1 }
 *       smtp: { maxConcurrency: 5, rate: 10/s, burst: 20 }
 *       "mail:*": { rate: 10/s }       # each resource that begins with "mail:"
 *       network:                       # known, and without a limit
 *
 * Threads: pure functions.
 */
#ifndef FA_MODEL_LIMITS_FILE_H
#define FA_MODEL_LIMITS_FILE_H

#include "model/workflow.h"

#define FA_LIMITS_FILE_MAX 1000 /* resources in a file */

struct fa_file_limit {
    const char *name;
    int64_t max_concurrency; /* -1: no limit */
    struct faina_rate rate;  /* count 0: none */
};

struct fa_file_limits {
    struct fa_file_limit *items;
    size_t count;
};

/* "resources.yaml", .yml or .json; false for other files. */
bool fa_limits_file_is(const char *file);

/* Reads the text of a file into `arena`. INVALID_REQUEST: `mistakes` (all zero before) has all
 * mistakes, with line and column, and err the first. */
FA_MUST_CHECK enum faina_code fa_limits_file_read(
    struct fa_bytes text, enum fa_workflow_format format, struct fa_arena *arena,
    struct fa_file_limits *out, struct fa_mistakes *mistakes, struct faina_error *err);

#endif
