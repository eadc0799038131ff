/*
 * test_row.c - every field of a task is read back, whichever table has its state row.
 */
#include "support/unit_store.h"

#include "store/read/show.h"

#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct {
    enum faina_status status;
    int64_t at_us;
    enum fa_state_table state_table;
} places[] = {
    {FAINA_PENDING, 0, FA_STATE_TABLE_READY},
    {FAINA_PENDING, STORE_NOW + 9, FA_STATE_TABLE_PARKED},
    {FAINA_CLAIMED, STORE_NOW + 9, FA_STATE_TABLE_HELD},
    {FAINA_RUNNING, 0, FA_STATE_TABLE_HELD},
    {FAINA_BLOCKED, 0, FA_STATE_TABLE_PARKED},
    {FAINA_BACKGROUND, STORE_NOW + 9, FA_STATE_TABLE_PARKED},
    {FAINA_COMPLETED, 0, FA_STATE_TABLE_ENDED},
    {FAINA_FAILED, 0, FA_STATE_TABLE_ENDED},
    {FAINA_DEAD_LETTER, 0, FA_STATE_TABLE_ENDED},
    {FAINA_CANCELLED, 0, FA_STATE_TABLE_ENDED},
};

/* A row with a value in every column of its tables. */
static struct fa_row *add_full(struct store *store, size_t place)
{
    static const char *const names[] = {"gpu", "disk"};
    struct fa_row *row =
        fa_unit_add(&store->unit, fa_id_next(&store->ids, STORE_NOW + (int64_t)place));

    CHECK_INT(
        fa_lanes_get(store->lanes, store->db, "ns", "t\"ype", names, 2, false, &row->lane, NULL),
        FAINA_OK);
    row->rank = -2147483647;
    row->created_us = STORE_NOW - 1;
    row->max_attempts = 7;
    row->run_at_us = STORE_NOW - 5;
    row->input = "{\"caf\xc3\xa9\": \"'quoted'\"}";
    row->name = "its name";
    row->first_metadata = "{\"first\":1}";
    row->spec = "[1]";
    row->key = "the key";
    row->input_hash = "abc";
    row->parent = 5;
    row->child = "#0";
    row->depth = 2;
    row->created_by = "ann";
    row->retry = (struct faina_retry_policy){.base_ms = 10, .factor = 1.5, .max_ms = 99};
    row->status = places[place].status;
    row->at_us = places[place].at_us;
    row->version = INT64_C(1) << 60;
    row->fence = INT64_C(1) << 40;
    row->attempts = 3;
    row->flags = FA_FLAG_HAS_PARENT | FAINA_PHASE_ERROR;
    row->progress = 99;
    row->updated_us = STORE_NOW + 1;
    row->claimed_us = STORE_NOW + 2;
    row->started_us = STORE_NOW + 3;
    row->state = "a state";
    row->error = "{\"message\":\"e\"}";
    row->metadata = "{\"now\":2}";
    if (places[place].state_table == FA_STATE_TABLE_READY)
        row->due_us = STORE_NOW + 4;
    if (places[place].state_table == FA_STATE_TABLE_PARKED) {
        row->deps_left = 4;
        row->deps_bad = 1;
    }
    if (places[place].state_table == FA_STATE_TABLE_ENDED) {
        row->completed_us = STORE_NOW + 6;
        row->deleted_us = STORE_NOW + 7;
        row->output = "[]";
    }
    if (places[place].state_table == FA_STATE_TABLE_ENDED ||
        places[place].state_table == FA_STATE_TABLE_HELD)
        row->worker = "w";
    fa_unit_touch(&store->unit, row);
    return row;
}

