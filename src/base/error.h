/*
 * error.h - filling in a struct faina_error.
 *
 * The one who knows most writes the sentence; those above pass it on. Every function takes NULL
 * for `err` and returns `code`, so that a refusal is one line:
 *
 *     return fa_error_set(err, FAINA_INVALID_TASK, "type is missing");
 */
#ifndef FA_ERROR_H
#define FA_ERROR_H

#include "base/bytes.h"

#include <faina.h>

enum faina_code fa_error_set(struct faina_error *err, enum faina_code code, const char *format, ...)
    FA_PRINTF(3, 4);
/* The same, naming the field of the request. */
enum faina_code fa_error_field(struct faina_error *err, enum faina_code code, const char *field,
                               const char *format, ...) FA_PRINTF(4, 5);
void fa_error_clear(struct faina_error *err);

#endif
