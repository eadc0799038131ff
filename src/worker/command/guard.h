/*
 * guard.h - a small process that kills what the handlers have started when the worker has ended.
 *
 * A handler's process is killed when the worker ends (X2), but the processes that it has started
 * would continue, also during the next attempt, which another worker makes when the lease is over.
 * The guard has a list of the handlers' process groups, and of their marks (escaped.h). It reads a
 * pipe from the worker; at the end of file, when the worker is gone, it kills the groups, and the
 * processes that have left them.
 *
 *   U1  It ends when the worker has ended, and not before: it has a session of its own and ignores
 *       all signals but SIGKILL.
 *   U2  Its name and its command line are "faina-guard", so that a search for the worker's command
 *       line doesn't find it.
 *
 * Threads: any.
 */
#ifndef FA_WORKER_COMMAND_GUARD_H
#define FA_WORKER_COMMAND_GUARD_H

#include "worker/command/escaped.h"

struct fa_guard;

/* NULL: it can't be started. The worker continues without it. */
struct fa_guard *fa_guard_create(void);
void fa_guard_destroy(struct fa_guard *guard); /* NULL is fine */
/* Adds the calling process's group. Called by the group's leader before execve: system calls only.
 * NULL is fine. */
void fa_guard_join(struct fa_guard *guard, const struct fa_marks *marks);
/* Removes the group of a child, before the child is reaped. NULL is fine. */
void fa_guard_leave(struct fa_guard *guard, pid_t group);

#endif
