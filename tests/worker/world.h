/*
 * world.h - shared by the tests of the worker: a runtime on the test's engine, a handlers folder
 * with scripts, and its log.
 */
#ifndef FA_TEST_WORLD_H
#define FA_TEST_WORLD_H

#include "worker/pool/native.h"
#include "worker/runtime.h"
#include "support/ops.h"

#include <pthread.h>

struct world {
    struct fa_t *t;
    char handlers[FA_T_PATH_SIZE + 16];
    struct fa_runtime_config config; /* to change before world_start */
    struct fa_runtime *runtime;
    struct fa_thread_pool *threads;
    pthread_mutex_t mutex;
    struct fa_buf log; /* under the mutex: one line for each */
};

/* A folder, no runtime yet. 8 slots, and SIGKILL is sent 300 ms after SIGTERM. */
void world_open(struct world *w, struct fa_t *t);
void world_start(struct world *w);
void world_stop(struct world *w, int64_t grace_ms); /* may be called again */
void world_close(struct world *w);

/* Writes an executable that /bin/sh runs, or any file of the folder. */
void world_script(struct world *w, const char *type, const char *body);
void world_file(struct world *w, const char *name, const char *text, unsigned mode);
/* A C function as the handler of a type. After world_start. */
void world_native(struct world *w, const char *type, faina_handler_fn *on_start, void *user);
void world_handler(struct world *w, const char *type, const struct faina_handler *handler,
                   void *user);

/* Waits until the task is in this status; returns the task. */
struct faina_task *world_await(struct world *w, const char *id, enum faina_status status);
/* Submits, waits for the status. Attempts: at most `max_attempts`. */
struct faina_task *world_try(struct world *w, const char *type, const char *input, int max_attempts,
                             enum faina_status status);
bool world_has_logged(struct world *w, const char *text);
void world_await_log(struct world *w, const char *text);
/* Waits until the task has an event with this name. */
void world_await_event(struct world *w, const char *id, const char *what);
/* The detail of the newest event with this name. NULL: there is none. */
const char *world_event(struct world *w, const char *id, const char *what);
struct fa_pool_stats world_stats(struct world *w);

#define CHECK_HAS(text, part)                                                                      \
    CHECK((text) && strstr(text, part), "\"%s\" is not in: %s", part, (text) ? (text) : "(null)")

#endif
