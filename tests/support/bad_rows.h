/*
 * bad_rows.h - a store with rows of every kind, half of which a test damages.
 *
 * Rows whose name or type begins with "v" may be damaged by a test. The same rows exist again with
 * "o", and must keep working.
 */
#ifndef FA_TEST_BAD_ROWS_H
#define FA_TEST_BAD_ROWS_H

#include "support/ops.h"

/* Fills a new store. Afterwards the test closes it and runs fa_bad_age_sql on it: then everything
 * that has a time is due. */
void fa_bad_fill(struct fa_t *t);
extern const char fa_bad_age_sql[];

/* Which rows of a table may be damaged, as an SQL condition; NULL: there is no such table here. */
const char *fa_bad_rows_of(const char *table);

/* Opens the store. Rows with "o" come due, are claimed, completed, listed, followed and counted.
 * Every operation is run on the rows with "v", with any result. Then the store is closed. */
void fa_bad_live(struct fa_t *t);

#endif
