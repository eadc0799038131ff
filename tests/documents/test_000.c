/*
 * test_000.c - document 000 of the specification ("Persistência de Tasks"), rule by rule, on every
 * engine. What it says about SQL is in test_000_sql.py.
 *
 * Its words in ours: PENDING, IN_PROGRESS and FAILED are pending, claimed or running, and failed or
 * dead_letter; retry_count is attempts; task_results.payload is the output.
 */
#include "support/ops.h"

#include "base/clock.h"
#include "model/limits.h"

#include <stdlib.h>
#include <time.h>

static enum faina_code report_metadata(struct fa_t *t, const char *id, const char *patch)
{
    struct faina_report report = {.metadata = patch};

    return fa_t_report(t, id, BY("w"), &report);
}

/* "Criação de task" */
static void test_000__creation(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "mail", .input = "{\"a\":1}");
    const struct faina_task *task = fa_t_task(t, id);
    const struct faina_event *event;

    CHECK_STATUS(task->status, FAINA_PENDING);
    CHECK_STR(task->state, "Queued");
    CHECK_INT(task->progress, 0);
    CHECK_STR(task->metadata, "{}");
    CHECK_INT(task->attempts, 0);
    CHECK_OK(t, fa_t_events(t, id, 100));
    CHECK_INT(t->op.events->count, 1);
    event = &t->op.events->items[0];
    CHECK_STATUS(event->status, FAINA_PENDING);
    CHECK_INT(event->actor, FAINA_ACTOR_API);
    CHECK_TRUE(strstr(event->detail, "mail") != NULL);
}

/* "Atualização (Worker)": each change has an event, and increases the version. */
static void test_000__update_by_the_worker(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "mail");
    struct faina_report report = {
        .has_progress = true, .progress = 40, .state = "Decoding", .metadata = "{\"repo\":\"x\"}"};
    int64_t version;

    fa_t_take(t, id, "w");
    version = fa_t_task(t, id)->version;
    CHECK_OK(t, fa_t_report(t, id, BY("w"), &report));
    CHECK_INT(fa_t_task(t, id)->version, version + 1);
    CHECK_INT(t->task->progress, 40);
    CHECK_STR(t->task->state, "Decoding");
    CHECK_STR(t->task->metadata, "{\"repo\":\"x\"}");
    CHECK_OK(t, fa_t_events(t, id, 1));
    CHECK_INT(t->op.events->items[0].actor, FAINA_ACTOR_WORKER);
    CHECK_STR(t->op.events->items[0].state, "Decoding");
    CHECK_CODE(t, fa_t_report(t, id, BY("w", .version = version), &report), FAINA_VERSION_CONFLICT);
    CHECK_OK(t, fa_t_complete(t, id, BY("w"), "{\"path\":\"/out\"}"));
    CHECK_STR(fa_t_task(t, id)->output, "{\"path\":\"/out\"}");
}

/* "metadata": an object, never null, to which reports are merged (RFC 7396). */
static void test_000__metadata_is_merged(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "a", .metadata = "{\"repo\":\"x\",\"n\":{\"a\":1}}");
    char *large = fa_alloc_zero(1, FA_METADATA_SIZE_MAX);

    fa_t_take(t, id, "w");
    CHECK_OK(t, report_metadata(t, id, "{\"tenant\":7,\"n\":{\"b\":2}}"));
    CHECK_STR(fa_t_task(t, id)->metadata, "{\"repo\":\"x\",\"n\":{\"a\":1,\"b\":2},\"tenant\":7}");
    CHECK_OK(t, report_metadata(t, id, "{\"repo\":null,\"n\":{\"a\":null}}"));
    CHECK_STR(fa_t_task(t, id)->metadata, "{\"n\":{\"b\":2},\"tenant\":7}");
    CHECK_CODE(t, report_metadata(t, id, "[1]"), FAINA_INVALID_REQUEST);
    memset(large, 'x', FA_METADATA_SIZE_MAX - 1);
    CHECK_CODE(t,
               report_metadata(t, id,
                               fa_arena_printf(&t->arena, "{\"large\":\"%.*s\"}",
                                               FA_METADATA_SIZE_MAX - 20, large)),
               FAINA_PAYLOAD_TOO_LARGE);
    CHECK_STR(fa_t_task(t, id)->metadata, "{\"n\":{\"b\":2},\"tenant\":7}");
    CHECK_OK(t, report_metadata(t, id, "{\"n\":null,\"tenant\":null}"));
    CHECK_STR(fa_t_task(t, id)->metadata, "{}");
    CHECK_OK(t, fa_t_fail_final(t, id, BY("w"), "e"));
    CHECK_STR(fa_t_task(t, id)->metadata, "{}");
    free(large);
}

