/*
 * test_find.c - tasks by the beginning or the end of their ids.
 */
#include "support/ops.h"

#include "model/id_part.h"
#include "model/limits.h"

#include <stdlib.h>

static const struct fa_found *find(struct fa_t *t, const char *text)
{
    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_FIND, .id = text, .wants_recent = true}));
    return t->op.found;
}

static void test_find__by_either_end(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "mail", .ns = "shop");
    const struct fa_found *found;

    fa_t_submit(t, .type = "x");
    for (size_t n = strlen(id); n >= 18; n--) { /* the first three groups are of this task alone */
        char text[FAINA_ID_SIZE];

        snprintf(text, sizeof(text), "%.*s", (int)n, id);
        CHECK_INT(find(t, text)->count, 1);
        CHECK_STR(t->op.found->items[0].id, id);
    }
    found = find(t, id + strlen(id) - 8);
    CHECK_INT(found->count, 1);
    CHECK_TRUE(!found->has_more && found->is_recent);
    CHECK_STR(found->items[0].id, id);
    CHECK_STR(found->items[0].ns, "shop");
    CHECK_STR(found->items[0].type, "mail");
    CHECK_INT(found->items[0].status, FAINA_PENDING);
    CHECK_TRUE(found->items[0].created_us > 0);
    CHECK_INT(find(t, id + strlen(id) - 5)->count, 0); /* too short for an end */
    CHECK_INT(find(t, "fffffff")->count, 0);
    CHECK_TRUE(!t->op.found->is_recent);
}

static void test_find__several(struct fa_t *t)
{
    char first[3] = "";
    const struct fa_found *found;

    for (int i = 0; i < FA_FIND_MAX; i++)
        memcpy(first, fa_t_submit(t, .type = "x"), 2);
    found = find(t, first);
    CHECK_INT(found->count, FA_FIND_MAX);
    CHECK_TRUE(!found->has_more);
    for (size_t i = 1; i < found->count; i++) /* newest first */
        CHECK_TRUE(strcmp(found->items[i - 1].id, found->items[i].id) > 0);
    fa_t_submit(t, .type = "x");
    found = find(t, first);
    CHECK_INT(found->count, FA_FIND_MAX);
    CHECK_TRUE(found->has_more);
}

static void test_find__in_every_state_but_deleted(struct fa_t *t)
{
    static const enum faina_status statuses[] = {FAINA_PENDING,    FAINA_CLAIMED,   FAINA_RUNNING,
                                                 FAINA_BACKGROUND, FAINA_COMPLETED, FAINA_FAILED,
                                                 FAINA_CANCELLED};
    const char *id = NULL;

    for (size_t i = 0; i < FA_COUNT(statuses); i++) {
        id = fa_t_make(t, statuses[i], "w");
        CHECK_INT(find(t, id + strlen(id) - 12)->count, 1);
        CHECK_INT(t->op.found->items[0].status, statuses[i]);
    }
    CHECK_OK(t, fa_t_delete(t, id));
    CHECK_INT(find(t, id + strlen(id) - 12)->count, 0);
    CHECK_INT(find(t, id)->count, 0);
}

static void test_find__refused(struct fa_t *t)
{
    static const char *const bad[] = {
        "", "-", "x", "0190c4a2 ", "*", "0189%", "01890a5dac96774bbcceb302099a80570"};

    for (size_t i = 0; i < FA_COUNT(bad); i++)
        CHECK_CODE(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_FIND, .id = bad[i]}),
                   FAINA_INVALID_REQUEST);
}

/* The end of an id is searched for among the newest 100,000. */
static void test_find__old_tasks_by_their_beginning(struct fa_t *t)
{
    struct faina_submit *submits = fa_alloc_zero(FA_BATCH_MAX, sizeof(*submits));
    struct fa_op *ops = fa_alloc_zero(FA_BATCH_MAX, sizeof(*ops));
    const char *old = fa_t_submit(t, .type = "old"), *second = fa_t_submit(t, .type = "second");

    for (int batch = 0; batch < FA_FIND_NEWEST / FA_BATCH_MAX; batch++) {
        struct fa_arena arena = {0};
        int count = batch == 0 ? FA_BATCH_MAX - 1 : FA_BATCH_MAX;

        for (int i = 0; i < count; i++) {
            submits[i] = (struct faina_submit){.type = "x"};
            ops[i] = (struct fa_op){.kind = FA_OP_SUBMIT, .submit = &submits[i], .arena = &arena};
        }
        fa_t_run_all(t, ops, (size_t)count);
        CHECK_CODE(t, ops[count - 1].code, FAINA_OK);
        fa_arena_finish(&arena);
    }
    CHECK_INT(find(t, second + strlen(second) - 12)->count, 1);
    CHECK_TRUE(t->op.found->is_recent);
    CHECK_INT(find(t, old + strlen(old) - 12)->count, 0);
    CHECK_INT(find(t, old)->count, 1);
    CHECK_TRUE(!t->op.found->is_recent);
    free(submits);
    free(ops);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE(test_find__by_either_end),
        FA_T_CASE(test_find__several),
        FA_T_CASE(test_find__in_every_state_but_deleted),
        FA_T_CASE(test_find__refused),
        FA_T_CASE_LOCAL(test_find__old_tasks_by_their_beginning),
    };

    return fa_t_main(argc, argv, "find", cases, FA_COUNT(cases));
}
