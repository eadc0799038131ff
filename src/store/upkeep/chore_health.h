/*
 * upkeep.h - whether the chores of an engine succeed.
 *
 * A store that can't be written, or a failure that no item can be blamed for, keeps the chores from
 * running: no delay comes due, no lease ends. That must be visible.
 *
 * Threads: any.
 */
#ifndef FA_UPKEEP_H
#define FA_UPKEEP_H

#include "base/bytes.h"

struct fa_upkeep;

struct fa_upkeep *fa_upkeep_create(void);
void fa_upkeep_destroy(struct fa_upkeep *upkeep); /* NULL is fine */

void fa_upkeep_succeeded(struct fa_upkeep *upkeep);
/* True: they have failed for longer than FA_UPKEEP_FAILED_MS, which was not known before. */
bool fa_upkeep_failed(struct fa_upkeep *upkeep, const char *reason);
/* For how long they have failed, in milliseconds, and why the last time; 0: they succeed. */
int64_t fa_upkeep_failed_ms(struct fa_upkeep *upkeep, struct fa_arena *arena, const char **reason);

#endif
