/* audit_log.c - see audit_log.h. */
#include "store/txn/audit_log.h"

#include "model/audit_entry.h"
#include "model/cursor.h"
#include "model/limits.h"
#include "service/audit_act.h"

#include <stdlib.h>

void fa_audit_note(struct fa_unit *unit, const struct fa_op *op)
{
    struct fa_audit_entry *entry;

    if (!fa_audit_takes(op))
        return;
    unit->acts = fa_arena_grow(&unit->arena, unit->acts, unit->act_count, &unit->act_size,
                               sizeof(*unit->acts));
    entry = &unit->acts[unit->act_count++];
    *entry =
        (struct fa_audit_entry){.at_us = unit->now_us,
                                .who = fa_unit_text(unit, op->who && op->who[0] ? op->who : NULL),
                                .act = fa_unit_text(unit, fa_audit_act(op)),
                                .target = fa_unit_text(unit, fa_audit_target(op, op->arena)),
                                .reason = fa_unit_text(unit, op->by.reason),
                                .request_id = fa_unit_text(unit, op->request_id)};
}

/* Writing ---------------------------------------------------------------------------------- */

struct head {
    struct fa_arena *arena;
    int64_t count; /* -1: there is no row */
    const char *hash;
};

static void sink_head(void *ctx, size_t row, const struct fa_value *c)
{
    struct head *head = ctx;

    (void)row;
    head->count = fa_value_as_int(&c[0]);
    head->hash = fa_value_dup(&c[1], head->arena);
}

static enum faina_code read_head(struct fa_db *db, bool for_change, struct fa_arena *arena,
                                 struct head *out, struct faina_error *err)
{
    struct fa_db_call call = fa_db_call_one(FA_SQL_AUDIT_HEAD_GET, NULL, 0, sink_head, out);

    *out = (struct head){.arena = arena, .count = -1};
    call.for_change = for_change;
    return fa_db_run(db, &call, err);
}

static void bind_entry(void *ctx, size_t n, struct fa_value *v)
{
    const struct fa_audit_entry *entry = &((const struct fa_audit_entry *)ctx)[n];

    v[0] = fa_value_int(entry->id);
    v[1] = fa_value_int(entry->at_us);
    v[2] = fa_value_text(entry->who);
    v[3] = fa_value_text(entry->act);
    v[4] = fa_value_text(entry->target);
    v[5] = fa_value_text(entry->reason);
    v[6] = fa_value_text(entry->request_id);
    v[7] = fa_value_text(entry->previous_hash);
    v[8] = fa_value_text(entry->hash);
}

static void link_entries(struct fa_unit *unit, struct head *head)
{
    for (size_t i = 0; i < unit->act_count; i++) {
        struct fa_audit_entry *entry = &unit->acts[i];
        char hash[FA_SHA256_HEX_SIZE];

        entry->id = ++head->count;
        entry->previous_hash = head->hash;
        fa_audit_hash(entry, hash);
        entry->hash = head->hash = fa_unit_text(unit, hash);
    }
}

enum faina_code fa_audit_write(struct fa_unit *unit, struct faina_error *err)
{
    struct fa_db_call call = {.sql = FA_SQL_AUDIT_INSERT, .param_count = 9, .bind = bind_entry};
    struct fa_value params[3];
    struct head head;
    enum faina_code code;

    if (unit->act_count == 0)
        return FAINA_OK;
    code = read_head(unit->source.db, true, &unit->arena, &head, err);
    if (code == FAINA_OK && head.count < 0)
        code = fa_error_set(err, FAINA_INTERNAL,
                            "the table audit_head has no row: the audit can't go on");
    if (code != FAINA_OK)
        return code;
    link_entries(unit, &head);
    call.rows = unit->act_count;
    call.bind_ctx = unit->acts;
    code = fa_db_run(unit->source.db, &call, err);
    unit->act_count = 0;
    params[0] = fa_value_int(1);
    params[1] = fa_value_int(head.count);
    params[2] = fa_value_text(head.hash);
    return code == FAINA_OK
               ? fa_db_one(unit->source.db, FA_SQL_AUDIT_HEAD_SET, params, 3, NULL, NULL, err)
               : code;
}

/* Reading ---------------------------------------------------------------------------------- */

