/* cursor.c - texts in hexadecimal, with a line feed between them. */
#include "model/cursor.h"

#include "base/hash.h"
#include "base/utf8.h"
#include "model/limits.h"

#include <assert.h>
#include <stdio.h>

const char *fa_cursor_write(struct fa_arena *arena, const char *const *keys, size_t count)
{
    const char *text = keys[0];
    char *cursor;

    for (size_t i = 1; i < count; i++)
        text = fa_arena_printf(arena, "%s\n%s", text, keys[i]);
    cursor = fa_arena_take(arena, 2 * strlen(text) + 1);
    fa_hex((const uint8_t *)text, strlen(text), cursor);
    return cursor;
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* NULL: it is not text in hexadecimal. */
static char *decode(const char *cursor, struct fa_arena *arena)
{
    size_t len = strlen(cursor);
    char *text;

    if (len % 2 != 0 || len > FA_JOIN_CURSOR_SIZE_MAX)
        return NULL;
    text = fa_arena_zero(arena, len / 2 + 1, 1);
    for (size_t i = 0; i < len / 2; i++) {
        int high = digit(cursor[2 * i]), low = digit(cursor[2 * i + 1]);

        if (high < 0 || low < 0 || high + low == 0)
            return NULL;
        text[i] = (char)(high << 4 | low);
    }
    return fa_utf8_is_valid(fa_str(text)) ? text : NULL;
}

enum faina_code fa_cursor_read(const char *cursor, struct fa_arena *arena, const char **keys,
                               size_t count, struct faina_error *err)
{
    char *text = cursor ? decode(cursor, arena) : NULL;

    assert(count <= FA_CURSOR_KEYS);
    for (size_t i = 0; i < count; i++) {
        char *end = text ? strchr(text, '\n') : NULL;

        keys[i] = text ? text : "";
        /* The last key ends with the text, and only that. */
        if (cursor && (!text || (end != NULL) != (i + 1 < count)))
            return fa_cursor_refuse(err);
        if (end)
            *end = '\0';
        text = end ? end + 1 : text;
    }
    return FAINA_OK;
}

const char *fa_cursor_write_pair(struct fa_arena *arena, int64_t a, int64_t b)
{
    return fa_arena_printf(arena, "%lld.%lld", (long long)a, (long long)b);
}

enum faina_code fa_cursor_read_pair(const char *cursor, int64_t *a, int64_t *b,
                                    struct faina_error *err)
{
    long long x, y;
    char end;

    if (sscanf(cursor, "%lld.%lld%c", &x, &y, &end) != 2 || x < 0 || y < 0)
        return fa_cursor_refuse(err);
    *a = x;
    *b = y;
    return FAINA_OK;
}

enum faina_code fa_cursor_refuse(struct faina_error *err)
{
    return fa_error_field(err, FAINA_INVALID_REQUEST, "cursor",
                          "the cursor is not one that a list has returned");
}
