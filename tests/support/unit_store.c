/*
 * unit_store.c - a store without an engine.
 */
#include "support/unit_store.h"

#include "model/limits.h"
#include "store/workflow/definitions.h"
#include "store/db/migrate.h"
#include "store/db/sqlite/db_sqlite.h"

#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

/* ------------------------------------------------------------------------------------------
 * The spy
 */

static struct spy *spy_of(struct fa_db *db)
{
    return (struct spy *)db;
}

static enum faina_code count_call(struct spy *spy, struct faina_error *err)
{
    if (spy->on_call != NULL)
        spy->on_call(spy);
    spy->calls++;
    if (spy->calls == spy->fail_at)
        return fa_error_set(err, FAINA_UNAVAILABLE, "made to fail");
    return FAINA_OK;
}

static enum faina_code spy_begin(struct fa_db *db, bool for_writing, struct faina_error *err)
{
    return fa_db_begin(spy_of(db)->inner, for_writing, err);
}

static enum faina_code spy_commit(struct fa_db *db, struct faina_error *err)
{
    return fa_db_commit(spy_of(db)->inner, err);
}

static void spy_rollback(struct fa_db *db)
{
    fa_db_rollback(spy_of(db)->inner);
}

static enum faina_code spy_run(struct fa_db *db, const struct fa_db_call *call,
                               struct faina_error *err)
{
    struct spy *spy = spy_of(db);
    enum faina_code code = count_call(spy, err);

    spy->rows[call->sql] += call->rows;
    spy->runs[call->sql]++;
    return code == FAINA_OK ? fa_db_run(spy->inner, call, err) : code;
}

static enum faina_code spy_script(struct fa_db *db, const char *text, struct faina_error *err)
{
    struct spy *spy = spy_of(db);
    enum faina_code code = count_call(spy, err);

    return code == FAINA_OK ? spy->inner->ops->script(spy->inner, text, err) : code;
}

static enum faina_code spy_lock_schema(struct fa_db *db, struct faina_error *err)
{
    struct spy *spy = spy_of(db);
    enum faina_code code = count_call(spy, err);

    return code == FAINA_OK ? spy->inner->ops->lock_schema(spy->inner, err) : code;
}

static enum faina_code spy_check(struct fa_db *db, void (*found)(void *ctx, const char *sentence),
                                 void *ctx, struct faina_error *err)
{
    return spy_of(db)->inner->ops->check(spy_of(db)->inner, found, ctx, err);
}

static const char *spy_version(struct fa_db *db)
{
    return "spy";
}

static void spy_close(struct fa_db *db)
{
}

static const struct fa_db_ops spy_ops = {
    .name = "spy",
    .begin = spy_begin,
    .commit = spy_commit,
    .rollback = spy_rollback,
    .run = spy_run,
    .script = spy_script,
    .lock_schema = spy_lock_schema,
    .check = spy_check,
    .version = spy_version,
    .close = spy_close,
};

void spy_init(struct spy *spy, struct fa_db *inner)
{
    *spy = (struct spy){.ops = spy_ops, .inner = inner};
    spy->ops.traits = inner->ops->traits;
    spy->ops.migrations = inner->ops->migrations;
    spy->ops.migration_count = inner->ops->migration_count;
    spy->base.ops = &spy->ops;
}

void spy_forget(struct spy *spy)
{
    spy->calls = 0;
    memset(spy->rows, 0, sizeof(spy->rows));
    memset(spy->runs, 0, sizeof(spy->runs));
}

/* ------------------------------------------------------------------------------------------
 * The store
 */

void store_open(struct store *store)
{
    struct fa_sqlite_options options = {.path = store->path, .cache_kib = 1024};
    struct faina_error err = {0};

    memset(store, 0, sizeof(*store));
    fa_t_temp_dir(store->dir);
    snprintf(store->path, sizeof(store->path), "%s/store.db", store->dir);
    CHECK(fa_sqlite_open(&store->db, &options, &err) == FAINA_OK, "%s", err.message);
    CHECK(fa_migrate(store->db, STORE_NOW, &err) == FAINA_OK, "%s", err.message);
    spy_init(&store->spy, store->db);
    store->lanes = fa_lanes_create();
    CHECK(fa_lanes_load(store->lanes, store->db, &err) == FAINA_OK, "%s", err.message);
    fa_random_seed(&store->random, 1);
    fa_random_seed(&store->ids.random, 2);
    fa_unit_init(&store->unit, (struct fa_source){&store->spy.base, store->lanes}, &store->ids,
                 &store->random);
    store->unit.flows = fa_flows_create(FA_INPUT_SIZE_DEFAULT, NULL);
    store->unit.now_us = STORE_NOW;
    store->unit.sweep.has_begun = true; /* the store is new: it has no lanes to be removed */
    store->raw = raw_open(store->path);
}

void store_close(struct store *store)
{
    raw_close(store->raw);
    fa_flows_destroy(store->unit.flows);
    fa_unit_finish(&store->unit);
    fa_lanes_destroy(store->lanes);
    fa_db_close(store->db);
    fa_arena_finish(&store->arena);
    fa_t_remove_tree(store->dir);
}

void store_begin(struct store *store)
{
    struct faina_error err = {0};

    CHECK(fa_db_begin(store->db, true, &err) == FAINA_OK, "%s", err.message);
    fa_unit_reset(&store->unit);
}

void store_commit(struct store *store)
{
    struct faina_error err = {0};

    CHECK(fa_unit_flush(&store->unit, &err) == FAINA_OK, "%s", err.message);
    CHECK(fa_db_commit(store->db, &err) == FAINA_OK, "%s", err.message);
}

