/*
 * test_002.c - document 002 (Tasks Design), table by table, on every engine.
 *
 * Its words in ours: Fail with retries left is a retryable failure; "Failed" is dead_letter (no
 * attempts left) or failed (no retry helps); a completed task's Result is our output. Its names
 * over HTTP and on the command line are in test_002_names.py.
 */
#include "support/ops.h"
#include "support/proxy.h"
#include "support/psql.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define FAST ((struct faina_retry_policy){.base_ms = 1, .factor = 1, .max_ms = 1})

static const char *submit(struct fa_t *t, const char *key, int max_attempts)
{
    return fa_t_submit(t, .type = "order", .idempotency_key = key,
                       .input = "{\"order_id\":\"123\"}", .max_attempts = max_attempts,
                       .retry = FAST);
}

/* "State Transitions" */
static void test_002__state_transitions(struct fa_t *t)
{
    const char *id = submit(t, "a", 2);

    CHECK_NOW(t, id, FAINA_PENDING); /* - to Pending: Submit */
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_NOW(t, id, FAINA_CLAIMED); /* Pending to Claimed: Claim */
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "e"));
    CHECK_NOW(t, id, FAINA_PENDING); /* Claimed to Pending: Fail, retries available */
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "e"));
    CHECK_NOW(t, id, FAINA_DEAD_LETTER); /* Claimed to Failed: Fail, MaxAttempts reached */
    CHECK_OK(t, fa_t_retry(t, id, NOBODY));
    CHECK_NOW(t, id, FAINA_PENDING); /* Failed to Pending: Retry */
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_OK(t, fa_t_retry(t, id, NOBODY));
    CHECK_NOW(t, id, FAINA_PENDING); /* Claimed to Pending: Retry */
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_OK(t, fa_t_complete(t, id, BY("w"), "{\"ok\":true}"));
    CHECK_NOW(t, id, FAINA_COMPLETED); /* Claimed to Completed: same worker completes */
}

/* "How It Works": the answer to the first submit is lost, the client sends it again. */
static void test_002__submit_again_returns_the_first(struct fa_t *t)
{
    const char *id = submit(t, "order-123", 3);

    CHECK_STR(submit(t, "order-123", 3), id);
    CHECK_OK(t, fa_t_get_by_key(t, NULL, "order", "order-123"));
    CHECK_STR(t->task->id, id);
    fa_t_finish_task(t, id);
    CHECK_STR(submit(t, "order-123", 3), id); /* terminal tasks are still found */
}

/* "Attempt Counting" and "Retry Flow" */
static void test_002__attempts(struct fa_t *t)
{
    const char *id = submit(t, NULL, 3);

    CHECK_OK(t, fa_t_claim(t, id, "worker-a"));
    CHECK_INT(t->task->attempts, 1);
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("worker-a"), "e"));
    CHECK_STATUS(t->task->status, FAINA_PENDING);
    CHECK_STR(t->task->worker_id, NULL);
    CHECK_OK(t, fa_t_claim(t, id, "worker-b"));
    CHECK_INT(t->task->attempts, 2);
    CHECK_OK(t, fa_t_complete(t, id, BY("worker-b"), "{}"));
    CHECK_INT(t->task->attempts, 2);
}

/* "Conflict Resolution" */
static void test_002__claim_conflicts(struct fa_t *t)
{
    const char *id = submit(t, NULL, 3);

    CHECK_OK(t, fa_t_claim(t, id, "worker-a"));
    CHECK_OK(t, fa_t_claim(t, id, "worker-a"));
    CHECK_INT(t->task->attempts, 1);
    CHECK_CODE(t, fa_t_claim(t, id, "worker-b"), FAINA_TASK_ALREADY_CLAIMED);
    CHECK_OK(t, fa_t_complete(t, id, BY("worker-a"), NULL));
    CHECK_CODE(t, fa_t_claim(t, id, "worker-a"), FAINA_TASK_COMPLETED);
    CHECK_CODE(t, fa_t_claim(t, fa_t_make(t, FAINA_FAILED, "w"), "w"), FAINA_TASK_FAILED);
    CHECK_CODE(t, fa_t_claim(t, fa_t_make(t, FAINA_DEAD_LETTER, "w"), "w"), FAINA_TASK_FAILED);
}

