/*
 * guard.h - a process that outlives us, and ends what our children have started.
 *
 * A child dies with us, but what it has started itself would go on: beside the next attempt at its
 * task, which somebody else makes once our lease is over. The guard knows the process groups of our
 * children, hears by the end of a pipe that we are gone, and kills them.
 *
 * Threads: one at a time.
 */
#ifndef FA_GUARD_H
#define FA_GUARD_H

#include <stdbool.h>
#include <sys/types.h>

struct fa_guard;

/* NULL: there can't be one now. Work goes on without. */
struct fa_guard *fa_guard_create(void);
void fa_guard_destroy(struct fa_guard *guard); /* NULL is fine */
/* A child has its group from now on, or no longer. NULL is fine. */
void fa_guard_tell(struct fa_guard *guard, pid_t group, bool is_alive);

#endif
