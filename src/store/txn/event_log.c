/* event_log.c - see event_log.h. */
#include "store/txn/event_log.h"

#include "model/limits.h"
#include "store/read/lookup.h"
#include "store/read/show.h"

#include <stdio.h>
#include <stdlib.h>

#define ROWS_AT_ONCE 64
#define PURGE_AT_ONCE 5000

/* Positions ---------------------------------------------------------------------------------- */

struct position {
    int64_t xid, seq, line;
};

static const char *write_position(struct fa_arena *arena, struct position position)
{
    return fa_arena_printf(arena, "%llx.%llx.%llx", (unsigned long long)position.xid,
                           (unsigned long long)position.seq, (unsigned long long)position.line);
}

/* "0" is the position before the oldest line that is kept. */
static enum faina_code read_position(const char *text, struct position *out,
                                     struct faina_error *err)
{
    int64_t *parts[] = {&out->xid, &out->seq, &out->line};
    char *end = NULL;

    *out = (struct position){0};
    if (strcmp(text, "0") == 0)
        return FAINA_OK;
    for (size_t i = 0; i < FA_COUNT(parts); i++) {
        unsigned long long part = strtoull(text, &end, 16);

        if (end == text || text[0] == '-' || text[0] == '+' || part > INT64_MAX ||
            *end != (i < 2 ? '.' : '\0'))
            return fa_error_field(err, FAINA_INVALID_REQUEST, "cursor",
                                  "the cursor is not one that the event log has returned");
        *parts[i] = (int64_t)part;
        text = end + 1;
    }
    return FAINA_OK;
}

static void sink_position(void *ctx, size_t row, const struct fa_value *columns)
{
    (void)row;
    *(struct position *)ctx =
        (struct position){fa_value_as_int(&columns[0]), fa_value_as_int(&columns[1]), 0};
}

static int compare_positions(struct position a, struct position b)
{
    if (a.xid != b.xid)
        return a.xid < b.xid ? -1 : 1;
    return a.seq < b.seq ? -1 : a.seq > b.seq;
}

static void sink_last_position(void *ctx, size_t row, const struct fa_value *columns)
{
    struct position *last = ctx, position;

    sink_position(&position, row, columns);
    if (compare_positions(position, *last) > 0)
        *last = position;
}

/* Writing ------------------------------------------------------------------------------------ */

enum faina_code fa_event_log_write(struct fa_unit *unit, struct faina_error *err)
{
    struct fa_value params[2] = {
        fa_value_int(unit->now_us),
        {.kind = FA_TEXT, .text = {unit->log_lines.ptr, unit->log_lines.len}},
    };

    if (unit->log_lines.len == 0)
        return FAINA_OK;
    return fa_db_one(unit->source.db, FA_SQL_LOG_INSERT, params, 2, NULL, NULL, err);
}

enum faina_code fa_event_log_purge(struct fa_unit *unit, struct faina_error *err)
{
    struct fa_value params[2] = {fa_value_int(unit->now_us - FA_LOG_KEEP_MS * INT64_C(1000)),
                                 fa_value_int(PURGE_AT_ONCE)};

    struct position last = {0};
    enum faina_code code =
        fa_db_one(unit->source.db, FA_SQL_LOG_FORGET, params, 2, sink_last_position, &last, err);

    if (code == FAINA_OK && (last.xid != 0 || last.seq != 0))
        code = fa_db_one(unit->source.db, FA_SQL_LOG_MARK,
                         (struct fa_value[]){fa_value_int(last.xid), fa_value_int(last.seq)}, 2,
                         NULL, NULL, err);
    return code;
}

/* Reading ------------------------------------------------------------------------------------ */

/* Lines that were read from the log; their tasks are read afterwards. */
struct lines {
    struct fa_arena *arena;
    struct position position; /* of the next line */
    size_t limit;
    struct line {
        int64_t key, at_us;
        int status;
        const char *what, *worker; /* worker NULL: none */
        int64_t attempt;
        int progress;
        bool is_note;
        struct position after;
        struct fa_row *row;
    } * items;
    size_t count, size, rows;
};

