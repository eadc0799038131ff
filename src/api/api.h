/*
 * api.h - struct faina, the handle of an open engine in the C API.
 *
 * A layer above the service keeps its data of the engine in `attachment`, which is freed with the
 * engine.
 */
#ifndef FA_API_API_H
#define FA_API_API_H

#include "service/service.h"

#include <pthread.h>
#include <semaphore.h>

struct fa_attachment {
    /* Called before the service is closed: ends every use of it, and returns afterwards. */
    void (*stop)(struct fa_attachment *attachment);
    void (*free)(struct fa_attachment *attachment);
};

struct faina {
    struct fa_service *service;
    unsigned forks; /* of the process when it was opened: see fa_api_check */
    _Atomic(struct fa_attachment *) attachment; /* api/run_api.c: the handlers; NULL: none */
    /* faina_shutdown or faina_close has begun: faina_run ends, and can't begin. */
    atomic_bool is_ending;
    atomic_bool is_shut;        /* calls are refused */
    pthread_mutex_t shut_mutex; /* one thread at a time shuts the engine down */
    /* How often faina_stop was called, and the semaphore that wakes faina_run to check it. They are
     * here because faina_stop may come before the attachment, and a signal handler can't create
     * one. */
    atomic_int stops;
    sem_t wake;
};

/* Whether the engine may be called: it is open, and it was this process that opened it. */
FA_MUST_CHECK enum faina_code fa_api_check(const struct faina *engine, struct faina_error *err);

#endif
