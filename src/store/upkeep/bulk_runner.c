/* bulk_runner.c - see bulk_runner.h. */
#include "store/upkeep/bulk_runner.h"

#include "base/clock.h"
#include "base/thread.h"
#include "model/limits.h"
#include "store/queue/bulk_ops.h"
#include "store/txn/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define SLICE_US 20000       /* U1 */
#define SHARED_SLICE_US 5000 /* ... when others use the store */
#define PAGE_TASKS 1000      /* tasks that are found at once */
#define PART_TASKS 32        /* tasks that are changed before their rows are written */
#define PART_TASKS_FAR 200   /* the same over a network */
#define COUNT_PAGE 10000     /* tasks of one read of a count */
#define STORE_US 300000      /* how often the number of a count is stored */
#define RETRY_US 1000000     /* after a failure of the store */
#define STALE_US 100000      /* when another node has moved the operation, or leads */
#define TAKEOVER_US 1000000  /* how often a node of a shared store looks for operations */
#define RUNNING_MAX 100      /* operations that take turns */
#define KEEP_US (30 * 24 * INT64_C(3600000000)) /* of operations that have ended */
#define EXPIRE_US (3600 * INT64_C(1000000))

struct fa_bulk_runner {
    pthread_t thread;
    struct fa_engine *engine;
    pthread_mutex_t mutex; /* guards the two below */
    pthread_cond_t cond;
    bool is_closing, is_woken;
    bool is_started;
    /* Of the thread: */
    bool is_contended;  /* others have used the store during the last slice */
    size_t limit;       /* tasks of the next slice (U2) */
    int64_t expired_us; /* when ended operations were removed; monotonic */
};

/* Transactions ------------------------------------------------------------------------------- */

/* Work of a slice. */
struct slice {
    struct fa_chore chore;
    const char *id;
    const char *position; /* U3: where the operation must be */
    bool is_counting;
    /* It stores, when it counts, and otherwise does: */
    int64_t matched;
    const int64_t *keys;
    size_t count;
    bool fails_first;  /* the first of the keys makes a transaction fail */
    bool is_last;      /* the operation has no more tasks after these */
    const char *next;  /* the position after these; NULL: that of the last one */
    bool is_tree;      /* it goes on with a walk of at most `count` tasks (cancel_tree.h) */
    const char *error; /* not NULL: the operation fails */
    int64_t slice_us;  /* how long it may take */
    /* The result: */
    size_t done;           /* how many of the keys it is past */
    bool is_stale;         /* U3: nothing was done */
    bool has_ended;        /* the operation has */
    struct fa_arena arena; /* of the result */
    const char *end;       /* the new position */
};

static enum faina_code must_lead(struct fa_writer *writer, bool *leads, struct faina_error *err)
{
    struct fa_engine *engine = writer->engine;

    *leads = true;
    return engine->fleet != NULL ? fa_fleet_fence(engine->fleet, writer->db, leads, err) : FAINA_OK;
}