/* "Error Handling", one line for each error. */
static void test_002__errors(struct fa_t *t)
{
    const char *unknown = "01890a5d-ac96-774b-bcce-b302099a8057";
    const char *claimed = fa_t_make(t, FAINA_CLAIMED, "w");
    const char *pending = fa_t_make(t, FAINA_PENDING, NULL);
    const char *dead = fa_t_make(t, FAINA_DEAD_LETTER, "w");

    CHECK_CODE(t, fa_t_get(t, unknown), FAINA_TASK_NOT_FOUND);
    CHECK_CODE(t, fa_t_claim(t, unknown, "w"), FAINA_TASK_NOT_FOUND);
    CHECK_CODE(t, fa_t_get_by_key(t, NULL, "order", "never"), FAINA_TASK_NOT_FOUND);
    CHECK_CODE(t, fa_t_claim(t, claimed, "v"), FAINA_TASK_ALREADY_CLAIMED);
    CHECK_CODE(t, fa_t_complete(t, pending, BY("w"), NULL), FAINA_TASK_NOT_CLAIMED);
    CHECK_CODE(t, fa_t_fail_attempt(t, pending, BY("w"), "e"), FAINA_TASK_NOT_CLAIMED);
    CHECK_CODE(t, fa_t_complete(t, fa_t_make(t, FAINA_COMPLETED, "w"), BY("v"), NULL),
               FAINA_TASK_COMPLETED);
    CHECK_CODE(t, fa_t_complete(t, dead, BY("v"), NULL), FAINA_TASK_FAILED);
    CHECK_CODE(t, fa_t_retry_keep(t, dead, NOBODY), FAINA_MAX_ATTEMPTS_REACHED);
    CHECK_CODE(t, fa_t_try_submit(t, .priority = 1), FAINA_INVALID_TASK);
    CHECK_CODE(t, fa_t_claim(t, pending, ""), FAINA_INVALID_WORKER_ID);
    CHECK_CODE(t, fa_t_complete(t, claimed, BY("v"), NULL), FAINA_WRONG_WORKER);
}

/* "Terminal States" and "Cleanup Old Tasks" */
static void test_002__terminal_tasks_are_deleted(struct fa_t *t)
{
    const char *id = submit(t, "k", 3);

    CHECK_CODE(t, fa_t_delete(t, id), FAINA_TASK_ACTIVE);
    fa_t_finish_task(t, id);
    CHECK_OK(t, fa_t_list(t, .statuses = 1u << FAINA_COMPLETED));
    CHECK_INT(t->op.tasks->count, 1);
    CHECK_TRUE(t->op.tasks->items[0].completed_us > 0);
    CHECK_OK(t, fa_t_delete(t, id));
    CHECK_CODE(t, fa_t_get(t, id), FAINA_TASK_NOT_FOUND);
    submit(t, "k", 3); /* both of its keys are gone */
    CHECK_TRUE(!t->op.existing);
}

/* "Goals": tasks survive restarts. */
static void test_002__state_persists(struct fa_t *t)
{
    const char *ids[FAINA_STATUS_COUNT];
    const char *before[FAINA_STATUS_COUNT];

    for (enum faina_status s = 0; s < FAINA_STATUS_COUNT; s++) {
        ids[s] = t->is_sql || s != FAINA_BLOCKED ? fa_t_make(t, s, "w") : NULL;
        before[s] = ids[s] ? fa_t_picture(t, ids[s]) : NULL;
    }
    fa_t_reopen(t);
    for (enum faina_status s = 0; s < FAINA_STATUS_COUNT; s++)
        if (ids[s])
            CHECK_STR(fa_t_picture(t, ids[s]), before[s]);
}

