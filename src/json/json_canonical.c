/*
 * json_canonical.c - the canonical form: equal values have equal bytes.
 *
 * Members are written in the order of the input, and the key and position of each are recorded. If
 * the keys of an object were not sorted, its output is rewritten in order at its end; it has the
 * same size, since only the order of its members changes.
 */
#include "json/json_inner.h"

#include <stdlib.h>

#define SAME_DEPTH_MAX 256 /* more than the limit of stored values */

struct member {
    struct fa_bytes key; /* escapes resolved */
    size_t start, len;   /* of "key":value in the output */
};

struct writing {
    struct fa_buf *out;
    struct fa_arena arena;
    struct fa_buf sorted; /* one object's output while it is put in order */
};

static void put_value(struct writing *writing, struct fa_json value);

/* The order of UTF-16 code units. It is the order of bytes, but for characters beyond U+FFFF (F0
 * and up): as surrogates (D800 to DFFF) they come before U+E000 to U+FFFF (EE and EF). */
static int compare_utf16(struct fa_bytes a, struct fa_bytes b)
{
    size_t common = a.len < b.len ? a.len : b.len, i = 0;
    unsigned char left, right;

    while (i < common && a.ptr[i] == b.ptr[i])
        i++;
    if (i == common)
        return (a.len > b.len) - (a.len < b.len);
    left = (unsigned char)a.ptr[i];
    right = (unsigned char)b.ptr[i];
    if (left >= 0xee && right >= 0xee && (left >= 0xf0) != (right >= 0xf0))
        return left >= 0xf0 ? -1 : 1;
    return left < right ? -1 : 1;
}

static int compare_members(const void *a, const void *b)
{
    const struct member *left = a, *right = b;

    return compare_utf16(left->key, right->key);
}

static struct fa_bytes resolve(struct writing *writing, struct fa_bytes raw)
{
    return fa_json_has_escapes(raw) ? fa_str(fa_json_unescape(raw, &writing->arena)) : raw;
}

static void put_number(struct fa_buf *out, struct fa_bytes token)
{
    int64_t integer;
    uint64_t large;
    double real;

    if (fa_json_read_int64(token, &integer) && integer == 0)
        fa_buf_add_char(out, '0'); /* "-0" too */
    else if (fa_json_read_int64(token, &integer) || fa_json_read_uint64(token, &large))
        fa_buf_add(out, token.ptr, token.len);
    else if (fa_json_read_double(token, &real))
        fa_json_add_double(out, real);
    else
        fa_buf_add(out, token.ptr, token.len); /* too large for a double: as it was written */
}

static void put_array(struct writing *writing, struct fa_json array)
{
    struct fa_json_iter it = fa_json_iter(array);
    struct fa_json value;
    bool is_first = true;

    fa_buf_add_char(writing->out, '[');
    while (fa_json_next(&it, NULL, &value)) {
        if (!is_first)
            fa_buf_add_char(writing->out, ',');
        is_first = false;
        put_value(writing, value);
    }
    fa_buf_add_char(writing->out, ']');
}

/* Puts the members, which fill the output from `start` to its end, into the order of their keys. */
static void sort_members(struct writing *writing, struct member *members, size_t count,
                         size_t start)
{
    struct fa_buf *out = writing->out, *sorted = &writing->sorted;

    qsort(members, count, sizeof(*members), compare_members);
    fa_buf_clear(sorted);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            fa_buf_add_char(sorted, ',');
        fa_buf_add(sorted, out->ptr + members[i].start, members[i].len);
    }
    memcpy(out->ptr + start, sorted->ptr, sorted->len);
}

static void put_object(struct writing *writing, struct fa_json object)
{
    struct fa_buf *out = writing->out;
    struct fa_json_iter it = fa_json_iter(object);
    struct fa_json value;
    struct fa_bytes key;
    struct member *members = NULL;
    size_t count = 0, size = 0, start;
    bool is_sorted = true;

    fa_buf_add_char(out, '{');
    start = out->len;
    while (fa_json_next(&it, &key, &value)) {
        struct member member;

        if (count > 0)
            fa_buf_add_char(out, ',');
        member.key = resolve(writing, key);
        member.start = out->len;
        fa_json_add_string(out, member.key);
        fa_buf_add_char(out, ':');
        put_value(writing, value);
        member.len = out->len - member.start;

        if (count > 0 && compare_utf16(members[count - 1].key, member.key) > 0)
            is_sorted = false;
        members = fa_grow(members, count, &size, sizeof(*members));
        members[count++] = member;
    }
    if (!is_sorted && !out->overflow)
        sort_members(writing, members, count, start);
    free(members);
    fa_buf_add_char(out, '}');
}

static void put_value(struct writing *writing, struct fa_json value)
{
    switch (value.type) {
    case FA_JSON_NULL:
    case FA_JSON_FALSE:
    case FA_JSON_TRUE:
        fa_buf_add(writing->out, value.raw.ptr, value.raw.len);
        break;
    case FA_JSON_NUMBER:
        put_number(writing->out, value.raw);
        break;
    case FA_JSON_STRING:
        fa_json_add_string(writing->out, resolve(writing, (struct fa_bytes){value.raw.ptr + 1,
                                                                            value.raw.len - 2}));
        break;
    case FA_JSON_ARRAY:
        put_array(writing, value);
        break;
    case FA_JSON_OBJECT:
        put_object(writing, value);
        break;
    }
}

void fa_json_canonical(struct fa_bytes text, struct fa_buf *out)
{
    struct writing writing = {.out = out};

    fa_buf_init(&writing.sorted, SIZE_MAX - 1);
    put_value(&writing, fa_json_value(text));
    fa_buf_finish(&writing.sorted);
    fa_arena_finish(&writing.arena);
}

bool fa_json_same(struct fa_bytes a, struct fa_bytes b)
{
    struct fa_buf left, right;
    bool is_same;

    if (fa_bytes_equal(a, b))
        return true;
    if (fa_json_check(a, SAME_DEPTH_MAX, "", FAINA_INTERNAL, NULL) != FAINA_OK ||
        fa_json_check(b, SAME_DEPTH_MAX, "", FAINA_INTERNAL, NULL) != FAINA_OK)
        return false;
    fa_buf_init(&left, SIZE_MAX - 1);
    fa_buf_init(&right, SIZE_MAX - 1);
    fa_json_canonical(a, &left);
    fa_json_canonical(b, &right);
    is_same = fa_bytes_equal((struct fa_bytes){left.ptr, left.len},
                             (struct fa_bytes){right.ptr, right.len});
    fa_buf_finish(&left);
    fa_buf_finish(&right);
    return is_same;
}
