/*
 * test_items.c - the answer to many operations in one call, by an engine that refuses some or all.
 */
#include "support/support.h"

#include "api/api.h"

#include <setjmp.h>

#include <cmocka.h>

/* An engine whose answers are set by the test. */
struct refuser {
    struct fa_service service; /* first */
    enum faina_code codes[3];
};

static void refuse(struct fa_service *service, struct fa_op *ops, size_t count)
{
    const struct refuser *refuser = (const struct refuser *)service;

    for (size_t i = 0; i < count; i++) {
        ops[i].code = refuser->codes[i];
        if (ops[i].code != FAINA_OK)
            fa_error_set(&ops[i].error, ops[i].code, "by item %zu", i);
    }
}

static const struct fa_service_ops refuser_ops = {.name = "refuser", .run = refuse};

struct many {
    enum faina_code codes[3];
    enum faina_code with_items, without; /* what the call answers */
    const char *message;                 /* ... when nobody takes the items */
};

static const struct many cases[] = {
    {{FAINA_OK, FAINA_OK, FAINA_OK}, FAINA_OK, FAINA_OK, ""},
    {{FAINA_UNAVAILABLE, FAINA_UNAVAILABLE, FAINA_UNAVAILABLE},
     FAINA_UNAVAILABLE,
     FAINA_UNAVAILABLE,
     "by item 0"},
    {{FAINA_STORE_CLOSED, FAINA_UNAVAILABLE, FAINA_INTERNAL},
     FAINA_STORE_CLOSED,
     FAINA_STORE_CLOSED,
     "by item 0"},
    {{FAINA_OVERLOADED, FAINA_OVERLOADED, FAINA_OVERLOADED},
     FAINA_OVERLOADED,
     FAINA_OVERLOADED,
     "by item 0"},
    {{FAINA_UNAUTHORIZED, FAINA_UNAUTHORIZED, FAINA_UNAUTHORIZED},
     FAINA_UNAUTHORIZED,
     FAINA_UNAUTHORIZED,
     "by item 0"},
    /* These were answered, each by itself. */
    {{FAINA_OK, FAINA_UNAVAILABLE, FAINA_UNAVAILABLE},
     FAINA_OK,
     FAINA_UNAVAILABLE,
     "[1]: by item 1"},
    {{FAINA_CONFLICT, FAINA_CONFLICT, FAINA_CONFLICT}, FAINA_OK, FAINA_CONFLICT, "[0]: by item 0"},
    {{FAINA_OK, FAINA_OK, FAINA_WRONG_WORKER}, FAINA_OK, FAINA_WRONG_WORKER, "[2]: by item 2"},
};

static const char id[] = "01890a5d-ac96-774b-bcce-b302099a8057";

typedef enum faina_code many_fn(struct faina *engine, struct faina_items **out,
                                struct faina_error *err);

static enum faina_code submit_three(struct faina *engine, struct faina_items **out,
                                    struct faina_error *err)
{
    static const struct faina_submit tasks[3] = {{.type = "a"}, {.type = "b"}, {.type = "c"}};

    return faina_submit_many(engine, tasks, FA_COUNT(tasks), out, err);
}

static enum faina_code beat_three(struct faina *engine, struct faina_items **out,
                                  struct faina_error *err)
{
    static const struct faina_held held[3] = {{.id = id}, {.id = id}, {.id = id}};

    return faina_heartbeat(engine, "w", held, FA_COUNT(held), 0, out, err);
}

static void check_many(many_fn *call, const struct many *wanted)
{
    struct refuser refuser = {.service = {.ops = &refuser_ops, .input_size_max = 1000}};
    struct faina engine = {.service = &refuser.service};
    struct faina_items *items = NULL;
    struct faina_error err = {0};

    memcpy(refuser.codes, wanted->codes, sizeof(refuser.codes));
    CHECK_INT(call(&engine, &items, &err), wanted->with_items);
    if (wanted->with_items == FAINA_OK) {
        CHECK_INT(items->count, 3);
        for (size_t i = 0; i < items->count; i++)
            CHECK_INT(items->items[i].code, wanted->codes[i]);
    } else {
        CHECK_TRUE(items == NULL);
        CHECK_INT(err.code, wanted->with_items);
        CHECK_STR(err.message, "by item 0");
    }
    faina_free(items);

    CHECK_INT(call(&engine, NULL, &err), wanted->without);
    CHECK_TRUE(strstr(err.message, wanted->message) != NULL);
    CHECK_INT(err.code, wanted->without);
    CHECK_INT(call(&engine, NULL, NULL), wanted->without);
}

static void test_items__ok_means_answered(void **state)
{
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        check_many(submit_three, &cases[i]);
        check_many(beat_three, &cases[i]);
    }
}

static void test_items__none_is_fine(void **state)
{
    struct refuser refuser = {.service = {.ops = &refuser_ops}};
    struct faina engine = {.service = &refuser.service};

    CHECK_INT(faina_submit_many(&engine, NULL, 0, NULL, NULL), FAINA_OK);
    CHECK_INT(faina_heartbeat(&engine, "w", NULL, 0, 0, NULL, NULL), FAINA_OK);
}

/* A count without a list is a mistake of its own, and is called by its name. */
static void test_items__a_count_needs_a_list(void **state)
{
    struct refuser refuser = {.service = {.ops = &refuser_ops}};
    struct faina engine = {.service = &refuser.service};
    struct faina_error err;

    CHECK_INT(faina_block(&engine, id, NULL, NULL, 3, false, NULL, &err), FAINA_INVALID_REQUEST);
    CHECK_STR(err.message, "subtasks is NULL, but its count is 3");
    CHECK_STR(err.field, "subtasks");
    CHECK_INT(faina_submit_many(&engine, NULL, 3, NULL, &err), FAINA_INVALID_REQUEST);
    CHECK_STR(err.message, "tasks is NULL, but its count is 3");
    CHECK_INT(faina_heartbeat(&engine, "w", NULL, 3, 0, NULL, &err), FAINA_INVALID_REQUEST);
    CHECK_STR(err.message, "held is NULL, but its count is 3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_items__ok_means_answered),
        cmocka_unit_test(test_items__none_is_fine),
        cmocka_unit_test(test_items__a_count_needs_a_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
