/*
 * api.c - the public functions: each is one operation run through the seam, and its answer handed
 * out as memory of the caller's.
 *
 * An answer lives in an arena of its own, and the arena's record is right before the struct
 * that the caller sees:
 *
 *     | struct fa_arena | faina_task, faina_tasks, ... | texts, arrays ... |
 *                       '- what the caller holds
 *
 * so faina_free finds the arena from the pointer alone and gives everything back at once.
 */
#include "api/api.h"

#include "model/limits.h"
#include "api/address.h"

#include <assert.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>

struct answer {
    struct fa_arena arena;
    alignas(max_align_t) unsigned char body[];
};

/* Hands out a copy of the struct at `body`, which lives in `arena`, and the arena with it. */
static void *answer_give(struct fa_arena *arena, const void *body, size_t size)
{
    struct answer *answer = fa_arena_take(arena, sizeof(*answer) + size);

    memcpy(answer->body, body, size);
    answer->arena = *arena;
    *arena = (struct fa_arena){0};
    return answer->body;
}

void faina_free(void *answer)
{
    struct fa_arena arena;

    if (!answer)
        return;
    /* The record lies in its own arena: take it out before that goes. */
    memcpy(&arena, (char *)answer - offsetof(struct answer, body), sizeof(arena));
    fa_arena_finish(&arena);
}

/* ------------------------------------------------------------------------------------------
 * Opening and closing
 */

/* How often this process, or those it comes from, forked: a child has one more than its parent. Of
 * the process and not of an engine, as fork is; asking for the process id would be a system call
 * each time. */
static atomic_uint forks;

static void count_fork(void)
{
    atomic_fetch_add(&forks, 1);
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, count_fork);
}

static bool is_of_parent(const struct faina *engine)
{
    return engine->forks != atomic_load_explicit(&forks, memory_order_relaxed);
}

/* After fork a child has the parent's files and locks, and none of its threads. */
enum faina_code fa_api_check(const struct faina *engine, struct faina_error *err)
{
    if (!engine)
        return fa_error_set(err, FAINA_STORE_CLOSED, "the engine is not open");
    if (is_of_parent(engine))
        return fa_error_set(err, FAINA_INVALID_REQUEST,
                            "the engine was opened by another process: open it after fork");
    if (atomic_load(&engine->is_shut))
        return fa_error_set(err, FAINA_STORE_CLOSED, "the engine was shut down");
    return FAINA_OK;
}

enum faina_code faina_open(struct faina **out, const char *url, const struct faina_options *options,
                           struct faina_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct fa_service *service;
    struct fa_arena arena = {0};
    const char *address;
    enum faina_code code;

    fa_error_clear(err);
    if (!out)
        return fa_error_set(err, FAINA_INVALID_REQUEST, "out is NULL");
    pthread_once(&once, watch_forks);
    code = fa_address_find(url, &arena, &address, err);
    if (code == FAINA_OK)
        code = fa_service_open(&service, address, options, err);
    fa_arena_finish(&arena);
    if (code != FAINA_OK)
        return code;
    *out = fa_alloc_zero(1, sizeof(**out));
    (*out)->service = service;
    (*out)->forks = atomic_load(&forks);
    sem_init(&(*out)->wake, 0, 0);
    pthread_mutex_init(&(*out)->shut_mutex, NULL);
    return FAINA_OK;
}

/* A faina_run that begins meanwhile either finds `is_ending` set, or its attachment is found
 * here. */
void faina_shutdown(struct faina *engine)
{
    struct fa_attachment *attachment;

    if (!engine || is_of_parent(engine))
        return;
    pthread_mutex_lock(&engine->shut_mutex);
    if (!atomic_load(&engine->is_shut)) {
        atomic_store(&engine->is_ending, true);
        attachment = atomic_load(&engine->attachment);
        if (attachment)
            attachment->stop(attachment); /* its handlers may still call the engine */
        atomic_store(&engine->is_shut, true);
        fa_service_shut(engine->service);
    }
    pthread_mutex_unlock(&engine->shut_mutex);
}

void faina_close(struct faina *engine)
{
    struct fa_attachment *attachment;

    if (!engine || is_of_parent(engine))
        return;
    faina_shutdown(engine);
    attachment = atomic_load(&engine->attachment);
    fa_service_close(engine->service);
    if (attachment)
        attachment->free(attachment);
    pthread_mutex_destroy(&engine->shut_mutex);
    sem_destroy(&engine->wake);
    free(engine);
}

/* ------------------------------------------------------------------------------------------
 * One operation, one answer
 */

/* Runs `op`. On success the pointer at `out` (the address of a pointer to a struct of `size` bytes;
 * NULL: it is not needed) is set to the answer. */
