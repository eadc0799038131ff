/*
 * shape.h - objects of the wire, written and read by their tables (model/field.h).
 *
 *   S1  What fa_shape_put writes, fa_shape_read reads back as the same.
 *   S2  Reading ignores members that the table doesn't have: a newer server may send more. A member
 *       that is missing or null leaves its place in the struct unchanged, but the member that is a
 *       FA_FIELD_LIMIT; ids and texts with FA_FIELD_REQUIRED, LIST and ONE must be there.
 *   S3  What is read lives in the arena.
 *
 * body.h reads requests, strictly; this reads answers.
 */
#ifndef FA_WIRE_SHAPE_H
#define FA_WIRE_SHAPE_H

#include "model/field.h"

void fa_shape_put(struct fa_json_writer *w, const struct fa_shape *shape, const void *from);
/* The members only, inside an object that the caller has begun. */
void fa_shape_put_members(struct fa_json_writer *w, const struct fa_shape *shape, const void *from);

/* The row of a member, by its key as in the JSON; NULL: there is none. Rows are searched from
 * `*next` on, which is then the row behind: objects are mostly in the order of their table. */
const struct fa_field *fa_shape_find(const struct fa_shape *shape, struct fa_bytes key,
                                     size_t *next);

/* `object` is from a text that fa_json_check accepted. INTERNAL: it has another shape; the sentence
 * names the member. */
FA_MUST_CHECK enum faina_code fa_shape_read(struct fa_json object, const struct fa_shape *shape,
                                            struct fa_arena *arena, void *out,
                                            struct faina_error *err);
/* An array of such objects, in the arena. */
FA_MUST_CHECK enum faina_code fa_shape_read_list(struct fa_json array, const struct fa_shape *shape,
                                                 size_t size, struct fa_arena *arena, void **items,
                                                 size_t *count, struct faina_error *err);

/* The items of an answer that is a list. They are the first row of its table. */
struct fa_shape_items {
    const struct fa_shape *shape; /* of an item */
    const char *at;               /* the first item */
    size_t size, count;
};
struct fa_shape_items fa_shape_items(const struct fa_shape *list, const void *from);

void fa_wire_put_time(struct fa_json_writer *w, int64_t us); /* 0 writes null */
/* In the largest unit that is exact, so that it reads back as the same. */
void fa_wire_put_duration(struct fa_json_writer *w, int64_t ms);

/* Rows of tables. */
#define FA_ROW(json_name, kind, structure, member, ...)                                            \
    {                                                                                              \
        .name = (json_name), .type = FA_FIELD_##kind, .offset = offsetof(structure, member),       \
        __VA_ARGS__                                                                                \
    }
#define FA_ROW_TEXTS(json_name, structure, member, counter, ...)                                   \
    FA_ROW(json_name, TEXTS, structure, member, .count = offsetof(structure, counter), __VA_ARGS__)
#define FA_ROW_LIST(json_name, shape, structure, member, counter, ...)                             \
    FA_ROW(json_name, LIST, structure, member, .count = offsetof(structure, counter),              \
           .inner = &(shape), .size = sizeof(*((structure *)NULL)->member), __VA_ARGS__)
#define FA_ROW_ONE(json_name, shape, structure, member, ...)                                       \
    FA_ROW(json_name, ONE, structure, member, .inner = &(shape), __VA_ARGS__)

#endif
