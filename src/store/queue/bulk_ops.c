/* bulk_ops.c - see bulk_ops.h. */
#include "store/queue/bulk_ops.h"

#include "json/json.h"
#include "model/limits.h"
#include "service/access.h"
#include "store/read/pages.h"
#include "store/txn/json_text.h"
#include "store/txn/row_check.h"
#include "wire/wire_bulk.h"

#include <assert.h>

#define COLUMNS 15
#define FIRST_COST                                                                                 \
    9000 /* of counting in the transaction that starts the operation (list_inner.h) */
#define COUNT_MAX 100000 /* tasks that one part of a count finds at most */

/* Rows --------------------------------------------------------------------------------------- */

static const struct fa_form form = {
    "operation", "xnnnxjXnnnXXttT",
    "id kind status counted namespace request position matched done failed created_by error "
    "created_us updated_us ended_us"};

static bool is_valid(struct fa_source *source, const struct fa_value *c, struct fa_arena *arena)
{
    return fa_source_check(source, &form, c, &c[0], arena) && c[0].text.len < FAINA_ID_SIZE &&
           c[1].i < FA_BULK_KIND_COUNT && c[2].i < FA_BULK_STATUS_COUNT;
}

/* The filter and the change, as users see them. */
static void show_request(struct fa_bulk_row *row, struct fa_arena *arena)
{
    struct fa_json object = fa_json_value(fa_str(row->request)), member;

    if (object.type != FA_JSON_OBJECT)
        return;
    row->bulk.reason = fa_json_member_text(object, "reason", arena);
    row->bulk.task_id = fa_json_member_text(object, "taskId", arena);
    if (fa_json_member(object, "filter", &member))
        row->bulk.filter = fa_arena_copy(arena, member.raw.ptr, member.raw.len);
    if (fa_json_member(object, "set", &member))
        row->bulk.set = fa_arena_copy(arena, member.raw.ptr, member.raw.len);
}

static void take_row(const struct fa_value *c, struct fa_arena *arena, struct fa_bulk_row *out)
{
    *out = (struct fa_bulk_row){
        .bulk = {.kind = (enum fa_bulk_kind)c[1].i,
                 .status = (enum fa_bulk_status)c[2].i,
                 .ns = fa_value_dup(&c[4], arena),
                 .matched = c[7].i,
                 .done = c[8].i,
                 .failed = c[9].i,
                 .created_by = fa_value_dup(&c[10], arena),
                 .error = fa_value_dup(&c[11], arena),
                 .created_us = c[12].i,
                 .updated_us = c[13].i,
                 .ended_us = fa_value_as_int(&c[14])},
        .is_counted = c[3].i != 0,
        .request = fa_value_dup(&c[5], arena),
        .position = fa_value_dup(&c[6], arena),
    };
    memcpy(out->bulk.id, c[0].text.ptr, c[0].text.len);
    show_request(out, arena);
}

struct found_row {
    struct fa_source *source;
    struct fa_arena *arena;
    struct fa_bulk_row *row;
    bool is_found;
};

static void sink_row(void *ctx, size_t n, const struct fa_value *c)
{
    struct found_row *found = ctx;

    (void)n;
    found->is_found = is_valid(found->source, c, found->arena);
    if (found->is_found)
        take_row(c, found->arena, found->row);
}

static enum faina_code refuse_unknown(const char *id, struct faina_error *err)
{
    return fa_error_set(err, FAINA_NOT_FOUND, "there is no operation %.64s", id);
}

enum faina_code fa_bulk_row_get(struct fa_source *source, const char *id, bool locks,
                                struct fa_arena *arena, struct fa_bulk_row *out,
                                struct faina_error *err)
{
    struct found_row found = {source, arena, out, false};
    struct fa_value param = fa_value_text(id);
    struct fa_db_call call = fa_db_call_one(FA_SQL_OPERATION_GET, &param, 1, sink_row, &found);
    enum faina_code code;

