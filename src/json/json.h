/*
 * json.h - strict JSON: checking, walking, canonical form, and writing.
 *
 * Accepted is RFC 8259 in UTF-8, without the parts on which stores and clients disagree: duplicate
 * keys, \u0000, lone surrogates and nesting beyond a limit are refused, each with line and column.
 * Numbers and strings are kept as the bytes received; nothing is parsed into doubles.
 *
 * The grammar is yajl's; this module adds the rules that yajl leaves open.
 */
#ifndef FA_JSON_JSON_H
#define FA_JSON_JSON_H

#include "base/bytes.h"
#include "base/error.h"

/* Checks one whole JSON text. On refusal: `code`, and a sentence that starts with `what`
 * ("input: duplicate key \"a\" at line 1, column 9"); err->line, err->column and err->field
 * (= what) are set. */
FA_MUST_CHECK enum faina_code fa_json_check(struct fa_bytes text, size_t depth_max,
                                            const char *what, enum faina_code code,
                                            struct faina_error *err);

enum fa_json_type {
    FA_JSON_NULL,
    FA_JSON_FALSE,
    FA_JSON_TRUE,
    FA_JSON_NUMBER,
    FA_JSON_STRING,
    FA_JSON_ARRAY,
    FA_JSON_OBJECT,
};

/* A value inside a text that fa_json_check accepted: where its bytes are, without the space
 * around. */
struct fa_json {
    enum fa_json_type type;
    struct fa_bytes raw;
};

/* The value of `text`. The text should have passed fa_json_check: in one that has not, the walk
 * gives some values, or none, and stays within the text. An empty text gives a null. */
struct fa_json fa_json_value(struct fa_bytes text);

/* Walks the members of an object (key and value) or the elements of an array (value only):
 *
 *     struct fa_json_iter it = fa_json_iter(object);
 *     while (fa_json_next(&it, &key, &value)) ...
 *
 * `key` is the raw key between its quotes, escapes not resolved; may be NULL. */
struct fa_json_iter {
    const char *at, *end;
    bool is_object;
};
struct fa_json_iter fa_json_iter(struct fa_json container);
bool fa_json_next(struct fa_json_iter *it, struct fa_bytes *key, struct fa_json *value);
/* How many members or elements it has. */
size_t fa_json_count(struct fa_json container);

/* The member `name` of an object; false when it isn't there. Plain ASCII names only. */
bool fa_json_member(struct fa_json object, const char *name, struct fa_json *value);

/* The value of member `name`, in `arena`: a string, any value but null as JSON, a whole number.
 * NULL or 0 when it isn't there or has another type, or this is no object. */
const char *fa_json_member_text(struct fa_json object, const char *name, struct fa_arena *arena);
const char *fa_json_member_raw(struct fa_json object, const char *name, struct fa_arena *arena);
int64_t fa_json_member_int(struct fa_json object, const char *name);

/* The text of a JSON string with escapes resolved, NUL-terminated, in `arena`. */
char *fa_json_text(struct fa_json string, struct fa_arena *arena);
/* Resolves the escapes of raw bytes between quotes (a key of fa_json_next). */
char *fa_json_unescape(struct fa_bytes raw, struct fa_arena *arena);
/* The strings of an array, in `arena`. False when it is something else. */
bool fa_json_texts(struct fa_json value, struct fa_arena *arena, const char *const **out,
                   size_t *out_count);
/* False when the number isn't an integer that fits. "1e3" and "1.0" are not integers. */
bool fa_json_int(struct fa_json number, int64_t *out);
bool fa_json_double(struct fa_json number, double *out);

/*
 * Canonical form (RFC 8785): keys sorted by UTF-16 code units, no spaces, shortest escapes, numbers
 * as ECMAScript prints them; but an integer that fits in 64 bits stays exact, where RFC 8785 would
 * round it to a double. Appends to `out`. The text must have passed fa_json_check.
 */
void fa_json_canonical(struct fa_bytes text, struct fa_buf *out);

/* Whether two texts mean the same value: equal bytes, or valid with equal canonical forms. */
bool fa_json_same(struct fa_bytes a, struct fa_bytes b);

/*
 * Writing. A writer puts the commas and the quotes; `raw` embeds checked JSON as it is. With
 * `indent` > 0 the output is for people: one member a line.
 */
struct fa_json_writer {
    struct fa_buf *out;
    int indent;
    unsigned depth;
    bool needs_comma;
    bool after_key;
};
void fa_json_writer_init(struct fa_json_writer *w, struct fa_buf *out, int indent);
void fa_json_begin_object(struct fa_json_writer *w);
void fa_json_end_object(struct fa_json_writer *w);
void fa_json_begin_array(struct fa_json_writer *w);
void fa_json_end_array(struct fa_json_writer *w);
void fa_json_key(struct fa_json_writer *w, const char *key);
void fa_json_put_str(struct fa_json_writer *w, const char *text); /* NULL writes null */
void fa_json_put_bytes(struct fa_json_writer *w, struct fa_bytes text);
void fa_json_put_strs(struct fa_json_writer *w, const char *const *texts, size_t count);
void fa_json_put_int(struct fa_json_writer *w, int64_t value);
void fa_json_put_double(struct fa_json_writer *w, double value);
void fa_json_put_bool(struct fa_json_writer *w, bool value);
void fa_json_put_null(struct fa_json_writer *w);
void fa_json_put_raw(struct fa_json_writer *w, const char *json); /* NULL writes null */

/* A key and its value at once ... */
void fa_json_set_str(struct fa_json_writer *w, const char *key, const char *text);
void fa_json_set_int(struct fa_json_writer *w, const char *key, int64_t value);
void fa_json_set_double(struct fa_json_writer *w, const char *key, double value);
void fa_json_set_bool(struct fa_json_writer *w, const char *key, bool value);
void fa_json_set_raw(struct fa_json_writer *w, const char *key, const char *json);
void fa_json_set_strs(struct fa_json_writer *w, const char *key, const char *const *texts,
                      size_t count);
/* ... or nothing, when the value is NULL or the array empty. */
void fa_json_opt_str(struct fa_json_writer *w, const char *key, const char *text);
void fa_json_opt_raw(struct fa_json_writer *w, const char *key, const char *json);
void fa_json_opt_strs(struct fa_json_writer *w, const char *key, const char *const *texts,
                      size_t count);

#endif
