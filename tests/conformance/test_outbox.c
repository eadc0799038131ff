/*
 * test_outbox.c - the messages for a broker: each task that becomes ready, and each end, stores one
 * in the same transaction. Where the engine is in another process, only the setting can be tested.
 */
#include "support/ops.h"

#include "base/clock.h"

#define FAST ((struct faina_retry_policy){.base_ms = 1, .factor = 1, .max_ms = 1})

static enum faina_code set_broker(struct fa_t *t, bool is_on, int64_t size_max)
{
    struct fa_op op = {.kind = FA_OP_BROKER_SET};

    op.broker.is_on = is_on;
    op.broker.size_max = size_max;
    return fa_t_run(t, &op);
}

static const struct fa_broker *get_broker(struct fa_t *t)
{
    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_BROKER_GET}));
    return t->op.broker_answer;
}

/* "ready 1 default.x 1/1" for each message, oldest first: what, attempt, routing and version; and
 * removes them. NULL: the engine is in another process. */
static const char *messages(struct fa_t *t)
{
    struct faina_error err = {0};
    struct fa_outbox out;
    struct fa_buf buf;
    const char *text;

    if (fa_service_is_remote(t->svc))
        return NULL;
    CHECK_INT(fa_service_outbox_read(t->svc, 0, 1000, &t->arena, &out, &err), FAINA_OK);
    fa_buf_init(&buf, 1 << 20);
    for (size_t i = 0; i < out.count; i++) {
        const struct fa_outbox_message *m = &out.items[i];

        CHECK_INT(m->is_damaged, false);
        fa_buf_printf(&buf, "%s%s %s.%s %lld v%lld", i > 0 ? ", " : "",
                      m->status == FAINA_PENDING ? "ready" : faina_status_name(m->status), m->ns,
                      m->type, (long long)m->attempt, (long long)m->version);
    }
    text = fa_arena_copy(&t->arena, buf.ptr ? buf.ptr : "", buf.len);
    fa_buf_finish(&buf);
    CHECK_INT(fa_service_outbox_remove(t->svc, &out, 0, &err), FAINA_OK);
    return text;
}

#define CHECK_MESSAGES(t, want)                                                                    \
    do {                                                                                           \
        const char *got_messages = messages(t);                                                    \
        if (got_messages != NULL)                                                                  \
            CHECK_STR(got_messages, want);                                                         \
    } while (0)

static void test_outbox__nothing_is_stored_while_it_is_off(struct fa_t *t)
{
    fa_t_finish_task(t, fa_t_submit(t, .type = "x"));
    CHECK_MESSAGES(t, "");
    CHECK_INT(get_broker(t)->is_on, false);
    CHECK_OK(t, set_broker(t, true, 0));
    CHECK_INT(t->op.broker_answer->is_on, true);
    fa_t_submit(t, .type = "x");
    CHECK_MESSAGES(t, "ready default.x 1 v1");
    CHECK_OK(t, set_broker(t, false, 0));
    fa_t_submit(t, .type = "x");
    CHECK_MESSAGES(t, "");
}

static void test_outbox__the_limit_is_kept(struct fa_t *t)
{
    CHECK_OK(t, set_broker(t, true, 5));
    CHECK_OK(t, set_broker(t, false, 0));
    CHECK_INT(get_broker(t)->size_max, 5);
    CHECK_CODE(t, set_broker(t, true, -1), FAINA_INVALID_REQUEST);
}

static void test_outbox__one_message_for_each_time_a_task_is_ready(struct fa_t *t)
{
    const char *id;

    CHECK_OK(t, set_broker(t, true, 0));
    id = fa_t_submit(t, .ns = "n", .type = "x", .max_attempts = 2, .retry = FAST);
    CHECK_MESSAGES(t, "ready n.x 1 v1");
    fa_t_take(t, id, "w"); /* claimed, started */
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "no"));
    fa_t_wait_status(t, id, FAINA_PENDING);
    while (fa_t_explain(t, id) == FAINA_OK && fa_t_claim_next(t, .worker_id = "v") == FAINA_OK &&
           t->op.tasks->count == 0)
        ; /* until the backoff is over */
    CHECK_MESSAGES(t, "ready n.x 2 v4");
    CHECK_OK(t, fa_t_release(t, id, BY("v")));
    CHECK_MESSAGES(t, "ready n.x 2 v6");
    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "no"));
    CHECK_MESSAGES(t, "dead_letter n.x 2 v9");
    CHECK_OK(t, fa_t_retry(t, id, NOBODY));
    CHECK_MESSAGES(t, "ready n.x 1 v10");
    CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
    CHECK_MESSAGES(t, "cancelled n.x 0 v11");
}

static void test_outbox__no_message_before_the_time(struct fa_t *t)
{
    const char *id;

    CHECK_OK(t, set_broker(t, true, 0));
    id = fa_t_submit(t, .type = "x", .delay_ms = 300);
    CHECK_MESSAGES(t, "");
    CHECK_OK(t, fa_t_claim_wait(t, &(struct faina_claim){
                                       .worker_id = "w", .limit = 1, .wait_ms = FA_T_DEADLINE_MS}));
    CHECK_STR(t->op.tasks->items[0].id, id);
    CHECK_MESSAGES(t, "ready default.x 1 v1");
}

