/*
 * test_event_limits.c - what one event may cost: a limit on its tasks, on their size and on the
 * steps that its triggers take.
 */
#include "support/ops.h"

#include "json/json.h"
#include "model/limits.h"
#include "support/crew.h"

#include <stdatomic.h>
#include <stdlib.h>

#define DATA_BYTES 900000
#define TRIGGERS 20 /* copies of that are more than the limit */

/* A workflow of many triggers on one type; `match` may be NULL. */
static void put_triggers(struct fa_t *t, const char *on, int count, const char *match,
                         const char *task)
{
    struct fa_definition definition;
    struct fa_buf text;

    fa_buf_init(&text, FA_WORKFLOW_SIZE_MAX);
    fa_buf_add_str(&text, "{\"workflow\":\"many\",\"triggers\":[");
    for (int i = 0; i < count; i++) {
        fa_buf_printf(&text, "%s{\"name\":\"t%d\",\"on\":\"%s\",", i > 0 ? "," : "", i, on);
        if (match != NULL)
            fa_buf_printf(&text, "\"match\":\"%s\",", match);
        fa_buf_printf(&text, "\"task\":%s}", task);
    }
    fa_buf_add_str(&text, "]}");
    definition = (struct fa_definition){.text = {text.ptr, text.len}};
    CHECK_OK(t,
             fa_t_run(t, &(struct fa_op){.kind = FA_OP_WORKFLOW_PUT, .definition = &definition}));
    fa_buf_finish(&text);
}

#define emit(t, ...) emit_code(t, &(struct faina_emit){__VA_ARGS__})
static enum faina_code emit_code(struct fa_t *t, const struct faina_emit *event)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_EMIT, .emit = event});
}

static enum faina_code find_event(struct fa_t *t, const char *id)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_EMITTED_LIST,
                                       .emitted_query = &(struct fa_emitted_query){.id = id}});
}

static int64_t count_of(struct fa_t *t, enum faina_status status)
{
    CHECK_OK(t, fa_t_stats(t, "*"));
    return t->op.stats->by_status[status];
}

/* {"x":"yyy..."} */
static const char *long_data(struct fa_t *t, int size)
{
    char *text = fa_arena_take(&t->arena, (size_t)size + 1);

    memset(text, 'y', (size_t)size);
    text[size] = '\0';
    return fa_arena_printf(&t->arena, "{\"x\":\"%s\"}", text);
}

static void test_event__too_large_a_result_is_refused_whole(struct fa_t *t)
{
    const char *data = long_data(t, DATA_BYTES);

    put_triggers(t, "e", TRIGGERS, NULL, "{\"type\":\"x\",\"input\":\"${}\"}");
    CHECK_CODE(t, emit(t, .type = "e", .data = data, .id = "one"), FAINA_PAYLOAD_TOO_LARGE);
    CHECK_TRUE(strstr(t->op.error.message, "bytes in all") != NULL);
    CHECK_INT(count_of(t, FAINA_PENDING), 0);
    CHECK_CODE(t, find_event(t, "one"), FAINA_NOT_FOUND);
    /* The same event with less in it is a new one. */
    CHECK_OK(t, emit(t, .type = "e", .data = long_data(t, DATA_BYTES / 2), .id = "one"));
    CHECK_INT(t->op.emitted->existing, false);
    CHECK_INT(t->op.emitted->count, TRIGGERS);
    CHECK_INT(t->op.emitted->failure_count, 0);
    CHECK_INT(count_of(t, FAINA_PENDING), TRIGGERS);
    /* What was done before is answered, however large it would be now. */
    CHECK_OK(t, emit(t, .type = "e", .data = data, .id = "one"));
    CHECK_INT(t->op.emitted->existing, true);
    CHECK_INT(t->op.emitted->count, TRIGGERS);
}

/* Fields that are searched for in vain, in an object of many. */
static void test_event__too_many_steps_are_refused(struct fa_t *t)
{
    enum { FIELDS = 55000, ONE_TOO_MANY = FA_EVENT_STEPS_MAX / FIELDS + 1 };
    struct fa_buf data;

    fa_buf_init(&data, FA_INPUT_SIZE_DEFAULT);
    fa_buf_add_str(&data, "{\"deep\":{\"a\":1");
    for (int i = 0; i < FIELDS; i++)
        fa_buf_printf(&data, ",\"k%06d\":1", i);
    fa_buf_add_str(&data, "}}");
    put_triggers(t, "e", ONE_TOO_MANY / 2, "deep.none = 1", "{\"type\":\"x\"}");
    CHECK_OK(t, emit(t, .type = "e", .data = data.ptr));
    CHECK_INT(t->op.emitted->count, 0);
    put_triggers(t, "e", ONE_TOO_MANY, "deep.none = 1", "{\"type\":\"x\"}");
    CHECK_CODE(t, emit(t, .type = "e", .data = data.ptr), FAINA_PAYLOAD_TOO_LARGE);
    CHECK_TRUE(strstr(t->op.error.message, "steps in all") != NULL);
    /* The same for paths in templates. */
    put_triggers(t, "e", ONE_TOO_MANY, NULL,
                 "{\"type\":\"x\",\"input\":[\"${deep.k054999}\",\"${deep.a}\"]}");
    CHECK_CODE(t, emit(t, .type = "e", .data = data.ptr), FAINA_PAYLOAD_TOO_LARGE);
    CHECK_INT(count_of(t, FAINA_PENDING), 0);
    fa_buf_finish(&data);
}

