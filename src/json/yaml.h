/*
 * yaml.h - converts the part of YAML that JSON can express into JSON.
 *
 * One document of mappings with scalar keys, sequences and scalars. Plain scalars are read by the
 * core schema of YAML 1.2 as far as JSON has it: null, ~ and nothing are null; true and false (also
 * True, TRUE, ...) are booleans; JSON's numbers are numbers, kept as written. `yes`, `on` and dates
 * are text. A scalar that is a number in the core schema and not in JSON (007, +1, .5, 0x1f, .inf)
 * is refused as ambiguous. Quoted and block scalars are text, and so is every key.
 *
 *   Y1  Anchors, aliases, tags, merge keys and duplicate keys are refused. So the result is never
 *       much larger than the source.
 *   Y2  The result passes fa_json_check, and has no line breaks in it.
 *   Y3  A refusal has the line and column in the source.
 *
 * Threads: pure functions.
 */
#ifndef FA_JSON_YAML_H
#define FA_JSON_YAML_H

#include "base/error.h"
#include "base/source_position.h"

/* The source of a key or a value of the JSON. */
struct fa_yaml_mark {
    size_t offset; /* in the JSON */
    size_t index;  /* in the source, in characters */
};

struct fa_yaml {
    struct fa_bytes json;
    struct fa_bytes source;           /* as given: it must outlive this */
    const struct fa_yaml_mark *marks; /* by rising offset */
    size_t mark_count;
};

/* INVALID_REQUEST: the sentence starts with `what`. The result lives in `arena`. The caller limits
 * the size of the source. */
FA_MUST_CHECK enum faina_code fa_yaml_read(struct fa_bytes source, size_t depth_max,
                                           const char *what, struct fa_arena *arena,
                                           struct fa_yaml *out, struct faina_error *err);

/* The position in the source of the key or value with the byte at `offset` of the JSON. */
struct fa_source_position fa_yaml_position(const struct fa_yaml *yaml, size_t offset);

#endif