/* "Edge cases": empty payloads, double complete. */
static void test_002__edge_cases(struct fa_t *t)
{
    static const char *const payloads[] = {NULL, "\"\"", "{}", "null"};

    for (size_t i = 0; i < FA_COUNT(payloads); i++) {
        const char *id = fa_t_submit(t, .type = "x", .input = payloads[i]);

        CHECK_STR(fa_t_task(t, id)->input, payloads[i]);
        fa_t_take(t, id, "w");
        CHECK_OK(t, fa_t_complete(t, id, BY("w"), payloads[i]));
        CHECK_OK(t, fa_t_complete(t, id, BY("w"), payloads[i]));
        CHECK_STR(fa_t_task(t, id)->output, payloads[i]);
    }
}

/* "Usage Patterns": its submit has a key, a payload and MaxAttempts, and no type. */
static void test_002__submit_needs_no_type(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .idempotency_key = "order-123-process",
                                 .input = "{\"order_id\": \"123\"}", .max_attempts = 3);

    CHECK_STR(fa_t_task(t, id)->type, "default");
    CHECK_STR(t->task->name, "default");
    CHECK_STR(fa_t_submit(t, .idempotency_key = "order-123-process", .input = "{}"), id);
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w"));
    CHECK_INT(t->op.tasks->count, 1);
    CHECK_STR(fa_t_task(t, fa_t_submit(t, .name = "only a name"))->type, "default");
    CHECK_CODE(t, fa_t_try_submit(t, .idempotency_key = "k", .max_attempts = 3),
               FAINA_INVALID_TASK);
    CHECK_STR(t->op.error.field, "type");
    CHECK_CODE(t, fa_t_get_by_key(t, NULL, NULL, "k"), FAINA_TASK_NOT_FOUND);
}

/* "MaxAttempts = 0 means unlimited retries" */
static void test_002__no_limit_of_attempts(struct fa_t *t)
{
    const char *id = submit(t, NULL, FAINA_UNLIMITED);

    CHECK_INT(fa_t_task(t, id)->max_attempts, 0);
    for (int i = 1; i <= 10; i++) {
        CHECK_OK(t, fa_t_claim(t, id, "w"));
        CHECK_INT(t->task->attempts, i);
        CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "e"));
        CHECK_STATUS(t->task->status, FAINA_PENDING);
    }
}

/* GetByIdempotencyKey(key): a key of its own in each type, so without one the newest counts. */
static void test_002__get_by_key_needs_no_type(struct fa_t *t)
{
    const char *first = fa_t_submit(t, .type = "a", .idempotency_key = "k", .input = "1");
    const char *other, *second;

    CHECK_OK(t, fa_t_get_by_key(t, NULL, NULL, "k"));
    CHECK_STR(t->task->id, first);
    CHECK_STR(t->task->input, "1");
    fa_t_finish_task(t, first);
    CHECK_OK(t, fa_t_get_by_key(t, NULL, NULL, "k")); /* ended tasks are still found */
    CHECK_STATUS(t->task->status, FAINA_COMPLETED);
    second = fa_t_submit(t, .type = "b", .idempotency_key = "k");
    other = fa_t_submit(t, .ns = "other", .type = "c", .idempotency_key = "k");
    CHECK_OK(t, fa_t_get_by_key(t, NULL, NULL, "k"));
    CHECK_STR(t->task->id, second);
    CHECK_OK(t, fa_t_get_by_key(t, "other", NULL, "k"));
    CHECK_STR(t->task->id, other);
    CHECK_OK(t, fa_t_get_by_key(t, NULL, "a", "k"));
    CHECK_STR(t->task->id, first);
    CHECK_CODE(t, fa_t_get_by_key(t, NULL, NULL, "never"), FAINA_TASK_NOT_FOUND);
    CHECK_CODE(t, fa_t_get_by_key(t, "none", NULL, "k"), FAINA_TASK_NOT_FOUND);
    CHECK_CODE(t, fa_t_get_by_key(t, NULL, NULL, ""), FAINA_INVALID_REQUEST);
    CHECK_CODE(t, fa_t_get_by_key(t, NULL, "", "k"), FAINA_INVALID_REQUEST);
    CHECK_OK(t, fa_t_delete(t, first));
    CHECK_CODE(t, fa_t_get_by_key(t, NULL, "a", "k"), FAINA_TASK_NOT_FOUND);
}

