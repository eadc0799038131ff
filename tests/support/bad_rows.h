/*
 * bad_rows.h - a store with some of everything in it, half of which is going to be damaged.
 *
 * What has a name or type that begins with "v" may be damaged by a test; the same things are there
 * once more with "o", and must go on whatever happens to the first ones.
 */
#ifndef FA_TEST_BAD_ROWS_H
#define FA_TEST_BAD_ROWS_H

#include "support/ops.h"

/* Fills a new store. Afterwards it is closed, and `age` has to run FA_BAD_AGE on it: then all that
 * has a time is due. */
void fa_bad_fill(struct fa_t *t);
extern const char fa_bad_age_sql[];

/* Which rows of a table may be damaged, as an SQL condition; NULL: there is no such table here. */
const char *fa_bad_rows_of(const char *table);

/* Opens the store; what has "o" in its name comes due, is claimed, completed, listed, followed,
 * counted; what has "v" is asked for everything, and may answer anything. Then it is closed. */
void fa_bad_live(struct fa_t *t);

#endif
