/*
 * pair.h - two nodes on one database, both in this process.
 */
#ifndef FA_TEST_PAIR_H
#define FA_TEST_PAIR_H

#include "support/ops.h"
#include "support/psql.h"

struct fa_pair {
    struct fa_t a; /* owns the schema */
    struct fa_t b;
};

/* For cmocka: *state is the pair. Without PostgreSQL fa_pair_open skips the test. */
int fa_pair_set_up(void **state);
int fa_pair_tear_down(void **state);
void fa_pair_open(struct fa_pair *pair);

#endif
