/*
 * match.h - match expressions: conditions on the data of an event.
 *
 *     mimeType startsWith 'image/' AND NOT (size > 1048576 OR meta.tags[0] in ('raw', 'draft'))
 *
 *     expression  = conjunction { OR conjunction }
 *     conjunction = factor { AND factor }
 *     factor      = NOT factor | "(" expression ")" | clause
 *     clause      = value ( = | != | < | <= | > | >= ) value
 *                 | path ( startsWith | endsWith | contains ) 'text'
 *                 | path in "(" literal { "," literal } ")"
 *     value       = path | literal
 *     literal     = 'text' (a quote doubled inside) | a JSON number | true | false | null
 *
 * Words are case-insensitive, fields are not. Paths are those of path.h; a field with the name of a
 * word of the language is written ['in']. `#` begins a comment that ends with its line.
 *
 * Semantics:
 *   - A missing field is null. With null every clause is false, except `= null` and `!= null` with
 *     the word null, which test whether there is a value.
 *   - Text compares by its bytes after escapes, numbers exactly (json_compare.h).
 *   - Values of different types are not equal: = is false, != is true, and < <= > >= are false, as
 *     they are for true and false. An array or an object equals nothing.
 *   - `in` is = with one of the list. `contains` searches for the text inside a text, or for an
 *     element of an array that equals it.
 *
 *   X1  A compiled expression never changes. Running it allocates nothing, and evaluates each
 *       clause at most once.
 *   X2  Running evaluates only the clauses that it needs, from left to right (short circuit). The
 *       last one that was evaluated decides.
 *   X3  Running ends: it takes at most FA_MATCH_STEPS_MAX steps, or refuses.
 *   X4  A refusal of the source names the line, the column and what was expected there.
 *
 * Threads: pure functions; a compiled expression may be run by many threads at once.
 */
#ifndef FA_MODEL_MATCH_H
#define FA_MODEL_MATCH_H

#include "json/json_compare.h"
#include "model/path.h"

struct fa_match;

/* Compiles `source` into `arena`; keeps no pointer to `source`. INVALID_REQUEST: err has line,
 * column and the field "match". */
FA_MUST_CHECK enum faina_code fa_match_compile(struct fa_bytes source, struct fa_arena *arena,
                                               const struct fa_match **out,
                                               struct faina_error *err);

struct fa_bytes fa_match_source(const struct fa_match *match);

/*
 * Data to match against: its first members are indexed, since many expressions are run against one
 * event.
 */
#define FA_MATCH_INDEX_SIZE 64
struct fa_match_operand {
    struct fa_json value;
    struct fa_json_chars text; /* of a text, or the token of a number */
    bool is_null_word;         /* the literal null, not a field without a value */
};
struct fa_match_member {
    struct fa_json_chars key;
    struct fa_match_operand operand;
};
struct fa_match_data {
    struct fa_json root;
    bool has_escapes; /* there is a backslash in the data */
    size_t count;
    struct fa_match_member members[FA_MATCH_INDEX_SIZE];
    struct fa_json_iter rest; /* the members that are not indexed */
};
/* `json` has passed fa_json_check, and outlives `data`. */
void fa_match_data_init(struct fa_match_data *data, struct fa_bytes json);

/* The value at `path`, or false when it is missing. Its steps are subtracted from the budget. Also
 * false when the budget is used up: then it is 0 or less. */
FA_MUST_CHECK bool fa_match_data_find(const struct fa_match_data *data, const struct fa_path *path,
                                      int64_t *budget, struct fa_json *out);

/* The result, and the clause that decided (X2): source bytes `from` to `to`. */
struct fa_match_verdict {
    bool is_match;
    bool clause_holds; /* without the NOTs around it */
    size_t from, to;
    int64_t steps;
};

/* PAYLOAD_TOO_LARGE: it would take more steps than allowed (X3). */
FA_MUST_CHECK enum faina_code fa_match_run(const struct fa_match *match,
                                           const struct fa_match_data *data,
                                           struct fa_match_verdict *out, struct faina_error *err);

#endif