/* The part of a line from the tab on. *worker is the worker of the lines before. */
static void read_rest(const char *at, const char *stop, struct line *out, const char **worker,
                      struct fa_arena *arena)
{
    char *next;

    out->attempt = (int64_t)strtoull(at, &next, 16);
    if (next >= stop || (*next != '+' && *next != '-'))
        return;
    out->is_note = *next == '-';
    out->progress = (int)strtol(next + 1, &next, 16);
    if (next + 1 >= stop || *next != '\t')
        return;
    next++;
    if (stop - next != 1 || *next != '=')
        *worker = fa_arena_copy(arena, next, (size_t)(stop - next));
    out->worker = *worker;
}

/* Reads one line; false: there are no more. */
static bool read_line(const char **text, const char *end, struct line *out, const char **worker,
                      struct fa_arena *arena)
{
    const char *stop = memchr(*text, '\n', (size_t)(end - *text)), *what, *tab;
    char *at;

    if (stop == NULL)
        return false;
    *out = (struct line){0};
    out->key = (int64_t)strtoull(*text, &at, 16);
    out->at_us = (int64_t)strtoull(at, &at, 16);
    out->status = (int)strtol(at, &at, 10);
    what = at + (*at == ' ');
    if (what > stop || out->status < 0 || out->status >= FAINA_STATUS_COUNT)
        out->key = 0; /* a damaged line */
    else {
        tab = memchr(what, '\t', (size_t)(stop - what));
        out->what = fa_arena_copy(arena, what, (size_t)((tab ? tab : stop) - what));
        if (tab)
            read_rest(tab + 1, stop, out, worker, arena);
    }
    *text = stop + 1;
    return true;
}

static void sink_row(void *ctx, size_t n, const struct fa_value *c)
{
    struct lines *lines = ctx;
    struct position position = {fa_value_as_int(&c[0]), fa_value_as_int(&c[1]), 0};
    const char *text, *end, *worker = NULL;
    struct line line;

    (void)n;
    if (c[3].kind != FA_TEXT || lines->count >= lines->limit)
        return;
    text = fa_arena_copy(lines->arena, c[3].text.ptr, c[3].text.len);
    end = text + c[3].text.len;
    lines->rows++;
    while (lines->count < lines->limit && read_line(&text, end, &line, &worker, lines->arena)) {
        position.line++;
        if (compare_positions(position, lines->position) == 0 &&
            position.line <= lines->position.line)
            continue; /* read before */
        line.after = position;
        line.row = NULL;
        if (line.key == 0)
            continue;
        lines->items = fa_arena_grow(lines->arena, lines->items, lines->count, &lines->size,
                                     sizeof(*lines->items));
        lines->items[lines->count++] = line;
    }
    if (lines->count < lines->limit || text >= end) { /* all lines of the row were read */
        position.seq += position.seq < INT64_MAX;
        position.line = 0;
    }
    lines->position = position;
}

/* The rest of the ids of parents. */
static enum faina_code find_parents(struct fa_source *source, struct fa_row **list, size_t count,
                                    struct fa_arena *arena, struct faina_error *err)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++)
        if (list[i]->has_task && list[i]->parent != 0)
            list[kept++] = list[i];
    return kept > 0 ? fa_rows_read_ahead(source, list, kept, true, arena, err) : FAINA_OK;
}

/* The tasks of the lines, each read once. */
static enum faina_code find_tasks(struct fa_source *source, struct lines *lines,
                                  struct faina_error *err)
{
    struct fa_row *rows = fa_arena_zero(lines->arena, lines->count + 1, sizeof(*rows));
    struct fa_row **list = fa_arena_take(lines->arena, (lines->count + 1) * sizeof(*list));
    size_t count = 0;
    enum faina_code code;

