/*
 * guard.h - a process that outlives us, and ends what our children have started.
 *
 * A child dies with us, but what it has started itself would go on: beside the next attempt at its
 * task, which somebody else makes once our lease is over. The guard knows the process groups of our
 * children, hears by the end of a pipe that we are gone, and kills them.
 *
 *   U1  It ends when we have ended, and not before: it has a session of its own and is deaf to all
 *       signals but SIGKILL.
 *   U2  Its name and its command line are "faina-guard", so that nobody takes it for us.
 *
 * Threads: any.
 */
#ifndef FA_GUARD_H
#define FA_GUARD_H

#include <sys/types.h>

struct fa_guard;

/* NULL: there can't be one now. Work goes on without. */
struct fa_guard *fa_guard_create(void);
void fa_guard_destroy(struct fa_guard *guard); /* NULL is fine */
/* In a child that leads its group, before it executes anything: system calls only. NULL is fine. */
void fa_guard_join(struct fa_guard *guard);
/* The group of a child is no more; before the child is reaped. NULL is fine. */
void fa_guard_leave(struct fa_guard *guard, pid_t group);

#endif
