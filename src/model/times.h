/*
 * times.h - RFC 3339 times in microseconds, and durations.
 */
#ifndef FA_MODEL_TIMES_H
#define FA_MODEL_TIMES_H

#include "base/error.h"

#define FA_TIME_SIZE 32 /* "2026-01-02T03:04:05.678901Z" and its NUL */

/* UTC with six digits of fraction. Years 0000 to 9999. */
void fa_time_format(int64_t us, char out[FA_TIME_SIZE]);
/* RFC 3339 with any offset and up to nine digits of fraction (rounded down to microseconds);
 * a leap second counts as the next second. The error names `field`. */
FA_MUST_CHECK enum faina_code fa_time_parse(const char *text, const char *field, int64_t *out_us,
                                            struct faina_error *err);

/* "50ms", "90s", "5m", "1h", "30d", "1h30m", "1.5s", or plain seconds ("90", "0.25").
 * Not negative, at most 100 years. */
FA_MUST_CHECK enum faina_code fa_duration_parse(const char *text, const char *field,
                                                int64_t *out_ms, struct faina_error *err);
/* Whether the text can only be a time, where a duration is possible too: it has a date. */
bool fa_text_is_time(const char *text);
/* For people: "850 ms", "4.2 s", "12 min", "3 h 20 min", "5 days". */
void fa_duration_format(int64_t us, char out[FA_TIME_SIZE]);

#endif
