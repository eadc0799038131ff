/*
 * retention_thread.h - retention: tasks past their retention time are archived and then removed.
 *
 * A thread that runs a round at intervals. On PostgreSQL only the leading node removes tasks; the
 * threads of the other nodes wait. `faina serve` and `faina worker` start it when a retention time
 * is set.
 *
 *   K1  A task is removed only after a line with all its fields is on disk (archive.h, A1). After a
 *       crash in between, the line is written again: a task may be in the archive twice, but is
 *       never missing from both.
 *   K2  A task that can't be archived is not removed. The reason is logged once, until a round
 *       succeeds.
 *   K3  A transaction removes at most 200 tasks, followed by a pause as long as it took.
 */
#ifndef FA_WORKER_RETENTION_THREAD_H
#define FA_WORKER_RETENTION_THREAD_H

#include "worker/reporter.h"
#include "service/service.h"

struct fa_retention_thread;

/* Lent for the call. */
struct fa_retention_settings {
    int64_t completed_ms; /* of a completed task, from its end; negative: for ever */
    int64_t failed_ms;    /* of a task that ended otherwise */
    int64_t events_ms;    /* of the events of an ended task that is not removed */
    const char *archive;  /* folder; NULL: tasks are not archived */
    struct fa_reporter log;
};

/* NOT_SUPPORTED: the engine is remote. UNAVAILABLE: the thread can't start. */
FA_MUST_CHECK enum faina_code fa_retention_start(struct fa_retention_thread **out,
                                                 struct fa_service *service,
                                                 const struct fa_retention_settings *keep,
                                                 struct faina_error *err);
/* Finishes the batch under way. Before the engine is closed. NULL is fine. */
void fa_retention_stop(struct fa_retention_thread *retention);

/* One round, in the caller's thread. *removed counts tasks. CONFLICT: another node leads. */
FA_MUST_CHECK enum faina_code fa_retention_round(struct fa_service *service,
                                                 const struct fa_retention_settings *keep,
                                                 size_t *removed, struct faina_error *err);

#endif
