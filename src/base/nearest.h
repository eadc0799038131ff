/*
 * nearest.h - the name that a misspelled word may mean, for messages about unknown words.
 */
#ifndef FA_BASE_NEAREST_H
#define FA_BASE_NEAREST_H

#define FA_NEAREST_SIZE_MAX 40 /* longer words are not compared */

/* The name in `names` (NULL-terminated) nearest to `word`, or NULL when none is near. */
const char *fa_nearest(const char *word, const char *const *names);

#endif
