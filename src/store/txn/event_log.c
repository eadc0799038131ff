/* journal.c - see journal.h. */
#include "sql/journal.h"

#include "model/limits.h"
#include "sql/look.h"

#include <stdio.h>
#include <stdlib.h>

#define ROWS_AT_ONCE 64
#define FORGET_AT_ONCE 5000

/* Places ------------------------------------------------------------------------------------- */

struct place {
    int64_t xid, seq, line;
};

static const char *write_place(struct fa_arena *arena, struct place place)
{
    return fa_arena_printf(arena, "%llx.%llx.%llx", (unsigned long long)place.xid,
                           (unsigned long long)place.seq, (unsigned long long)place.line);
}

/* "0" is before the oldest line that is kept. */
static enum faina_code read_place(const char *text, struct place *out, struct faina_error *err)
{
    int64_t *parts[] = {&out->xid, &out->seq, &out->line};
    char *end = NULL;

    *out = (struct place){0};
    if (strcmp(text, "0") == 0)
        return FAINA_OK;
    for (size_t i = 0; i < FA_COUNT(parts); i++) {
        unsigned long long part = strtoull(text, &end, 16);

        if (end == text || text[0] == '-' || text[0] == '+' || part > INT64_MAX ||
            *end != (i < 2 ? '.' : '\0'))
            return fa_error_field(err, FAINA_INVALID_REQUEST, "cursor",
                                  "the place in the log is not one that it has given");
        *parts[i] = (int64_t)part;
        text = end + 1;
    }
    return FAINA_OK;
}

static void sink_place(void *ctx, size_t row, const struct fa_value *columns)
{
    (void)row;
    *(struct place *)ctx =
        (struct place){fa_value_as_int(&columns[0]), fa_value_as_int(&columns[1]), 0};
}

static int compare_places(struct place a, struct place b)
{
    if (a.xid != b.xid)
        return a.xid < b.xid ? -1 : 1;
    return a.seq < b.seq ? -1 : a.seq > b.seq;
}

static void sink_last_place(void *ctx, size_t row, const struct fa_value *columns)
{
    struct place *last = ctx, place;

    sink_place(&place, row, columns);
    if (compare_places(place, *last) > 0)
        *last = place;
}

/* Writing ------------------------------------------------------------------------------------ */

enum faina_code fa_journal_write(struct fa_unit *unit, struct faina_error *err)
{
    struct fa_value params[2] = {
        fa_value_int(unit->now_us),
        {.kind = FA_TEXT, .text = {unit->journal.ptr, unit->journal.len}},
    };

    if (unit->journal.len == 0)
        return FAINA_OK;
    return fa_db_one(unit->source.db, FA_SQL_LOG_INSERT, params, 2, NULL, NULL, err);
}

enum faina_code fa_journal_forget(struct fa_unit *unit, struct faina_error *err)
{
    struct fa_value params[2] = {fa_value_int(unit->now_us - FA_LOG_KEEP_MS * INT64_C(1000)),
                                 fa_value_int(FORGET_AT_ONCE)};

    struct place last = {0};
    enum faina_code code =
        fa_db_one(unit->source.db, FA_SQL_LOG_FORGET, params, 2, sink_last_place, &last, err);

    if (code == FAINA_OK && (last.xid != 0 || last.seq != 0))
        code = fa_db_one(unit->source.db, FA_SQL_LOG_MARK,
                         (struct fa_value[]){fa_value_int(last.xid), fa_value_int(last.seq)}, 2,
                         NULL, NULL, err);
    return code;
}

/* Reading ------------------------------------------------------------------------------------ */

/* What of the log has been read: lines, not yet with their tasks. */
struct lines {
    struct fa_arena *arena;
    struct place place; /* of the next line */
    size_t limit;
    struct line {
        int64_t key, at_us;
        int status;
        const char *what;
        struct place after;
        struct fa_row *row;
    } * items;
    size_t count, size, rows;
};

/* One line; false: there is none any more. */
static bool read_line(const char **text, const char *end, struct line *out, struct fa_arena *arena)
{
    const char *stop = memchr(*text, '\n', (size_t)(end - *text)), *what;
    char *at;

    if (stop == NULL)
        return false;
    out->key = (int64_t)strtoull(*text, &at, 16);
    out->at_us = (int64_t)strtoull(at, &at, 16);
    out->status = (int)strtol(at, &at, 10);
    what = at + (*at == ' ');
    if (what > stop || out->status < 0 || out->status >= FAINA_STATUS_COUNT)
        out->key = 0; /* nothing that we wrote */
    else
        out->what = fa_arena_copy(arena, what, (size_t)(stop - what));
    *text = stop + 1;
    return true;
}