static enum faina_code run(struct faina *engine, struct fa_op *op, void *out, size_t size,
                           struct faina_error *err)
{
    struct fa_arena arena = {0};
    enum faina_code code;

    fa_error_clear(err);
    code = fa_api_check(engine, err);
    if (code != FAINA_OK)
        return code;
    op->arena = &arena;
    if (op->kind == FA_OP_CLAIM_NEXT)
        code = fa_service_claim_wait(engine->service, op, err);
    else
        code = fa_service_run_one(engine->service, op, err);
    if (code == FAINA_OK && out) {
        /* op->task aliases every member of the union: each is one pointer to a struct. */
        void *answer = answer_give(&arena, op->task, size);
        memcpy(out, &answer, sizeof(answer));
    }
    fa_arena_finish(&arena);
    return code;
}

static enum faina_code run_task(struct faina *engine, struct fa_op *op, struct faina_task **out,
                                struct faina_error *err)
{
    op->wants_task = out != NULL;
    return run(engine, op, out, sizeof(**out), err);
}

static struct faina_by actor(const struct faina_by *by)
{
    return by ? *by : (struct faina_by){0};
}

static enum faina_code missing(const char *what, struct faina_error *err)
{
    fa_error_clear(err);
    return fa_error_field(err, FAINA_INVALID_REQUEST, what, "%s is missing", what);
}

/* ------------------------------------------------------------------------------------------
 * Many operations, an item for each
 */

/* Codes that are about the call and not about one item of it. */
static bool is_of_engine(enum faina_code code)
{
    return code == FAINA_UNAVAILABLE || code == FAINA_STORE_CLOSED || code == FAINA_OVERLOADED ||
           code == FAINA_TIMEOUT || code == FAINA_UNAUTHORIZED || code == FAINA_INTERNAL;
}

/* The first operation, when the engine failed for all of them; NULL: some were answered. */
static const struct fa_op *find_outage(const struct fa_op *ops, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!is_of_engine(ops[i].code))
            return NULL;
    return count > 0 ? ops : NULL;
}

/* The error of a call that takes no items: the first refusal, and which item it is of. */
static enum faina_code first_refusal(const struct fa_op *ops, size_t count, const char *what,
                                     struct faina_error *err)
{
    size_t i = 0;

    while (i < count && ops[i].code == FAINA_OK)
        i++;
    if (i == count)
        return FAINA_OK;
    if (err) {
        *err = ops[i].error;
        snprintf(err->message, sizeof(err->message), "%s[%zu]: %.480s", what, i,
                 ops[i].error.message);
    }
    return ops[i].code;
}

/* Runs `ops`, all of one arena, and hands out an item for each. Takes the arena and the ops. */
static enum faina_code run_items(struct faina *engine, struct fa_op *take_ops, size_t count,
                                 const char *what, struct faina_items **out,
                                 struct faina_error *err)
{
    struct fa_arena arena = {0};
    struct faina_items items = {.count = count};
    const struct fa_op *outage;
    enum faina_code code = fa_api_check(engine, err);

    if (code != FAINA_OK)
        goto out;
    for (size_t i = 0; i < count; i++)
        take_ops[i].arena = &arena;
    fa_service_run(engine->service, take_ops, count);
    outage = find_outage(take_ops, count);
    if (outage) {
        code = outage->code;
        if (err)
            *err = outage->error;
        goto out;
    }
    if (!out) {
        code = first_refusal(take_ops, count, what, err);
        goto out;
    }
    items.items = fa_arena_zero(&arena, count, sizeof(*items.items));
    for (size_t i = 0; i < count; i++) {
        struct faina_item *item = &items.items[i];

        item->code = take_ops[i].code;
        item->existing = take_ops[i].existing;
        memcpy(item->id, take_ops[i].task_id, sizeof(item->id));
        if (item->code != FAINA_OK)
            item->error = take_ops[i].error;
        else
            item->task = take_ops[i].wants_task ? take_ops[i].task : NULL;
    }
    *out = answer_give(&arena, &items, sizeof(items));
out:
    fa_arena_finish(&arena);
    free(take_ops);
    return code;
}

static enum faina_code check_batch(const void *items, size_t count, const char *what,
                                   struct faina_error *err)
{
    fa_error_clear(err);
    if (!items && count > 0)
        return fa_error_field(err, FAINA_INVALID_REQUEST, what, "%s is NULL, but its count is %zu",
                              what, count);
    if (count > FA_BATCH_MAX)
        return fa_error_field(err, FAINA_INVALID_REQUEST, what,
                              "one call takes at most %d %s, not %zu", FA_BATCH_MAX, what, count);
    return FAINA_OK;
}