static void check_asked(const struct fa_row *got, const struct fa_row *want)
{
    CHECK_INT(got->id.key, want->id.key);
    CHECK_INT(got->id.tail, want->id.tail);
    CHECK_TRUE(got->lane == want->lane);
    CHECK_INT(got->rank, want->rank);
    CHECK_TRUE(got->has_task);
    CHECK_INT(got->created_us, want->created_us);
    CHECK_INT(got->max_attempts, want->max_attempts);
    CHECK_INT(got->run_at_us, want->run_at_us);
    CHECK_STR(got->name, want->name);
    CHECK_STR(got->key, want->key);
    CHECK_STR(got->input_hash, want->input_hash);
    CHECK_INT(got->parent, want->parent);
    CHECK_STR(got->child, want->child);
    CHECK_INT(got->depth, want->depth);
    CHECK_STR(got->team, want->team);
    CHECK_STR(got->created_by, want->created_by);
    CHECK_INT(got->retry.base_ms, want->retry.base_ms);
    CHECK_TRUE(got->retry.factor == want->retry.factor);
    CHECK_INT(got->retry.max_ms, want->retry.max_ms);
}

static void check_standing(const struct fa_row *got, const struct fa_row *want)
{
    CHECK_INT(got->state_table, want->state_table);
    CHECK_STATUS(got->status, want->status);
    CHECK_INT(got->version, want->version);
    CHECK_INT(got->fence, want->fence);
    CHECK_INT(got->attempts, want->attempts);
    CHECK_INT(got->flags, want->flags);
    CHECK_INT(got->deps_left, want->deps_left);
    CHECK_INT(got->deps_bad, want->deps_bad);
    CHECK_INT(got->progress, want->progress);
    CHECK_INT(got->updated_us, want->updated_us);
    CHECK_INT(got->claimed_us, want->claimed_us);
    CHECK_INT(got->started_us, want->started_us);
    CHECK_INT(got->completed_us, want->completed_us);
    CHECK_INT(got->deleted_us, want->deleted_us);
    CHECK_INT(got->at_us, want->at_us);
    CHECK_INT(got->due_us, want->due_us);
    CHECK_STR(got->worker, want->worker);
    CHECK_STR(got->state, want->state);
    CHECK_STR(got->error, want->error);
    CHECK_STR(got->metadata, want->metadata);
}

static void check_payload(const struct fa_row *got, const struct fa_row *want)
{
    CHECK_TRUE(got->has_payload);
    CHECK_STR(got->input, want->input);
    CHECK_STR(got->first_metadata, want->first_metadata);
    CHECK_STR(got->spec, want->spec);
    CHECK_STR(got->output, want->output);
}

/* ------------------------------------------------------------------------------------------
 * Reading
 */

/* R1, R3 */
static void test_row__every_field_comes_back_from_every_place(void **state)
{
    for (size_t i = 0; i < FA_COUNT(places); i++) {
        struct store store;
        struct faina_error err = {0};
        struct fa_row *row, got;

        store_open(&store);
        store_begin(&store);
        row = add_full(&store, i);
        store_commit(&store);
        CHECK_INT(row->state_table, places[i].state_table);
        CHECK_INT(fa_row_load(&store.unit.source, row->id.key, &store.arena, &got, &err), FAINA_OK);
        check_asked(&got, row);
        check_standing(&got, row);
        CHECK_TRUE(!got.is_new && !got.is_dirty && !got.is_purged);
        CHECK_TRUE(!got.has_payload && got.input == NULL && got.output == NULL); /* R3 */
        CHECK_INT(fa_row_load_payload(&store.unit.source, &got, &store.arena, &err), FAINA_OK);
        check_payload(&got, row);
        spy_forget(&store.spy);
        CHECK_INT(fa_row_load_payload(&store.unit.source, &got, &store.arena, &err), FAINA_OK);
        CHECK_INT(store.spy.calls, 0); /* read once only */
        store_close(&store);
    }
}

