/*
 * match_index.h - many match expressions on one kind of event: which of them may match at all?
 *
 * Most conditions ask for one value of a field among other things: `mimeType = 'audio/mpeg' AND
 * size > 1000`. What must hold (match_inner.h, `needs`) is kept in one hash table over all
 * expressions, so an event finds those that ask for its values, and the others aren't run. An
 * expression without such a need is always selected.
 *
 *   I1  Who isn't selected doesn't match this data, and running it would not have been refused.
 *       Who is selected may match: only running it tells.
 *
 * Threads: pure functions; an index never changes.
 */
#ifndef FA_MATCH_INDEX_H
#define FA_MATCH_INDEX_H

#include "model/match.h"

struct fa_match_index;

/* How many words a selection among `count` has. */
#define FA_MATCH_WORDS(count) (((count) + 63) / 64)

/* Of `count` expressions, which live as long as the index; NULL matches everything. */
const struct fa_match_index *fa_match_index_make(const struct fa_match *const *matches,
                                                 size_t count, struct fa_arena *arena);

/* Writes a bit for each expression in their order, FA_MATCH_WORDS words in all. */
void fa_match_index_select(const struct fa_match_index *index, const struct fa_match_data *data,
                           uint64_t *out);

#endif
