/*
 * test_logs.c - the log of an attempt: added in parts by the holder, bounded, read by attempt.
 */
#include "support/ops.h"

#include "model/limits.h"

static enum faina_code add(struct fa_t *t, const char *id, struct faina_by by, const char *text)
{
    struct fa_op op = {.kind = FA_OP_LOG_ADD, .id = id, .by = by};

    op.log.text = text;
    return fa_t_run(t, &op);
}

static const struct fa_attempt_log *read_log(struct fa_t *t, const char *id, int64_t attempt)
{
    struct fa_op op = {.kind = FA_OP_LOG, .id = id};

    op.log.attempt = attempt;
    CHECK_OK(t, fa_t_run(t, &op));
    return t->op.log_answer;
}

static void test_logs__parts_of_an_attempt(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x");
    struct fa_op over = {.kind = FA_OP_LOG_ADD, .id = id, .by = {.worker_id = "w"}};
    struct fa_op none = {.kind = FA_OP_LOG, .id = id};

    CHECK_INT(read_log(t, id, 0)->attempt, 0);
    CHECK_CODE(t, add(t, id, BY("w"), "a"), FAINA_TASK_NOT_CLAIMED);
    fa_t_take(t, id, "w");
    CHECK_OK(t, add(t, id, BY("w"), "one\n"));
    CHECK_OK(t, add(t, id, BY("w"), "tw\xC3\xB6\n"));
    CHECK_CODE(t, add(t, id, BY("v"), "three\n"), FAINA_WRONG_WORKER);
    CHECK_STR(read_log(t, id, 0)->text, "one\ntw\xC3\xB6\n");
    CHECK_INT(t->op.log_answer->attempt, 1);
    CHECK_INT(t->op.log_answer->end, 9);
    CHECK_TRUE(t->op.log_answer->is_open && !t->op.log_answer->is_cut);
    CHECK_STR(t->op.log_answer->worker_id, "w");
    CHECK_STORY(t, id, "created claimed started");
    CHECK_OK(t, fa_t_retry(t, id, NOBODY));
    fa_t_take(t, id, "v");
    CHECK_STR(read_log(t, id, 0)->text, "");
    CHECK_OK(t, add(t, id, BY("v"), "again"));
    CHECK_STR(read_log(t, id, 0)->text, "again");
    CHECK_STR(read_log(t, id, 1)->text, "one\ntw\xC3\xB6\n");
    CHECK_TRUE(!t->op.log_answer->is_open);
    none.log.attempt = 3;
    CHECK_CODE(t, fa_t_run(t, &none), FAINA_NOT_FOUND);
    /* When the note has the log, the parts go. */
    over.by.worker_id = "v";
    over.log.is_over = true;
    CHECK_OK(t, fa_t_run(t, &over));
    CHECK_STR(read_log(t, id, 2)->text, "");
    CHECK_STR(read_log(t, id, 1)->text, "one\ntw\xC3\xB6\n");
    CHECK_OK(t, fa_t_complete(t, id, BY("v"), NULL));
    CHECK_CODE(t, add(t, id, BY("v"), "late"), FAINA_TASK_COMPLETED);
}

static void test_logs__the_end_is_kept(struct fa_t *t)
{
    const char *id = fa_t_make(t, FAINA_RUNNING, "w");
    char piece[3001];
    int64_t end = 0;

    for (int i = 0; i < 100; i++) {
        memset(piece, 'a' + i % 26, sizeof(piece) - 2);
        piece[sizeof(piece) - 2] = '\n';
        piece[sizeof(piece) - 1] = '\0';
        CHECK_OK(t, add(t, id, BY("w"), piece));
        end += 3000;
    }
    CHECK_INT(read_log(t, id, 0)->end, end);
    CHECK_TRUE(t->op.log_answer->is_cut);
    CHECK_INT(strlen(t->op.log_answer->text), FA_LOG_SIZE_MAX);
    CHECK_STR(t->op.log_answer->text + FA_LOG_SIZE_MAX - 3000, piece);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE_SQL(test_logs__parts_of_an_attempt),
        FA_T_CASE_SQL(test_logs__the_end_is_kept),
    };

    return fa_t_main(argc, argv, "logs", cases, FA_COUNT(cases));
}