struct reading {
    struct fa_arena *arena;
    const struct fa_audit_query *query;
    struct fa_audit_list *list;
    size_t size, limit;
    int64_t rows, last_id; /* of all rows, also of those that the filter leaves out */
    bool is_full;
};

static bool is_text(const char *wanted, const char *text)
{
    return wanted == NULL || (text != NULL && strcmp(wanted, text) == 0);
}

static bool is_wanted(const struct fa_audit_query *query, const struct fa_audit_entry *entry)
{
    return is_text(query->who, entry->who) && is_text(query->act, entry->act) &&
           is_text(query->target, entry->target) &&
           (query->from_us == 0 || entry->at_us >= query->from_us) &&
           (query->to_us == 0 || entry->at_us < query->to_us);
}

static void sink_entry(void *ctx, size_t row, const struct fa_value *c)
{
    struct reading *reading = ctx;
    struct fa_audit_list *list = reading->list;
    struct fa_audit_entry entry = {.id = fa_value_as_int(&c[0]),
                                   .at_us = fa_value_as_int(&c[1]),
                                   .who = fa_value_dup(&c[2], reading->arena),
                                   .act = fa_value_dup(&c[3], reading->arena),
                                   .target = fa_value_dup(&c[4], reading->arena),
                                   .reason = fa_value_dup(&c[5], reading->arena),
                                   .request_id = fa_value_dup(&c[6], reading->arena),
                                   .previous_hash = fa_value_dup(&c[7], reading->arena),
                                   .hash = fa_value_dup(&c[8], reading->arena)};

    (void)row;
    if (list->count == reading->limit)
        reading->is_full = true;
    if (reading->is_full)
        return;
    reading->rows++;
    reading->last_id = entry.id;
    if (!is_wanted(reading->query, &entry))
        return;
    list->items = fa_arena_grow(reading->arena, list->items, list->count, &reading->size,
                                sizeof(*list->items));
    list->items[list->count++] = entry;
}

static bool has_filter(const struct fa_audit_query *query)
{
    return query->who || query->act || query->target || query->from_us || query->to_us;
}

static enum faina_code read_cursor(const struct fa_audit_query *query, struct fa_arena *arena,
                                   int64_t *out, struct faina_error *err)
{
    const char *key;
    char *end;
    enum faina_code code = fa_cursor_read(query->cursor, arena, &key, 1, err);

    *out = query->ascending ? INT64_MIN : INT64_MAX;
    if (code != FAINA_OK || query->cursor == NULL)
        return code;
    *out = strtoll(key, &end, 10);
    if (end == key || *end != '\0')
        return fa_cursor_refuse(err);
    return FAINA_OK;
}

enum faina_code fa_read_audit(struct fa_source *source, struct fa_op *op)
{
    const struct fa_audit_query *query = op->audit_query;
    struct fa_audit_list *list = fa_arena_zero(op->arena, 1, sizeof(*list));
    struct reading reading = {.arena = op->arena,
                              .query = query,
                              .list = list,
                              .limit =
                                  query->limit > 0 ? (size_t)query->limit : FA_LIST_LIMIT_DEFAULT};
    int64_t rows_max = has_filter(query) ? FA_AUDIT_ROWS_MAX : (int64_t)reading.limit;
    enum fa_sql sql = query->ascending ? FA_SQL_AUDIT_ASC : FA_SQL_AUDIT_DESC;
    struct fa_value params[2];
    struct head head;
    int64_t after;
    enum faina_code code = read_cursor(query, op->arena, &after, &op->error);

    params[0] = fa_value_int(after);
    params[1] = fa_value_int(rows_max + 1);
    if (code == FAINA_OK)
        code = fa_db_one(source->db, sql, params, 2, sink_entry, &reading, &op->error);
    if (code == FAINA_OK)
        code = read_head(source->db, false, op->arena, &head, &op->error);
    if (code != FAINA_OK)
        return code;
    list->total = head.count;
    list->last_hash = head.hash;
    if (reading.is_full || reading.rows > rows_max)
        list->next_cursor = fa_cursor_write(
            op->arena,
            (const char *[]){fa_arena_printf(op->arena, "%lld", (long long)reading.last_id)}, 1);
    op->audit = list;
    return FAINA_OK;
}