static void test_outbox__blocked_tasks_when_they_go_on(struct fa_t *t)
{
    const char *first, *id;

    CHECK_OK(t, set_broker(t, true, 0));
    first = fa_t_submit(t, .type = "x");
    id = fa_t_submit(t, .type = "y", .depends_on = &first, .depends_on_count = 1);
    CHECK_MESSAGES(t, "ready default.x 1 v1");
    fa_t_finish_task(t, first);
    CHECK_MESSAGES(t, "completed default.x 1 v4, ready default.y 1 v2");
    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_block(t, id, BY("w"), &(struct faina_submit){.type = "c"}, 1));
    CHECK_MESSAGES(t, "ready default.c 1 v1");
    fa_t_finish_task(t, fa_t_child(t, id, 0));
    CHECK_MESSAGES(t, "completed default.c 1 v4, ready default.y 1 v6"); /* the same attempt */
}

static void test_outbox__tasks_of_triggers(struct fa_t *t)
{
    static const char workflow[] = "{\"workflow\":\"w\",\"triggers\":[{\"name\":\"t\",\"on\":\"e\","
                                   "\"task\":{\"type\":\"x\"}}]}";
    struct fa_op op = {.kind = FA_OP_WORKFLOW_PUT};

    op.definition = &(struct fa_definition){.name = "w", .text = fa_str(workflow)};
    CHECK_OK(t, set_broker(t, true, 0));
    CHECK_OK(t, fa_t_run(t, &op));
    op =
        (struct fa_op){.kind = FA_OP_EMIT, .emit = &(struct faina_emit){.type = "e", .data = "{}"}};
    CHECK_OK(t, fa_t_run(t, &op));
    CHECK_MESSAGES(t, "ready default.x 1 v1");
}

static void test_outbox__a_lost_lease(struct fa_t *t)
{
    const char *id;

    CHECK_OK(t, set_broker(t, true, 0));
    id = fa_t_submit(t, .type = "x", .retry = FAST);
    CHECK_OK(t, fa_t_claim_for(t, id, "w", 50));
    CHECK_MESSAGES(t, "ready default.x 1 v1");
    fa_t_wait_status(t, id, FAINA_PENDING);
    CHECK_OK(t, fa_t_claim_wait(t, &(struct faina_claim){
                                       .worker_id = "v", .limit = 1, .wait_ms = FA_T_DEADLINE_MS}));
    CHECK_MESSAGES(t, "ready default.x 2 v3");
}

/* A claim as a consumer makes it. */
static enum faina_code claim_strictly(struct fa_t *t, const char *id, int64_t version)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_CLAIM,
                                       .id = id,
                                       .by = {.worker_id = "w", .version = version},
                                       .is_strict = true,
                                       .wants_task = true});
}

static void test_strict_claim__only_what_is_ready(struct fa_t *t)
{
    const char *delayed = fa_t_submit(t, .type = "x", .delay_ms = 60000);
    const char *paused = fa_t_submit(t, .type = "p");
    const char *gpu = "gpu";
    const char *held = fa_t_submit(t, .type = "r", .resources = &gpu, .resource_count = 1);
    const char *full = fa_t_submit(t, .type = "r", .resources = &gpu, .resource_count = 1);
    const char *id = fa_t_submit(t, .type = "x");

    CHECK_OK(t, fa_t_pause(t, NULL, "p"));
    CHECK_OK(t, fa_t_resource_set(t, "gpu", 1));
    CHECK_CODE(t, claim_strictly(t, delayed, 1), FAINA_INVALID_TRANSITION);
    CHECK_CODE(t, claim_strictly(t, paused, 1), FAINA_INVALID_TRANSITION);
    CHECK_OK(t, claim_strictly(t, held, 1));
    CHECK_CODE(t, claim_strictly(t, full, 1), FAINA_INVALID_TRANSITION);
    CHECK_CODE(t, claim_strictly(t, id, 2), FAINA_VERSION_CONFLICT);
    CHECK_OK(t, claim_strictly(t, id, 1));
    CHECK_STR(t->task->worker_id, "w");
    CHECK_CODE(t, claim_strictly(t, id, 1), FAINA_VERSION_CONFLICT); /* the message came twice */
    CHECK_OK(t, fa_t_claim(t, delayed, "w"));                        /* document 002 */
}

static void test_outbox__other_engines_refuse_it(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x");

    if (t->is_sql)
        return;
    CHECK_CODE(t, set_broker(t, true, 0), FAINA_NOT_SUPPORTED);
    CHECK_CODE(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_BROKER_GET}), FAINA_NOT_SUPPORTED);
    CHECK_CODE(t, claim_strictly(t, id, 0), FAINA_NOT_SUPPORTED);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE_SQL(test_outbox__nothing_is_stored_while_it_is_off),
        FA_T_CASE_SQL(test_outbox__the_limit_is_kept),
        FA_T_CASE_SQL(test_outbox__one_message_for_each_time_a_task_is_ready),
        FA_T_CASE_SQL(test_outbox__no_message_before_the_time),
        FA_T_CASE_SQL(test_outbox__blocked_tasks_when_they_go_on),
        FA_T_CASE_SQL(test_outbox__tasks_of_triggers),
        FA_T_CASE_SQL(test_outbox__a_lost_lease),
        FA_T_CASE_SQL(test_strict_claim__only_what_is_ready),
        FA_T_CASE(test_outbox__other_engines_refuse_it),
    };

    return fa_t_main(argc, argv, "outbox", cases, FA_COUNT(cases));
}
