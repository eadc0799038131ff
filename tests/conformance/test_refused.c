/*
 * test_refused.c - what an engine on NATS doesn't have is refused with a sentence, and changes
 * nothing; and what its records hold. On other engines there is nothing to check here.
 */
#include "support/ops.h"

#include "model/audit_entry.h"
#include "model/bulk.h"
#include "model/failure_group.h"
#include "model/history.h"

static void check_refused(struct fa_t *t, enum faina_code code, const char *what)
{
    CHECK(code == FAINA_NOT_SUPPORTED, "%s answered %s", what, faina_code_name(code));
    CHECK(strstr(t->op.error.message, "SQLite and PostgreSQL have") != NULL,
          "%s: the sentence names no engine that has it: %s", what, t->op.error.message);
}

static void test_refused__submits(struct fa_t *t)
{
    const char *id;

    if (t->is_sql)
        return;
    id = fa_t_submit(t, .type = "x");
    check_refused(t,
                  fa_t_try_submit(t, .type = "y", .depends_on = (const char *const[]){id},
                                  .depends_on_count = 1),
                  "dependsOn");
    check_refused(t, fa_t_try_submit(t, .type = "y", .team_id = id), "teamId");
    check_refused(t, fa_t_try_submit(t, .type = "y", .group = "g"), "group");
    check_refused(t, fa_t_try_submit(t, .type = "y", .detached = true), "detached");
    CHECK_OK(t, fa_t_list(t, .ns = "*"));
    CHECK_INT(t->op.tasks->count, 1);
}

static void test_refused__operations(struct fa_t *t)
{
    static const char workflow[] = "{\"workflow\":\"w\",\"triggers\":[{\"name\":\"t\",\"on\":\"e\","
                                   "\"task\":{\"type\":\"x\"}}]}";
    const struct faina_submit child = {.type = "child"}, named = {.type = "x", .name = "n"};
    const struct faina_emit emit = {.type = "e"};
    const struct fa_definition definition = {.text = {workflow, sizeof(workflow) - 1}};
    const struct fa_cron_job cron = {
        .name = "c", .schedule = "0 3 * * *", .task = "{\"type\":\"x\"}"};
    const struct faina_team team = {.name = "red"};
    const struct fa_history_query history = {.type = "x"};
    const struct fa_failure_query failures = {.type = "x"};
    const struct fa_audit_query audit = {.limit = 1};
    const struct fa_bulk_request bulk = {.has_filter = true, .all = true};
    const struct faina_type_policy policy = {.type = "x", .timeout_ms = 1000};
    const struct fa_op ops[] = {
        {.kind = FA_OP_EMIT, .emit = &emit},
        {.kind = FA_OP_WORKFLOW_PUT, .definition = &definition},
        {.kind = FA_OP_WORKFLOW_REMOVE, .workflow = {.name = "w"}},
        {.kind = FA_OP_WORKFLOW_LIST},
        {.kind = FA_OP_CRON_PUT, .cron = &cron},
        {.kind = FA_OP_CRON_REMOVE, .id = "c"},
        {.kind = FA_OP_CRON_RUN, .id = "c"},
        {.kind = FA_OP_CRON_LIST},
        {.kind = FA_OP_TEAM_PUT, .team = &team},
        {.kind = FA_OP_TEAM_LIST},
        {.kind = FA_OP_FOLLOW},
        {.kind = FA_OP_HISTORY, .history_query = &history},
        {.kind = FA_OP_RESOURCE_SET, .resource = {"smtp", 5, {10, 1000, 0}}},
        {.kind = FA_OP_RESOURCE_SET, .resource = {"mail:*", 5}},
        {.kind = FA_OP_FAILURES, .failure_query = &failures},
        {.kind = FA_OP_AUDIT_LIST, .audit_query = &audit},
        {.kind = FA_OP_BULK, .bulk = {&bulk, NULL}},
        {.kind = FA_OP_BULK_COUNT, .bulk = {&bulk, NULL}},
        {.kind = FA_OP_BULK_LIST},
        {.kind = FA_OP_BULK_CANCEL, .id = "01a1f473-3dea-7ec9-8f1d-67fc7e0a61a5"},
        {.kind = FA_OP_TYPE_PUT, .type_policy = &policy},
        {.kind = FA_OP_TYPE_REMOVE, .name = {NULL, "x", NULL}},
        {.kind = FA_OP_TYPE_LIST},
    };
    const char *id, *before;

    if (t->is_sql)
        return;
    check_refused(t, fa_t_list(t, .sort = FAINA_SORT_UPDATED), "another order of a list");
    check_refused(t, fa_t_list(t, .ascending = true), "the oldest first");
    for (size_t i = 0; i < FA_COUNT(ops); i++)
        check_refused(t, fa_t_run(t, &ops[i]), fa_op_name(ops[i].kind));
    id = fa_t_make(t, FAINA_RUNNING, "w");
    before = fa_t_picture(t, id);
    check_refused(t, fa_t_block(t, id, BY("w"), &child, 1), "block");
    check_refused(t,
                  fa_t_run(t, &(struct fa_op){.kind = FA_OP_SUBTASK,
                                              .id = id,
                                              .by = BY("w"),
                                              .block = {&named, 1, false}}),
                  "subtask");
    check_refused(t, fa_t_children(t, id, 0, NULL), "children");
    CHECK_STR(fa_t_picture(t, id), before);
}