    call.for_change = locks;
    code = fa_db_run(source->db, &call, err);
    return code == FAINA_OK && !found.is_found ? refuse_unknown(id, err) : code;
}

static enum faina_code put_row(struct fa_unit *unit, const struct fa_bulk_row *row,
                               struct faina_error *err)
{
    const struct fa_bulk *bulk = &row->bulk;
    struct fa_value v[COLUMNS] = {
        fa_value_text(bulk->id),
        fa_value_int(bulk->kind),
        fa_value_int(bulk->status),
        fa_value_int(row->is_counted),
        fa_value_text(bulk->ns),
        fa_value_text(row->request),
        fa_value_text(row->position),
        fa_value_int(bulk->matched),
        fa_value_int(bulk->done),
        fa_value_int(bulk->failed),
        fa_value_text(bulk->created_by),
        fa_value_text(bulk->error),
        fa_value_int(bulk->created_us),
        fa_value_int(bulk->updated_us),
        fa_value_int_or_null(bulk->ended_us),
    };

    return fa_db_one(unit->source.db, FA_SQL_OPERATION_PUT, v, COLUMNS, NULL, NULL, err);
}

enum faina_code fa_bulk_row_update(struct fa_unit *unit, const struct fa_bulk_row *row,
                                   struct faina_error *err)
{
    const struct fa_bulk *bulk = &row->bulk;
    struct fa_value v[] = {
        fa_value_text(bulk->id),        fa_value_int(bulk->status),
        fa_value_int(row->is_counted),  fa_value_text(row->position),
        fa_value_int(bulk->matched),    fa_value_int(bulk->done),
        fa_value_int(bulk->failed),     fa_value_text(bulk->error),
        fa_value_int(bulk->updated_us), fa_value_int_or_null(bulk->ended_us),
    };

    return fa_db_one(unit->source.db, FA_SQL_OPERATION_UPDATE, v, FA_COUNT(v), NULL, NULL, err);
}

/* Requests ----------------------------------------------------------------------------------- */

static const char *request_json(const struct fa_bulk_request *request, struct fa_arena *arena)
{
    struct fa_json_builder builder;

    fa_bulk_put(fa_json_builder_begin(&builder), request);
    return fa_json_builder_end(&builder, arena);
}

/* B1. Times of different nodes may be the same. */
static void bound(struct fa_bulk_request *request, int64_t created_us)
{
    if (request->query.created_before_us == 0 || request->query.created_before_us > created_us + 1)
        request->query.created_before_us = created_us + 1;
}

enum faina_code fa_bulk_row_request(const struct fa_bulk_row *row, struct fa_arena *arena,
                                    struct fa_bulk_request *out, struct faina_error *err)
{
    enum faina_code code = fa_bulk_read(fa_str(row->request), row->bulk.kind, arena, out, err);

    if (code == FAINA_OK && (!out->has_filter || (out->kind == FA_BULK_UPDATE && !out->set)))
        code = fa_error_set(err, FAINA_INVALID_REQUEST, "the stored request is damaged");
    if (code == FAINA_OK)
        bound(out, row->bulk.created_us);
    return code;
}

enum faina_code fa_bulk_find(struct fa_source *source, const struct fa_bulk_request *request,
                             const char *position, struct fa_arena *arena,
                             struct fa_list_page *page, struct faina_error *err)
{
    struct fa_source reading = *source;
    struct faina_query query = request->query;
    struct fa_op op = {.kind = FA_OP_LIST, .query = &query, .arena = arena};
    enum faina_code code;

    reading.for_change = false;
    query.sort = FAINA_SORT_CREATED;
    query.ascending = false;
    query.cursor = position;
    code = fa_list_read(&reading, &op, &query, page);
    if (code != FAINA_OK)
        *err = op.error;
    return code;
}

