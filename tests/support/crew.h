/*
 * crew.h - threads that start together.
 *
 * fa_t_together runs one function on `count` threads. All of them wait at a barrier until the
 * last one has reached it, so that they continue as nearly at once as the machine allows.
 */
#ifndef FA_TEST_CREW_H
#define FA_TEST_CREW_H

#include "support/support.h"

/* `mine` is the thread's own context on the same engine; `index` counts from 0. */
typedef void fa_t_part(struct fa_t *mine, size_t index, void *arg);

/* Returns after all threads ended. */
void fa_t_together(struct fa_t *t, size_t count, fa_t_part *part, void *arg);

/* A few different parts, one thread each: parts[i] runs with index i. */
void fa_t_against(struct fa_t *t, fa_t_part *const *parts, size_t count, void *arg);

/* Threads that run beside the test until fa_t_crew_join. No barrier. */
struct fa_t_crew;
struct fa_t_crew *fa_t_crew_start(struct fa_t *t, size_t count, fa_t_part *part, void *arg);
void fa_t_crew_join(struct fa_t_crew *crew);
/* Waits until every thread of the crew sleeps: then each is inside its blocking call. */
void fa_t_crew_wait_asleep(struct fa_t_crew *crew, struct fa_t *t);

#endif