static void test_row__nothing_comes_back_as_nothing(void **state)
{
    struct store store;
    struct faina_error err = {0};
    struct fa_row *row, got;

    store_open(&store);
    store_begin(&store);
    row = store_submit(&store, .type = "t");
    store_commit(&store);
    CHECK_INT(fa_row_load(&store.unit.source, row->id.key, &store.arena, &got, &err), FAINA_OK);
    check_asked(&got, row);
    check_standing(&got, row);
    CHECK_INT(fa_row_load_payload(&store.unit.source, &got, &store.arena, &err), FAINA_OK);
    check_payload(&got, row);
    CHECK_TRUE(got.input == NULL && got.name == NULL && got.key == NULL && got.state == NULL);
    CHECK_INT(got.version, 1);
    CHECK_INT(got.updated_us, got.created_us);
    CHECK_TRUE(got.retry.factor == 0);
    store_close(&store);
}

/* R2 */
static void test_row__a_held_task_can_be_read_in_part(void **state)
{
    for (size_t i = 0; i < FA_COUNT(places); i++) {
        struct store store;
        struct faina_error err = {0};
        struct fa_row *row, got;
        bool found = false;

        store_open(&store);
        store_begin(&store);
        row = add_full(&store, i);
        store_commit(&store);
        CHECK_INT(
            fa_row_load_held(&store.unit.source, row->id.key, &store.arena, &got, &found, &err),
            FAINA_OK);
        CHECK_INT(found, places[i].state_table == FA_STATE_TABLE_HELD);
        if (found) {
            CHECK_TRUE(!got.has_task);
            CHECK_TRUE(got.lane == row->lane);
            check_standing(&got, row);
            CHECK_INT(fa_row_load_task(&store.unit.source, &got, &store.arena, &err), FAINA_OK);
            check_asked(&got, row);
            check_standing(&got, row);
        }
        store_close(&store);
    }
}

struct scan {
    struct fa_arena *arena;
    struct fa_row row;
    bool has_payload;
    size_t count;
};

static void sink_scan(void *ctx, size_t n, const struct fa_value *columns)
{
    struct scan *scan = ctx;

    fa_row_from_ready_scan(columns, scan->arena, scan->has_payload, &scan->row);
    scan->count++;
}

static void test_row__the_line_tells_the_same(void **state)
{
    struct store store;
    struct faina_error err = {0};
    struct fa_row *row;

    store_open(&store);
    store_begin(&store);
    row = add_full(&store, 0);
    store_commit(&store);
    for (int has_payload = 0; has_payload <= 1; has_payload++) {
        struct scan scan = {.arena = &store.arena, .has_payload = has_payload};

        CHECK_INT(fa_db_one(store.db, FA_SQL_READY_SCAN,
                            (struct fa_value[]){fa_value_int(row->lane->id),
                                                fa_value_int(INT64_MIN), fa_value_int(0),
                                                fa_value_int(10), fa_value_int(has_payload)},
                            5, sink_scan, &scan, &err),
                  FAINA_OK);
        CHECK_INT(scan.count, 1);
        scan.row.lane = row->lane; /* the caller sets it */
        check_asked(&scan.row, row);
        check_standing(&scan.row, row);
        CHECK_INT(scan.row.has_payload, has_payload);
        if (has_payload)
            check_payload(&scan.row, row);
        else
            CHECK_TRUE(scan.row.input == NULL && scan.row.spec == NULL);
    }
    store_close(&store);
}