enum faina_code fa_read_bulk_count(struct fa_source *source, struct fa_op *op)
{
    struct fa_list_page page = {.wants = FA_LIST_COUNT, .limit = COUNT_MAX};
    struct fa_arena scratch = {0}; /* a count may have thousands of parts */
    enum faina_code code =
        fa_bulk_find(source, op->bulk.request, op->bulk.cursor, &scratch, &page, &op->error);

    op->count = (int64_t)page.count;
    op->next_cursor = page.next_cursor ? fa_arena_strdup(op->arena, page.next_cursor) : NULL;
    fa_arena_finish(&scratch);
    return code;
}

/* The operations ----------------------------------------------------------------------------- */

/* Counts the first tasks at once: a few are all there are, and the answer has their number. */
static enum faina_code count_first(struct fa_unit *unit, const struct fa_bulk_request *request,
                                   struct fa_bulk_row *row, struct faina_error *err)
{
    struct fa_list_page page = {
        .wants = FA_LIST_COUNT, .limit = COUNT_MAX, .cost = FA_LIST_COST_MAX - FIRST_COST};
    struct fa_bulk_request bounded = *request;
    enum faina_code code = fa_unit_flush(unit, err); /* includes tasks of this batch */

    bound(&bounded, row->bulk.created_us);
    if (code == FAINA_OK)
        code = fa_bulk_find(&unit->source, &bounded, NULL, &unit->arena, &page, err);
    row->bulk.matched = (int64_t)page.count;
    row->position = page.next_cursor;
    row->is_counted = page.next_cursor == NULL;
    if (row->is_counted && page.count == 0) {
        row->bulk.status = FA_BULK_COMPLETED;
        row->bulk.ended_us = unit->now_us;
    }
    return code;
}

static enum faina_code answer(struct fa_op *op, const struct fa_bulk_row *row)
{
    op->bulk_answer = fa_arena_take(op->arena, sizeof(*op->bulk_answer));
    *op->bulk_answer = row->bulk;
    return FAINA_OK;
}

enum faina_code fa_do_bulk(struct fa_unit *unit, struct fa_op *op)
{
    const struct fa_bulk_request *request = op->bulk.request;
    struct fa_bulk_row row = {
        .bulk = {.kind = request->kind, .created_us = unit->now_us, .updated_us = unit->now_us},
        .request = request_json(request, op->arena)};
    enum faina_code code;

    fa_id_format(fa_id_free(unit->ids, unit->now_us), row.bulk.id);
    row.bulk.ns = fa_arena_strdup(op->arena, request->query.ns ? request->query.ns : "default");
    row.bulk.created_by = op->who;
    show_request(&row, op->arena);
    code = count_first(unit, request, &row, &op->error);
    if (code == FAINA_OK)
        code = put_row(unit, &row, &op->error);
    unit->has_bulk |= code == FAINA_OK && row.bulk.status == FA_BULK_RUNNING;
    return code == FAINA_OK ? answer(op, &row) : code;
}

static const char *tree_json(const char *id, const char *reason, struct fa_arena *arena)
{
    struct fa_json_builder builder;
    struct fa_json_writer *w = fa_json_builder_begin(&builder);

    fa_json_begin_object(w);
    fa_json_set_str(w, "taskId", id);
    if (reason != NULL)
        fa_json_set_str(w, "reason", reason);
    fa_json_end_object(w);
    return fa_json_builder_end(&builder, arena);
}

enum faina_code fa_bulk_add_tree(struct fa_unit *unit, const struct fa_row *root,
                                 const struct fa_tree *tree, struct faina_error *err)
{
    const struct fa_op *op = unit->op;
    struct fa_bulk_row row = {.bulk = {.kind = FA_BULK_CANCEL,
                                       .ns = root->lane->ns,
                                       .matched = tree->done + tree->failed,
                                       .done = tree->done,
                                       .failed = tree->failed,
                                       .created_by = op != NULL ? op->who : NULL,
                                       .created_us = unit->now_us,
                                       .updated_us = unit->now_us},
                              .is_counted = true,
                              .position = fa_tree_write(tree, &unit->arena)};
    char id[FAINA_ID_SIZE];
    enum faina_code code;

    fa_id_format(root->id, id);
    row.request = tree_json(id, op != NULL ? op->by.reason : NULL, &unit->arena);
    fa_id_format(fa_id_free(unit->ids, unit->now_us), row.bulk.id);
    code = put_row(unit, &row, err);
    unit->has_bulk |= code == FAINA_OK;
    return code;
}

