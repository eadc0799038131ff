/*
 * test_failures.c - attempts that fail, by groups of failures that are alike.
 */
#include "support/bulk.h"

#include "model/failure_group.h"

#define FAST ((struct faina_retry_policy){.base_ms = 1, .factor = 1, .max_ms = 1})

/* "type/kind/message/count/tasks" of each group, the largest first. */
static const char *groups(struct fa_t *t, const struct fa_failure_query *query)
{
    struct fa_buf buf;
    const char *text;

    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_FAILURES, .failure_query = query}));
    fa_buf_init(&buf, 1 << 20);
    for (size_t i = 0; i < t->op.failures->count; i++) {
        const struct fa_failure_group *group = &t->op.failures->items[i];

        CHECK(group->first_us > 0 && group->first_us <= group->last_us, "the times of a group");
        fa_buf_printf(&buf, "%s%s/%s/%s/%lld/%zu", i > 0 ? " | " : "", group->type,
                      group->kind ? group->kind : "-", group->message, (long long)group->count,
                      group->task_count);
    }
    text = fa_arena_copy(&t->arena, buf.ptr ? buf.ptr : "", buf.len);
    fa_buf_finish(&buf);
    return text;
}

#define CHECK_GROUPS(t, want, ...)                                                                 \
    CHECK_STR(groups(t, &(struct fa_failure_query){__VA_ARGS__}), want)

/* Claims the task, waiting for its backoff if it has one, and fails it. */
static void fail(struct fa_t *t, const char *id, const char *kind, const char *message)
{
    const struct faina_failure failure = {.message = message, .kind = kind};

    while (fa_t_get(t, id) == FAINA_OK && fa_t_start(t, id, BY("w")) != FAINA_OK)
        ;
    CHECK_OK(t, fa_t_fail_with(t, id, BY("w"), &failure));
}

static void test_failures__by_what_they_have_in_common(struct fa_t *t)
{
    const char *first, *last;

    CHECK_GROUPS(t, "");
    first = fa_t_submit(t, .type = "mail", .retry = FAST);
    fail(t, first, "smtp", "timeout after 30 s for 'ann'");
    last = fa_t_submit(t, .type = "mail", .retry = FAST);
    fail(t, last, "smtp", "timeout after 7 s for 'bob'");
    CHECK_GROUPS(t, "mail/smtp/timeout after # s for '…'/2/2");
    CHECK_STR(t->op.failures->items[0].task_ids[0], last);
    CHECK_STR(t->op.failures->items[0].task_ids[1], first);
    fail(t, last, "smtp", "timeout after 8 s for 'bob'"); /* the same task, once more */
    fail(t, fa_t_submit(t, .type = "mail"), NULL, "no disk");
    fail(t, fa_t_submit(t, .type = "Mail"), NULL, "no disk");
    fail(t, fa_t_submit(t, .type = "mail"), "other", "no disk");
    fail(t, fa_t_submit(t, .type = "report", .max_attempts = 1), "x", "no disk");
    CHECK_GROUPS(t, "mail/smtp/timeout after # s for '…'/3/2 | mail/-/no disk/2/2", .type = "mail",
                 .limit = 2);
    CHECK_GROUPS(t, "report/x/no disk/1/1", .type = "Report");
    CHECK_GROUPS(t, "", .type = "nothing");
}

static void test_failures__namespaces_and_times(struct fa_t *t)
{
    fail(t, fa_t_submit(t, .ns = "a", .type = "x"), NULL, "no");
    fail(t, fa_t_submit(t, .ns = "b", .type = "x"), NULL, "no");
    CHECK_GROUPS(t, "");
    CHECK_GROUPS(t, "x/-/no/1/1", .ns = "a");
    CHECK_GROUPS(t, "x/-/no/1/1 | x/-/no/1/1", .ns = "*");
    CHECK(strcmp(t->op.failures->items[0].id, t->op.failures->items[1].id) != 0, "other ids");
    CHECK_GROUPS(t, "", .ns = "a", .since_us = INT64_C(4000000000000000));
}

static void test_failures__ends_and_what_is_none(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x");

    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_fail_final(t, id, BY("w"), "for good"));
    fa_t_finish_task(t, fa_t_submit(t, .type = "x"));
    CHECK_OK(t, fa_t_cancel(t, fa_t_submit(t, .type = "x"), NOBODY));
    id = fa_t_submit(t, .type = "x");
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_OK(t, fa_t_release(t, id, BY("w")));
    CHECK_CODE(t, fa_t_fail_attempt(t, id, BY("w"), "late"), FAINA_TASK_NOT_CLAIMED);
    CHECK_GROUPS(t, "x/-/for good/1/1");
}

static const char *group_id(struct fa_t *t, size_t i)
{
    groups(t, &(struct fa_failure_query){0});
    return fa_arena_strdup(&t->arena, t->op.failures->items[i].id);
}