/* ------------------------------------------------------------------------------------------
 * "ErrStoreClosed": calls after the manager was closed. Close() is faina_shutdown.
 */

/* The test's engine by the public functions. Its server, when it has one, stays. */
static struct faina *open_public(struct fa_t *t)
{
    struct faina_error err;
    struct faina *engine;

    fa_service_close(t->svc);
    t->svc = NULL;
    CHECK(faina_open(&engine, t->url, &t->options, &err) == FAINA_OK, "%s", err.message);
    return engine;
}

static void close_public(struct fa_t *t, struct faina *engine)
{
    struct faina_error err;

    faina_close(engine);
    CHECK(fa_service_open(&t->svc, t->url, &t->options, &err) == FAINA_OK, "%s", err.message);
}

/* Every call is refused. */
static void check_shut(struct faina *engine)
{
    static const char id[] = "01890a5d-ac96-774b-bcce-b302099a8057";
    const struct faina_submit task = {.type = "x"};
    const struct faina_claim claim = {.worker_id = "w"};
    const struct faina_failure failure = {.message = "e"};
    const struct faina_report report = {.has_progress = true};
    const struct faina_emit event = {.type = "e"};
    const struct faina_team team = {.name = "red"};
    const struct faina_worker worker = {.id = "w"};
    const struct faina_held held = {.id = id};
    const struct faina_by by = {.worker_id = "w"};
    struct faina_error err = {0};

    CHECK_INT(faina_submit(engine, &task, NULL, &err), FAINA_STORE_CLOSED);
    CHECK_INT(err.code, FAINA_STORE_CLOSED);
    CHECK_STR(err.message, "the engine was shut down");
    CHECK_INT(faina_submit_many(engine, &task, 1, NULL, NULL), FAINA_STORE_CLOSED);
    CHECK_INT(faina_claim_next(engine, &claim, NULL, NULL), FAINA_STORE_CLOSED);
    CHECK_INT(faina_claim(engine, id, "w", 0, NULL, NULL), FAINA_STORE_CLOSED);
    CHECK_INT(faina_start(engine, id, &by, NULL, NULL), FAINA_STORE_CLOSED);
    CHECK_INT(faina_progress(engine, id, &by, &report, NULL, NULL), FAINA_STORE_CLOSED);
    CHECK_INT(faina_heartbeat(engine, "w", &held, 1, 0, NULL, NULL), FAINA_STORE_CLOSED);
    CHECK_INT(faina_complete(engine, id, &by, NULL, NULL, NULL), FAINA_STORE_CLOSED);
    CHECK_INT(faina_fail(engine, id, &by, &failure, NULL, NULL), FAINA_STORE_CLOSED);
    CHECK_INT(faina_block(engine, id, &by, &task, 1, false, NULL, NULL), FAINA_STORE_CLOSED);
    CHECK_INT(faina_background(engine, id, &by, NULL, 0, NULL, NULL), FAINA_STORE_CLOSED);
    CHECK_INT(faina_release(engine, id, &by, NULL, NULL), FAINA_STORE_CLOSED);
    CHECK_INT(faina_cancel(engine, id, NULL, NULL, NULL), FAINA_STORE_CLOSED);
    CHECK_INT(faina_retry(engine, id, NULL, false, NULL, NULL), FAINA_STORE_CLOSED);
    CHECK_INT(faina_delete(engine, id, NULL, NULL, NULL), FAINA_STORE_CLOSED);
    CHECK_INT(faina_purge(engine, NULL, NULL, NULL), FAINA_STORE_CLOSED);
    CHECK_INT(faina_pause(engine, NULL, "x", NULL), FAINA_STORE_CLOSED);
    CHECK_INT(faina_resume(engine, NULL, "x", NULL), FAINA_STORE_CLOSED);
    CHECK_INT(faina_get(engine, id, NULL, NULL), FAINA_STORE_CLOSED);
    CHECK_INT(faina_get_by_key(engine, NULL, NULL, "k", NULL, NULL), FAINA_STORE_CLOSED);
    CHECK_INT(faina_list(engine, NULL, NULL, NULL), FAINA_STORE_CLOSED);
    CHECK_INT(faina_children(engine, id, 0, NULL, NULL, NULL), FAINA_STORE_CLOSED);
    CHECK_INT(faina_events(engine, id, 0, NULL, NULL), FAINA_STORE_CLOSED);
    CHECK_INT(faina_wait(engine, id, 0, NULL, NULL), FAINA_STORE_CLOSED);
    CHECK_INT(faina_explain(engine, id, NULL, NULL), FAINA_STORE_CLOSED);
    CHECK_INT(faina_resource_set(engine, "r", 1, NULL), FAINA_STORE_CLOSED);
    CHECK_INT(faina_resource_list(engine, NULL, NULL, NULL), FAINA_STORE_CLOSED);
    CHECK_INT(faina_resource_remove(engine, "r", NULL), FAINA_STORE_CLOSED);
    CHECK_INT(faina_emit(engine, &event, NULL, NULL), FAINA_STORE_CLOSED);
    CHECK_INT(faina_team_put(engine, &team, NULL, NULL), FAINA_STORE_CLOSED);
    CHECK_INT(faina_team_list(engine, NULL, NULL, NULL, NULL), FAINA_STORE_CLOSED);
    CHECK_INT(faina_team_remove(engine, id, NULL), FAINA_STORE_CLOSED);
    CHECK_INT(faina_stats(engine, NULL, NULL, NULL), FAINA_STORE_CLOSED);
    CHECK_INT(faina_worker_put(engine, &worker, NULL, 0, 0, NULL, NULL), FAINA_STORE_CLOSED);
    CHECK_INT(faina_worker_remove(engine, "w", NULL, NULL), FAINA_STORE_CLOSED);
    CHECK_INT(faina_workers(engine, NULL, NULL, NULL), FAINA_STORE_CLOSED);
    CHECK_INT(faina_run(engine, NULL, NULL), FAINA_STORE_CLOSED);
}

