/*
 * nearest.h - which name did they mean? For messages about unknown words.
 */
#ifndef FA_NEAREST_H
#define FA_NEAREST_H

#define FA_NEAREST_SIZE_MAX 40 /* longer words are no misspelling of ours */

/* The name in `names` (NULL-terminated) nearest to `word`, or NULL when none is near. */
const char *fa_nearest(const char *word, const char *const *names);

#endif