/* "uniq_task_type_input_hash": one task for each type and input. */
static void test_000__input_hash(struct fa_t *t)
{
    const char *id =
        fa_t_submit(t, .type = "a", .input = "{\"x\":1,\"y\":2}", .dedupe_input = true);

    CHECK_INT(strlen(fa_t_task(t, id)->input_hash), 64);
    CHECK_STR(fa_t_submit(t, .type = "a", .input = "{\"y\":2, \"x\":1}", .dedupe_input = true), id);
    CHECK_TRUE(
        strcmp(fa_t_submit(t, .type = "b", .input = "{\"x\":1,\"y\":2}", .dedupe_input = true),
               id) != 0);
    CHECK_TRUE(strcmp(fa_t_submit(t, .type = "a", .input = "{\"x\":1,\"y\":2}"), id) != 0);
}

/* "Idempotência & Retries": each attempt counts; a retry resets them; a completed task stays. */
static void test_000__retries(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "a", .max_attempts = 1);

    fa_t_take(t, id, "w");
    CHECK_INT(fa_t_task(t, id)->attempts, 1);
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "no disk"));
    CHECK_NOW(t, id, FAINA_DEAD_LETTER);
    CHECK_TRUE(strstr(fa_t_task(t, id)->error, "no disk") != NULL);
    CHECK_OK(t, fa_t_retry(t, id, NOBODY));
    CHECK_NOW(t, id, FAINA_PENDING);
    CHECK_INT(fa_t_task(t, id)->attempts, 0);
    fa_t_finish_task(t, id);
    CHECK_CODE(t, fa_t_claim(t, id, "v"), FAINA_TASK_COMPLETED); /* delivered once more: ignored */
}

/* "Cancelamento" */
static void test_000__cancellation(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "a");

    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
    CHECK_NOW(t, id, FAINA_CANCELLED);
    CHECK_STR(fa_t_task(t, id)->state, "Cancelled by user");
    CHECK_CODE(t, fa_t_heartbeat(t, id, BY("w"), 0), FAINA_INVALID_TRANSITION);
}

/* "Consultas": the newest 100 events. "task_events": unique ids, and the state at each. */
static void test_000__events(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "a"), *ids[100];

    fa_t_take(t, id, "w");
    for (int i = 0; i <= 100; i++)
        CHECK_OK(t, fa_t_progress(t, id, BY("w"), i));
    CHECK_OK(t, fa_t_complete(t, id, BY("w"), NULL));
    CHECK_OK(t, fa_t_events(t, id, 0));
    CHECK_INT(t->op.events->count, 100);
    CHECK_STR(t->op.events->items[0].what, "completed");
    for (size_t i = 0; i < 100; i++) {
        const struct faina_event *event = &t->op.events->items[i];

        CHECK_INT(strlen(event->id), FAINA_ID_SIZE - 1);
        CHECK_TRUE(event->state != NULL && event->state[0] != '\0');
        CHECK_TRUE(i == 0 || event->at_us < event[-1].at_us);
        ids[i] = event->id;
        for (size_t k = 0; k < i; k++)
            CHECK_TRUE(strcmp(ids[k], ids[i]) != 0);
    }
    CHECK_STR(t->op.events->items[0].state, "Completed");
}

/* Lists ---------------------------------------------------------------------------------------- */

/* Tasks in all statuses, some of them changed later than newer ones. */
static void fill(struct fa_t *t)
{
    const char *first = fa_t_submit(t, .type = "late");

    for (int i = 0; i < 3; i++) {
        for (enum faina_status s = 0; s < FAINA_STATUS_COUNT; s++)
            fa_t_make(t, s, "w");
        fa_t_submit(t, .type = "plain");
        fa_t_submit(t, .type = "delayed", .delay_ms = 3600000);
        fa_t_submit(t, .type = "rich", .metadata = "{\"a\":1}");
    }
    fa_t_finish_task(t, first);
}

/* All pages of a list in the order of the last change. Returns how many tasks there are. */
static size_t check_pages(struct fa_t *t, struct faina_query query, int64_t *times)
{
    size_t count = 0, pages = 0;

    query.sort = FAINA_SORT_UPDATED;
    do {
        CHECK_OK(t, fa_t_list_code(t, &query));
        CHECK_TRUE(t->op.tasks->count <= (size_t)query.limit);
        for (size_t i = 0; i < t->op.tasks->count; i++) {
            const struct faina_task *task = &t->op.tasks->items[i];

            CHECK_TRUE(count == 0 || (query.ascending ? times[count - 1] <= task->updated_us
                                                      : times[count - 1] >= task->updated_us));
            CHECK_TRUE(query.statuses == 0 || query.statuses >> task->status & 1);
            CHECK_TRUE(count < 200);
            times[count++] = task->updated_us;
        }
        query.cursor = fa_arena_strdup(&t->arena, t->op.tasks->next_cursor);
        CHECK_TRUE(pages++ < 300);
    } while (query.cursor != NULL);
    return count;
}