static enum faina_outcome submit_another(struct faina_context *context, void *user);

static void test_002__calls_after_shutdown_are_store_closed(struct fa_t *t)
{
    const struct faina_submit task = {.type = "x", .idempotency_key = "before"};
    const struct faina_handler handler = {.on_start = submit_another};
    struct faina *engine = open_public(t);

    CHECK_INT(faina_submit(engine, &task, NULL, NULL), FAINA_OK);
    faina_shutdown(engine);
    check_shut(engine);
    CHECK_INT(faina_register(engine, "x", &handler, NULL, NULL), FAINA_STORE_CLOSED);
    faina_stop(engine);     /* nothing runs */
    faina_shutdown(engine); /* nothing is left to do */
    check_shut(engine);
    faina_shutdown(NULL);
    close_public(t, engine);
    if (t->is_durable) /* what was acknowledged before is there */
        CHECK_OK(t, fa_t_get_by_key(t, NULL, NULL, "before"));
}

struct caller {
    struct faina *engine;
    const char *id;
    pthread_t thread;
    atomic_bool has_begun;
    enum faina_code code;
};

static void *wait_for_end(void *arg)
{
    struct caller *caller = arg;

    atomic_store(&caller->has_begun, true);
    caller->code = faina_wait(caller->engine, caller->id, -1, NULL, NULL);
    return NULL;
}

