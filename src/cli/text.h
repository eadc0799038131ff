/*
 * text.h - text for a terminal: its width, clipping, ages, counts.
 */
#ifndef FA_CLI_TEXT_H
#define FA_CLI_TEXT_H

#include "base/bytes.h"

/* Columns that `text` takes on a terminal. The text must be clean. */
int fa_text_width(const char *text);
/* A copy that is safe on a terminal: control characters become spaces, invalid UTF-8 U+FFFD. */
char *fa_text_clean(struct fa_arena *arena, const char *text);
/* The text, or its beginning and "…", in at most `width` columns. */
const char *fa_text_clip(struct fa_arena *arena, const char *text, int width);

#define FA_TEXT_COUNT_SIZE 32
/* "1,234,567". Returns `out`. */
const char *fa_text_count(int64_t n, char out[FA_TEXT_COUNT_SIZE]);
/* "1 task", "1,234 tasks". */
const char *fa_text_plural(struct fa_arena *arena, int64_t n, const char *noun);
/* "4 min ago", "in 2.1 s", "now", "-" for 0. */
const char *fa_text_age(struct fa_arena *arena, int64_t us, int64_t now_us);
/* The same for a time ahead, rounded up: "in 57 ms". "now" when it has passed. */
const char *fa_text_due(struct fa_arena *arena, int64_t us, int64_t now_us);
/* Either of them in one unit, for a narrow column: "90 s ago", "in 5 min". */
const char *fa_text_roughly(struct fa_arena *arena, int64_t us, int64_t now_us);
/* The texts with `gap` between them; "" when there are none. */
const char *fa_text_join(struct fa_arena *arena, const char *const *texts, size_t count,
                         const char *gap);
/* "12.3 MiB". */
const char *fa_text_size(struct fa_arena *arena, int64_t bytes);

#endif
