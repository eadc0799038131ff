/*
 * environment.h - the environment of a handler's process.
 *
 * In this order, where a later value replaces an earlier one: PATH, HOME, LANG, TZ and TMPDIR of
 * this process; its variables that `passEnv` names; the lines of `envFile`; `env`; what the caller
 * adds.
 *
 *   N1  A name is there once: programs differ in whether they use the first or the last one.
 *   N2  No value is part of an error or a log line.
 *   N3  `envFile` is read for each process, so that a changed secret is used at once. A file that
 *       other users could write to is refused: it could make the program load their code.
 *
 * Threads: any.
 */
#ifndef FA_WORKER_COMMAND_ENVIRONMENT_H
#define FA_WORKER_COMMAND_ENVIRONMENT_H

#include "worker/type_settings.h"

struct fa_environment {
    struct fa_arena *arena;
    const char **items; /* NAME=value; ends with NULL */
    size_t count, size;
};

/* Begins with the variables that every process gets. The result lives in `arena`. */
void fa_environment_init(struct fa_environment *environment, struct fa_arena *arena);
/* Adds `entry`, NAME=value, or replaces the one of that name. Lent, not copied. */
void fa_environment_set(struct fa_environment *environment, const char *entry);
/* Adds what the settings name. UNAVAILABLE, FORBIDDEN, INVALID_REQUEST: the file can't be used. */
FA_MUST_CHECK enum faina_code fa_environment_add(struct fa_environment *environment,
                                                 const struct fa_settings *settings,
                                                 struct faina_error *err);

#endif
