/*
 * chore_health.h - whether the chores of an engine succeed.
 *
 * While the store can't be written, or after a failure that belongs to no single item, the chores
 * don't run: delayed tasks don't become ready, leases don't expire. Metrics and health report it.
 *
 * Threads: any.
 */
#ifndef FA_STORE_UPKEEP_CHORE_HEALTH_H
#define FA_STORE_UPKEEP_CHORE_HEALTH_H

#include "base/bytes.h"

struct fa_upkeep;

struct fa_upkeep *fa_upkeep_create(void);
void fa_upkeep_destroy(struct fa_upkeep *upkeep); /* NULL is fine */

void fa_upkeep_succeeded(struct fa_upkeep *upkeep);
/* True: they have failed for longer than FA_UPKEEP_FAILED_MS; returned once. */
bool fa_upkeep_failed(struct fa_upkeep *upkeep, const char *reason);
/* How long they have failed, in milliseconds, and the last reason; 0: they succeed. */
int64_t fa_upkeep_failed_ms(struct fa_upkeep *upkeep, struct fa_arena *arena, const char **reason);

#endif
