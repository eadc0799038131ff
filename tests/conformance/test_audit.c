/*
 * test_audit.c - the log of administrative acts, and of what people did to tasks.
 */
#include "support/ops.h"

#include "model/audit_entry.h"

#include <unistd.h>

static enum faina_code list(struct fa_t *t, const struct fa_audit_query *query)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_AUDIT_LIST, .audit_query = query});
}

/* "act target reason" of each entry, oldest first. */
static const char *acts(struct fa_t *t, struct fa_audit_query query)
{
    struct fa_buf buf;
    const char *text;

    query.ascending = true;
    CHECK_OK(t, list(t, &query));
    fa_buf_init(&buf, 1 << 20);
    for (size_t i = 0; i < t->op.audit->count; i++) {
        const struct fa_audit_entry *entry = &t->op.audit->items[i];

        fa_buf_printf(&buf, "%s%s %s %s", i > 0 ? " | " : "", entry->act,
                      entry->target ? entry->target : "-", entry->reason ? entry->reason : "-");
    }
    text = fa_arena_copy(&t->arena, buf.ptr ? buf.ptr : "", buf.len);
    fa_buf_finish(&buf);
    return text;
}

#define CHECK_ACTS(t, want, ...) CHECK_STR(acts(t, (struct fa_audit_query){__VA_ARGS__}), want)

static void no_finding(void *ctx, const char *sentence)
{
    (void)ctx;
    CHECK(false, "%s", sentence);
}

/* Reads the whole chain, page by page, and checks it. Returns how many entries it has. */
static int64_t check_chain(struct fa_t *t)
{
    struct fa_audit_check check = {.found = no_finding};
    struct fa_audit_query query = {.ascending = true, .limit = 3};

    do {
        CHECK_OK(t, list(t, &query));
        for (size_t i = 0; i < t->op.audit->count; i++)
            fa_audit_check_entry(&check, &t->op.audit->items[i]);
        query.cursor =
            t->op.audit->next_cursor ? fa_arena_strdup(&t->arena, t->op.audit->next_cursor) : NULL;
    } while (query.cursor);
    fa_audit_check_end(&check, t->op.audit->total, t->op.audit->last_hash);
    return check.count;
}

static void test_audit__what_people_do_to_tasks(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x"), *other;
    const struct faina_update update = {.has_priority = true, .priority = 3};

    CHECK_ACTS(t, "");
    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_UPDATE,
                                            .id = id,
                                            .by = {.reason = "urgent"},
                                            .update = &update}));
    CHECK_OK(t, fa_t_cancel(t, id, BY(NULL, .reason = "a \"wrong\" one\nfor ann\xc3\xbc")));
    CHECK_OK(t, fa_t_retry(t, id, NOBODY));
    fa_t_finish_task(t, id); /* a worker's */
    CHECK_OK(t, fa_t_delete(t, id));
    CHECK_ACTS(t, fa_arena_printf(&t->arena,
                                  "update %s urgent | cancel %s a \"wrong\" one\nfor ann\xc3\xbc | "
                                  "retry %s - | delete %s -",
                                  id, id, id, id));
    other = fa_t_submit(t, .type = "x");
    fa_t_take(t, other, "w");
    CHECK_OK(t, fa_t_background(t, other, BY("w"), 0));
    CHECK_OK(t, fa_t_complete(t, other, NOBODY, "1"));
    CHECK_ACTS(t, fa_arena_printf(&t->arena, "complete %s -", other), .target = other);
    CHECK_INT(check_chain(t), 5);
}

/* Refused acts change nothing, and workers, submits and events have no entries. */
static void test_audit__what_has_no_entry(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x"), *held = fa_t_submit(t, .type = "x");
    char reason[1026];

    memset(reason, 'x', sizeof(reason));
    reason[1025] = '\0';
    fa_t_take(t, held, "w");
    CHECK_OK(t, fa_t_progress(t, held, BY("w"), 10));
    CHECK_OK(t, fa_t_fail_attempt(t, held, BY("w"), "no"));
    CHECK_CODE(t, fa_t_delete(t, id), FAINA_TASK_ACTIVE);
    CHECK_CODE(t, fa_t_cancel(t, id, BY(NULL, .version = 99)), FAINA_VERSION_CONFLICT);
    CHECK_CODE(t, fa_t_resource_remove(t, "none"), FAINA_NOT_FOUND);
    CHECK_CODE(t, fa_t_cancel(t, id, BY(NULL, .reason = reason)), FAINA_INVALID_REQUEST);
    CHECK_CODE(t, fa_t_cancel(t, id, BY(NULL, .reason = "\xff")), FAINA_INVALID_REQUEST);
    CHECK_INT(fa_t_status(t, id), FAINA_PENDING);
    CHECK_ACTS(t, "");
    reason[1024] = '\0'; /* the limit itself */
    CHECK_OK(t, fa_t_cancel(t, id, BY(NULL, .reason = reason)));
    CHECK_INT(check_chain(t), 1);
}