static void test_row__subtasks_come_whole_wherever_they_are(void **state)
{
    const struct fa_row parent = {.id = {5, 77}};
    struct fa_row *made[FA_COUNT(places)], got[FA_COUNT(places) + 1];
    size_t count = FA_COUNT(got);
    struct store store;
    struct faina_error err = {0};

    store_open(&store);
    store_begin(&store);
    for (size_t i = 0; i < FA_COUNT(places); i++)
        made[i] = add_full(&store, i);
    CHECK_INT(fa_unit_flush(&store.unit, &err), FAINA_OK);
    CHECK_INT(fa_rows_load_children(&store.unit.source, &parent, 0, false, got, &count,
                                    &store.arena, &err),
              FAINA_OK);
    CHECK_INT(count, FA_COUNT(places));
    for (size_t i = 0; i < count; i++) {
        CHECK_TRUE(got[i].lane == made[i]->lane);
        check_asked(&got[i], made[i]);
        check_standing(&got[i], made[i]);
        check_payload(&got[i], made[i]);
        CHECK_TRUE(got[i].has_parent_tail && got[i].parent_tail == 77);
    }
    count = 2; /* some of them, after one of them */
    CHECK_INT(fa_rows_load_children(&store.unit.source, &parent, made[3]->id.key, false, got,
                                    &count, &store.arena, &err),
              FAINA_OK);
    CHECK_INT(count, 2);
    CHECK_INT(got[0].id.key, made[4]->id.key);
    CHECK_INT(got[1].id.key, made[5]->id.key);
    count = FA_COUNT(got); /* only how they ended */
    CHECK_INT(fa_rows_load_children(&store.unit.source, &parent, 0, true, got, &count, &store.arena,
                                    &err),
              FAINA_OK);
    CHECK_INT(count, FA_COUNT(places));
    for (size_t i = 0; i < count; i++) {
        CHECK_TRUE(fa_id_equal(got[i].id, made[i]->id) && got[i].lane == made[i]->lane);
        CHECK_STR(got[i].name, made[i]->name);
        CHECK_STATUS(got[i].status, made[i]->status);
        CHECK_STR(got[i].error, made[i]->error);
        CHECK_STR(got[i].output, made[i]->output);
        CHECK_INT(got[i].deleted_us, made[i]->deleted_us);
        CHECK_TRUE(got[i].input == NULL);
    }
    store_rollback(&store);
    store_close(&store);
}

static void sink_plain_scan(void *ctx, size_t n, const struct fa_value *columns)
{
    struct scan *scan = ctx;

    scan->count += fa_row_from_plain_scan(columns, scan->arena, &scan->row);
}

/* Each way of not being plain: the short statement reports that its columns don't suffice. */
static void test_row__the_short_line_tells_the_same_or_declines(void **state)
{
    static const struct {
        const char *name;
        struct faina_submit submit;
        bool is_plain;
    } cases[] = {
        {"nothing", {.type = "t"}, true},
        {"all that is plain",
         {.type = "t", .priority = 5, .input = "[1]", .idempotency_key = "k", .name = "n"},
         true},
        {"metadata", {.type = "t", .metadata = "{}"}, false},
        {"spec", {.type = "t", .spec = "[]"}, false},
        {"a time that is past", {.type = "t", .run_at_us = 1}, false},
        {"a hash", {.type = "t", .dedupe_input = true, .input = "1"}, false},
        {"a maker", {.type = "t", .created_by = "ann"}, false},
        {"a base", {.type = "t", .retry.base_ms = 1}, false},
        {"a factor", {.type = "t", .retry.factor = 2}, false},
        {"a cap", {.type = "t", .retry.max_ms = 1}, false},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct store store;
        struct faina_error err = {0};
        struct scan scan = {.arena = &store.arena};
        struct fa_row *row;

        store_open(&store);
        store_begin(&store);
        row = store_submit_row(&store, &cases[i].submit);
        store_commit(&store);
        CHECK_INT(
            fa_db_one(store.db, FA_SQL_READY_SCAN_PLAIN,
                      (struct fa_value[]){fa_value_int(row->lane->id), fa_value_int(INT64_MIN),
                                          fa_value_int(0), fa_value_int(10)},
                      4, sink_plain_scan, &scan, &err),
            FAINA_OK);
        CHECK(scan.count == cases[i].is_plain, "%s", cases[i].name);
        if (scan.count > 0) {
            scan.row.lane = row->lane;
            check_asked(&scan.row, row);
            check_standing(&scan.row, row);
            check_payload(&scan.row, row);
        }
        store_close(&store);
    }
}

