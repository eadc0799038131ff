/*
 * keeper.h - retention: tasks that ended long ago go to the archive, and then from the store.
 *
 * One thread that looks now and then, beside the engine that leads: on PostgreSQL that is one of
 * the nodes, and the others' keepers wait. `faina serve` and `faina worker` start it when they are
 * told how long to keep things.
 *
 *   K1  A task is removed only after a line with all of it is on disk (archive.h, A1). Killed in
 *       between, the line is written a second time later: a task may be in the archive twice, but
 *       is never missing from both.
 *   K2  What can't be archived stays. The reason is told once, until it works again.
 *   K3  It removes a few hundred tasks in one transaction, and rests as long as that took.
 */
#ifndef FA_KEEPER_H
#define FA_KEEPER_H

#include "runtime/tell.h"
#include "service/service.h"

struct fa_keeper;

/* Lent for the call. */
struct fa_keep {
    int64_t completed_ms; /* how long a task stays after it has completed; negative: for ever */
    int64_t failed_ms;    /* ... after it ended otherwise */
    int64_t events_ms;    /* how long the events of an ended task stay when it stays itself */
    const char *archive;  /* folder; NULL: nothing is archived */
    struct fa_teller log;
};

/* NOT_SUPPORTED: the engine is elsewhere. UNAVAILABLE: no thread. */
FA_MUST_CHECK enum faina_code fa_keeper_start(struct fa_keeper **out, struct fa_service *service,
                                              const struct fa_keep *keep, struct faina_error *err);
/* What is under way is finished. NULL is fine. Before the engine is closed. */
void fa_keeper_stop(struct fa_keeper *keeper);

/* One round, in the caller's thread. *removed counts tasks. CONFLICT: another node leads. */
FA_MUST_CHECK enum faina_code fa_keeper_round(struct fa_service *service,
                                              const struct fa_keep *keep, size_t *removed,
                                              struct faina_error *err);

#endif
