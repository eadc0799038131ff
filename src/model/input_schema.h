/*
 * input_schema.h - the JSON Schema of a type: which inputs its tasks may have.
 *
 * A subset of JSON Schema 2020-12, in which an input is checked in one walk:
 *
 *   - type (a name, or an array of names), enum, const
 *   - minimum, maximum, exclusiveMinimum, exclusiveMaximum
 *   - minLength, maxLength (in characters)
 *   - properties, required, additionalProperties (a boolean or a schema), minProperties,
 *     maxProperties
 *   - items (a schema), minItems, maxItems
 *   - $ref to "#" or "#/$defs/NAME", and $defs of the whole schema
 *   - true and false as schemas
 *
 * Keywords that only describe ($schema, $id, $comment, title, description, default, examples,
 * deprecated, readOnly, writeOnly, format) are allowed and change nothing. Every other keyword is
 * refused, because an input that it forbids would be accepted.
 *
 *   S1  A check takes time proportional to the sizes of input and schema: each value of the input
 *       meets one schema, and those that its $ref names; a chain of $ref without a value in between
 *       that leads back to itself is refused.
 *   S2  Numbers are compared exactly if they are integers of 64 bits, else as doubles.
 *   S3  A compiled schema points into the text and the arena that it was compiled with.
 *
 * Threads: pure functions.
 */
#ifndef FA_MODEL_INPUT_SCHEMA_H
#define FA_MODEL_INPUT_SCHEMA_H

#include "json/json.h"

struct fa_input_schema;

/* Compiles a schema. INVALID_REQUEST: it is not one of the subset; the field is its place, such as
 * inputSchema.properties.to.type. The text must have passed fa_json_check. */
FA_MUST_CHECK enum faina_code fa_input_schema_compile(struct fa_bytes text, struct fa_arena *arena,
                                                      const struct fa_input_schema **out,
                                                      struct faina_error *err);

/* INVALID_TASK: the input is not as the schema says; the field is the place of the first mistake,
 * such as input.items[3].to. The input must have passed fa_json_check; NULL is null. */
FA_MUST_CHECK enum faina_code fa_input_schema_check(const struct fa_input_schema *schema,
                                                    const char *input, struct faina_error *err);

#endif
