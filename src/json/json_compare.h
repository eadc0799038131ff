/*
 * json_compare.h - compares scalars of JSON in place.
 *
 * Nothing is copied or allocated. Escapes are resolved byte by byte, numbers are compared as the
 * decimals that were written.
 *
 *   C1  Texts compare by the bytes of their UTF-8, after escapes: as memcmp, the shorter one first.
 *   C2  Numbers compare by their exact value, whatever their size: 9007199254740993 is not
 *       9007199254740992, and 1.0, 1 and 10e-1 are the same. Exponents beyond
 *       +-FA_JSON_EXPONENT_MAX count as that.
 *
 * Threads: pure functions.
 */
#ifndef FA_JSON_JSON_COMPARE_H
#define FA_JSON_JSON_COMPARE_H

#include "json/json.h"

#define FA_JSON_EXPONENT_MAX INT64_C(1000000000000000)

/* Text either as plain bytes, or as the raw bytes between the quotes of a checked JSON string. */
struct fa_json_chars {
    struct fa_bytes bytes;
    bool has_escapes; /* there are backslashes to resolve */
};

struct fa_json_chars fa_json_chars_plain(struct fa_bytes text);
struct fa_json_chars fa_json_chars_raw(struct fa_bytes raw); /* a key of fa_json_next */

/* <0, 0, >0 (C1). */
int fa_json_chars_compare(struct fa_json_chars a, struct fa_json_chars b);
bool fa_json_chars_equal(struct fa_json_chars a, struct fa_json_chars b);
/* FNV-1a of the text, escapes resolved: equal texts have equal hashes. */
uint32_t fa_json_chars_hash(struct fa_json_chars text);

/* A text to search for. `fail` has an entry for each byte (Knuth-Morris-Pratt, fa_needle_init), so
 * that a search is linear even in text with escapes, which is read once. */
struct fa_needle {
    struct fa_bytes text;
    const uint16_t *fail;
};
#define FA_NEEDLE_SIZE_MAX UINT16_MAX
/* `fail` has room for text.len entries, and lives as long as the needle. */
struct fa_needle fa_needle_init(struct fa_bytes text, uint16_t *fail);

bool fa_json_chars_start_with(struct fa_json_chars text, struct fa_bytes start);
bool fa_json_chars_end_with(struct fa_json_chars text, const struct fa_needle *end);
bool fa_json_chars_contain(struct fa_json_chars text, const struct fa_needle *needle);

/* <0, 0, >0 (C2). Both are tokens of JSON's grammar. */
int fa_json_number_compare(struct fa_bytes a, struct fa_bytes b);
/* Whether the bytes at `text` begin with a number of JSON's grammar; its length, or 0. */
size_t fa_json_number_length(struct fa_bytes text);

#endif