    for (size_t i = 0; i < lines->count; i++) {
        /* Events of one task come close together. */
        for (size_t k = count; k > 0 && k + 64 > count; k--) {
            if (rows[k - 1].id.key == lines->items[i].key)
                lines->items[i].row = &rows[k - 1];
        }
        if (lines->items[i].row == NULL) {
            rows[count].id.key = lines->items[i].key;
            list[count] = &rows[count];
            lines->items[i].row = &rows[count++];
        }
    }
    code = fa_rows_load_tasks(source, list, count, lines->arena, err);
    return code == FAINA_OK ? find_parents(source, list, count, lines->arena, err) : code;
}

static void set_result(struct fa_op *op, const struct lines *lines)
{
    struct fa_followed *out = op->followed;

    out->items = fa_arena_take(op->arena, (lines->count + 1) * sizeof(*out->items));
    for (size_t i = 0; i < lines->count; i++) {
        const struct line *line = &lines->items[i];
        const struct fa_row *row = line->row;
        struct fa_follow_item *item = &out->items[out->count];

        if (!row->has_task)
            continue; /* purged since: its namespace, which decides access, is gone */
        *item = (struct fa_follow_item){
            .cursor = write_position(op->arena, line->after),
            .ns = row->lane->ns,
            .type = row->lane->type,
            .name = row->name ? row->name : row->lane->type,
            .team_id = row->team,
            .created_by = row->created_by,
            .idempotency_key = row->key,
            .what = line->what,
            .status = (enum faina_status)line->status,
            .at_us = line->at_us,
            .has_parent = row->parent != 0,
            .parent_key = row->parent,
            .attempt = line->attempt,
            .progress = line->progress,
            .worker_id = line->worker ? fa_arena_strdup(op->arena, line->worker) : NULL,
            .is_note = line->is_note,
        };
        if (row->parent != 0 && row->has_parent_tail && row->parent_tail >= 0)
            fa_id_format((struct fa_id){row->parent, row->parent_tail}, item->parent_id);
        fa_id_format(row->id, item->task_id);
        item->ns = fa_arena_strdup(op->arena, item->ns);
        item->type = fa_arena_strdup(op->arena, item->type);
        item->name = fa_arena_strdup(op->arena, item->name);
        out->count++;
    }
    out->next = write_position(op->arena, lines->position);
}

enum faina_code fa_read_follow(struct fa_source *source, struct fa_op *op)
{
    struct lines lines = {.arena = op->arena};
    struct position purged = {.xid = -1};
    enum faina_code code = FAINA_OK;

    op->followed = fa_arena_zero(op->arena, 1, sizeof(*op->followed));
    lines.limit = op->page.limit > 0 ? (size_t)op->page.limit : FA_LIST_LIMIT_MAX;
    if (op->page.cursor == NULL) { /* the end of the log */
        code = fa_db_one(source->db, FA_SQL_LOG_END, NULL, 0, sink_position, &lines.position,
                         &op->error);
        op->followed->next = write_position(op->arena, lines.position);
        return code;
    }
    code = read_position(op->page.cursor, &lines.position, &op->error);
    if (code == FAINA_OK)
        code = fa_db_one(source->db, FA_SQL_LOG_FORGOTTEN, NULL, 0, sink_position, &purged,
                         &op->error);
    op->followed->is_gap = code == FAINA_OK && compare_positions(lines.position, purged) <= 0;
    if (code == FAINA_OK)
        code = fa_db_one(source->db, FA_SQL_LOG_READ,
                         (struct fa_value[]){fa_value_int(lines.position.xid),
                                             fa_value_int(lines.position.seq),
                                             fa_value_int(ROWS_AT_ONCE)},
                         3, sink_row, &lines, &op->error);
    if (code == FAINA_OK)
        code = find_tasks(source, &lines, &op->error);
    if (code == FAINA_OK) {
        op->followed->has_more = lines.count >= lines.limit || lines.rows >= ROWS_AT_ONCE;
        set_result(op, &lines);
    }
    return code;
}