static void test_row__what_is_not_there(void **state)
{
    struct store store;
    struct faina_error err = {0};
    struct fa_row got = {.id.key = 5};
    int64_t key;
    bool found = true;

    store_open(&store);
    CHECK_INT(fa_row_load(&store.unit.source, 5, &store.arena, &got, &err), FAINA_TASK_NOT_FOUND);
    CHECK_INT(fa_row_load_held(&store.unit.source, 5, &store.arena, &got, &found, &err), FAINA_OK);
    CHECK_TRUE(!found);
    CHECK_INT(fa_row_load_task(&store.unit.source, &got, &store.arena, &err), FAINA_TASK_NOT_FOUND);
    key = store_make(&store, FAINA_PENDING);
    raw_exec(store.raw, "DELETE FROM ready");
    CHECK_INT(fa_row_load(&store.unit.source, key, &store.arena, &got, &err), FAINA_INTERNAL);
    CHECK_STR(err.message,
              "task 019b7c01-0400-7005-9a28-690da8a8d057 is damaged: " FA_ROW_NO_STATE);
    store_close(&store);
}

static void test_row__a_status_that_there_is_not_is_refused(void **state)
{
    static const struct {
        enum faina_status status;
        const char *sql;
    } cases[] = {
        {FAINA_RUNNING, "UPDATE held SET status = 9"},
        {FAINA_BACKGROUND, "UPDATE parked SET status = -1"},
        {FAINA_COMPLETED, "UPDATE ended SET status = 'completed'"},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct store store;
        struct fa_row *row = NULL;
        int64_t key;

        store_open(&store);
        key = store_make(&store, cases[i].status);
        raw_exec(store.raw, cases[i].sql);
        store_begin(&store);
        CHECK_INT(fa_unit_get(&store.unit, key, false, &row, NULL), FAINA_INTERNAL);
        store_rollback(&store);
        store_close(&store);
    }
}

static void test_row__keys_are_collected(void **state)
{
    struct fa_arena arena = {0};
    struct fa_keys keys = {.arena = &arena};

    for (int64_t i = 0; i < 1000; i++) {
        struct fa_value columns[2] = {fa_value_int(i * i), fa_value_int(-1)};

        fa_keys_sink(&keys, 0, columns);
    }
    CHECK_INT(keys.count, 1000);
    for (int64_t i = 0; i < 1000; i++)
        CHECK_INT(keys.keys[i], i * i);
    fa_arena_finish(&arena);
}

/* ------------------------------------------------------------------------------------------
 * As users see it
 */

static void test_row__text_is_lent_or_copied(void **state)
{
    struct store store;
    struct faina_error err = {0};
    struct faina_task lent, copied;
    struct fa_row *row;

    store_open(&store);
    store_begin(&store);
    row = add_full(&store, 3);
    CHECK_INT(fa_row_to_task(&store.unit.source, row, &store.arena, true, false, &lent, &err),
              FAINA_OK);
    CHECK_INT(fa_row_to_task(&store.unit.source, row, &store.arena, false, false, &copied, &err),
              FAINA_OK);
    CHECK_TRUE(lent.input == row->input && lent.error == row->error && lent.name == row->name);
    CHECK_TRUE(copied.input != row->input && copied.error != row->error);
    CHECK_STR(copied.input, row->input);
    CHECK_STR(copied.metadata, row->metadata); /* the newest, not the first */
    CHECK_STR(copied.state, "a state");
    CHECK_STR(copied.worker_id, "w");
    CHECK_INT(copied.priority, 2147483647);
    CHECK_INT(copied.phase, FAINA_PHASE_ERROR);
    CHECK_INT(copied.resource_count, 2);
    CHECK_STR(copied.resources[0], "disk");
    store_rollback(&store);
    store_close(&store);
}

