/*
 * text.h - text for people: how wide it is, cut to fit, ages, counts.
 */
#ifndef FA_TEXT_H
#define FA_TEXT_H

#include "base/bytes.h"

/* Columns that `text` takes on a terminal. The text must be clean. */
int fa_text_width(const char *text);
/* A copy that is safe on a terminal: control characters become spaces, bad UTF-8 a mark. */
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
/* The same for what is to come: "in 57 ms", and never sooner than it is. "now" when it has come. */
const char *fa_text_due(struct fa_arena *arena, int64_t us, int64_t now_us);
/* Either of them in one unit, for a narrow column: "90 s ago", "in 5 min". */
const char *fa_text_roughly(struct fa_arena *arena, int64_t us, int64_t now_us);
/* "12.3 MiB". */
const char *fa_text_size(struct fa_arena *arena, int64_t bytes);

#endif
