/*
 * match_inner.h - the compiled form of an expression, shared by compiling and running.
 *
 * The program is an array of clauses in the order of the source. Each has two successors, for when
 * it holds and when it doesn't. AND, OR and NOT are expressed by these two numbers alone, which
 * always point forward (X1).
 */
#ifndef FA_MODEL_MATCH_INNER_H
#define FA_MODEL_MATCH_INNER_H

#include "model/match.h"

#define FA_MATCH_NEEDS_MAX 64 /* an expression with more has none */
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
    struct fa_match_operand operand; /* of a literal: text without its quotes */
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

/* A necessary condition on a field: its value, or the beginning or end of its text. */
enum fa_match_part { FA_MATCH_WHOLE, FA_MATCH_START, FA_MATCH_END };
struct fa_match_need {
    const struct fa_path *path;
    enum fa_match_part part;
    bool is_number; /* an integer, with FA_MATCH_WHOLE */
    int64_t number;
    struct fa_bytes text; /* else */
};

struct fa_match {
    struct fa_bytes source;
    struct fa_match_clause *clauses;
    size_t count;
    const struct fa_match_need *needs; /* if it matches, one of these holds; 0: none are known */
    size_t need_count;
    /* Running on n bytes of data takes less than weight * (n + 3) steps. Each step of a path, and
     * each comparison, reads less than n members, values and elements. */
    size_t weight;
};

/* The field's value, without a budget: in the data, in `scratch`, or null. */
const struct fa_match_operand *fa_match_find(const struct fa_match_data *data,
                                             const struct fa_path *path,
                                             struct fa_match_operand *scratch);

#endif