static void test_refused__large_records(struct fa_t *t)
{
    size_t size = 1024 * 1024 - 10;
    char *input;

    if (t->is_sql)
        return;
    input = fa_arena_take(&t->arena, size + 1);
    memset(input, 'x', size);
    input[0] = input[size - 1] = '"';
    input[size] = '\0';
    CHECK_CODE(t, fa_t_try_submit(t, .type = "x", .input = input), FAINA_PAYLOAD_TOO_LARGE);
    CHECK_TRUE(strstr(t->op.error.message, "max_payload") != NULL);
    input[size / 2] = '\0';
    input[size / 2 - 1] = '"';
    CHECK_OK(t, fa_t_try_submit(t, .type = "x", .input = input));
}

/* The last hundred events of a task are kept. */
static void test_refused__old_events_go(struct fa_t *t)
{
    const char *id;

    if (t->is_sql)
        return;
    id = fa_t_make(t, FAINA_RUNNING, "w");
    for (int i = 0; i < 110; i++)
        CHECK_OK(t, fa_t_progress(t, id, BY("w"), i % 100));
    CHECK_OK(t, fa_t_complete(t, id, BY("w"), NULL));
    CHECK_OK(t, fa_t_events(t, id, 1000));
    CHECK_INT(t->op.events->count, 100);
    CHECK_STR(t->op.events->items[0].what, "completed");
    CHECK_STR(t->op.events->items[99].what, "progress");
}

/* The version is the revision, and the fence that of the claim. */
static void test_refused__fences_are_revisions(struct fa_t *t)
{
    int64_t fence;
    const char *id;

    if (t->is_sql)
        return;
    id = fa_t_submit(t, .type = "x");
    CHECK_INT(fa_t_task(t, id)->fence, 0);
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    fence = t->task->fence;
    CHECK_INT(fence, t->task->version);
    CHECK_OK(t, fa_t_start(t, id, BY("w", .fence = fence)));
    CHECK_INT(t->task->fence, fence);
    CHECK_TRUE(t->task->version > fence);
    CHECK_OK(t, fa_t_retry(t, id, NOBODY));
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_TRUE(t->task->fence > fence);
    CHECK_CODE(t, fa_t_complete(t, id, BY("w", .fence = fence), NULL), FAINA_WRONG_WORKER);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE(test_refused__submits),
        FA_T_CASE(test_refused__operations),
        FA_T_CASE(test_refused__large_records),
        FA_T_CASE(test_refused__old_events_go),
        FA_T_CASE(test_refused__fences_are_revisions),
    };

    return fa_t_main(argc, argv, "refused", cases, FA_COUNT(cases));
}
