/*
 * match_inner.h - the compiled form of an expression, shared by compiling and running.
 *
 * The program is an array of clauses in the order of the source. Each names the clause to go on
 * with when it holds and when it doesn't: AND, OR and NOT are nothing but these two numbers, which
 * always lead forward (X1).
 */
#ifndef FA_MATCH_INNER_H
#define FA_MATCH_INNER_H

#include "model/match.h"
#include "model/path.h"

#define FA_MATCH_YES UINT16_MAX
#define FA_MATCH_NO (UINT16_MAX - 1)

enum fa_match_op {
    FA_MATCH_EQ,
    FA_MATCH_NE,
    FA_MATCH_LT,
    FA_MATCH_LE,
    FA_MATCH_GT,
    FA_MATCH_GE,
    FA_MATCH_STARTS,
    FA_MATCH_ENDS,
    FA_MATCH_CONTAINS,
    FA_MATCH_IN,
};

/* A field, or a literal. */
struct fa_match_value {
    bool is_field;
    struct fa_path path;             /* of a field */
    struct fa_match_operand operand; /* of a literal: a text is without its quotes */
    struct fa_needle needle;         /* of a text to search for */
};

struct fa_match_clause {
    enum fa_match_op op;
    uint16_t if_true, if_false; /* the next clause, YES or NO */
    uint32_t from, to;          /* in the source */
    struct fa_match_value left;
    const struct fa_match_value *right; /* one, or the list of `in` */
    size_t right_count;
};

struct fa_match {
    struct fa_bytes source;
    struct fa_match_clause *clauses;
    size_t count;
};

#endif
