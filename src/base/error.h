/*
 * error.h - filling in a struct faina_error.
 *
 * The function that finds the error writes the sentence; its callers pass it on. Every function
 * takes NULL for `err` and returns `code`, so that a refusal is one line:
 *
 *     return fa_error_set(err, FAINA_INVALID_TASK, "type is missing");
 */
#ifndef FA_BASE_ERROR_H
#define FA_BASE_ERROR_H

#include "base/bytes.h"

#include <faina.h>

enum faina_code fa_error_set(struct faina_error *err, enum faina_code code, const char *format, ...)
    FA_PRINTF(3, 4);
/* The same, naming the field of the request. */
enum faina_code fa_error_field(struct faina_error *err, enum faina_code code, const char *field,
                               const char *format, ...) FA_PRINTF(4, 5);
/* Sets the position in the source, after one of the above. */
void fa_error_position(struct faina_error *err, int line, int column);
void fa_error_clear(struct faina_error *err);

#endif