static void *wait_for_work(void *arg)
{
    const struct faina_claim claim = {.worker_id = "w",
                                      .types = (const char *const[]){"none"},
                                      .type_count = 1,
                                      .wait_ms = 60000};
    struct caller *caller = arg;

    atomic_store(&caller->has_begun, true);
    caller->code = faina_claim_next(caller->engine, &claim, NULL, NULL);
    return NULL;
}

static void *shut_down(void *arg)
{
    struct caller *caller = arg;

    atomic_store(&caller->has_begun, true);
    faina_shutdown(caller->engine);
    return NULL;
}

static void begin(struct caller *caller, struct faina *engine, const char *id,
                  void *(*run)(void *arg))
{
    *caller = (struct caller){.engine = engine, .id = id};
    CHECK_INT(pthread_create(&caller->thread, NULL, run, caller), 0);
    while (!atomic_load(&caller->has_begun))
        usleep(1000);
}

/* Whether they wait already or come a moment later: both kinds are refused. */
static void test_002__shutdown_ends_waiting_calls(struct fa_t *t)
{
    struct faina *engine = open_public(t);
    struct caller callers[4];
    struct faina_task *task;

    CHECK_INT(faina_submit(engine, &(struct faina_submit){.type = "x"}, &task, NULL), FAINA_OK);
    begin(&callers[0], engine, task->id, wait_for_end);
    begin(&callers[1], engine, NULL, wait_for_work);
    usleep(50000);
    begin(&callers[2], engine, NULL, shut_down);
    begin(&callers[3], engine, NULL, shut_down);
    for (size_t i = 0; i < FA_COUNT(callers); i++)
        pthread_join(callers[i].thread, NULL);
    CHECK_INT(callers[0].code, FAINA_STORE_CLOSED);
    CHECK_INT(callers[1].code, FAINA_STORE_CLOSED);
    check_shut(engine);
    faina_free(task);
    close_public(t, engine);
}

struct work {
    struct faina *engine;
    atomic_bool has_begun;
    enum faina_code code; /* of what the handler has done while the engine was shut down */
};

/* Waits until faina_shutdown has begun, and then uses the engine. */
static enum faina_outcome submit_another(struct faina_context *context, void *user)
{
    struct work *work = user;

    atomic_store(&work->has_begun, true);
    while (!faina_context_cancelled(context) &&
           faina_run(work->engine, NULL, NULL) == FAINA_CONFLICT)
        usleep(1000);
    work->code = faina_submit(work->engine, &(struct faina_submit){.type = "y"}, NULL, NULL);
    return FAINA_OUTCOME_COMPLETE;
}

static void *run_handlers(void *arg)
{
    struct caller *caller = arg;

    atomic_store(&caller->has_begun, true);
    caller->code = faina_run(caller->engine, &(struct faina_run){.concurrency = 1}, NULL);
    return NULL;
}

/* What runs may finish, and its handler may use the engine until then. */
static void test_002__shutdown_waits_for_work(struct fa_t *t)
{
    const struct faina_submit task = {.type = "x", .idempotency_key = "k"};
    const struct faina_handler handler = {.on_start = submit_another};
    struct work work = {.engine = open_public(t)};
    struct caller caller;

    CHECK_INT(faina_register(work.engine, "x", &handler, &work, NULL), FAINA_OK);
    CHECK_INT(faina_submit(work.engine, &task, NULL, NULL), FAINA_OK);
    begin(&caller, work.engine, NULL, run_handlers);
    while (!atomic_load(&work.has_begun))
        usleep(1000);
    faina_shutdown(work.engine);
    pthread_join(caller.thread, NULL);
    CHECK_INT(caller.code, FAINA_STORE_CLOSED);
    CHECK_INT(work.code, FAINA_OK);
    check_shut(work.engine);
    close_public(t, work.engine);
    if (!t->is_durable)
        return;
    CHECK_OK(t, fa_t_get_by_key(t, NULL, "x", "k"));
    CHECK_STATUS(t->task->status, FAINA_COMPLETED);
    CHECK_OK(t, fa_t_list(t, .type = "y"));
    CHECK_INT(t->op.tasks->count, 1);
}

