/*
 * list.c - fills pages of lists: of tasks, in any order, and of the children of a task.
 *
 * Candidates come from list_order.c and list_updated.c. Each is read, and compared with all of the
 * filter (list_inner.h).
 */
#include "store/read/lookup.h"

#include "store/read/list_inner.h"
#include "store/read/pages.h"
#include "store/read/show.h"
#include "model/limits.h"
#include "store/queue/ops.h"

#include <stdio.h>
#include <stdlib.h>

#define PAGE_PART 100 /* tasks that are read at once, where that saves round trips */

/* Candidates that were read. */
struct part {
    struct fa_row *rows;
    size_t count;
};

static void keep_row(void *ctx, const struct fa_row *row)
{
    struct part *part = ctx;

    part->rows[part->count++] = *row;
}

static struct fa_row *find_row(const struct part *part, int64_t key)
{
    for (size_t i = 0; i < part->count; i++) {
        if (part->rows[i].id.key == key)
            return &part->rows[i];
    }
    return NULL;
}

/* Reads tasks without their payloads; missing ones are left out. */
static enum faina_code read_part(struct fa_source *source, const struct fa_list_item *items,
                                 size_t count, struct fa_arena *arena, struct part *out,
                                 struct faina_error *err)
{
    int64_t sorted[PAGE_PART];
    enum faina_code code = FAINA_OK;

    *out = (struct part){.rows = fa_arena_take(arena, count * sizeof(struct fa_row))};
    if (fa_db_has(source->db, FA_DB_ROUND_TRIPS)) {
        for (size_t i = 0; i < count; i++)
            sorted[i] = items[i].key;
        return fa_rows_load(source, sorted, count, (struct fa_rows_options){.with_task = true},
                            arena, keep_row, out, err);
    }
    for (size_t i = 0; code == FAINA_OK && i < count; i++) {
        struct fa_row *row = &out->rows[out->count];

        code = fa_row_load(source, items[i].key, arena, row, err);
        out->count += code == FAINA_OK;
        if (code == FAINA_TASK_NOT_FOUND || (code == FAINA_INTERNAL && row->damage != NULL))
            code = FAINA_OK; /* damaged tasks are left out (row.h, R4) */
    }
    return code;
}

/* Counts the size of the task that was added last. A page above FA_PAGE_SIZE_MAX ends with it. */
static void weigh(struct fa_list_page *page, const struct faina_tasks *tasks)
{
    page->size += fa_task_size(&tasks->items[tasks->count - 1]);
    if (page->size > FA_PAGE_SIZE_MAX)
        page->limit = tasks->count;
}

/* Adds a task to the page; a damaged one is left out (row.h, R4). */
static enum faina_code show(struct fa_source *source, struct fa_op *op, struct fa_list_page *page,
                            struct fa_row *row, bool lend, bool brief)
{
    struct faina_tasks *tasks = op->tasks;
    enum faina_code code = fa_row_to_task(source, row, op->arena, lend, brief,
                                          &tasks->items[tasks->count], &op->error);

    if (code == FAINA_INTERNAL && row->damage != NULL) {
        fa_error_clear(&op->error);
        return FAINA_OK;
    }
    if (code != FAINA_OK)
        return code;
    page->count = ++tasks->count;
    weigh(page, tasks);
    return FAINA_OK;
}

/* The candidates of a part that belong to the page. */
struct chosen {
    struct fa_row *rows[PAGE_PART];
    size_t at[PAGE_PART]; /* their places among the items */
    size_t count;
};

/* *done: see fa_list_add. */
static enum faina_code choose(struct fa_source *source, struct fa_op *op, struct fa_list_page *page,
                              const struct part *part, const struct fa_list_item *items,
                              size_t count, struct fa_arena *scratch, struct chosen *out,
                              size_t *done)
{
    for (size_t i = 0; i < count; i++) {
        struct fa_row *row = find_row(part, items[i].key);
        enum faina_code code;
        bool matches;

        page->cost += FA_LIST_COST_OF_ROW;
        if (row == NULL || fa_list_place(page->sort, row) != items[i].place)
            continue;
        code = fa_list_filter_match(source, page->filter, row, scratch, &matches, &op->error);
        if (code != FAINA_OK)
            return code;
        if (!matches)
            continue;
        page->is_full = page->count + out->count >= page->limit;
        if (page->is_full) {
            *done = i;
            return FAINA_OK;
        }
        out->at[out->count] = i;
        out->rows[out->count++] = row;
    }
    *done = count;
    return FAINA_OK;
}

static enum faina_code show_all(struct fa_source *source, struct fa_op *op,
                                struct fa_list_page *page, const struct chosen *chosen,
                                struct fa_arena *scratch, size_t *done)
{
    bool brief = page->filter->query->brief;
    enum faina_code code =
        fa_rows_read_ahead(source, chosen->rows, chosen->count, brief, scratch, &op->error);

    for (size_t i = 0; code == FAINA_OK && i < chosen->count; i++) {
        if (page->count >= page->limit) { /* the tasks are large */
            page->is_full = true;
            *done = chosen->at[i];
            return FAINA_OK;
        }
        code = show(source, op, page, chosen->rows[i], false, brief);
    }
    return code;
}

