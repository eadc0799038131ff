/*
 * cursor.h - cursors of lists that are ordered by texts or by two numbers.
 *
 * A cursor is opaque to users: the keys of the last item of a page.
 */
#ifndef FA_MODEL_CURSOR_H
#define FA_MODEL_CURSOR_H

#include "base/bytes.h"
#include "base/error.h"

#define FA_CURSOR_KEYS 3

/* A cursor of up to FA_CURSOR_KEYS texts without line feeds. */
const char *fa_cursor_write(struct fa_arena *arena, const char *const *keys, size_t count);
/* NULL gives empty texts, which sort before all others. */
FA_MUST_CHECK enum faina_code fa_cursor_read(const char *cursor, struct fa_arena *arena,
                                             const char **keys, size_t count,
                                             struct faina_error *err);
/* A cursor of two numbers that are not negative. */
const char *fa_cursor_write_pair(struct fa_arena *arena, int64_t a, int64_t b);
FA_MUST_CHECK enum faina_code fa_cursor_read_pair(const char *cursor, int64_t *a, int64_t *b,
                                                  struct faina_error *err);
/* The error for a cursor that no list has returned. */
enum faina_code fa_cursor_refuse(struct faina_error *err);

#endif