void store_rollback(struct store *store)
{
    struct faina_error err = {0};

    fa_db_rollback(store->db);
    CHECK(fa_lanes_load(store->lanes, store->db, &err) == FAINA_OK, "%s", err.message);
}

enum faina_code store_run(struct store *store, const struct fa_op *op)
{
    static fa_do_fn *const do_fns[FA_OP_COUNT] = {
        [FA_OP_SUBMIT] = fa_do_submit,
        [FA_OP_CLAIM] = fa_do_claim,
        [FA_OP_CLAIM_NEXT] = fa_do_claim_next,
        [FA_OP_START] = fa_do_start,
        [FA_OP_PROGRESS] = fa_do_progress,
        [FA_OP_HEARTBEAT] = fa_do_heartbeat,
        [FA_OP_AMEND] = fa_do_amend,
        [FA_OP_COMPLETE] = fa_do_complete,
        [FA_OP_FAIL] = fa_do_fail,
        [FA_OP_SUBTASK] = fa_do_subtask,
        [FA_OP_BLOCK] = fa_do_block,
        [FA_OP_BACKGROUND] = fa_do_background,
        [FA_OP_RELEASE] = fa_do_release,
        [FA_OP_CANCEL] = fa_do_cancel,
        [FA_OP_RETRY] = fa_do_retry,
        [FA_OP_DELETE] = fa_do_delete,
        [FA_OP_PURGE] = fa_do_purge,
        [FA_OP_PAUSE] = fa_do_pause,
        [FA_OP_RESUME] = fa_do_resume,
        [FA_OP_RESOURCE_SET] = fa_do_resource_set,
        [FA_OP_RESOURCE_REMOVE] = fa_do_resource_remove,
        [FA_OP_TYPE_PUT] = fa_do_type_put,
        [FA_OP_TYPE_REMOVE] = fa_do_type_remove,
        [FA_OP_TEAM_PUT] = fa_do_team_put,
        [FA_OP_TEAM_REMOVE] = fa_do_team_remove,
        [FA_OP_CRON_PUT] = fa_do_cron_put,
        [FA_OP_CRON_REMOVE] = fa_do_cron_remove,
        [FA_OP_CRON_RUN] = fa_do_cron_run,
        [FA_OP_WORKER_PUT] = fa_do_worker_put,
        [FA_OP_WORKER_REMOVE] = fa_do_worker_remove,
    };

    store->op = *op;
    store->op.arena = &store->arena;
    store->unit.now_us++;
    store->op.code = do_fns[op->kind](&store->unit, &store->op);
    return store->op.code;
}

struct fa_row *store_submit_row(struct store *store, const struct faina_submit *submit)
{
    struct fa_op op = {.kind = FA_OP_SUBMIT, .submit = submit};
    struct fa_id id;

    CHECK(store_run(store, &op) == FAINA_OK, "%s", store->op.error.message);
    CHECK_TRUE(fa_id_parse(store->op.task_id, &id));
    return store_get(store, id.key);
}

const char *store_id(struct store *store, const struct fa_row *row)
{
    char *text = fa_arena_take(&store->arena, FAINA_ID_SIZE);

    fa_id_format(row->id, text);
    return text;
}

struct fa_row *store_get(struct store *store, int64_t key)
{
    struct faina_error err = {0};
    struct fa_row *row = NULL;

    CHECK(fa_unit_get(&store->unit, key, true, &row, &err) == FAINA_OK, "%s", err.message);
    return row;
}

static void must_run(struct store *store, struct fa_op op, const char *id)
{
    op.id = id;
    if (op.kind != FA_OP_CANCEL)
        op.by.worker_id = "w";
    CHECK(store_run(store, &op) == FAINA_OK, "%s: %s", fa_op_name(op.kind),
          store->op.error.message);
}

int64_t store_make(struct store *store, enum faina_status status)
{
    static const struct faina_submit child = {.type = "child"};
    static const struct faina_failure failure = {.message = "made to fail"};
    static const struct faina_failure last = {.message = "made to fail", .permanent = true};
    int64_t attempts = status == FAINA_DEAD_LETTER ? 1 : 3;
    struct fa_row *row;
    const char *id;

    store_begin(store);
    row = store_submit(store, .type = "made", .max_attempts = attempts);
    id = store_id(store, row);
    if (status != FAINA_PENDING && status != FAINA_CANCELLED)
        must_run(store, (struct fa_op){.kind = FA_OP_CLAIM}, id);
    if (status != FAINA_PENDING && status != FAINA_CANCELLED && status != FAINA_CLAIMED)
        must_run(store, (struct fa_op){.kind = FA_OP_START}, id);
    if (status == FAINA_BLOCKED)
        must_run(store, (struct fa_op){.kind = FA_OP_BLOCK, .block = {&child, 1, false}}, id);
    else if (status == FAINA_BACKGROUND)
        must_run(store, (struct fa_op){.kind = FA_OP_BACKGROUND, .background = {"r", 60000}}, id);
    else if (status == FAINA_COMPLETED)
        must_run(store, (struct fa_op){.kind = FA_OP_COMPLETE, .output = "{}"}, id);
    else if (status == FAINA_FAILED)
        must_run(store, (struct fa_op){.kind = FA_OP_FAIL, .failure = &last}, id);
    else if (status == FAINA_DEAD_LETTER)
        must_run(store, (struct fa_op){.kind = FA_OP_FAIL, .failure = &failure}, id);
    else if (status == FAINA_CANCELLED)
        must_run(store, (struct fa_op){.kind = FA_OP_CANCEL}, id);
    CHECK_STATUS(row->status, status);
    store_commit(store);
    return row->id.key;
}