/* ------------------------------------------------------------------------------------------
 * Submitting
 */

enum faina_code faina_submit(struct faina *engine, const struct faina_submit *task,
                             struct faina_task **out, struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_SUBMIT, .submit = task};

    return task ? run_task(engine, &op, out, err) : missing("task", err);
}

enum faina_code faina_submit_many(struct faina *engine, const struct faina_submit *tasks,
                                  size_t count, struct faina_items **out, struct faina_error *err)
{
    enum faina_code code = check_batch(tasks, count, "tasks", err);
    struct fa_op *ops;

    if (code != FAINA_OK)
        return code;
    ops = fa_alloc_zero(count + 1, sizeof(*ops)); /* never of no size */
    for (size_t i = 0; i < count; i++) {
        ops[i].kind = FA_OP_SUBMIT;
        ops[i].submit = &tasks[i];
    }
    return run_items(engine, ops, count, "tasks", out, err);
}

/* ------------------------------------------------------------------------------------------
 * Working
 */

enum faina_code faina_claim_next(struct faina *engine, const struct faina_claim *claim,
                                 struct faina_tasks **out, struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_CLAIM_NEXT, .claim = claim};

    return claim ? run(engine, &op, out, sizeof(**out), err) : missing("claim", err);
}

enum faina_code faina_claim(struct faina *engine, const char *id, const char *worker_id,
                            int64_t lease_ms, struct faina_task **out, struct faina_error *err)
{
    struct fa_op op = {
        .kind = FA_OP_CLAIM, .id = id, .by.worker_id = worker_id, .lease_ms = lease_ms};

    return run_task(engine, &op, out, err);
}

enum faina_code faina_start(struct faina *engine, const char *id, const struct faina_by *by,
                            struct faina_task **out, struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_START, .id = id, .by = actor(by)};

    return run_task(engine, &op, out, err);
}

enum faina_code faina_progress(struct faina *engine, const char *id, const struct faina_by *by,
                               const struct faina_report *report, struct faina_task **out,
                               struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_PROGRESS, .id = id, .by = actor(by), .report = report};

    return report ? run_task(engine, &op, out, err) : missing("report", err);
}

enum faina_code faina_heartbeat(struct faina *engine, const char *worker_id,
                                const struct faina_held *held, size_t count, int64_t lease_ms,
                                struct faina_items **out, struct faina_error *err)
{
    enum faina_code code = check_batch(held, count, "held", err);
    struct fa_op *ops;

    if (code != FAINA_OK)
        return code;
    ops = fa_alloc_zero(count + 1, sizeof(*ops));
    for (size_t i = 0; i < count; i++) {
        ops[i].kind = FA_OP_HEARTBEAT;
        ops[i].id = held[i].id;
        ops[i].by = (struct faina_by){.worker_id = worker_id, .fence = held[i].fence};
        ops[i].lease_ms = lease_ms;
        /* A lost task has its id too, and a refused operation doesn't fill it in. */
        if (held[i].id && strlen(held[i].id) < FAINA_ID_SIZE)
            memcpy(ops[i].task_id, held[i].id, strlen(held[i].id) + 1);
    }
    return run_items(engine, ops, count, "held", out, err);
}

enum faina_code faina_complete(struct faina *engine, const char *id, const struct faina_by *by,
                               const char *output, struct faina_task **out, struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_COMPLETE, .id = id, .by = actor(by), .output = output};

    return run_task(engine, &op, out, err);
}

enum faina_code faina_fail(struct faina *engine, const char *id, const struct faina_by *by,
                           const struct faina_failure *failure, struct faina_task **out,
                           struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_FAIL, .id = id, .by = actor(by), .failure = failure};

    return failure ? run_task(engine, &op, out, err) : missing("failure", err);
}

enum faina_code faina_block(struct faina *engine, const char *id, const struct faina_by *by,
                            const struct faina_submit *subtasks, size_t count, bool fail_fast,
                            struct faina_task **out, struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_BLOCK, .id = id, .by = actor(by)};

    op.block.subtasks = subtasks;
    op.block.count = count;
    op.block.fail_fast = fail_fast;
    return run_task(engine, &op, out, err);
}

enum faina_code faina_background(struct faina *engine, const char *id, const struct faina_by *by,
                                 const char *reason, int64_t timeout_ms, struct faina_task **out,
                                 struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_BACKGROUND, .id = id, .by = actor(by)};

    op.background.reason = reason;
    op.background.timeout_ms = timeout_ms;
    return run_task(engine, &op, out, err);
}

