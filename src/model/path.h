/*
 * path.h - paths into JSON: `a.b[0].c`, `a['odd name']`.
 *
 * A path consists of names joined by dots, indexes in brackets from 0, and names in brackets and
 * quotes (a quote doubled inside) for those that aren't plain. A plain name begins with a letter,
 * `_`, `$`, `@` or a character outside ASCII, and continues with these, digits and `-`.
 *
 *   P1  Reading and finding never read outside the text.
 *   P2  Finding allocates nothing. A name that isn't there, an index beyond the end, a name of an
 *       array or an index of an object all mean: missing.
 *
 * Threads: pure functions; a path that was read never changes.
 */
#ifndef FA_MODEL_PATH_H
#define FA_MODEL_PATH_H

#include "json/json.h"

struct fa_path_step {
    struct fa_bytes name; /* of a member, unless it is an index */
    bool is_index;
    size_t index;
};

struct fa_path {
    const struct fa_path_step *steps;
    size_t count;
};

/* Where reading stopped, and why. */
struct fa_path_mistake {
    size_t offset;
    const char *expected; /* "a name after the dot" */
};

/* Reads quoted text whose opening quote is at text[*offset], a quote doubled inside, and moves
 * *offset behind the closing one. False: there is none. The result lives in `text` or `arena`. */
FA_MUST_CHECK bool fa_quoted_read(struct fa_bytes text, size_t *offset, struct fa_arena *arena,
                                  struct fa_bytes *out);

/* Whether a path may begin with this byte. */
bool fa_path_is_start(char c);

/* Reads the path that begins at text[*offset] and moves *offset to the first byte after it. Steps
 * live in `arena`; names there or in `text`. */
FA_MUST_CHECK bool fa_path_read(struct fa_bytes text, size_t *offset, struct fa_arena *arena,
                                struct fa_path *out, struct fa_path_mistake *mistake);
/* Reads what may follow a value: `.b[0]`. Nothing is fine: then the path has no steps. */
FA_MUST_CHECK bool fa_path_read_rest(struct fa_bytes text, size_t *offset, struct fa_arena *arena,
                                     struct fa_path *out, struct fa_path_mistake *mistake);

/* The budget of a search: one step for each member or element, and one for each
 * FA_PATH_BYTES_PER_STEP bytes of it. NULL: no limit. */
#define FA_PATH_BYTES_PER_STEP 64

/* The value at `path`, or false when it is missing or the budget is used up (then it is 0). */
bool fa_path_find(const struct fa_path *path, struct fa_json root, int64_t *budget,
                  struct fa_json *out);
/* One step of it. */
bool fa_path_step_find(const struct fa_path_step *step, struct fa_json container, int64_t *budget,
                       struct fa_json *out);

#endif
