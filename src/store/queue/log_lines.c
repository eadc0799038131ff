/*
 * log_lines.c - the log of an attempt while it runs, in parts: events that lists of events leave
 * out.
 *
 * Small parts are stored together, and parts that are older than the end of the log that is kept
 * are deleted. When the attempt has ended, its note has the whole log and the parts are deleted. If
 * the worker is killed, they stay.
 */
#include "store/queue/ops.h"

#include "json/json.h"
#include "model/attempts.h"
#include "model/limits.h"
#include "model/states.h"
#include "store/txn/json_text.h"

/* Parts are deleted when so many bytes of JSON are behind them. */
#define KEPT_SIZE (2 * FA_LOG_SIZE_MAX)
#define PRUNE_STEP (16 * 1024)

struct part {
    struct fa_arena *arena;
    int64_t at_us; /* 0: there is none */
    const char *text;
    int64_t end;
};

static void sink_part(void *ctx, size_t n, const struct fa_value *c)
{
    struct part *part = ctx;
    const char *detail = fa_value_dup(&c[1], part->arena);
    struct fa_json object;

    (void)n;
    if (!detail || fa_json_check(fa_str(detail), 2, "detail", FAINA_INTERNAL, NULL) != FAINA_OK)
        return;
    object = fa_json_value(fa_str(detail));
    part->at_us = fa_value_as_int(&c[0]);
    part->text = fa_json_member_text(object, "log", part->arena);
    part->end = fa_json_member_int(object, "end");
}

static enum faina_code forget(struct fa_unit *unit, const struct fa_row *row, int64_t from_us,
                              int64_t to_us, struct faina_error *err)
{
    struct fa_value params[] = {fa_value_int(row->id.key), fa_value_int(from_us),
                                fa_value_int(to_us)};

    return fa_db_one(unit->source.db, FA_SQL_LOG_PART_FORGET, params, 3, NULL, NULL, err);
}

static enum faina_code prune(struct fa_unit *unit, const struct fa_row *row,
                             struct faina_error *err)
{
    struct fa_value params[] = {fa_value_int(row->id.key), fa_value_int(row->claimed_us),
                                fa_value_int(KEPT_SIZE)};
    int64_t at_us = 0;
    enum faina_code code =
        fa_db_one(unit->source.db, FA_SQL_LOG_PART_PRUNE, params, 3, fa_db_sink_int, &at_us, err);

    return code == FAINA_OK && at_us > 0 ? forget(unit, row, row->claimed_us, at_us + 1, err)
                                         : code;
}

static const char *part_json(struct fa_unit *unit, const char *before, const char *text,
                             int64_t end)
{
    struct fa_json_builder builder;
    struct fa_json_writer *w = fa_json_builder_begin(&builder);

    fa_json_begin_object(w);
    fa_json_set_str(w, "log", before ? fa_arena_printf(&unit->arena, "%s%s", before, text) : text);
    fa_json_set_int(w, "end", end);
    fa_json_end_object(w);
    return fa_json_builder_end(&builder, &unit->arena);
}

static enum faina_code add_part(struct fa_unit *unit, struct fa_op *op, struct fa_row *row)
{
    struct fa_value params[] = {fa_value_int(row->id.key), fa_value_int(row->claimed_us)};
    struct part last = {.arena = &unit->arena};
    const char *text = op->log.text;
    size_t len = strlen(text);
    bool is_together;
    enum faina_code code = fa_unit_flush(unit, &op->error);

    if (code == FAINA_OK)
        code = fa_db_one(unit->source.db, FA_SQL_LOG_PART_LAST, params, 2, sink_part, &last,
                         &op->error);
    is_together = last.text && strlen(last.text) + len <= FA_LOG_PART_SIZE;
    if (code == FAINA_OK && is_together)
        code = forget(unit, row, last.at_us, last.at_us + 1, &op->error);
    if (code == FAINA_OK && last.end / PRUNE_STEP != (last.end + (int64_t)len) / PRUNE_STEP)
        code = prune(unit, row, &op->error);
    if (code == FAINA_OK)
        fa_unit_note_unlogged(
            unit, row, FA_LOG_PART, FAINA_ACTOR_WORKER, op->by.worker_id,
            part_json(unit, is_together ? last.text : NULL, text, last.end + (int64_t)len));
    return code;
}

enum faina_code fa_do_log_add(struct fa_unit *unit, struct fa_op *op)
{
    struct fa_row *row = NULL;
    enum faina_code code = fa_find_task(unit, op, op->wants_task, &row);

    if (code == FAINA_OK && fa_rule_find(row->status, FA_PROGRESS) == NULL)
        code = fa_refuse(row, FA_PROGRESS, op);
    if (code == FAINA_OK)
        code = fa_check_holder(row, op);
    if (code == FAINA_OK && op->log.is_over) {
        code = fa_unit_flush(unit, &op->error);
        if (code == FAINA_OK)
            code = forget(unit, row, row->claimed_us, INT64_MAX, &op->error);
    } else if (code == FAINA_OK && op->log.text && op->log.text[0]) {
        code = add_part(unit, op, row);
    }
    return code == FAINA_OK ? fa_set_result(unit, op, row) : code;
}