enum faina_code faina_snooze(struct faina *engine, const char *id, const struct faina_by *by,
                             int64_t for_ms, struct faina_task **out, struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_SNOOZE, .id = id, .by = actor(by), .snooze_ms = for_ms};

    return run_task(engine, &op, out, err);
}

enum faina_code faina_release(struct faina *engine, const char *id, const struct faina_by *by,
                              struct faina_task **out, struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_RELEASE, .id = id, .by = actor(by)};

    return run_task(engine, &op, out, err);
}

/* ------------------------------------------------------------------------------------------
 * Managing
 */

enum faina_code faina_cancel(struct faina *engine, const char *id, const struct faina_by *by,
                             struct faina_task **out, struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_CANCEL, .id = id, .by = actor(by)};

    return run_task(engine, &op, out, err);
}

enum faina_code faina_update(struct faina *engine, const char *id, const struct faina_by *by,
                             const struct faina_update *update, struct faina_task **out,
                             struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_UPDATE, .id = id, .by = actor(by), .update = update};

    return run_task(engine, &op, out, err);
}

enum faina_code faina_retry(struct faina *engine, const char *id, const struct faina_by *by,
                            bool keep_attempts, struct faina_task **out, struct faina_error *err)
{
    struct fa_op op = {
        .kind = FA_OP_RETRY, .id = id, .by = actor(by), .keep_attempts = keep_attempts};

    return run_task(engine, &op, out, err);
}

enum faina_code faina_delete(struct faina *engine, const char *id, const struct faina_by *by,
                             const struct faina_removal *removal, struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_DELETE, .id = id, .by = actor(by)};

    if (removal)
        op.removal = *removal;
    return run(engine, &op, NULL, 0, err);
}

enum faina_code faina_purge(struct faina *engine, const struct faina_purge *purge, int64_t *removed,
                            struct faina_error *err)
{
    static const struct faina_purge everything = {0};
    struct fa_op op = {.kind = FA_OP_PURGE, .purge = purge ? purge : &everything};
    enum faina_code code = run(engine, &op, NULL, 0, err);

    if (code == FAINA_OK && removed)
        *removed = op.count;
    return code;
}

static enum faina_code run_lane(struct faina *engine, enum fa_op_kind kind, const char *ns,
                                const char *type, struct faina_error *err)
{
    struct fa_op op = {.kind = kind};

    op.name.ns = ns;
    op.name.type = type;
    return run(engine, &op, NULL, 0, err);
}

enum faina_code faina_pause(struct faina *engine, const char *ns, const char *type,
                            struct faina_error *err)
{
    return run_lane(engine, FA_OP_PAUSE, ns, type, err);
}

enum faina_code faina_resume(struct faina *engine, const char *ns, const char *type,
                             struct faina_error *err)
{
    return run_lane(engine, FA_OP_RESUME, ns, type, err);
}

/* ------------------------------------------------------------------------------------------
 * Reading
 */

enum faina_code faina_get(struct faina *engine, const char *id, struct faina_task **out,
                          struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_GET, .id = id};

    return run_task(engine, &op, out, err);
}

enum faina_code faina_get_by_key(struct faina *engine, const char *ns, const char *type,
                                 const char *key, struct faina_task **out, struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_GET_BY_KEY};

    op.name.ns = ns;
    op.name.type = type;
    op.name.key = key;
    return run_task(engine, &op, out, err);
}

enum faina_code faina_list(struct faina *engine, const struct faina_query *query,
                           struct faina_tasks **out, struct faina_error *err)
{
    static const struct faina_query everything = {0};
    struct fa_op op = {.kind = FA_OP_LIST, .query = query ? query : &everything};

    return run(engine, &op, out, sizeof(**out), err);
}

enum faina_code faina_children(struct faina *engine, const char *id, int limit, const char *cursor,
                               struct faina_tasks **out, struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_CHILDREN, .id = id};

    op.page.limit = limit;
    op.page.cursor = cursor;
    return run(engine, &op, out, sizeof(**out), err);
}

enum faina_code faina_events(struct faina *engine, const char *id, int limit,
                             struct faina_events **out, struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_EVENTS, .id = id};

    op.page.limit = limit;
    return run(engine, &op, out, sizeof(**out), err);
}

enum faina_code faina_wait(struct faina *engine, const char *id, int64_t timeout_ms,
                           struct faina_task **out, struct faina_error *err)
{
    struct fa_arena arena = {0};
    struct fa_op op = {.kind = FA_OP_GET, .id = id, .arena = &arena};
    enum faina_code code;

