/*
 * schema.h - descriptions of shapes (model/field.h): JSON Schema for programs, Markdown for people.
 */
#ifndef FA_WIRE_SCHEMA_H
#define FA_WIRE_SCHEMA_H

#include "model/field.h"

/* The shapes with a name that a document uses, each once. */
struct fa_schemas {
    const struct fa_shape *items[128];
    size_t count;
};
/* Adds a shape and those that it refers to. NULL adds nothing. */
void fa_schemas_add(struct fa_schemas *schemas, const struct fa_shape *shape);

/* {"$ref": ...}, or the schema itself when the shape has no name. */
void fa_schema_put_reference(struct fa_json_writer *w, const struct fa_shape *shape);
void fa_schema_put(struct fa_json_writer *w, const struct fa_shape *shape);

/* How many members an object has. */
size_t fa_schema_member_count(const struct fa_shape *shape);
/* The names of the members: `id`, `namespace`. */
void fa_schema_add_names(struct fa_buf *out, const struct fa_shape *shape);
/* {items: [Task], nextCursor: string or null} */
void fa_schema_add_outline(struct fa_buf *out, const struct fa_shape *shape);
/* A table: member, type, meaning. */
void fa_schema_add_table(struct fa_buf *out, const struct fa_shape *shape);

#endif
