/*
 * field.h - JSON objects of the interface, each described once by a table of its members.
 *
 * From one table come the reader and the writer (wire/shape.h, wire/body.h), the schema in
 * /openapi.json and the lists of docs/api.md (wire/schema.h) and, for a submit, the check of a
 * workflow's tasks (workflow_task.c).
 *
 * A shape is a request or an answer:
 *
 *   F1  A request has a member only when it is set. Null means unset.
 *   F2  An answer has every member, null where it is unset, but those with FA_FIELD_OMIT only when
 *       they are set.
 */
#ifndef FA_MODEL_FIELD_H
#define FA_MODEL_FIELD_H

#include "json/json.h"

#include <faina.h>

enum fa_field_type {
    FA_FIELD_TEXT,     /* const char * */
    FA_FIELD_ID,       /* char[FAINA_ID_SIZE]; "" is unset */
    FA_FIELD_JSON,     /* const char *: any JSON value, as the bytes that were read */
    FA_FIELD_BOOL,     /* bool */
    FA_FIELD_INT,      /* int */
    FA_FIELD_INT64,    /* int64_t */
    FA_FIELD_SIZE,     /* size_t */
    FA_FIELD_DOUBLE,   /* double; in a request 0, or at least `min` */
    FA_FIELD_LIMIT,    /* int64_t; -1 is null: no limit */
    FA_FIELD_ATTEMPTS, /* int; FAINA_UNLIMITED is 0 in JSON, and 0 is unset */
    FA_FIELD_RETRIES,  /* the same number less one; read and never written */
    FA_FIELD_DURATION, /* int64_t, milliseconds: "90s" or a number of seconds */
    FA_FIELD_TIME,     /* int64_t, microseconds */
    FA_FIELD_WHEN,     /* of a request: a DURATION from now, which is never 0 when it is given, or a
                          TIME, whose int64_t is at `count` */
    FA_FIELD_SWITCH,   /* bool; true is the word `word(0)` */
    FA_FIELD_ENUM,     /* an enum; its words are `word` */
    FA_FIELD_TEXTS,    /* const char *const *, and a size_t at `count`; NULL is unset */
    FA_FIELD_LIST,  /* structs of the shape `inner`, `size` bytes each, and a size_t at `count` */
    FA_FIELD_ONE,   /* a struct of the shape `inner`, inside the outer one */
    FA_FIELD_NULLS, /* no member of the struct: names those FA_FIELD_JSON of the object whose
                          value is null, because a null alone means unset */
    FA_FIELD_OWN,   /* what `put` and `read` do */
};

enum fa_field_flag {
    FA_FIELD_REQUIRED = 1 << 0,   /* never unset. In a request only the schema shows it: the service
                                    refuses what is missing (service.h, O4) */
    FA_FIELD_OMIT = 1 << 1,       /* of an answer: written only when it is set */
    FA_FIELD_HAS = 1 << 2,        /* `count` is the place of a bool: whether it is given */
    FA_FIELD_UUID = 1 << 3,       /* the text, or each of the texts, is an id */
    FA_FIELD_OBJECT = 1 << 4,     /* the JSON is an object */
    FA_FIELD_ALIAS = 1 << 5,      /* of the row before: another name, which is never written */
    FA_FIELD_NAMESPACE = 1 << 6,  /* the text is a namespace */
    FA_FIELD_DIRECT = 1 << 7,     /* of a submit: the task of a workflow can't have it */
    FA_FIELD_AMEND = 1 << 8,      /* of a submit: can be amended while the task is held */
    FA_FIELD_ARRAY = 1 << 9,      /* the JSON is an array: of `inner`, or else of texts */
    FA_FIELD_EXTRA = 1 << 10,     /* described only: another function writes it */
    FA_FIELD_TEAM = 1 << 11,      /* the text is the id of a team: a UUID of any version */
    FA_FIELD_SOME_TIME = 1 << 13, /* the duration is 1 ms at least: 0 would mean the default */
    FA_FIELD_KEY_SCOPE = 1 << 12, /* the text says how long a key is kept (task_rules.h) */
};

struct fa_shape;

struct fa_field {
    const char *name;
    enum fa_field_type type;
    unsigned flags;
    size_t offset, count;
    /* The range of a number. `max` is also the size of a text and of JSON, or the number of items
     * of a list. 0 and 0: any that fits. */
    int64_t min, max;
    const struct fa_shape *inner;
    size_t size; /* of a struct in a list, or the most bytes of each of the texts */
    /* The words of an enum, by their values; NULL after the last. Of TEXT and TEXTS only the schema
     * shows them. */
    const char *(*word)(int value);
    void (*put)(struct fa_json_writer *w, const void *from);
    /* Reads an OWN, or a member of a request whatever its type. Gets the whole struct in `out`. */
    enum faina_code (*read)(const struct fa_field *field, struct fa_json value,
                            struct fa_arena *arena, void *out, struct faina_error *err);
    const char *excludes; /* the member that can't be given together with this one */
    const char *schema;   /* JSON Schema, where `type` isn't enough */
    const char *doc;      /* what it means; a sentence without its full stop */
};

struct fa_shape {
    const char *name;              /* in /openapi.json; NULL: described in place */
    const char *what;              /* in errors: "task" */
    const struct fa_field *fields; /* the last one has no name; NULL: none */
    bool is_request;
    enum faina_code refusal;       /* of a bad member of a request; 0: FAINA_INVALID_REQUEST */
    unsigned only;                 /* only the fields with this flag; 0: all */
    const char *example;           /* of a request, for errors */
    const struct fa_shape *stored; /* of a request: what is stored has these members too, which the
                                      engine sets */

    /* The rest is for the description only. */
    const struct fa_shape *base;        /* its members come first */
    const struct fa_shape *alternative; /* the value is of this shape, or of that one */
    const char *schema;                 /* JSON Schema, instead of the members */
    const char *doc;
};

/* The members of a shape. */
#define FA_FIELDS(...)                                                                             \
    (const struct fa_field[])                                                                      \
    {                                                                                              \
        __VA_ARGS__,                                                                               \
        {                                                                                          \
            .name = NULL                                                                           \
        }                                                                                          \
    }

/* Whether the row is read and written with this shape. */
static inline bool fa_shape_has(const struct fa_shape *shape, const struct fa_field *field)
{
    return (shape->only == 0 || (field->flags & shape->only)) && !(field->flags & FA_FIELD_EXTRA);
}

#endif