static void test_audit__administrative_acts(struct fa_t *t)
{
    const struct faina_team team = {.name = "billing"};
    const struct fa_token token = {
        .name = "ci",
        .hash = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        .scopes = FA_SCOPE_READ};
    const struct fa_cron_job job = {
        .ns = "shop", .name = "report", .schedule = "0 3 1 1 *", .task = "{\"type\":\"r\"}"};
    const struct faina_by by = {.reason = "why"};
    const char *team_id, *token_id = NULL;

    CHECK_OK(t, fa_t_pause(t, NULL, "mail"));
    CHECK_OK(t, fa_t_resume(t, "shop", "mail"));
    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_RESOURCE_SET,
                                            .by = by,
                                            .resource = {.name = "gpu", .max_concurrency = 2}}));
    CHECK_OK(t, fa_t_resource_remove(t, "gpu"));
    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_CRON_PUT, .by = by, .cron = &job}));
    CHECK_OK(t,
             fa_t_run(t, &(struct fa_op){
                             .kind = FA_OP_CRON_REMOVE, .id = "report", .name = {.ns = "shop"}}));
    CHECK_OK(t, fa_t_purge(t, .type = "nothing"));
    CHECK_ACTS(t,
               "pause mail - | resume shop/mail - | resource set gpu why | resource remove gpu - | "
               "cron put shop/report why | cron remove shop/report - | purge */nothing -");
    CHECK_OK(t, fa_t_team_put(t, &team));
    team_id = fa_arena_strdup(&t->arena, t->op.team_answer->id);
    CHECK_OK(t, fa_t_team_remove(t, team_id));
    if (!fa_service_is_remote(t->svc)) { /* which would need the token from then on */
        CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_TOKEN_PUT, .token = &token}));
        token_id = fa_arena_strdup(&t->arena, t->op.token_answer->id);
        CHECK_OK(t, fa_t_run(t, &(struct fa_op){
                                    .kind = FA_OP_TOKEN_REMOVE, .id = token_id, .force = true}));
    }
    CHECK_ACTS(t, fa_arena_printf(&t->arena, "team put %s -", team_id), .act = "team put");
    CHECK_ACTS(t, token_id ? "token create ci -" : "", .act = "token create");
    CHECK_INT(check_chain(t), token_id ? 11 : 9);
}

static void test_audit__filters_and_pages(struct fa_t *t)
{
    struct fa_audit_query newest = {.limit = 4};
    int64_t middle_us = 0;

    for (int i = 0; i < 10; i++)
        CHECK_OK(t, i % 3 ? fa_t_pause(t, NULL, fa_arena_printf(&t->arena, "t%d", i))
                          : fa_t_resume(t, NULL, fa_arena_printf(&t->arena, "t%d", i)));
    CHECK_ACTS(t, "resume t0 - | resume t3 - | resume t6 - | resume t9 -", .act = "resume");
    CHECK_ACTS(t, "pause t4 -", .target = "t4");
    CHECK_ACTS(t, "", .target = "t4", .act = "resume");
    CHECK_ACTS(t, "", .who = "somebody else");
    CHECK_OK(t, list(t, &newest));
    CHECK_INT(t->op.audit->count, 4);
    CHECK_INT(t->op.audit->items[0].id, 10);
    CHECK_INT(t->op.audit->total, 10);
    CHECK_STR(t->op.audit->last_hash, t->op.audit->items[0].hash);
    middle_us = t->op.audit->items[3].at_us;
    newest.cursor = fa_arena_strdup(&t->arena, t->op.audit->next_cursor);
    CHECK_OK(t, list(t, &newest));
    CHECK_INT(t->op.audit->items[0].id, 6);
    newest.cursor = fa_arena_strdup(&t->arena, t->op.audit->next_cursor);
    CHECK_OK(t, list(t, &newest));
    CHECK_INT(t->op.audit->count, 2);
    CHECK(t->op.audit->next_cursor == NULL, "it was the last page");
    CHECK_ACTS(t, "resume t6 - | pause t7 - | pause t8 -", .from_us = middle_us, .limit = 3);
    CHECK_ACTS(t, "resume t0 -", .to_us = middle_us, .limit = 1);
    newest.cursor = "nonsense";
    CHECK_CODE(t, list(t, &newest), FAINA_INVALID_REQUEST);
    newest = (struct fa_audit_query){.limit = 1001};
    CHECK_CODE(t, list(t, &newest), FAINA_INVALID_REQUEST);
    CHECK_INT(check_chain(t), 10);
}

static void test_audit__survives_a_restart(struct fa_t *t)
{
    CHECK_OK(t, fa_t_pause(t, NULL, "a"));
    fa_t_reopen(t);
    CHECK_OK(t, fa_t_pause(t, NULL, "b"));
    CHECK_ACTS(t, "pause a - | pause b -");
    CHECK_INT(check_chain(t), 2);
}

/* Several acts of one transaction, and operations of workers between them. */
static void test_audit__many_at_once(struct fa_t *t)
{
    struct fa_op ops[60];
    int64_t acts_done = 0;

    memset(ops, 0, sizeof(ops));
    for (size_t i = 0; i < FA_COUNT(ops); i++) {
        ops[i] = (struct fa_op){.kind = FA_OP_CANCEL, .arena = &t->arena};
        ops[i].id = fa_arena_strdup(&t->arena, fa_t_submit(t, .type = "x"));
        if (i % 2) {
            ops[i].kind = FA_OP_START;
            ops[i].by.worker_id = "w";
        }
        acts_done += i % 2 == 0;
    }
    fa_service_run(t->svc, ops, FA_COUNT(ops));
    for (size_t i = 0; i < FA_COUNT(ops); i++)
        CHECK_INT(ops[i].code, FAINA_OK);
    CHECK_INT(check_chain(t), acts_done);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE_SQL(test_audit__what_people_do_to_tasks),
        FA_T_CASE_SQL(test_audit__what_has_no_entry),
        FA_T_CASE_SQL(test_audit__administrative_acts),
        FA_T_CASE_SQL(test_audit__filters_and_pages),
        FA_T_CASE_NEEDS(test_audit__survives_a_restart, FA_T_DURABLE | FA_T_SQL),
        FA_T_CASE_SQL(test_audit__many_at_once),
    };

    return fa_t_main(argc, argv, "audit", cases, FA_COUNT(cases));
}