/* Adds those of at most PAGE_PART tasks that match. */
static enum faina_code add_part(struct fa_source *source, struct fa_op *op,
                                struct fa_list_page *page, const struct fa_list_item *items,
                                size_t count, size_t *done)
{
    struct fa_arena scratch = {0};
    struct chosen chosen = {.count = 0};
    struct part part;
    enum faina_code code = read_part(source, items, count, &scratch, &part, &op->error);

    *done = 0;
    if (code == FAINA_OK)
        code = choose(source, op, page, &part, items, count, &scratch, &chosen, done);
    if (code == FAINA_OK && page->wants == FA_LIST_TASKS)
        code = show_all(source, op, page, &chosen, &scratch, done);
    for (size_t i = 0; page->wants == FA_LIST_KEYS && i < chosen.count; i++)
        fa_keys_add(page->keys, chosen.rows[i]->id.key);
    if (page->wants != FA_LIST_TASKS)
        page->count += chosen.count;
    fa_arena_finish(&scratch);
    return code;
}

enum faina_code fa_list_add(struct fa_source *source, struct fa_op *op, struct fa_list_page *page,
                            const struct fa_list_item *items, size_t count, size_t *done)
{
    size_t part_max =
        fa_db_has(source->db, FA_DB_ROUND_TRIPS) || page->wants != FA_LIST_TASKS ? PAGE_PART : 1;
    enum faina_code code = FAINA_OK;

    *done = 0;
    while (code == FAINA_OK && !page->is_full && *done < count) {
        size_t n = count - *done < part_max ? count - *done : part_max, part_done;

        code = add_part(source, op, page, items + *done, n, &part_done);
        *done += part_done;
    }
    return code;
}

enum faina_code fa_list_read(struct fa_source *source, struct fa_op *op,
                             const struct faina_query *query, struct fa_list_page *page)
{
    struct fa_list_filter filter;
    enum faina_code code = fa_list_filter_open(source, query, op->arena, &filter, &op->error);

    page->filter = &filter;
    page->sort = query->sort;
    page->cursor = query->cursor;
    if (code == FAINA_OK)
        code = query->sort == FAINA_SORT_UPDATED ? fa_list_updated(source, op, page)
                                                 : fa_list_ordered(source, op, page);
    page->filter = NULL;
    return code;
}

enum faina_code fa_read_list(struct fa_source *source, struct fa_op *op)
{
    size_t limit = op->query->limit > 0 ? (size_t)op->query->limit : FA_LIST_LIMIT_DEFAULT;
    struct fa_list_page page = {.limit = limit};
    enum faina_code code;

    op->tasks = fa_arena_zero(op->arena, 1, sizeof(*op->tasks));
    op->tasks->items = fa_arena_take(op->arena, (limit + 1) * sizeof(struct faina_task));
    code = fa_list_read(source, op, op->query, &page);
    op->tasks->next_cursor = page.next_cursor;
    return code;
}

/* Children, oldest first --------------------------------------------------------------------- */

/* A cursor is the key of the last task, in hexadecimal. */
static enum faina_code read_cursor(const char *cursor, int64_t *out, struct faina_error *err)
{
    unsigned long long key = 0;

    if (cursor != NULL && strlen(cursor) == 16 && strspn(cursor, "0123456789abcdef") == 16)
        key = strtoull(cursor, NULL, 16);
    else if (cursor != NULL)
        return fa_cursor_refuse(err);
    if (key > INT64_MAX)
        return fa_cursor_refuse(err);
    *out = (int64_t)key;
    return FAINA_OK;
}

/* Adds the children that are not deleted, until the page is full. *last is the last one's key. */
static enum faina_code add_children(struct fa_source *source, struct fa_op *op,
                                    struct fa_list_page *page, struct fa_row *rows, size_t count,
                                    int64_t *last)
{
    struct faina_tasks *tasks = op->tasks;
    enum faina_code code = FAINA_OK;

    for (size_t i = 0; code == FAINA_OK && !page->is_full && i < count; i++) {
        if (rows[i].state_table == FA_STATE_TABLE_NONE || rows[i].deleted_us != 0)
            continue;
        page->is_full = tasks->count >= page->limit;
        if (page->is_full)
            break;
        *last = rows[i].id.key;
        code = show(source, op, page, &rows[i], true, false);
    }
    return code;
}

/* Reads the children after `after` until the page is full or the list ends. */
static enum faina_code read_children(struct fa_source *source, struct fa_op *op,
                                     const struct fa_row *parent, int64_t after, size_t limit)
{
    struct fa_row *rows = fa_arena_take(op->arena, PAGE_PART * sizeof(*rows));
    struct fa_list_page page = {.limit = limit};
    enum faina_code code;
    int64_t last = after;
    size_t most, count;

    do {
        most = limit + 1 - op->tasks->count;
        count = most = most < PAGE_PART ? most : PAGE_PART;
        code = fa_rows_load_children(source, parent, after, op->page.ends, rows, &count, op->arena,
                                     &op->error);
        if (code == FAINA_OK && count > 0) {
            after = rows[count - 1].id.key;
            code = add_children(source, op, &page, rows, count, &last);
        }
    } while (code == FAINA_OK && !page.is_full && count == most);
    if (code == FAINA_OK && page.is_full)
        op->tasks->next_cursor = fa_arena_printf(op->arena, "%016llx", (unsigned long long)last);
    return code;
}

enum faina_code fa_read_children(struct fa_source *source, struct fa_op *op)
{
    size_t limit = op->page.limit > 0 ? (size_t)op->page.limit : FA_LIST_LIMIT_MAX;
    struct fa_row row;
    enum faina_code code;
    int64_t after;

    code = read_cursor(op->page.cursor, &after, &op->error);
    if (code == FAINA_OK)
        code = fa_read_find(source, op->id, op->arena, &row, &op->error);
    if (code != FAINA_OK)
        return code;
    op->tasks = fa_arena_zero(op->arena, 1, sizeof(*op->tasks));
    op->tasks->items = fa_arena_take(op->arena, (limit + 1) * sizeof(struct faina_task));
    return read_children(source, op, &row, after, limit);
}