/* The end of a task is not undone by what it sets off: what is too much is noted. */
static void test_event__too_large_a_result_of_an_end_is_noted(struct fa_t *t)
{
    const char *id;
    int64_t made;

    put_triggers(t, "task.completed", TRIGGERS, "type = 'first'",
                 "{\"type\":\"x\",\"input\":\"${output}\"}");
    id = fa_t_submit(t, .type = "first");
    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_complete(t, id, BY("w"), long_data(t, DATA_BYTES)));
    CHECK_NOW(t, id, FAINA_COMPLETED);
    made = count_of(t, FAINA_PENDING);
    CHECK(made > 0 && made < TRIGGERS, "%lld tasks were made", (long long)made);
    CHECK_STORY(t, id, "created claimed started completed trigger_failed");
    CHECK_OK(t, fa_t_events(t, id, 1));
    CHECK_TRUE(strstr(t->op.events->items[0].detail, "bytes in all") != NULL);
}

/* Large events are evaluated with the definitions that are in force, also right after a change. */
static void test_event__definitions_change_between_large_events(struct fa_t *t)
{
    const char *data = long_data(t, DATA_BYTES / 10);

    for (int i = 0; i < 6; i++) {
        char task[64];
        struct faina_task *made;

        snprintf(task, sizeof(task), "{\"type\":\"v%d\",\"input\":\"${}\"}", i);
        put_triggers(t, "e", 1 + i, NULL, task);
        CHECK_OK(t, emit(t, .type = "e", .data = data));
        CHECK_INT(t->op.emitted->count, 1 + i);
        made = fa_t_task(t, t->op.emitted->tasks[i]);
        snprintf(task, sizeof(task), "v%d", i);
        CHECK_STR(made->type, task);
    }
    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_WORKFLOW_ENABLE,
                                            .workflow = {.name = "many", .enable = false}}));
    CHECK_OK(t, emit(t, .type = "e", .data = data));
    CHECK_INT(t->op.emitted->count, 0);
}

/* While definitions change, every event is evaluated with one version of them, and never with one
 * that had been replaced before it was emitted. */
struct change {
    const char *data;
    atomic_int stored; /* the newest version that is known to be in force */
    atomic_bool is_over;
};

#define VERSIONS 12
#define PARTS 4

static void change_definitions(struct fa_t *mine, size_t index, void *arg)
{
    struct change *change = arg;
    char task[64];

    for (int i = 2; i <= VERSIONS; i++) {
        snprintf(task, sizeof(task), "{\"type\":\"v%d\",\"input\":\"${}\"}", i);
        put_triggers(mine, "e", PARTS, NULL, task);
        change->stored = i;
    }
    change->is_over = true;
}

static void emit_meanwhile(struct fa_t *mine, size_t index, void *arg)
{
    struct change *change = arg;

    while (!change->is_over) {
        const struct faina_emitted *emitted;
        int stored = change->stored, made = 0;

        CHECK_OK(mine, emit(mine, .type = "e", .data = change->data));
        emitted = mine->op.emitted;
        CHECK_INT(emitted->count, PARTS);
        for (int i = 0; i < PARTS; i++) {
            int version = (int)strtol(fa_t_task(mine, emitted->tasks[i])->type + 1, NULL, 10);

            CHECK(version >= stored, "version %d was obeyed after %d was stored", version, stored);
            CHECK(i == 0 || version == made, "an event was evaluated with two versions");
            made = version;
        }
        fa_arena_finish(&mine->arena);
    }
}

static void test_event__definitions_change_during_large_events(struct fa_t *t)
{
    static fa_t_part *const parts[] = {change_definitions, emit_meanwhile, emit_meanwhile};
    struct change change = {.data = long_data(t, DATA_BYTES / 10), .stored = 1};

    put_triggers(t, "e", PARTS, NULL, "{\"type\":\"v1\",\"input\":\"${}\"}");
    fa_t_against(t, parts, FA_COUNT(parts), &change);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE_SQL(test_event__too_large_a_result_is_refused_whole),
        FA_T_CASE_SQL(test_event__too_many_steps_are_refused),
        FA_T_CASE_SQL(test_event__too_large_a_result_of_an_end_is_noted),
        FA_T_CASE_SQL(test_event__definitions_change_between_large_events),
        FA_T_CASE_SQL(test_event__definitions_change_during_large_events),
    };

    return fa_t_main(argc, argv, "event_limits", cases, FA_COUNT(cases));
}
