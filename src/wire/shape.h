/*
 * shape.h - objects of the wire as tables: a row for each member, for writing and for reading.
 *
 *   S1  What fa_shape_put writes, fa_shape_read reads back as the same.
 *   S2  Reading ignores members that the table doesn't have: a newer server may tell more. A member
 *       that is missing or null leaves its place as it was; but FA_SHAPE_OWN is asked about null,
 *       and those that are never unset (KEY, WORD, LIST, ONE) must be there.
 *   S3  What is read lives in the arena.
 *
 * body.h reads what clients ask, strictly; this reads what servers answer.
 */
#ifndef FA_SHAPE_H
#define FA_SHAPE_H

#include "base/json.h"

enum fa_shape_type {
    FA_SHAPE_ID,    /* char[FAINA_ID_SIZE]; "" is null */
    FA_SHAPE_KEY,   /* the same, never unset */
    FA_SHAPE_TEXT,  /* const char *; NULL is null */
    FA_SHAPE_WORD,  /* the same, never unset */
    FA_SHAPE_JSON,  /* const char *: any value; NULL is null */
    FA_SHAPE_BOOL,  /* bool */
    FA_SHAPE_FLAG,  /* bool; written only when true */
    FA_SHAPE_INT,   /* int */
    FA_SHAPE_INT64, /* int64_t */
    FA_SHAPE_SOME,  /* int64_t; written only when not 0 */
    FA_SHAPE_SIZE,  /* size_t */
    FA_SHAPE_TIME,  /* int64_t, microseconds; 0 is null */
    FA_SHAPE_TEXTS, /* const char *const *, and its size_t at `count`; NULL is [] */
    FA_SHAPE_NAMES, /* the same; NULL is null */
    FA_SHAPE_LIST,  /* structs of the shape `inner`, `size` bytes each, and a size_t at `count` */
    FA_SHAPE_ONE,   /* a struct of the shape `inner`, inside the outer one */
    FA_SHAPE_NULLS, /* no member of the struct: the names of those FA_SHAPE_JSON that are the value
                       null and not unset; written only when there are some */
    FA_SHAPE_OWN,   /* whatever `put` and `read` do */
};

struct fa_shape;

struct fa_shape_field {
    const char *name;
    enum fa_shape_type type;
    size_t offset, count;
    const struct fa_shape *inner;
    size_t size;
    void (*put)(struct fa_json_writer *w, const void *place);
    bool (*read)(struct fa_json value, struct fa_arena *arena, void *place); /* false: bad */
};

struct fa_shape {
    const char *what; /* for people: "task" */
    const struct fa_shape_field *fields;
    size_t field_count;
};

void fa_shape_put(struct fa_json_writer *w, const struct fa_shape *shape, const void *from);
/* The members only, inside an object that the caller has begun. */
void fa_shape_put_members(struct fa_json_writer *w, const struct fa_shape *shape, const void *from);

/* `object` is from a text that fa_json_check accepted. INTERNAL: it has another shape; the sentence
 * says where. */
FA_MUST_CHECK enum faina_code fa_shape_read(struct fa_json object, const struct fa_shape *shape,
                                            struct fa_arena *arena, void *out,
                                            struct faina_error *err);
/* An array of such objects, in the arena. */
FA_MUST_CHECK enum faina_code fa_shape_read_list(struct fa_json array, const struct fa_shape *shape,
                                                 size_t size, struct fa_arena *arena, void **items,
                                                 size_t *count, struct faina_error *err);

/* Rows of tables. */
#define FA_SHAPE_ROW(name, type, structure, member)                                                \
    {                                                                                              \
        name, type, offsetof(structure, member), 0, NULL, 0, NULL, NULL                            \
    }
#define FA_SHAPE_MANY(name, type, structure, member, counter)                                      \
    {                                                                                              \
        name, type, offsetof(structure, member), offsetof(structure, counter), NULL, 0, NULL, NULL \
    }
#define FA_SHAPE_LIST_OF(name, inner, structure, member, counter)                                  \
    {                                                                                              \
        name, FA_SHAPE_LIST, offsetof(structure, member), offsetof(structure, counter), &(inner),  \
            sizeof(*((structure *)NULL)->member), NULL, NULL                                       \
    }
#define FA_SHAPE_ONE_OF(name, inner, structure, member)                                            \
    {                                                                                              \
        name, FA_SHAPE_ONE, offsetof(structure, member), 0, &(inner), 0, NULL, NULL                \
    }
#define FA_SHAPE_OF_ITS_OWN(name, structure, member, put, read)                                    \
    {                                                                                              \
        name, FA_SHAPE_OWN, offsetof(structure, member), 0, NULL, 0, put, read                     \
    }
#define FA_SHAPE(what, fields)                                                                     \
    {                                                                                              \
        what, fields, FA_COUNT(fields)                                                             \
    }

#endif