static void test_row__a_brief_answer_has_no_payload(void **state)
{
    struct store store;
    struct faina_error err = {0};
    struct faina_task task;

    store_open(&store);
    store_begin(&store);
    CHECK_INT(fa_row_to_task(&store.unit.source, add_full(&store, 6), &store.arena, false, true,
                             &task, &err),
              FAINA_OK);
    CHECK_TRUE(task.input == NULL && task.output == NULL && task.spec == NULL);
    CHECK_TRUE(task.metadata == NULL);
    CHECK_STR(task.name, "its name");
    CHECK_TRUE(task.worker_id == NULL); /* it has no holder any more */
    store_rollback(&store);
    store_close(&store);
}

static void test_row__times_say_what_the_status_means(void **state)
{
    for (size_t i = 0; i < FA_COUNT(places); i++) {
        struct store store;
        struct faina_error err = {0};
        struct faina_task task;
        struct fa_row *row;
        bool is_held = places[i].state_table == FA_STATE_TABLE_HELD;

        store_open(&store);
        store_begin(&store);
        row = add_full(&store, i);
        CHECK_INT(fa_row_to_task(&store.unit.source, row, &store.arena, true, true, &task, &err),
                  FAINA_OK);
        CHECK_INT(task.lease_expires_us, is_held ? row->at_us : 0);
        CHECK_INT(task.expires_us, row->status == FAINA_BACKGROUND ? row->at_us : 0);
        if (row->status == FAINA_PENDING)
            CHECK_INT(task.run_at_us, row->at_us ? row->at_us : row->due_us);
        else
            CHECK_INT(task.run_at_us, row->run_at_us);
        CHECK_INT(task.completed_us, row->completed_us);
        CHECK_INT(task.deleted_us, row->deleted_us);
        store_rollback(&store);
        store_close(&store);
    }
}

static void test_row__each_status_has_a_default_text(void **state)
{
    const char *words[FAINA_STATUS_COUNT];

    for (int i = 0; i < FAINA_STATUS_COUNT; i++) {
        struct fa_row row = {.status = (enum faina_status)i};

        words[i] = fa_row_state(&row);
        CHECK_TRUE(words[i] != NULL && words[i][0] != '\0');
        for (int k = 0; k < i; k++)
            CHECK_TRUE(strcmp(words[k], words[i]) != 0);
        row.state = "its own text";
        CHECK_STR(fa_row_state(&row), "its own text");
    }
}

static void test_row__a_purged_parent_is_no_parent(void **state)
{
    struct store store;
    struct faina_error err = {0};
    struct faina_task task;
    struct fa_row *row;

    store_open(&store);
    store_begin(&store);
    row = add_full(&store, 0);
    CHECK_INT(fa_row_to_task(&store.unit.source, row, &store.arena, true, true, &task, &err),
              FAINA_OK);
    CHECK_STR(task.parent_id, "");
    store_rollback(&store);
    store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_row__every_field_comes_back_from_every_place),
        cmocka_unit_test(test_row__nothing_comes_back_as_nothing),
        cmocka_unit_test(test_row__a_held_task_can_be_read_in_part),
        cmocka_unit_test(test_row__the_line_tells_the_same),
        cmocka_unit_test(test_row__subtasks_come_whole_wherever_they_are),
        cmocka_unit_test(test_row__the_short_line_tells_the_same_or_declines),
        cmocka_unit_test(test_row__what_is_not_there),
        cmocka_unit_test(test_row__a_status_that_there_is_not_is_refused),
        cmocka_unit_test(test_row__keys_are_collected),
        cmocka_unit_test(test_row__text_is_lent_or_copied),
        cmocka_unit_test(test_row__a_brief_answer_has_no_payload),
        cmocka_unit_test(test_row__times_say_what_the_status_means),
        cmocka_unit_test(test_row__each_status_has_a_default_text),
        cmocka_unit_test(test_row__a_purged_parent_is_no_parent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
