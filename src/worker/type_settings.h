/*
 * type_settings.h - the file TYPE.json beside a handler.
 *
 *     {"timeout":"5m", "concurrency":2, "maxAttempts":3, "resources":["gpu"],
 *      "retry":{"base":"1s","factor":2,"max":"1h"},
 *      "limits":{"memory":"512MiB","cpu":"60s","files":256,"fileSize":"1GiB","processes":64},
 *      "env":{"LANG":"C.UTF-8"}, "envFile":"mail.env", "passEnv":["API_KEY","AWS_*"],
 *      "dependencies":"completed", "mode":"lines", "processes":2}
 *
 * Unknown members are refused by name; a syntax error has line and column.
 */
#ifndef FA_WORKER_TYPE_SETTINGS_H
#define FA_WORKER_TYPE_SETTINGS_H

#include "worker/command/spawn.h"

#include <faina.h>

#define FA_SETTINGS_PROCESSES_MAX 1000

struct fa_settings {
    int64_t timeout_ms; /* 0: none */
    int concurrency;    /* 0: as many as the pool has slots */
    int max_attempts;   /* 0: the task's own; FAINA_UNLIMITED: no limit */
    struct faina_retry_policy retry;
    const char *const *resources;
    size_t resource_count;
    struct fa_limits limits;
    const char *const *env; /* NAME=value */
    size_t env_count;
    const char *env_file;        /* NULL: none */
    const char *const *pass_env; /* NAME or PREFIX* */
    size_t pass_env_count;
    bool is_lines;       /* "mode":"lines": one process for many tasks (command/lines.h) */
    int processes;       /* of that mode; 0: 1 */
    bool takes_bad_ends; /* "dependencies":"ended": it also runs when a dependency ended badly */
};

/* Copies what a process needs to be started (env, env_file, pass_env) into `arena`. */
void fa_settings_own(struct fa_settings *settings, struct fa_arena *arena);
/* The settings for tasks of the type, as a submit; copied into `arena`. */
struct faina_submit fa_settings_submit(struct fa_arena *arena, const struct fa_settings *settings);
/* Whether it can be a variable's name in `env` or `envFile`. */
bool fa_settings_is_env_name(const char *name);
/* Adds names to pass_env; `name` is the flag or member that they are from. */
FA_MUST_CHECK enum faina_code fa_settings_pass(struct fa_settings *settings, struct fa_arena *arena,
                                               const char *const *names, size_t count,
                                               const char *name, struct faina_error *err);
/* Reads the text of the file; the result lives in `arena`. */
FA_MUST_CHECK enum faina_code fa_settings_read(struct fa_bytes text, struct fa_arena *arena,
                                               struct fa_settings *out, struct faina_error *err);

#endif