/* "idx_tasks_status_updated_at" */
static void test_000__list_by_updated_at(struct fa_t *t)
{
    const size_t all = 1 + 3 * (FAINA_STATUS_COUNT + 3);
    int64_t times[200], ascending[200];
    size_t others; /* that fa_t_make submits to make a task of some status */
    size_t count;

    fill(t);
    CHECK_OK(t, fa_t_list(t, .limit = 1000));
    count = t->op.tasks->count;
    CHECK_TRUE(count >= all);
    others = count - all;
    for (int limit = 1; limit <= 64; limit *= 4) {
        CHECK_INT(check_pages(t, (struct faina_query){.limit = limit}, times), all + others);
        CHECK_INT(
            check_pages(t, (struct faina_query){.limit = limit, .ascending = true}, ascending),
            all + others);
        for (size_t i = 0; i < count; i++)
            CHECK_TRUE(times[i] == ascending[count - 1 - i]);
    }
    CHECK_OK(t, fa_t_list(t, .limit = 1, .sort = FAINA_SORT_UPDATED));
    CHECK_STR(t->op.tasks->items[0].type, "late"); /* the oldest task, and the last change */
    for (enum faina_status s = 0; s < FAINA_STATUS_COUNT; s++) {
        size_t expected;

        CHECK_OK(t, fa_t_list(t, .limit = 1000, .statuses = 1u << s));
        expected = t->op.tasks->count;
        CHECK_INT(check_pages(t, (struct faina_query){.limit = 2, .statuses = 1u << s}, times),
                  expected);
        CHECK_INT(
            check_pages(t, (struct faina_query){.limit = 2, .statuses = 1u << s, .ascending = true},
                        times),
            expected);
    }
    CHECK_INT(check_pages(t, (struct faina_query){.limit = 3, .type = "rich"}, times), 3);
    CHECK_INT(check_pages(t, (struct faina_query){.limit = 3, .type = "none"}, times), 0);
}

static void test_000__list_updated_after_and_before(struct fa_t *t)
{
    int64_t times[200], middle;
    size_t count, newer = 0;

    fill(t);
    count = check_pages(t, (struct faina_query){.limit = 7}, times);
    middle = times[count / 2];
    for (size_t i = 0; i < count; i++)
        newer += times[i] >= middle;
    for (int ascending = 0; ascending < 2; ascending++) {
        CHECK_INT(check_pages(t,
                              (struct faina_query){
                                  .limit = 7, .updated_after_us = middle, .ascending = ascending},
                              times),
                  newer);
        CHECK_INT(check_pages(t,
                              (struct faina_query){
                                  .limit = 7, .updated_before_us = middle, .ascending = ascending},
                              times),
                  count - newer);
    }
    CHECK_OK(t, fa_t_list(t, .limit = 1000, .updated_after_us = middle)); /* in the usual order */
    CHECK_INT(t->op.tasks->count, newer);
    CHECK_OK(t, fa_t_list(t, .limit = 1000, .updated_before_us = middle));
    CHECK_INT(t->op.tasks->count, count - newer);
}

static void test_000__bad_lists(struct fa_t *t)
{
    fa_t_submit(t, .type = "a");
    CHECK_CODE(t, fa_t_list(t, .updated_after_us = -1), FAINA_INVALID_REQUEST);
    CHECK_CODE(t, fa_t_list(t, .sort = FAINA_SORT_UPDATED, .cursor = "0123456789abcdef"),
               FAINA_INVALID_REQUEST);
    CHECK_CODE(t, fa_t_list(t, .sort = FAINA_SORT_UPDATED, .cursor = "x"), FAINA_INVALID_REQUEST);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE(test_000__creation),
        FA_T_CASE(test_000__update_by_the_worker),
        FA_T_CASE(test_000__metadata_is_merged),
        FA_T_CASE(test_000__input_hash),
        FA_T_CASE(test_000__retries),
        FA_T_CASE(test_000__cancellation),
        FA_T_CASE(test_000__events),
        FA_T_CASE(test_000__list_by_updated_at),
        FA_T_CASE(test_000__list_updated_after_and_before),
        FA_T_CASE(test_000__bad_lists),
    };

    return fa_t_main(argc, argv, "document 000", cases, FA_COUNT(cases));
}
