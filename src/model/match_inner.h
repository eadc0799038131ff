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

#define FA_MATCH_NEEDS_MAX 64 /* more than this aren't kept */
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

/* What a field must be for the expression to have a chance: one whole value, or how a text begins
 * or ends. */
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
    const struct fa_match_need *needs; /* if it holds, one of these does; 0: nothing is known */
    size_t need_count;
    /* Running on n bytes of data takes less than weight * (n + 3) steps. Each step of a path looks
     * at less than n members, values and elements, and so does each thing that is compared. */
    size_t weight;
};

/* The field as running sees it, without a budget: in the data, in `scratch`, or null. */
const struct fa_match_operand *fa_match_find(const struct fa_match_data *data,
                                             const struct fa_path *path,
                                             struct fa_match_operand *scratch);

#endif