static void test_failures__one_group_is_listed_and_retried(struct fa_t *t)
{
    const char *wanted[2], *others[4], *group;

    for (size_t i = 0; i < 2; i++) {
        wanted[i] = fa_t_submit(t, .type = "mail", .max_attempts = 1);
        fail(t, wanted[i], "smtp", i == 0 ? "no route to 10.0.0.7" : "no route to 10.0.0.8");
    }
    group = group_id(t, 0);
    others[0] = fa_t_submit(t, .type = "mail", .max_attempts = 1);
    fail(t, others[0], "smtp", "mailbox full");
    others[1] = fa_t_submit(t, .type = "mail", .max_attempts = 1);
    fail(t, others[1], NULL, "no route to 10.0.0.7");
    others[2] = fa_t_submit(t, .type = "news", .max_attempts = 1);
    fail(t, others[2], "smtp", "no route to 10.0.0.7");
    others[3] = fa_t_submit(t, .type = "mail"); /* has not failed */
    CHECK_OK(t, fa_t_list(t, .failure_group = group));
    CHECK_INT(t->op.tasks->count, 2);
    CHECK_STR(t->op.tasks->items[0].id, wanted[1]);
    CHECK_STR(t->op.tasks->items[1].id, wanted[0]);
    CHECK_OK(t, fa_t_list(t, .failure_group = group, .type = "news"));
    CHECK_INT(t->op.tasks->count, 0);
    CHECK_INT(fa_t_bulk_count(t, FA_T_BULK(RETRY, .failure_group = group)), 2);
    fa_t_bulk_completes(t, fa_t_bulk(t, RETRY, .failure_group = group), 2, 0);
    for (size_t i = 0; i < 2; i++)
        CHECK_NOW(t, wanted[i], FAINA_PENDING);
    for (size_t i = 0; i < 3; i++)
        CHECK_NOW(t, others[i], FAINA_DEAD_LETTER);
    CHECK_NOW(t, others[3], FAINA_PENDING);
}

static void test_failures__a_group_of_no_id(struct fa_t *t)
{
    CHECK_OK(t, fa_t_list(t, .failure_group = "0123456789abcdef"));
    CHECK_INT(t->op.tasks->count, 0);
    CHECK_CODE(t, fa_t_list(t, .failure_group = "smtp"), FAINA_INVALID_REQUEST);
    CHECK_CODE(t, fa_t_list(t, .failure_group = ""), FAINA_INVALID_REQUEST);
    CHECK_CODE(t, fa_t_list(t, .failure_group = "0123456789ABCDEF"), FAINA_INVALID_REQUEST);
}

static void test_failures__survive_a_restart(struct fa_t *t)
{
    fail(t, fa_t_submit(t, .type = "x"), NULL, "no 1");
    fa_t_reopen(t);
    fail(t, fa_t_submit(t, .type = "x"), NULL, "no 2");
    CHECK_GROUPS(t, "x/-/no #/2/2");
}

/* Words that make a thousand groups and more; the oldest ones are dropped. */
static void test_failures__are_bounded(struct fa_t *t)
{
    static const char *const words[] = {"ab", "cd", "ef", "gh", "ij", "kl", "mn", "op", "qr", "st"};
    struct faina_submit submits[1500];
    struct fa_op ops[3 * FA_COUNT(submits)];
    struct faina_failure failures[FA_COUNT(submits)];
    char ids[FA_COUNT(submits)][FAINA_ID_SIZE];

    if (fa_service_is_remote(t->svc))
        return; /* which has no way of its own */
    memset(ops, 0, sizeof(ops));
    for (size_t i = 0; i < FA_COUNT(submits); i++) {
        submits[i] = (struct faina_submit){.type = "x"};
        ops[i] = (struct fa_op){.kind = FA_OP_SUBMIT, .submit = &submits[i], .arena = &t->arena};
    }
    fa_service_run(t->svc, ops, FA_COUNT(submits));
    for (size_t i = 0; i < FA_COUNT(submits); i++) {
        struct fa_op *op = &ops[FA_COUNT(submits) + 2 * i];

        CHECK_INT(ops[i].code, FAINA_OK);
        memcpy(ids[i], ops[i].task_id, FAINA_ID_SIZE);
        failures[i] = (struct faina_failure){
            .permanent = true,
            .message = fa_arena_printf(&t->arena, "%s %s %s %s", words[i % 10], words[i / 10 % 10],
                                       words[i / 100 % 10], words[i / 1000])};
        op[0] =
            (struct fa_op){.kind = FA_OP_START, .id = ids[i], .by = BY("w"), .arena = &t->arena};
        op[1] = (struct fa_op){.kind = FA_OP_FAIL,
                               .id = ids[i],
                               .by = BY("w"),
                               .failure = &failures[i],
                               .arena = &t->arena};
    }
    for (size_t at = 0; at < FA_COUNT(submits); at += 250) /* several transactions */
        fa_service_run(t->svc, &ops[FA_COUNT(submits) + 2 * at], 500);
    groups(t, &(struct fa_failure_query){0});
    CHECK(t->op.failures->count >= FA_FAILURE_GROUPS_MAX &&
              t->op.failures->count <= FA_FAILURE_GROUPS_MAX + 260,
          "%zu groups", t->op.failures->count);
    groups(t, &(struct fa_failure_query){.limit = 7});
    CHECK_INT(t->op.failures->count, 7);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE_SQL(test_failures__by_what_they_have_in_common),
        FA_T_CASE_SQL(test_failures__namespaces_and_times),
        FA_T_CASE_SQL(test_failures__ends_and_what_is_none),
        FA_T_CASE_SQL(test_failures__one_group_is_listed_and_retried),
        FA_T_CASE_SQL(test_failures__a_group_of_no_id),
        FA_T_CASE_NEEDS(test_failures__survive_a_restart, FA_T_DURABLE | FA_T_SQL),
        FA_T_CASE_SQL(test_failures__are_bounded),
    };

    return fa_t_main(argc, argv, "failures", cases, FA_COUNT(cases));
}