static bool is_same(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* The operation that a user would run on the task. */
static struct fa_op make_op(const struct fa_bulk_request *request, const char *id,
                            struct fa_arena *arena)
{
    struct fa_op op = {.id = id, .is_unaudited = true, .arena = arena};

    switch (request->kind) {
    case FA_BULK_CANCEL:
        op.kind = FA_OP_CANCEL;
        return op;
    case FA_BULK_RETRY:
        op.kind = FA_OP_RETRY;
        op.keep_attempts = request->has_reset && !request->resets_attempts;
        return op;
    case FA_BULK_DELETE:
        op.kind = FA_OP_DELETE;
        op.removal = (struct faina_removal){.cancel = request->cancels, .purge = request->purges};
        return op;
    case FA_BULK_UPDATE:
        op.kind = FA_OP_UPDATE;
        op.update = request->set;
        return op;
    case FA_BULK_KIND_COUNT:
        break;
    }
    assert(!"an operation of no known kind");
    return op;
}

struct acting {
    struct fa_writer *writer;
    struct fa_bulk_row *row;
    struct fa_bulk_request request;
    struct fa_list_filter filter;
};

/* Whether the task is still what the filter selects. */
static enum faina_code matches(struct acting *acting, int64_t key, struct fa_row **row, bool *out,
                               struct faina_error *err)
{
    struct fa_unit *unit = &acting->writer->unit;
    enum faina_code code = fa_unit_get(unit, key, true, row, err);

    *out = false;
    if (code == FAINA_TASK_NOT_FOUND)
        return FAINA_OK;
    if (code == FAINA_INTERNAL && !unit->source.db->has_failed) { /* damaged (row.h, R4) */
        fa_error_clear(err);
        acting->row->bulk.failed++;
        return FAINA_OK;
    }
    return code == FAINA_OK
               ? fa_list_filter_match(&unit->source, &acting->filter, *row, &unit->arena, out, err)
               : code;
}

static enum faina_code act(struct acting *acting, int64_t key, struct faina_error *err)
{
    struct fa_unit *unit = &acting->writer->unit;
    struct fa_row *row = NULL;
    char id[FAINA_ID_SIZE];
    struct fa_op op;
    bool is_match;
    enum faina_code code = matches(acting, key, &row, &is_match, err);

    if (code != FAINA_OK || !is_match)
        return code;
    fa_id_format(row->id, id);
    op = make_op(&acting->request, id, &unit->arena);
    if (fa_writer_run_op(acting->writer, &op)) {
        *err = op.error;
        return op.code != FAINA_OK ? op.code : FAINA_INTERNAL;
    }
    if (op.code == FAINA_OK)
        acting->row->bulk.done++;
    else
        acting->row->bulk.failed++;
    return FAINA_OK;
}

/* The tasks of a slice, a part at a time: rows are written after each part, which takes time. */
static enum faina_code act_on_all(struct acting *acting, struct slice *slice)
{
    struct fa_unit *unit = &acting->writer->unit;
    int64_t until_us = fa_clock_mono_us() + slice->slice_us;
    size_t part = fa_db_has(unit->source.db, FA_DB_ROUND_TRIPS) ? PART_TASKS_FAR : PART_TASKS;
    enum faina_code code = FAINA_OK;

    if (slice->fails_first) {
        acting->row->bulk.failed++;
        slice->done = 1;
    }
    while (code == FAINA_OK && slice->done < slice->count && fa_clock_mono_us() < until_us) {
        size_t n = slice->count - slice->done < part ? slice->count - slice->done : part;

        code = fa_unit_read_ahead(unit, slice->keys + slice->done, n, &slice->chore.error);
        for (size_t i = 0; code == FAINA_OK && i < n; i++)
            code = act(acting, slice->keys[slice->done++], &slice->chore.error);
        if (code == FAINA_OK)
            code = fa_unit_flush(unit, &slice->chore.error);
    }
    return code;
}

static void end_row(struct fa_bulk_row *row, enum fa_bulk_status status, int64_t now_us)
{
    row->bulk.status = status;
    row->bulk.ended_us = now_us;
}

/* Ends with the numbers of what was found: tasks may have changed since they were counted. */
static void move_on(struct slice *slice, struct fa_bulk_row *row, int64_t now_us)
{
    struct fa_bulk *bulk = &row->bulk;

    if (slice->done < slice->count || slice->next == NULL)
        row->position = slice->done == 0 ? slice->position
                                         : fa_arena_printf(&slice->arena, "%016" PRIx64,
                                                           (uint64_t)slice->keys[slice->done - 1]);
    else
        row->position = slice->next;
    if (slice->is_last && slice->done == slice->count) {
        bulk->matched = bulk->done + bulk->failed;
        end_row(row, FA_BULK_COMPLETED, now_us);
    } else if (bulk->matched < bulk->done + bulk->failed) {
        bulk->matched = bulk->done + bulk->failed;
    }
}

static enum faina_code act_slice(struct fa_writer *writer, struct slice *slice,
                                 struct fa_bulk_row *row)
{
    struct acting acting = {.writer = writer, .row = row};
    struct fa_arena *arena = &writer->unit.arena;
    enum faina_code code = fa_bulk_row_request(row, arena, &acting.request, &slice->chore.error);

    if (code == FAINA_OK)
        code = fa_list_filter_open(&writer->unit.source, &acting.request.query, arena,
                                   &acting.filter, &slice->chore.error);
    if (code == FAINA_OK)
        code = act_on_all(&acting, slice);
    if (code == FAINA_OK)
        move_on(slice, row, writer->unit.now_us);
    return code;
}

/* Whether the tree is still to be cancelled: its root may have been retried. */
static enum faina_code is_wanted(struct fa_unit *unit, const struct fa_bulk_row *row, bool *out,
                                 struct faina_error *err)
{
    struct fa_row *root = NULL;
    struct fa_id id;
    enum faina_code code;

    *out = fa_id_parse(row->bulk.task_id, &id);
    if (!*out)
        return FAINA_OK;
    code = fa_unit_get(unit, id.key, false, &root, err);
    *out = code != FAINA_OK || root->status == FAINA_CANCELLED;
    return code == FAINA_TASK_NOT_FOUND ? FAINA_OK : code; /* it is deleted: its tree goes, too */
}

static enum faina_code walk(struct fa_unit *unit, struct slice *slice, struct fa_tree *tree,
                            struct faina_error *err)
{
    int64_t until_us = fa_clock_mono_us() + slice->slice_us;
    size_t part = fa_db_has(unit->source.db, FA_DB_ROUND_TRIPS) ? PART_TASKS_FAR : PART_TASKS;
    enum faina_code code = FAINA_OK;

    tree->skips_first = slice->fails_first;
    while (code == FAINA_OK && tree->depth > 0 && slice->done < slice->count &&
           fa_clock_mono_us() < until_us) {
        size_t n = slice->count - slice->done < part ? slice->count - slice->done : part;

        tree->limit = n * FA_TREE_TASK;
        code = fa_tree_step(unit, tree, FAINA_ACTOR_API, err);
        slice->done += n - tree->limit / FA_TREE_TASK;
        if (code == FAINA_OK)
            code = fa_flows_process_ends(unit, err);
        if (code == FAINA_OK)
            code = fa_unit_flush(unit, err);
    }
    return code;
}

static enum faina_code act_on_tree(struct fa_writer *writer, struct slice *slice,
                                   struct fa_bulk_row *row)
{
    struct fa_unit *unit = &writer->unit;
    struct faina_error *err = &slice->chore.error;
    struct fa_tree tree;
    bool wanted;
    enum faina_code code = is_wanted(unit, row, &wanted, err);

    if (code != FAINA_OK)
        return code;
    if (row->position == NULL || !fa_tree_read(row->position, &tree))
        return fa_error_set(err, FAINA_INVALID_REQUEST, "the stored place of the walk is damaged");
    if (!wanted) {
        end_row(row, FA_BULK_CANCELLED, unit->now_us);
        return FAINA_OK;
    }
    code = walk(unit, slice, &tree, err);
    row->bulk.done += tree.done;
    row->bulk.failed += tree.failed;
    row->bulk.matched = row->bulk.done + row->bulk.failed;
    row->position = fa_tree_write(&tree, &unit->arena);
    if (code == FAINA_OK && tree.depth == 0)
        end_row(row, FA_BULK_COMPLETED, unit->now_us);
    return code;
}

/* The numbers of a count, or the end of it. */
static void count_slice(const struct slice *slice, struct fa_bulk_row *row)
{
    row->bulk.matched = slice->matched;
    row->is_counted = slice->is_last;
    row->position = slice->is_last ? NULL : slice->next;
}

static enum faina_code run_slice(struct fa_writer *writer, struct fa_chore *chore)
{
    struct slice *slice = FA_CONTAINER_OF(chore, struct slice, chore);
    struct fa_unit *unit = &writer->unit;
    struct fa_bulk_row row;
    bool leads;
    enum faina_code code = must_lead(writer, &leads, &chore->error);

    slice->done = 0;
    slice->is_stale = true;
    if (code != FAINA_OK || !leads)
        return code;
    code = fa_unit_flush(unit, &chore->error);
    if (code == FAINA_OK)
        code = fa_bulk_row_get(&unit->source, slice->id, true, &unit->arena, &row, &chore->error);
    if (code == FAINA_NOT_FOUND)
        return FAINA_OK;
    if (code != FAINA_OK || row.bulk.status != FA_BULK_RUNNING ||
        (slice->error == NULL &&
         (row.is_counted == slice->is_counting || !is_same(row.position, slice->position))))
        return code;
    slice->is_stale = false;
    if (slice->error != NULL) {
        row.bulk.error = slice->error;
        end_row(&row, FA_BULK_FAILED, unit->now_us);
    } else if (slice->is_counting) {
        count_slice(slice, &row);
    } else {
        code = slice->is_tree ? act_on_tree(writer, slice, &row) : act_slice(writer, slice, &row);
    }
    row.bulk.updated_us = unit->now_us;
    slice->end = row.position != NULL ? fa_arena_strdup(&slice->arena, row.position) : NULL;
    slice->has_ended = row.bulk.status != FA_BULK_RUNNING;
    return code == FAINA_OK ? fa_bulk_row_update(unit, &row, &chore->error) : code;
}

/* Finding ------------------------------------------------------------------------------------ */

/* A read outside of slices; a store in memory is read by its writer. */
typedef enum faina_code read_fn(struct fa_source *source, void *ctx, struct faina_error *err);

struct reading {
    struct fa_chore chore;
    read_fn *read;
    void *ctx;
};

static enum faina_code run_reading(struct fa_writer *writer, struct fa_chore *chore)
{
    struct reading *reading = FA_CONTAINER_OF(chore, struct reading, chore);
    enum faina_code code = fa_unit_flush(&writer->unit, &chore->error);

    return code == FAINA_OK ? reading->read(&writer->unit.source, reading->ctx, &chore->error)
                            : code;
}

static enum faina_code read_store(struct fa_engine *engine, read_fn *read, void *ctx,
                                  struct faina_error *err)
{
    struct reading reading = {.chore = {.run = run_reading}, .read = read, .ctx = ctx};
    struct fa_reader *reader = NULL;
    enum faina_code code;

    if (engine->readers == NULL)
        return fa_writers_run_chore(engine, &reading.chore, 1, err);
    code = fa_readers_begin(engine->readers, &reader, err);
    if (code != FAINA_OK)
        return code;
    code = read(&reader->source, ctx, err);
    fa_readers_end(engine->readers, reader);
    return code;
}

struct finding {
    const char *id;
    struct fa_arena *arena;
    struct fa_bulk_row row;
    const char *position; /* in: where to read, if `is_given` */
    bool is_given;
    struct fa_keys keys;
    struct fa_list_page page;
};

static enum faina_code find_tasks(struct fa_source *source, void *ctx, struct faina_error *err)
{
    struct finding *finding = ctx;
    struct fa_bulk_request request;
    enum faina_code code =
        fa_bulk_row_get(source, finding->id, false, finding->arena, &finding->row, err);

    if (code != FAINA_OK || finding->row.bulk.status != FA_BULK_RUNNING)
        return code;
    if (!finding->is_given)
        finding->position = finding->row.position;
    if (finding->row.bulk.task_id != NULL) /* the slices find its tasks */
        return FAINA_OK;
    finding->keys = (struct fa_keys){.arena = finding->arena};
    finding->page = finding->row.is_counted
                        ? (struct fa_list_page){.wants = FA_LIST_KEYS,
                                                .keys = &finding->keys,
                                                .limit = PAGE_TASKS}
                        : (struct fa_list_page){.wants = FA_LIST_COUNT, .limit = COUNT_PAGE};
    code = fa_bulk_row_request(&finding->row, finding->arena, &request, err);
    if (code == FAINA_OK)
        code =
            fa_bulk_find(source, &request, finding->position, finding->arena, &finding->page, err);
    return code;
}

/* Running ------------------------------------------------------------------------------------ */

static bool must_stop(struct fa_bulk_runner *runner)
{
    bool is_closing;

    pthread_mutex_lock(&runner->mutex);
    is_closing = runner->is_closing;
    pthread_mutex_unlock(&runner->mutex);
    return is_closing;
}

/* Until the time is over, or the engine is closed. */
static void pause_us(struct fa_bulk_runner *runner, int64_t us)
{
    int64_t until_us = fa_clock_mono_us() + us;

    pthread_mutex_lock(&runner->mutex);
    while (!runner->is_closing && fa_clock_mono_us() < until_us)
        fa_cond_wait_until(&runner->cond, &runner->mutex, until_us);
    pthread_mutex_unlock(&runner->mutex);
}

/* U1. Others use the store if it has run operations of theirs meanwhile. */
static enum faina_code run_transaction(struct fa_bulk_runner *runner, struct slice *slice)
{
    struct fa_engine *engine = runner->engine;
    long long before = atomic_load(&engine->operations);
    int64_t began_us = fa_clock_mono_us();
    enum faina_code code;

    slice->chore.run = run_slice;
    slice->slice_us = runner->is_contended ? SHARED_SLICE_US : SLICE_US;
    code = fa_writers_run_chore(engine, &slice->chore, 1, NULL);
    runner->is_contended = atomic_load(&engine->operations) != before;
    if (code == FAINA_OK && slice->is_stale)
        pause_us(runner, STALE_US);
    else if (code == FAINA_OK && runner->is_contended)
        pause_us(runner, fa_clock_mono_us() - began_us);
    return code;
}

/* Acts on the tasks that were found. */
static enum faina_code act_on_page(struct fa_bulk_runner *runner, const struct finding *finding,
                                   struct faina_error *err)
{
    struct slice slice = {.id = finding->id, .position = finding->position};
    const struct fa_keys *keys = &finding->keys;
    enum faina_code code;
    size_t at = 0;

    do {
        size_t n = keys->count - at < runner->limit ? keys->count - at : runner->limit;
        bool is_all = at + n == keys->count;

        slice.keys = keys->keys + at;
        slice.count = n;
        slice.is_last = is_all && finding->page.next_cursor == NULL;
        slice.next = is_all ? finding->page.next_cursor : NULL;
        code = run_transaction(runner, &slice);
        if (code == FAINA_INTERNAL && n > 0 && !slice.fails_first) { /* U2 */
            slice.fails_first = n == 1;
            runner->limit = n > 1 ? n / 2 : 1;
            continue;
        }
        if (code != FAINA_OK || slice.is_stale || slice.has_ended)
            break;
        slice.fails_first = false;
        runner->limit = runner->limit < PAGE_TASKS / 2 ? runner->limit * 2 : PAGE_TASKS;
        at += slice.done;
        slice.position = slice.end;
        if (is_all && slice.done == n)
            break;
    } while (!must_stop(runner));
    if (code != FAINA_OK)
        *err = slice.chore.error;
    fa_arena_finish(&slice.arena);
    return code;
}

/* Cancels a page of tasks of a tree. */
static enum faina_code walk_page(struct fa_bulk_runner *runner, const struct finding *finding,
                                 struct faina_error *err)
{
    struct slice slice = {.id = finding->id, .position = finding->position, .is_tree = true};
    enum faina_code code = FAINA_OK;

    for (size_t done = 0; done < PAGE_TASKS && !must_stop(runner); done += slice.done) {
        slice.count = runner->limit;
        code = run_transaction(runner, &slice);
        if (code == FAINA_INTERNAL && !slice.fails_first) { /* U2 */
            slice.fails_first = runner->limit == 1;
            runner->limit = runner->limit > 1 ? runner->limit / 2 : 1;
            slice.done = 0;
            continue;
        }
        if (code != FAINA_OK || slice.is_stale || slice.has_ended)
            break;
        slice.fails_first = false;
        runner->limit = runner->limit < PAGE_TASKS / 2 ? runner->limit * 2 : PAGE_TASKS;
        slice.position = slice.end;
    }
    if (code != FAINA_OK)
        *err = slice.chore.error;
    fa_arena_finish(&slice.arena);
    return code;
}

/* Counts the rest of the tasks, page by page. The number is stored from time to time. */
static enum faina_code count_all(struct fa_bulk_runner *runner, struct finding *finding,
                                 struct faina_error *err)
{
    struct slice slice = {.id = finding->id,
                          .position = finding->position,
                          .is_counting = true,
                          .matched = finding->row.bulk.matched};
    int64_t stored_us = fa_clock_mono_us();
    struct fa_arena arenas[2] = {{0}, {0}};
    enum faina_code code = FAINA_OK;

    for (size_t turn = 0; code == FAINA_OK; turn++) {
        slice.matched += (int64_t)finding->page.count;
        slice.next = finding->page.next_cursor;
        slice.is_last = slice.next == NULL;
        if (slice.is_last || fa_clock_mono_us() - stored_us > STORE_US) {
            code = run_transaction(runner, &slice);
            break; /* others take their turn (U5) */
        }
        if (must_stop(runner))
            break;
        finding->position = slice.next;
        finding->is_given = true;
        finding->arena = &arenas[turn % 2];
        fa_arena_reset(finding->arena);
        code = read_store(runner->engine, find_tasks, finding, err);
        if (code == FAINA_OK && finding->row.bulk.status != FA_BULK_RUNNING)
            break;
    }
    fa_arena_finish(&arenas[0]);
    fa_arena_finish(&arenas[1]);
    fa_arena_finish(&slice.arena);
    return code;
}

/* Its request is damaged, or the tasks can't be read. */
static enum faina_code fail(struct fa_bulk_runner *runner, const char *id,
                            const struct faina_error *why)
{
    struct slice slice = {.id = id, .error = why->message};
    enum faina_code code = run_transaction(runner, &slice);

    fa_arena_finish(&slice.arena);
    return code;
}

/* A page of an operation. */
static enum faina_code run_page(struct fa_bulk_runner *runner, const char *id)
{
    struct fa_arena arena = {0};
    struct finding finding = {.id = id, .arena = &arena};
    struct faina_error err = {0};
    enum faina_code code = read_store(runner->engine, find_tasks, &finding, &err);

    if (code == FAINA_OK && finding.row.bulk.status == FA_BULK_RUNNING)
        code = finding.row.bulk.task_id ? walk_page(runner, &finding, &err)
               : finding.row.is_counted ? act_on_page(runner, &finding, &err)
                                        : count_all(runner, &finding, &err);
    if (code == FAINA_INVALID_REQUEST || code == FAINA_INTERNAL)
        code = fail(runner, id, &err);
    fa_arena_finish(&arena);
    return code; /* NOT_FOUND: its row is damaged, or was removed */
}

struct running {
    char ids[RUNNING_MAX][FAINA_ID_SIZE];
    size_t count;
};

static void sink_id(void *ctx, size_t n, const struct fa_value *c)
{
    struct running *running = ctx;

    (void)n;
    if (c[0].kind == FA_TEXT && c[0].text.len < FAINA_ID_SIZE && running->count < RUNNING_MAX) {
        memcpy(running->ids[running->count], c[0].text.ptr, c[0].text.len);
        running->ids[running->count++][c[0].text.len] = '\0';
    }
}

static enum faina_code find_running(struct fa_source *source, void *ctx, struct faina_error *err)
{
    struct fa_value max = fa_value_int(RUNNING_MAX);

    return fa_db_one(source->db, FA_SQL_OPERATION_RUNNING, &max, 1, sink_id, ctx, err);
}

static enum faina_code run_expire(struct fa_writer *writer, struct fa_chore *chore)
{
    struct fa_value before = fa_value_int(fa_db_now(writer->db) - KEEP_US);

    return fa_db_one(writer->db, FA_SQL_OPERATION_EXPIRE, &before, 1, NULL, NULL, &chore->error);
}

static enum faina_code expire(struct fa_bulk_runner *runner)
{
    struct fa_chore chore = {.run = run_expire};
    int64_t now_us = fa_clock_mono_us();

    if (runner->expired_us != 0 && now_us - runner->expired_us < EXPIRE_US)
        return FAINA_OK;
    runner->expired_us = now_us;
    return fa_writers_run_chore(runner->engine, &chore, 1, NULL);
}

/* A turn for each of the operations. *has_any: there are some. */
static enum faina_code run_turns(struct fa_bulk_runner *runner, bool *has_any)
{
    struct running running = {.count = 0};
    struct faina_error err;
    enum faina_code code = read_store(runner->engine, find_running, &running, &err);

    *has_any = code == FAINA_OK && running.count > 0;
    for (size_t i = 0; i < running.count && !must_stop(runner); i++) {
        enum faina_code turn = run_page(runner, running.ids[i]);

        code = turn != FAINA_OK ? turn : code;
    }
    return code == FAINA_OK ? expire(runner) : code;
}

/* Whether this node may run operations; each slice verifies it (U3). */
static bool leads(const struct fa_engine *engine)
{
    return engine->fleet == NULL || fa_fleet_leads(engine->fleet);
}

static void *run_thread(void *ctx)
{
    struct fa_bulk_runner *runner = ctx;
    bool is_shared = runner->engine->fleet != NULL, has_any = false;

    pthread_mutex_lock(&runner->mutex);
    while (!runner->is_closing) {
        enum faina_code code = FAINA_OK;

        runner->is_woken = false;
        pthread_mutex_unlock(&runner->mutex);
        if (leads(runner->engine))
            code = run_turns(runner, &has_any);
        else
            has_any = false;
        if (code != FAINA_OK)
            pause_us(runner, RETRY_US);
        pthread_mutex_lock(&runner->mutex);
        if (code == FAINA_OK && !has_any && !runner->is_woken && !runner->is_closing)
            fa_cond_wait_until(&runner->cond, &runner->mutex,
                               is_shared ? fa_clock_mono_us() + TAKEOVER_US : INT64_MAX);
    }
    pthread_mutex_unlock(&runner->mutex);
    return NULL;
}

void fa_bulk_runner_wake(struct fa_bulk_runner *runner)
{
    pthread_mutex_lock(&runner->mutex);
    runner->is_woken = true;
    pthread_cond_signal(&runner->cond);
    pthread_mutex_unlock(&runner->mutex);
}

/* Starting and stopping ---------------------------------------------------------------------- */

struct fa_bulk_runner *fa_bulk_runner_create(struct fa_engine *engine)
{
    struct fa_bulk_runner *runner = fa_alloc_zero(1, sizeof(*runner));

    runner->engine = engine;
    runner->limit = PAGE_TASKS;
    pthread_mutex_init(&runner->mutex, NULL);
    fa_cond_init(&runner->cond);
    return runner;
}

enum faina_code fa_bulk_runner_start(struct fa_bulk_runner *runner, struct faina_error *err)
{
    int rc = fa_thread_start(&runner->thread, run_thread, runner);

    runner->is_started = rc == 0;
    return rc == 0
               ? FAINA_OK
               : fa_error_set(err, FAINA_UNAVAILABLE, "no thread can be started: %s", strerror(rc));
}

void fa_bulk_runner_stop(struct fa_bulk_runner *runner)
{
    if (!runner->is_started)
        return;
    pthread_mutex_lock(&runner->mutex);
    runner->is_closing = true;
    pthread_cond_signal(&runner->cond);
    pthread_mutex_unlock(&runner->mutex);
    pthread_join(runner->thread, NULL);
    runner->is_started = false;
}

void fa_bulk_runner_destroy(struct fa_bulk_runner *runner)
{
    if (runner == NULL)
        return;
    pthread_cond_destroy(&runner->cond);
    pthread_mutex_destroy(&runner->mutex);
    free(runner);
}
