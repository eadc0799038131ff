/*
 * redaction.h - hides values of payloads by their paths.
 *
 * A path is names with dots between, "*" for any one of them: "password", "card.number",
 * "*.secret". It is about every value whose path ends with these names, at any depth, and elements
 * of an array have the path of the array. Names are compared without regard to ASCII case, and as
 * the text that they mean, whatever their escapes.
 *
 * Threads: pure functions.
 */
#ifndef FA_MODEL_REDACTION_H
#define FA_MODEL_REDACTION_H

#include "base/error.h"

#define FA_REDACTED "\"[redacted]\"" /* takes the place of a value */

/* INVALID_REQUEST names the field "redact". */
FA_MUST_CHECK enum faina_code fa_redaction_check(const struct fa_texts *paths,
                                                 struct faina_error *err);
/* The payload without the values at these paths, in the arena; the same pointer: it has none of
 * them. `json` is NULL, or has passed fa_json_check. */
const char *fa_redaction_apply(const struct fa_texts *paths, const char *json,
                               struct fa_arena *arena);

#endif
