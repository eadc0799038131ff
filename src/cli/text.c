/*
 * text.c - formats text for a terminal.
 */
#include "cli/text.h"

#include "base/utf8.h"
#include "model/times.h"

#include <stdio.h>
#include <wchar.h>

/* The character at `text` and its length in bytes. The text must be well-formed. */
static wchar_t decode(const char *text, size_t *len)
{
    unsigned char first = (unsigned char)text[0];
    size_t n = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    wchar_t c = first & (n == 1 ? 0x7f : 0xff >> (n + 1));

    for (size_t i = 1; i < n; i++)
        c = c << 6 | ((unsigned char)text[i] & 0x3f);
    *len = n;
    return c;
}

static int width_of(wchar_t c)
{
    int width = wcwidth(c);

    return width >= 0 ? width : 1;
}

int fa_text_width(const char *text)
{
    int width = 0;
    size_t len;

    for (; *text; text += len)
        width += width_of(decode(text, &len));
    return width;
}

char *fa_text_clean(struct fa_arena *arena, const char *text)
{
    struct fa_buf buf;
    const char *end = text + strlen(text);
    size_t len;
    char *clean;

    fa_buf_init(&buf, SIZE_MAX / 2);
    fa_buf_add(&buf, "", 0);
    while (text < end) {
        size_t good = fa_utf8_valid_length((struct fa_bytes){text, (size_t)(end - text)});

        for (const char *stop = text + good; text < stop; text += len) {
            wchar_t c = decode(text, &len);

            /* C0, DEL and C1 could move the cursor or start an escape sequence. */
            if (c < 0x20 || (c >= 0x7f && c < 0xa0))
                fa_buf_add_char(&buf, ' ');
            else
                fa_buf_add(&buf, text, len);
        }
        if (text < end) {
            fa_buf_add_str(&buf, "\xef\xbf\xbd"); /* U+FFFD */
            text++;
        }
    }
    clean = fa_arena_copy(arena, buf.ptr ? buf.ptr : "", buf.len);
    fa_buf_finish(&buf);
    return clean;
}

const char *fa_text_clip(struct fa_arena *arena, const char *text, int width)
{
    const char *at = text;
    int used = 0;
    size_t len = 0;

    if (fa_text_width(text) <= width)
        return text;
    for (; *at; at += len) {
        int next = width_of(decode(at, &len));
        if (used + next > width - 1) /* the mark takes one */
            break;
        used += next;
    }
    return fa_arena_printf(arena, "%.*s…", (int)(at - text), text);
}

const char *fa_text_count(int64_t n, char out[FA_TEXT_COUNT_SIZE])
{
    char digits[FA_TEXT_COUNT_SIZE];
    int len = snprintf(digits, sizeof(digits), "%lld", (long long)n);
    int start = n < 0 ? 1 : 0, used = 0;

    for (int i = 0; i < len; i++) {
        if (i > start && (len - i) % 3 == 0)
            out[used++] = ',';
        out[used++] = digits[i];
    }
    out[used] = '\0';
    return out;
}

const char *fa_text_plural(struct fa_arena *arena, int64_t n, const char *noun)
{
    char count[FA_TEXT_COUNT_SIZE];

    return fa_arena_printf(arena, "%s %s%s", fa_text_count(n, count), noun, n == 1 ? "" : "s");
}

const char *fa_text_age(struct fa_arena *arena, int64_t us, int64_t now_us)
{
    char duration[FA_TIME_SIZE];
    int64_t age_us = now_us - us;

    if (us == 0)
        return "-";
    /* An age needs no milliseconds. */
    if (age_us > -1000000 && age_us < 1000000)
        return "now";
    if (age_us > -60000000 && age_us < 60000000)
        age_us = age_us / 1000000 * 1000000;
    fa_duration_format(age_us < 0 ? -age_us : age_us, duration);
    return fa_arena_printf(arena, age_us < 0 ? "in %s" : "%s ago", duration);
}

const char *fa_text_due(struct fa_arena *arena, int64_t us, int64_t now_us)
{
    char duration[FA_TIME_SIZE];
    int64_t left_us = us - now_us;
    int64_t unit_us = left_us < 1000000 ? 1000 : 1000000;

    if (left_us <= 0)
        return fa_text_age(arena, us, now_us);
    fa_duration_format((left_us + unit_us - 1) / unit_us * unit_us, duration);
    return fa_arena_printf(arena, "in %s", duration);
}

const char *fa_text_roughly(struct fa_arena *arena, int64_t us, int64_t now_us)
{
    /* A unit is used up to two of the next one: "90 min" is more precise than "1 h" or "2 h". */
    static const struct {
        const char *name;
        int64_t us, end_us;
    } units[] = {
        {"ms", 1000, 1000000},
        {"s", 1000000, 120 * 1000000LL},
        {"min", 60 * 1000000LL, 120 * 60 * 1000000LL},
        {"h", 3600 * 1000000LL, 48 * 3600 * 1000000LL},
        {"days", 24 * 3600 * 1000000LL, INT64_MAX},
    };
    bool is_ahead = us > now_us;
    int64_t size_us = is_ahead ? us - now_us : now_us - us;
    size_t unit = 0;
    int64_t n;

    if (us == 0)
        return "-";
    if (!is_ahead && size_us < 1000000)
        return "now";
    while (size_us >= units[unit].end_us)
        unit++;
    n = size_us / units[unit].us;
    if (is_ahead && size_us % units[unit].us >= units[unit].us / 2)
        n++;
    return fa_arena_printf(arena, is_ahead ? "in %lld %s" : "%lld %s ago", (long long)n,
                           units[unit].name);
}

const char *fa_text_join(struct fa_arena *arena, const char *const *texts, size_t count,
                         const char *gap)
{
    struct fa_buf buf;
    const char *joined;

    fa_buf_init(&buf, SIZE_MAX / 2);
    fa_buf_add(&buf, "", 0);
    for (size_t i = 0; i < count; i++)
        fa_buf_printf(&buf, "%s%s", i > 0 ? gap : "", texts[i]);
    joined = fa_arena_copy(arena, buf.ptr ? buf.ptr : "", buf.len);
    fa_buf_finish(&buf);
    return joined;
}

const char *fa_text_size(struct fa_arena *arena, int64_t bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double size = (double)bytes;
    size_t unit = 0;

    if (bytes < 0)
        return "unknown";
    while (size >= 1024 && unit + 1 < FA_COUNT(units)) {
        size /= 1024;
        unit++;
    }
    return fa_arena_printf(arena, unit == 0 ? "%.0f %s" : "%.1f %s", size, units[unit]);
}