static void sink_row(void *ctx, size_t n, const struct fa_value *c)
{
    struct lines *lines = ctx;
    struct place place = {fa_value_as_int(&c[0]), fa_value_as_int(&c[1]), 0};
    const char *text, *end;
    struct line line;

    (void)n;
    if (c[3].kind != FA_TEXT || lines->count >= lines->limit)
        return;
    text = fa_arena_copy(lines->arena, c[3].text.ptr, c[3].text.len);
    end = text + c[3].text.len;
    lines->rows++;
    while (lines->count < lines->limit && read_line(&text, end, &line, lines->arena)) {
        place.line++;
        if (compare_places(place, lines->place) == 0 && place.line <= lines->place.line)
            continue; /* read before */
        line.after = place;
        line.row = NULL;
        if (line.key == 0)
            continue;
        lines->items = fa_arena_grow(lines->arena, lines->items, lines->count, &lines->size,
                                     sizeof(*lines->items));
        lines->items[lines->count++] = line;
    }
    if (lines->count < lines->limit || text >= end) { /* the whole row was read */
        place.seq += place.seq < INT64_MAX;
        place.line = 0;
    }
    lines->place = place;
}

/* The tasks of the lines, each read once. */
static enum faina_code find_tasks(struct fa_source *source, struct lines *lines,
                                  struct faina_error *err)
{
    struct fa_row *rows = fa_arena_zero(lines->arena, lines->count + 1, sizeof(*rows));
    struct fa_row **list = fa_arena_take(lines->arena, (lines->count + 1) * sizeof(*list));
    size_t count = 0;

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
    return fa_rows_load_tasks(source, list, count, lines->arena, err);
}

static void answer(struct fa_op *op, const struct lines *lines)
{
    struct fa_followed *out = op->followed;

    out->items = fa_arena_take(op->arena, (lines->count + 1) * sizeof(*out->items));
    for (size_t i = 0; i < lines->count; i++) {
        const struct line *line = &lines->items[i];
        const struct fa_row *row = line->row;
        struct fa_follow_item *item = &out->items[out->count];

        if (!row->has_task)
            continue; /* purged since: nobody may know whose it was */
        *item = (struct fa_follow_item){
            .cursor = write_place(op->arena, line->after),
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
        };
        fa_id_format(row->id, item->task_id);
        item->ns = fa_arena_strdup(op->arena, item->ns);
        item->type = fa_arena_strdup(op->arena, item->type);
        item->name = fa_arena_strdup(op->arena, item->name);
        out->count++;
    }
    out->next = write_place(op->arena, lines->place);
}

enum faina_code fa_look_follow(struct fa_source *source, struct fa_op *op)
{
    struct lines lines = {.arena = op->arena};
    struct place forgotten = {.xid = -1};
    enum faina_code code = FAINA_OK;

    op->followed = fa_arena_zero(op->arena, 1, sizeof(*op->followed));
    lines.limit = op->page.limit > 0 ? (size_t)op->page.limit : FA_LIST_LIMIT_MAX;
    if (op->page.cursor == NULL) { /* from now on */
        code = fa_db_one(source->db, FA_SQL_LOG_END, NULL, 0, sink_place, &lines.place, &op->error);
        op->followed->next = write_place(op->arena, lines.place);
        return code;
    }
    code = read_place(op->page.cursor, &lines.place, &op->error);
    if (code == FAINA_OK)
        code = fa_db_one(source->db, FA_SQL_LOG_FORGOTTEN, NULL, 0, sink_place, &forgotten,
                         &op->error);
    op->followed->is_gap = code == FAINA_OK && compare_places(lines.place, forgotten) <= 0;
    if (code == FAINA_OK)
        code = fa_db_one(source->db, FA_SQL_LOG_READ,
                         (struct fa_value[]){fa_value_int(lines.place.xid),
                                             fa_value_int(lines.place.seq),
                                             fa_value_int(ROWS_AT_ONCE)},
                         3, sink_row, &lines, &op->error);
    if (code == FAINA_OK)
        code = find_tasks(source, &lines, &op->error);
    if (code == FAINA_OK) {
        op->followed->has_more = lines.count >= lines.limit || lines.rows >= ROWS_AT_ONCE;
        answer(op, &lines);
    }
    return code;
}