/* ErrStoreClosed is the manager's own end only. A server or database that is away is an outage, and
 * the engine goes on afterwards. (Disks that fail are in faults/.) */
static void check_away(struct faina *engine)
{
    for (int i = 0; i < 3; i++) {
        enum faina_code codes[] = {
            faina_submit(engine, &(struct faina_submit){.type = "x"}, NULL, NULL),
            faina_get_by_key(engine, NULL, "x", "before", NULL, NULL),
        };

        for (size_t k = 0; k < FA_COUNT(codes); k++)
            CHECK(codes[k] == FAINA_UNAVAILABLE || codes[k] == FAINA_OVERLOADED,
                  "call %zu without a store: %s", k, faina_code_name(codes[k]));
    }
}

static void test_002__an_outage_is_unavailable(struct fa_t *t)
{
    const struct faina_submit task = {.type = "x", .idempotency_key = "before"};
    bool is_postgres = strncmp(t->url, "postgres:", 9) == 0;
    struct fa_proxy *proxy = NULL;
    char url[FA_T_PATH_SIZE];
    struct faina *engine;

    if (!is_postgres && !t->is_served)
        return;
    snprintf(url, sizeof(url), "%s", t->url);
    if (is_postgres) {
        proxy = fa_proxy_start(fa_psql_port(t->url));
        fa_psql_through(t->url, fa_proxy_port(proxy), url);
    }
    CHECK_INT(faina_open(&engine, url, &t->options, NULL), FAINA_OK);
    CHECK_INT(faina_submit(engine, &task, NULL, NULL), FAINA_OK);
    if (is_postgres) {
        fa_proxy_refuse(proxy, true);
        fa_proxy_cut_all(proxy);
    } else {
        fa_t_close(t); /* with its server */
    }
    check_away(engine);
    if (is_postgres) {
        fa_proxy_refuse(proxy, false);
        while (faina_get_by_key(engine, NULL, "x", "before", NULL, NULL) != FAINA_OK)
            usleep(10000);
    }
    faina_shutdown(engine);
    CHECK_INT(faina_submit(engine, &task, NULL, NULL), FAINA_STORE_CLOSED);
    faina_close(engine);
    fa_proxy_stop(proxy);
    if (!is_postgres)
        fa_t_open(t);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE(test_002__state_transitions),
        FA_T_CASE(test_002__submit_again_returns_the_first),
        FA_T_CASE(test_002__attempts),
        FA_T_CASE(test_002__claim_conflicts),
        FA_T_CASE(test_002__errors),
        FA_T_CASE(test_002__terminal_tasks_are_deleted),
        FA_T_CASE_DURABLE(test_002__state_persists),
        FA_T_CASE(test_002__edge_cases),
        FA_T_CASE(test_002__submit_needs_no_type),
        FA_T_CASE(test_002__no_limit_of_attempts),
        FA_T_CASE(test_002__get_by_key_needs_no_type),
        FA_T_CASE(test_002__calls_after_shutdown_are_store_closed),
        FA_T_CASE(test_002__shutdown_ends_waiting_calls),
        FA_T_CASE(test_002__shutdown_waits_for_work),
        FA_T_CASE(test_002__an_outage_is_unavailable),
    };

    return fa_t_main(argc, argv, "document 002", cases, FA_COUNT(cases));
}
