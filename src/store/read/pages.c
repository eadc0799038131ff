/*
 * pages.c - see pages.h.
 */
#include "sql/pages.h"

#include "base/hash.h"
#include "base/utf8.h"
#include "model/limits.h"

#include <assert.h>

/* ------------------------------------------------------------------------------------------
 * Pages
 */

struct fa_pager fa_pager_of_limit(size_t limit)
{
    return (struct fa_pager){.limit = limit, .size_max = FA_PAGE_SIZE_MAX};
}

struct fa_pager fa_pager_of_part(const struct fa_part *part)
{
    if (!part->is_asked)
        return (struct fa_pager){.limit = 0};
    return fa_pager_of_limit(part->limit > 0 ? (size_t)part->limit : 0);
}

struct fa_value fa_pager_next(struct fa_pager *pager)
{
    size_t left = pager->size_max > pager->size ? pager->size_max - pager->size : 0;
    size_t want = pager->largest > 0 ? left / pager->largest + 1 : 1;

    if (want == 0 || want > FA_PAGER_PART_MAX)
        want = FA_PAGER_PART_MAX;
    /* One more than there is room for tells whether there is one. */
    if (pager->limit > 0 && want > pager->limit - pager->count + 1)
        want = pager->limit - pager->count + 1;
    pager->want = pager->limit == 0 && pager->size_max == 0 ? INT64_MAX : (int64_t)want;
    pager->got = 0;
    return fa_value_int(pager->want);
}

/* False: the page is full. */
static bool has_room(struct fa_pager *pager, size_t size)
{
    bool is_full = (pager->limit > 0 && pager->count >= pager->limit) ||
                   (pager->size_max > 0 && pager->count > 0 && pager->size > pager->size_max);

    if (is_full)
        pager->has_more = true;
    else if (size > pager->largest)
        pager->largest = size;
    return !is_full;
}

static size_t size_of_row(const struct fa_value *columns, size_t count)
{
    size_t size = count * sizeof(*columns);

    for (size_t i = 0; i < count; i++)
        size += columns[i].kind == FA_TEXT ? columns[i].text.len : 0;
    return size;
}

bool fa_pager_take(struct fa_pager *pager, size_t size)
{
    if (!has_room(pager, size))
        return false;
    pager->count++;
    pager->size += size;
    return true;
}

bool fa_pager_take_row(struct fa_pager *pager, const struct fa_value *columns, size_t count)
{
    pager->got++;
    return fa_pager_take(pager, size_of_row(columns, count));
}

bool fa_pager_skip_row(struct fa_pager *pager, const struct fa_value *columns, size_t count)
{
    pager->got++;
    return has_room(pager, size_of_row(columns, count));
}

bool fa_pager_goes_on(const struct fa_pager *pager)
{
    return !pager->has_more && pager->got >= pager->want;
}

/* ------------------------------------------------------------------------------------------
 * Cursors: the keys in hexadecimal, with a line feed between them
 */

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

/* NULL: it is no text in hexadecimal. */
static char *decode(const char *cursor, struct fa_arena *arena)
{
    size_t len = strlen(cursor);
    char *text;

    if (len % 2 != 0 || len > FA_PART_CURSOR_SIZE_MAX)
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
            return fa_error_field(err, FAINA_INVALID_REQUEST, "cursor",
                                  "the cursor is not one that a list has given");
        if (end)
            *end = '\0';
        text = end ? end + 1 : text;
    }
    return FAINA_OK;
}