/* One that has ended stays as it is. */
enum faina_code fa_do_bulk_cancel(struct fa_unit *unit, struct fa_op *op)
{
    struct fa_bulk_row row;
    enum faina_code code =
        fa_bulk_row_get(&unit->source, op->id, true, op->arena, &row, &op->error);

    if (code == FAINA_OK && !fa_access_reaches(op->grant, row.bulk.ns))
        code = refuse_unknown(op->id, &op->error);
    if (code == FAINA_OK && row.bulk.status == FA_BULK_RUNNING) {
        row.bulk.status = FA_BULK_CANCELLED;
        row.bulk.ended_us = row.bulk.updated_us = unit->now_us;
        code = fa_bulk_row_update(unit, &row, &op->error);
    }
    return code == FAINA_OK ? answer(op, &row) : code;
}

/* Reading ------------------------------------------------------------------------------------ */

struct bulk_list {
    struct fa_op *op;
    struct fa_source *source;
    struct fa_pager pager;
    size_t size;
};

/* Damaged ones are left out, and those of namespaces that the caller doesn't reach. */
static void sink_item(void *ctx, size_t n, const struct fa_value *c)
{
    struct bulk_list *list = ctx;
    struct fa_bulks *bulks = list->op->bulks;
    struct fa_bulk_row row;

    (void)n;
    if (!is_valid(list->source, c, list->op->arena)) {
        fa_pager_skip_row(&list->pager, c, COLUMNS);
        return;
    }
    take_row(c, list->op->arena, &row);
    if (!fa_access_reaches(list->op->grant, row.bulk.ns)) {
        fa_pager_skip_row(&list->pager, c, COLUMNS);
        return;
    }
    if (!fa_pager_take_row(&list->pager, c, COLUMNS))
        return;
    bulks->items = fa_arena_grow(list->op->arena, bulks->items, bulks->count, &list->size,
                                 sizeof(*bulks->items));
    bulks->items[bulks->count++] = row.bulk;
}

static enum faina_code read_one(struct fa_source *source, struct fa_op *op)
{
    struct fa_bulk_row row;
    enum faina_code code = fa_bulk_row_get(source, op->id, false, op->arena, &row, &op->error);

    if (code == FAINA_OK && !fa_access_reaches(op->grant, row.bulk.ns))
        code = refuse_unknown(op->id, &op->error);
    if (code != FAINA_OK)
        return code;
    op->bulks->items = fa_arena_take(op->arena, sizeof(*op->bulks->items));
    op->bulks->items[op->bulks->count++] = row.bulk;
    return FAINA_OK;
}

enum faina_code fa_read_bulks(struct fa_source *source, struct fa_op *op)
{
    struct bulk_list list = {.op = op, .source = source, .pager = fa_pager_of_part(&op->part)};
    struct fa_list_query query = {.sql = FA_SQL_OPERATION_LIST,
                                  .param_count = 2,
                                  .limit_at = 1,
                                  .after_at = 0,
                                  .key_at = 0,
                                  .key_count = 1,
                                  .sink = sink_item,
                                  .sink_ctx = &list};

    op->bulks = fa_arena_zero(op->arena, 1, sizeof(*op->bulks));
    if (op->id != NULL)
        return read_one(source, op);
    return fa_pager_read(&list.pager, source->db, &query, op->part.cursor, op->arena,
                         &op->next_cursor, &op->error);
}