    fa_error_clear(err);
    code = fa_api_check(engine, err);
    if (code != FAINA_OK)
        return code;
    code = fa_service_wait(engine->service, &op, timeout_ms, err);
    if ((code == FAINA_OK || code == FAINA_TIMEOUT) && out)
        *out = answer_give(&arena, op.task, sizeof(*op.task));
    fa_arena_finish(&arena);
    return code;
}

enum faina_code faina_explain(struct faina *engine, const char *id, struct faina_explanation **out,
                              struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_EXPLAIN, .id = id};

    return run(engine, &op, out, sizeof(**out), err);
}

/* ------------------------------------------------------------------------------------------
 * Resources, teams, numbers
 */

enum faina_code faina_resource_limit(struct faina *engine, const char *name,
                                     int64_t max_concurrency, const struct faina_rate *rate,
                                     struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_RESOURCE_SET};

    op.resource.name = name;
    op.resource.max_concurrency = max_concurrency;
    if (rate != NULL)
        op.resource.rate = *rate;
    return run(engine, &op, NULL, 0, err);
}

enum faina_code faina_resource_set(struct faina *engine, const char *name, int64_t max_concurrency,
                                   struct faina_error *err)
{
    return faina_resource_limit(engine, name, max_concurrency, NULL, err);
}

enum faina_code faina_resource_list(struct faina *engine, const char *name,
                                    struct faina_resources **out, struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_RESOURCE_LIST};

    op.resource.name = name;
    return run(engine, &op, out, sizeof(**out), err);
}

enum faina_code faina_resource_remove(struct faina *engine, const char *name,
                                      struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_RESOURCE_REMOVE};

    op.resource.name = name;
    return run(engine, &op, NULL, 0, err);
}

enum faina_code faina_type_set(struct faina *engine, const struct faina_type_policy *policy,
                               int64_t version, struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_TYPE_PUT, .type_policy = policy, .by = {.version = version}};

    if (!policy)
        return missing("policy", err);
    return run(engine, &op, NULL, 0, err);
}

enum faina_code faina_type_list(struct faina *engine, const char *ns, const char *type,
                                struct faina_type_policies **out, struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_TYPE_LIST};

    op.name.ns = ns;
    op.name.type = type;
    return run(engine, &op, out, sizeof(**out), err);
}

enum faina_code faina_type_remove(struct faina *engine, const char *ns, const char *type,
                                  struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_TYPE_REMOVE};

    op.name.ns = ns;
    op.name.type = type;
    return run(engine, &op, NULL, 0, err);
}

enum faina_code faina_emit(struct faina *engine, const struct faina_emit *event,
                           struct faina_emitted **out, struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_EMIT, .emit = event};

    if (!event)
        return missing("event", err);
    return run(engine, &op, out, sizeof(**out), err);
}

enum faina_code faina_team_put(struct faina *engine, const struct faina_team *team,
                               struct faina_team **out, struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_TEAM_PUT, .team = team};

    if (!team)
        return missing("team", err);
    return run(engine, &op, out, sizeof(**out), err);
}

enum faina_code faina_team_list(struct faina *engine, const char *ns, const char *id,
                                struct faina_teams **out, struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_TEAM_LIST, .id = id};

    op.name.ns = ns;
    return run(engine, &op, out, sizeof(**out), err);
}

enum faina_code faina_team_remove(struct faina *engine, const char *id, struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_TEAM_REMOVE, .id = id};

    return run(engine, &op, NULL, 0, err);
}

enum faina_code faina_stats(struct faina *engine, const char *ns, struct faina_stats **out,
                            struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_STATS};

    op.name.ns = ns;
    return run(engine, &op, out, sizeof(**out), err);
}

/* ------------------------------------------------------------------------------------------
 * Workers
 */

enum faina_code faina_worker_put(struct faina *engine, const struct faina_worker *worker,
                                 const struct faina_held *held, size_t held_count, int64_t lease_ms,
                                 struct faina_beat **out, struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_WORKER_PUT};

    if (!worker)
        return missing("worker", err);
    op.worker.self = worker;
    op.worker.held = held;
    op.worker.held_count = held_count;
    op.worker.lease_ms = lease_ms;
    return run(engine, &op, out, sizeof(**out), err);
}

enum faina_code faina_worker_remove(struct faina *engine, const char *id, int64_t *released,
                                    struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_WORKER_REMOVE, .id = id};
    enum faina_code code = run(engine, &op, NULL, 0, err);

    if (code == FAINA_OK && released)
        *released = op.count;
    return code;
}

enum faina_code faina_workers(struct faina *engine, const char *id, struct faina_workers **out,
                              struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_WORKER_LIST, .id = id};

    return run(engine, &op, out, sizeof(**out), err);
}
