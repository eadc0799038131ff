/*
 * pages.c - see pages.h.
 */
#include "store/read/pages.h"

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
    /* One more than there is room for, to see whether the list has more. */
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

static void note_keys(struct fa_pager *pager, const struct fa_value *columns)
{
    for (size_t i = 0; i < pager->key_count; i++)
        pager->last[i] = fa_value_dup(&columns[pager->key_at + i], pager->arena);
}

bool fa_pager_take_row(struct fa_pager *pager, const struct fa_value *columns, size_t count)
{
    pager->got++;
    if (!fa_pager_take(pager, size_of_row(columns, count)))
        return false;
    note_keys(pager, columns);
    return true;
}

bool fa_pager_skip_row(struct fa_pager *pager, const struct fa_value *columns, size_t count)
{
    pager->got++;
    if (!has_room(pager, size_of_row(columns, count)))
        return false;
    note_keys(pager, columns);
    return true;
}

bool fa_pager_goes_on(const struct fa_pager *pager)
{
    return !pager->has_more && pager->got >= pager->want;
}

/* The next part begins after the last row. False: no row was read, or its keys are damaged. */
static bool move_on(const struct fa_pager *pager, const char **after)
{
    for (size_t i = 0; i < pager->key_count; i++)
        if (pager->last[i] == NULL)
            return false;
    memcpy(after, pager->last, pager->key_count * sizeof(*after));
    return true;
}

enum faina_code fa_pager_read(struct fa_pager *pager, struct fa_db *db, struct fa_list_query *query,
                              const char *cursor, struct fa_arena *arena, const char **next_cursor,
                              struct faina_error *err)
{
    const char *after[FA_CURSOR_KEYS];
    enum faina_code code = fa_cursor_read(cursor, arena, after, query->key_count, err);

    pager->arena = arena;
    pager->key_at = query->key_at;
    pager->key_count = query->key_count;
    while (code == FAINA_OK) {
        for (size_t i = 0; i < query->key_count; i++)
            query->params[query->after_at + i] = fa_value_text(after[i]);
        query->params[query->limit_at] = fa_pager_next(pager);
        code = fa_db_one(db, query->sql, query->params, query->param_count, query->sink,
                         query->sink_ctx, err);
        if (code != FAINA_OK || !move_on(pager, after) || !fa_pager_goes_on(pager))
            break;
    }
    if (code == FAINA_OK && pager->has_more)
        *next_cursor = fa_cursor_write(arena, after, query->key_count);
    return code;
}
