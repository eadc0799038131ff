/*
 * match_index.h - selects, of many match expressions, those that may match an event.
 *
 * Most conditions require one value of a field, among others: `mimeType = 'audio/mpeg' AND size >
 * 1000`. These necessary conditions (match_inner.h, `needs`) are kept in one hash table over all
 * expressions. Looking up an event's values finds the expressions that require them; the others are
 * not run. An expression without such a condition is always selected.
 *
 *   I1  An expression that isn't selected doesn't match this data, and running it would not have
 *       been refused. One that is selected may match; it has to be run.
 *
 * Threads: pure functions; an index never changes.
 */
#ifndef FA_MODEL_MATCH_INDEX_H
#define FA_MODEL_MATCH_INDEX_H

#include "model/match.h"

struct fa_match_index;

/* How many words a selection among `count` has. */
#define FA_MATCH_WORDS(count) (((count) + 63) / 64)

/* Indexes `count` expressions, which live as long as the index; NULL matches everything. */
const struct fa_match_index *fa_match_index_make(const struct fa_match *const *matches,
                                                 size_t count, struct fa_arena *arena);

/* Writes a bit for each expression in their order, FA_MATCH_WORDS words in all. */
void fa_match_index_select(const struct fa_match_index *index, const struct fa_match_data *data,
                           uint64_t *out);

#endif
