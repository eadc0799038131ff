/*
 * test_workflows.c - definitions, events that make tasks, ends that are events, and joins.
 */
#include "support/ops.h"

#include "json/json.h"
#include "model/limits.h"
#include "model/workflow.h"
#include "support/crew.h"

static enum faina_code put(struct fa_t *t, const char *yaml)
{
    struct fa_definition definition = {.text = fa_str(yaml), .is_yaml = true};

    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_WORKFLOW_PUT, .definition = &definition});
}

static enum faina_code put_in(struct fa_t *t, const char *ns, const char *yaml)
{
    struct fa_definition definition = {.ns = ns, .text = fa_str(yaml), .is_yaml = true};

    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_WORKFLOW_PUT, .definition = &definition});
}

static enum faina_code enable(struct fa_t *t, const char *name, bool on)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_WORKFLOW_ENABLE,
                                       .workflow = {.name = name, .enable = on}});
}

static enum faina_code enable_version(struct fa_t *t, const char *name, bool on, int64_t version)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_WORKFLOW_ENABLE,
                                       .workflow = {.name = name, .enable = on},
                                       .by = {.version = version}});
}

static enum faina_code drop_version(struct fa_t *t, const char *name, int64_t version)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_WORKFLOW_REMOVE,
                                       .workflow = {.name = name},
                                       .by = {.version = version}});
}

static enum faina_code drop(struct fa_t *t, const char *name)
{
    return drop_version(t, name, 0);
}

static enum faina_code list(struct fa_t *t, const char *ns, const char *name)
{
    return fa_t_run(
        t, &(struct fa_op){.kind = FA_OP_WORKFLOW_LIST, .workflow = {.ns = ns, .name = name}});
}

#define emit(t, ...) emit_code(t, &(struct faina_emit){__VA_ARGS__})
static enum faina_code emit_code(struct fa_t *t, const struct faina_emit *event)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_EMIT, .emit = event});
}

#define emitted_events(t, ...) happened_code(t, &(struct fa_emitted_query){__VA_ARGS__})
static enum faina_code happened_code(struct fa_t *t, const struct fa_emitted_query *query)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_EMITTED_LIST, .emitted_query = query});
}

static const struct fa_join_state *join_state(struct fa_t *t, const char *key)
{
    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_JOIN_LIST, .join = {.key = key}}));
    return t->op.joins->count > 0 ? &t->op.joins->items[0] : NULL;
}

static size_t count_of(struct fa_t *t, const char *type)
{
    CHECK_OK(t, fa_t_list(t, .type = type, .limit = 1000));
    return t->op.tasks->count;
}

static const char *only_of(struct fa_t *t, const char *type)
{
    CHECK_INT(count_of(t, type), 1);
    return t->op.tasks->items[0].id;
}

/* The member of a task's input, as JSON. */
static const char *input_member(struct fa_t *t, const char *id, const char *name)
{
    struct fa_json value;

    if (!fa_json_member(fa_json_value(fa_str(fa_t_task(t, id)->input)), name, &value))
        return NULL;
    return fa_arena_copy(&t->arena, value.raw.ptr, value.raw.len);
}

static const char content[] = "workflow: content-analysis\n"
                              "triggers:\n"
                              "  - name: mp3\n"
                              "    on: object.created\n"
                              "    match: mimeType = 'audio/mpeg'\n"
                              "    task: { type: extract.id3, priority: 150,\n"
                              "            input: { hash: \"${hash}\", size: \"${size}\" } }\n"
                              "  - name: image\n"
                              "    on: object.created\n"
                              "    match: mimeType startsWith 'image/'\n"
                              "    task: { type: extract.exif, input: { hash: \"${hash}\" } }\n"
                              "joins:\n"
                              "  - name: post\n"
                              "    taskTypes: [extract.id3, extract.exif]\n"
                              "    joinKey: hash\n"
                              "    task: { type: build.search, input: { hash: \"${key}\",\n"
                              "            title: \"${tasks.extract.id3.output.title}\" } }\n";

/* Definitions --------------------------------------------------------------------------------- */

static void test_definitions__put_list_enable_remove(struct fa_t *t)
{
    CHECK_OK(t, put(t, content));
    CHECK_STR(t->op.workflow_answer->name, "content-analysis");
    CHECK_INT(t->op.workflow_answer->version, 1);
    CHECK_TRUE(t->op.workflow_answer->is_enabled);
    CHECK_OK(t, put(t, content)); /* the same again */
    CHECK_INT(t->op.workflow_answer->version, 1);
    CHECK_TRUE(t->op.existing);
    CHECK_OK(t, enable(t, "content-analysis", false));
    CHECK_INT(t->op.workflow_answer->version, 1);
    CHECK_TRUE(!t->op.workflow_answer->is_enabled);
    CHECK_OK(t, put(t, "workflow: content-analysis\n"
                       "triggers: [{name: a, on: b, task: {type: c}}]\n"));
    CHECK_INT(t->op.workflow_answer->version, 2);
    CHECK_TRUE(t->op.workflow_answer->is_enabled);
    CHECK_OK(t, put_in(t, "other", content));
    CHECK_OK(t, list(t, NULL, NULL));
    CHECK_INT(t->op.workflows->count, 1);
    CHECK_OK(t, list(t, "*", NULL));
    CHECK_INT(t->op.workflows->count, 2);
    CHECK_CODE(t, list(t, NULL, "nobody"), FAINA_NOT_FOUND);
    CHECK_CODE(t, enable(t, "nobody", true), FAINA_NOT_FOUND);
    CHECK_CODE(t, drop(t, "nobody"), FAINA_NOT_FOUND);
    CHECK_CODE(t, drop_version(t, "content-analysis", 1), FAINA_VERSION_CONFLICT);
    CHECK_OK(t, list(t, NULL, "content-analysis"));
    CHECK_OK(t, drop_version(t, "content-analysis", 2));
    CHECK_CODE(t, drop_version(t, "content-analysis", 2), FAINA_VERSION_CONFLICT);
    CHECK_OK(t, list(t, NULL, NULL));
    CHECK_INT(t->op.workflows->count, 0);
}

/* A version that must still be is a negative one when the workflow must be disabled. */
static void test_definitions__switch_a_version(struct fa_t *t)
{
    CHECK_OK(t, put(t, content));
    CHECK_CODE(t, enable_version(t, "content-analysis", false, 2), FAINA_VERSION_CONFLICT);
    CHECK_CODE(t, enable_version(t, "content-analysis", false, -1), FAINA_VERSION_CONFLICT);
    CHECK_CODE(t, enable_version(t, "nobody", false, 1), FAINA_VERSION_CONFLICT);
    CHECK_OK(t, list(t, NULL, "content-analysis"));
    CHECK_TRUE(t->op.workflows->items[0].is_enabled);
    CHECK_OK(t, enable_version(t, "content-analysis", false, 1));
    CHECK_TRUE(!t->op.workflow_answer->is_enabled);
    CHECK_CODE(t, enable_version(t, "content-analysis", true, 1), FAINA_VERSION_CONFLICT);
    CHECK_CODE(t, drop_version(t, "content-analysis", 1), FAINA_VERSION_CONFLICT);
    CHECK_OK(t, enable_version(t, "content-analysis", true, -1));
    CHECK_INT(t->op.workflow_answer->version, 1);
    CHECK_OK(t, enable_version(t, "content-analysis", false, 1));
    CHECK_OK(t, drop_version(t, "content-analysis", -1));
}

static void test_definitions__mistakes_change_nothing(struct fa_t *t)
{
    struct fa_definition other = {.name = "b",
                                  .text = FA_LIT("{\"workflow\":\"a\",\"triggers\":[]}")};

    CHECK_OK(t, put(t, content));
    CHECK_CODE(t, put(t, "workflow: content-analysis\ntriggers:\n  - nam: x\n    on: 7\n"),
               FAINA_INVALID_REQUEST);
    CHECK_TRUE(t->op.mistakes->count >= 3);
    CHECK_INT(t->op.mistakes->items[0].line, 3);
    CHECK_CODE(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_WORKFLOW_PUT, .definition = &other}),
               FAINA_INVALID_REQUEST);
    CHECK_OK(t, list(t, NULL, "content-analysis"));
    CHECK_INT(t->op.workflows->items[0].version, 1);
}

static void test_definitions__survive_reopening(struct fa_t *t)
{
    CHECK_OK(t, put(t, content));
    fa_t_reopen(t);
    CHECK_OK(t, emit(t, .type = "object.created",
                     .data = "{\"mimeType\":\"image/png\",\"hash\":\"h\"}"));
    CHECK_INT(t->op.emitted->count, 1);
}

/* Emit ---------------------------------------------------------------------------------------- */

static void test_emit__makes_what_matches(struct fa_t *t)
{
    const struct faina_task *task;
    const char *id;

    CHECK_OK(t, put(t, content));
    CHECK_OK(t, emit(t, .type = "object.created", .id = "e1",
                     .data = "{\"mimeType\":\"audio/mpeg\",\"hash\":\"h1\",\"size\":12}"));
    CHECK_STR(t->op.emitted->id, "e1");
    CHECK_INT(t->op.emitted->count, 1);
    CHECK_INT(t->op.emitted->failure_count, 0);
    id = t->op.emitted->tasks[0];
    task = fa_t_task(t, id);
    CHECK_STR(task->type, "extract.id3");
    CHECK_INT(task->priority, 150);
    CHECK_STATUS(task->status, FAINA_PENDING);
    CHECK_TRUE(task->origin != NULL);
    CHECK_STR(task->origin->workflow, "content-analysis");
    CHECK_STR(task->origin->trigger, "mp3");
    CHECK_STR(task->origin->event_id, "e1");
    CHECK_INT(task->origin->version, 1);
    CHECK_STR(input_member(t, id, "size"), "12");
    CHECK_OK(t, emit(t, .type = "object.created", .data = "{\"mimeType\":\"text/plain\"}"));
    CHECK_INT(t->op.emitted->count, 0);
    CHECK_INT(strlen(t->op.emitted->id), 36);
    CHECK_OK(t, emit(t, .type = "nobody.listens"));
    CHECK_INT(t->op.emitted->count, 0);
    /* What it made is claimed like any other, and knows where it came from. */
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w"));
    CHECK_INT(t->op.tasks->count, 1);
    CHECK_STR(t->op.tasks->items[0].id, id);
    CHECK_STR(t->op.tasks->items[0].origin->trigger, "mp3");
    CHECK_TRUE(fa_t_task(t, fa_t_submit(t, .type = "plain"))->origin == NULL);
}

static void test_emit__a_known_id_does_nothing_twice(struct fa_t *t)
{
    const char *first;

    CHECK_OK(t, put(t, content));
    CHECK_OK(t, emit(t, .type = "object.created", .id = "e1",
                     .data = "{\"mimeType\":\"image/png\",\"hash\":\"h\"}"));
    first = t->op.emitted->tasks[0];
    CHECK_OK(t, emit(t, .type = "object.created", .id = "e1",
                     .data = "{\"mimeType\":\"image/png\",\"hash\":\"h\"}"));
    CHECK_TRUE(t->op.emitted->existing);
    CHECK_INT(t->op.emitted->count, 1);
    CHECK_STR(t->op.emitted->tasks[0], first);
    CHECK_INT(count_of(t, "extract.exif"), 1);
    CHECK_OK(t, emit(t, .ns = "other", .type = "object.created", .id = "e1"));
    CHECK_TRUE(!t->op.emitted->existing); /* another namespace, another event */
    CHECK_INT(t->op.emitted->count, 0);
}

/* In one call: what one operation has made is known to the next, also before it is written. */
static void test_emit__many_in_one_call(struct fa_t *t)
{
    struct fa_definition first = {.text =
                                      FA_LIT("workflow: first-name\n"
                                             "triggers:\n"
                                             "  - { name: one, on: x, task: { type: made } }\n"),
                                  .is_yaml = true};
    struct fa_definition second = {.text =
                                       FA_LIT("workflow: second\n"
                                              "triggers:\n"
                                              "  - { name: two, on: x, task: { type: made } }\n"),
                                   .is_yaml = true};
    struct faina_emit plain = {.type = "x"}, named = {.type = "x", .id = "e1"};
    struct fa_op ops[] = {
        {.kind = FA_OP_WORKFLOW_PUT, .definition = &first},
        {.kind = FA_OP_EMIT, .emit = &named},
        {.kind = FA_OP_WORKFLOW_PUT, .definition = &second},
        {.kind = FA_OP_EMIT, .emit = &plain},
        {.kind = FA_OP_EMIT, .emit = &named},
    };
    const struct faina_task *task;

    fa_t_run_all(t, ops, FA_COUNT(ops));
    for (size_t i = 0; i < FA_COUNT(ops); i++)
        CHECK_INT(ops[i].code, FAINA_OK);
    CHECK_INT(ops[1].emitted->count, 1);
    CHECK_INT(ops[3].emitted->count, 2);
    CHECK_TRUE(ops[4].emitted->existing);
    CHECK_INT(ops[4].emitted->count, 1);
    CHECK_STR(ops[4].emitted->tasks[0], ops[1].emitted->tasks[0]);
    CHECK_INT(count_of(t, "made"), 3);
    task = fa_t_task(t, ops[1].emitted->tasks[0]);
    CHECK_STR(task->origin->workflow, "first-name");
    CHECK_STR(task->origin->trigger, "one");
    CHECK_STR(task->origin->event_id, "e1");
    task = fa_t_task(t, ops[3].emitted->tasks[1]);
    CHECK_STR(task->origin->workflow, "second");
    CHECK_STR(task->origin->trigger, "two");
    CHECK_OK(t, emitted_events(t, .limit = 10));
    CHECK_INT(t->op.emitted_events->count, 2);
}

/* An event finds those of many triggers that ask for its values, in the order of definitions. */
static void test_emit__a_few_of_many(struct fa_t *t)
{
    static const struct {
        const char *data;
        size_t count;
        const char *types[3];
    } cases[] = {
        {"{\"kind\":\"k7\",\"n\":1}", 2, {"made.7", "always"}},
        {"{\"kind\":\"k\\u0037\",\"n\":1}", 2, {"made.7", "always"}},
        {"{\"kind\":\"k7\"}", 1, {"always"}},
        {"{\"kind\":\"k299\",\"n\":5}", 2, {"made.299", "always"}},
        {"{\"kind\":\"k300\",\"n\":5}", 1, {"always"}},
        {"{\"code\":42.0,\"n\":5}", 2, {"always", "number"}},
        {"{\"code\":42,\"n\":0,\"file\":\"a.pdf\"}", 3, {"always", "number", "ending"}},
    };
    struct fa_definition definition = {0};
    struct fa_buf text;

    fa_buf_init(&text, FA_WORKFLOW_SIZE_MAX);
    fa_buf_add_str(&text, "{\"workflow\":\"w\",\"triggers\":[");
    for (int i = 0; i < 300; i++)
        fa_buf_printf(&text,
                      "{\"name\":\"t%d\",\"on\":\"x\",\"match\":\"n > 0 AND kind = 'k%d'\","
                      "\"task\":{\"type\":\"made.%d\"}},",
                      i, i, i);
    fa_buf_add_str(&text, "{\"name\":\"a\",\"on\":\"x\",\"task\":{\"type\":\"always\"}},"
                          "{\"name\":\"b\",\"on\":\"x\",\"match\":\"code = 42\","
                          "\"task\":{\"type\":\"number\"}},"
                          "{\"name\":\"c\",\"on\":\"x\",\"match\":\"file endsWith '.pdf'\","
                          "\"task\":{\"type\":\"ending\"}}]}");
    definition.text = (struct fa_bytes){text.ptr, text.len};
    CHECK_OK(t,
             fa_t_run(t, &(struct fa_op){.kind = FA_OP_WORKFLOW_PUT, .definition = &definition}));
    fa_buf_finish(&text);
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        const struct faina_emitted *emitted;

        CHECK_OK(t, emit(t, .type = "x", .data = cases[i].data));
        emitted = t->op.emitted;
        CHECK_INT(emitted->count, cases[i].count);
        for (size_t k = 0; k < emitted->count; k++)
            CHECK_STR(fa_t_task(t, emitted->tasks[k])->type, cases[i].types[k]);
    }
}

static void test_emit__a_bad_trigger_is_named_and_the_others_fire(struct fa_t *t)
{
    CHECK_OK(t,
             put(t, "workflow: w\n"
                    "triggers:\n"
                    "  - { name: broken, on: x, task: { type: a, input: \"${missing.path}\" } }\n"
                    "  - { name: badly, on: x, task: { type: \"${n}\" } }\n"
                    "  - { name: good, on: x, task: { type: b } }\n"
                    "  - { name: far, on: x, task: { type: c, namespace: \"n${n}\" } }\n"));
    CHECK_OK(t, emit(t, .type = "x", .id = "e", .data = "{\"n\":1}"));
    CHECK_INT(t->op.emitted->count, 1);
    CHECK_INT(t->op.emitted->failure_count, 3);
    CHECK_STR(t->op.emitted->failures[0].workflow, "w");
    CHECK_STR(t->op.emitted->failures[0].trigger, "broken");
    CHECK_TRUE(strstr(t->op.emitted->failures[0].message, "missing.path") != NULL);
    CHECK_STR(t->op.emitted->failures[1].trigger, "badly");
    CHECK_STR(t->op.emitted->failures[2].trigger, "far");
    CHECK_INT(count_of(t, "a"), 0);
    CHECK_INT(count_of(t, "b"), 1);
    CHECK_OK(t, emit(t, .type = "x", .id = "e")); /* answered from memory */
    CHECK_INT(t->op.emitted->failure_count, 3);
    CHECK_STR(t->op.emitted->failures[0].trigger, "broken");
}

static void test_emit__disabled_and_removed_stay_quiet(struct fa_t *t)
{
    const char *data = "{\"mimeType\":\"image/png\",\"hash\":\"h\"}";

    CHECK_OK(t, put(t, content));
    CHECK_OK(t, enable(t, "content-analysis", false));
    CHECK_OK(t, emit(t, .type = "object.created", .data = data));
    CHECK_INT(t->op.emitted->count, 0);
    CHECK_OK(t, enable(t, "content-analysis", true));
    CHECK_OK(t, emit(t, .type = "object.created", .data = data));
    CHECK_INT(t->op.emitted->count, 1);
    CHECK_OK(t, emit(t, .ns = "other", .type = "object.created", .data = data));
    CHECK_INT(t->op.emitted->count, 0);
    CHECK_OK(t, drop(t, "content-analysis"));
    CHECK_OK(t, emit(t, .type = "object.created", .data = data));
    CHECK_INT(t->op.emitted->count, 0);
}

static void test_emit__keys_of_tasks_hold(struct fa_t *t)
{
    CHECK_OK(t, put(t, "workflow: w\n"
                       "triggers:\n"
                       "  - { name: a, on: x, task: { type: t, idempotencyKey: \"k-${n}\" } }\n"
                       "  - { name: b, on: x, task: { type: t, idempotencyKey: \"k-${n}\" } }\n"));
    CHECK_OK(t, emit(t, .type = "x", .data = "{\"n\":1}"));
    CHECK_INT(t->op.emitted->count, 2);
    CHECK_STR(t->op.emitted->tasks[0], t->op.emitted->tasks[1]);
    CHECK_INT(count_of(t, "t"), 1);
    CHECK_STR(t->op.tasks->items[0].origin->trigger, "a");
}

static void test_emit__bad_input(struct fa_t *t)
{
    static const struct faina_emit bad[] = {
        {.type = NULL},
        {.type = ""},
        {.type = "task.completed"},
        {.type = "x", .data = "[]"},
        {.type = "x", .data = "{"},
        {.type = "x", .data = "{\"a\":1,\"a\":2}"},
        {.type = "x", .ns = "*"},
        {.type = "x", .id = ""},
    };

    for (size_t i = 0; i < FA_COUNT(bad); i++)
        CHECK_CODE(t, emit_code(t, &bad[i]), FAINA_INVALID_REQUEST);
    CHECK_OK(t, emitted_events(t));
    CHECK_INT(t->op.emitted_events->count, 0);
}

static void test_emit__is_kept(struct fa_t *t)
{
    CHECK_OK(t, put(t, content));
    CHECK_OK(t, emit(t, .type = "object.created", .id = "e1",
                     .data = "{\"mimeType\":\"image/png\",\"hash\":\"h\"}"));
    CHECK_OK(t, emit(t, .type = "other", .id = "e2"));
    CHECK_OK(t, emit(t, .type = "other", .id = "e3"));
    CHECK_OK(t, emitted_events(t, .limit = 2));
    CHECK_INT(t->op.emitted_events->count, 2);
    CHECK_STR(t->op.emitted_events->items[0].id, "e1");
    CHECK_STR(t->op.emitted_events->items[1].id, "e2");
    CHECK_OK(t, emitted_events(t, .limit = 2, .cursor = t->op.emitted_events->next_cursor));
    CHECK_INT(t->op.emitted_events->count, 1);
    CHECK_STR(t->op.emitted_events->items[0].id, "e3");
    CHECK_STR(t->op.emitted_events->next_cursor, NULL);
    CHECK_OK(t, emitted_events(t, .type = "other"));
    CHECK_INT(t->op.emitted_events->count, 2);
    CHECK_OK(t, emitted_events(t, .limit = 2, .descending = true));
    CHECK_STR(t->op.emitted_events->items[0].id, "e3");
    CHECK_STR(t->op.emitted_events->items[1].id, "e2");
    CHECK_OK(t, emitted_events(t, .limit = 2, .descending = true,
                               .cursor = t->op.emitted_events->next_cursor));
    CHECK_INT(t->op.emitted_events->count, 1);
    CHECK_STR(t->op.emitted_events->items[0].id, "e1");
    CHECK_OK(t, emitted_events(t, .since_us = t->op.emitted_events->items[0].at_us + 1,
                               .type = "other", .descending = true));
    CHECK_INT(t->op.emitted_events->count, 2);
    CHECK_OK(t, emitted_events(t, .id = "e1"));
    CHECK_STR(t->op.emitted_events->items[0].type, "object.created");
    CHECK_CODE(t, emitted_events(t, .id = "nothing"), FAINA_NOT_FOUND);
    CHECK_CODE(t, emitted_events(t, .cursor = "nonsense"), FAINA_INVALID_REQUEST);
}

static bool has_forgotten(struct fa_t *t, void *id)
{
    return emitted_events(t, .id = id) == FAINA_NOT_FOUND;
}

static void test_emit__is_forgotten(struct fa_t *t)
{
    CHECK_OK(t, emit(t, .type = "x", .id = "e1"));
    fa_t_close(t);
    t->options.events_keep_ms = 1;
    fa_t_open(t);
    fa_t_wait_until(has_forgotten, t, (char[]){"e1"}, "the event is forgotten");
    CHECK_OK(t, emit(t, .type = "x", .id = "e1"));
    CHECK_TRUE(!t->op.emitted->existing);
}

/* Ends ---------------------------------------------------------------------------------------- */

static void test_ends__are_events(struct fa_t *t)
{
    static const struct {
        const char *type;
        enum faina_status status;
    } cases[] = {{"after.completed", FAINA_COMPLETED},
                 {"after.failed", FAINA_FAILED},
                 {"after.dead", FAINA_DEAD_LETTER},
                 {"after.cancelled", FAINA_CANCELLED}};

    CHECK_OK(t, put(t, "workflow: ends\n"
                       "triggers:\n"
                       "  - { name: a, on: task.completed, match: type = 'made',\n"
                       "      task: { type: after.completed, input: { id: \"${id}\",\n"
                       "              made: \"${output.made}\" } } }\n"
                       "  - { name: b, on: task.failed, task: { type: after.failed,\n"
                       "      input: \"${error.message}\" } }\n"
                       "  - { name: c, on: task.dead_letter, task: { type: after.dead } }\n"
                       "  - { name: d, on: task.cancelled, task: { type: after.cancelled } }\n"));
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        const char *id = fa_t_make(t, cases[i].status, "w"), *made = only_of(t, cases[i].type);
        const struct faina_task *task = fa_t_task(t, made);

        CHECK_STR(task->origin->workflow, "ends");
        CHECK_INT(strncmp(task->origin->event_id, id, 36), 0);
        CHECK_OK(t, emitted_events(t, .id = task->origin->event_id));
        if (cases[i].status == FAINA_COMPLETED) {
            CHECK_STR(input_member(t, made, "id"), fa_arena_printf(&t->arena, "\"%s\"", id));
            CHECK_STR(input_member(t, made, "made"), "true");
        }
    }
    CHECK_STR(fa_t_task(t, only_of(t, "after.failed"))->input, "\"made to fail\"");
}

/* Also that of a task which is removed in the same breath. */
static void test_ends__of_what_is_deleted_are_events_too(struct fa_t *t)
{
    static const struct faina_removal ways[] = {{.cancel = true, .purge = true}, {.cancel = true}};

    CHECK_OK(t, put(t, "workflow: ends\n"
                       "triggers:\n"
                       "  - { name: d, on: task.cancelled, match: type = 'a',\n"
                       "      task: { type: after, input: { id: \"${id}\" } } }\n"
                       "  - { name: e, on: task.cancelled, match: type = 'a',\n"
                       "      task: { type: after, input: { n: \"${input.missing}\" } } }\n"
                       "joins:\n"
                       "  - { name: j, taskTypes: [a, b], joinKey: k, onFailure: fire,\n"
                       "      task: { type: joined } }\n"));
    for (size_t i = 0; i < FA_COUNT(ways); i++) {
        const char *id = fa_t_submit(t, .type = "a", .input = "{\"k\":1}");

        CHECK_OK(t, fa_t_delete_with(t, id, NOBODY, ways[i]));
        CHECK_INT(count_of(t, "after"), i + 1);
        CHECK_STR(input_member(t, t->op.tasks->items[0].id, "id"),
                  fa_arena_printf(&t->arena, "\"%s\"", id));
        CHECK_TRUE(join_state(t, "1") != NULL);
        fa_t_finish_task(t, fa_t_submit(t, .type = "b", .input = "{\"k\":1}"));
        CHECK_INT(count_of(t, "joined"), i + 1);
    }
}

static void test_ends__of_chores_are_events_too(struct fa_t *t)
{
    const char *id;

    CHECK_OK(t, put(t, "workflow: ends\n"
                       "triggers: [{ name: c, on: task.dead_letter, task: { type: after } }]\n"));
    id = fa_t_submit(t, .type = "made", .max_attempts = 1);
    CHECK_OK(t, fa_t_claim_for(t, id, "w", 1));
    fa_t_wait_status(t, id, FAINA_DEAD_LETTER);
    CHECK_INT(count_of(t, "after"), 1);
}

static void test_ends__a_failing_trigger_is_an_event_of_the_task(struct fa_t *t)
{
    const char *id;

    CHECK_OK(t, put(t, "workflow: w\n"
                       "triggers:\n"
                       "  - { name: a, on: task.completed, match: type = 'made',\n"
                       "      task: { type: x, input: \"${output.nothing}\" } }\n"));
    id = fa_t_make(t, FAINA_COMPLETED, "w");
    CHECK_STORY(t, id, "created claimed started completed trigger_failed");
    CHECK_INT(count_of(t, "x"), 0);
}

static void test_ends__a_chain_without_end_is_stopped(struct fa_t *t)
{
    int made = 0;

    CHECK_OK(t, put(t, "workflow: w\n"
                       "triggers: [{ name: again, on: task.completed, task: { type: x } }]\n"));
    fa_t_finish_task(t, fa_t_submit(t, .type = "x"));
    for (;;) {
        const char *id;

        CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w"));
        if (t->op.tasks->count == 0)
            break;
        CHECK_TRUE(++made <= FA_CHAIN_DEPTH_MAX);
        id = t->op.tasks->items[0].id;
        CHECK_OK(t, fa_t_complete(t, id, BY("w"), NULL));
        if (made == FA_CHAIN_DEPTH_MAX)
            CHECK_STORY(t, id, "created claimed completed chain_stopped");
    }
    CHECK_INT(made, FA_CHAIN_DEPTH_MAX);
}

/* Joins --------------------------------------------------------------------------------------- */

#define JOIN(more)                                                                                 \
    "workflow: w\n"                                                                                \
    "joins:\n"                                                                                     \
    "  - name: both\n"                                                                             \
    "    taskTypes: [a.x, b]\n"                                                                    \
    "    joinKey: k\n" more "    task: { type: joined, input: { key: \"${key}\" } }\n"

static const char *member(struct fa_t *t, const char *type, const char *key)
{
    return fa_t_submit(t, .type = type, .input = fa_arena_printf(&t->arena, "{\"k\":%s}", key));
}

static void test_join__fires_once_per_round(struct fa_t *t)
{
    const char *id;

    CHECK_OK(t, put(t, content));
    CHECK_OK(t, emit(t, .type = "object.created",
                     .data = "{\"mimeType\":\"audio/mpeg\",\"hash\":\"h1\",\"size\":1}"));
    id = t->op.emitted->tasks[0];
    CHECK_OK(t, emit(t, .type = "object.created",
                     .data = "{\"mimeType\":\"image/png\",\"hash\":\"h1\"}"));
    fa_t_finish_task(t, t->op.emitted->tasks[0]);
    CHECK_INT(count_of(t, "build.search"), 0);
    CHECK_INT(join_state(t, "h1")->round, 1);
    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_complete(t, id, BY("w"), "{\"title\":\"So What\"}"));
    id = only_of(t, "build.search");
    CHECK_STR(input_member(t, id, "hash"), "\"h1\"");
    CHECK_STR(input_member(t, id, "title"), "\"So What\"");
    CHECK_STR(fa_t_task(t, id)->origin->trigger, "post");
    CHECK_INT(join_state(t, "h1")->round, 2);
    CHECK_STR(join_state(t, "h1")->last_outcome, "fired");
    CHECK_STR(join_state(t, "h1")->last_task, id);
    CHECK_STR(join_state(t, "h1")->members, "{}");
}

static void test_join__keys_and_rounds_are_apart(struct fa_t *t)
{
    CHECK_OK(t, put(t, JOIN("")));
    fa_t_finish_task(t, member(t, "a.x", "1"));
    fa_t_finish_task(t, member(t, "b", "\"1\"")); /* a text is no number */
    CHECK_INT(count_of(t, "joined"), 0);
    fa_t_finish_task(t, member(t, "b", "1"));
    CHECK_INT(count_of(t, "joined"), 1);
    fa_t_finish_task(t, member(t, "b", "1"));
    fa_t_finish_task(t, member(t, "b", "1")); /* replaces the one before */
    CHECK_INT(count_of(t, "joined"), 1);
    fa_t_finish_task(t, member(t, "a.x", "1.0")); /* the same number */
    CHECK_INT(count_of(t, "joined"), 2);
    fa_t_finish_task(t, member(t, "a.x", "null"));
    fa_t_finish_task(t, member(t, "b", "null"));
    fa_t_finish_task(t, fa_t_submit(t, .type = "a.x"));
    CHECK_INT(count_of(t, "joined"), 2);
}

static void test_join__bad_members(struct fa_t *t)
{
    const char *bad;

    CHECK_OK(t, put(t, JOIN("")));
    bad = member(t, "a.x", "\"drop\"");
    CHECK_OK(t, fa_t_cancel(t, bad, NOBODY));
    CHECK_TRUE(strstr(join_state(t, "drop")->members, "cancelled") != NULL);
    CHECK_INT(join_state(t, "drop")->waits_for_count, 1);
    CHECK_STR(join_state(t, "drop")->waits_for[0], "b");
    fa_t_finish_task(t, member(t, "b", "\"drop\""));
    CHECK_INT(count_of(t, "joined"), 0);
    CHECK_STR(join_state(t, "drop")->last_outcome, "dropped");
    CHECK_INT(join_state(t, "drop")->round, 2);
    CHECK_INT(join_state(t, "drop")->waits_for_count, 0); /* it has not begun */

    bad = member(t, "a.x", "\"heal\"");
    CHECK_OK(t, fa_t_fail_final(t, bad, NOBODY, "no"));
    CHECK_OK(t, fa_t_retry(t, bad, NOBODY));
    fa_t_finish_task(t, bad);
    fa_t_finish_task(t, member(t, "b", "\"heal\""));
    CHECK_INT(count_of(t, "joined"), 1);

    CHECK_OK(t, put(t, JOIN("    onFailure: fire\n")));
    CHECK_OK(t, fa_t_fail_final(t, member(t, "a.x", "\"fire\""), NOBODY, "no"));
    fa_t_finish_task(t, member(t, "b", "\"fire\""));
    CHECK_INT(count_of(t, "joined"), 2);
}

static bool is_round_two(struct fa_t *t, void *key)
{
    return join_state(t, key)->round == 2;
}

static void test_join__deadline(struct fa_t *t)
{
    CHECK_OK(t, put(t, JOIN("    deadline: 50ms\n")));
    fa_t_finish_task(t, member(t, "a.x", "\"late\""));
    fa_t_wait_until(is_round_two, t, (char[]){"late"}, "the round is over");
    CHECK_STR(join_state(t, "late")->last_outcome, "dropped");
    CHECK_INT(count_of(t, "joined"), 0);
    CHECK_OK(t, put(t, JOIN("    deadline: 50ms\n    onFailure: fire\n")));
    fa_t_finish_task(t, member(t, "a.x", "\"part\""));
    fa_t_wait_until(is_round_two, t, (char[]){"part"}, "the round is over");
    CHECK_INT(count_of(t, "joined"), 1);
    CHECK_STR(t->op.tasks->items[0].origin->event_id, "");
}

/* A disabled workflow keeps what its joins have gathered; a deadline that passes meanwhile takes
 * effect when it is enabled. The witness is another workflow's deadline, which is later. */
static void test_join__a_disabled_one_keeps_its_state(struct fa_t *t)
{
    char key[16];
    size_t missed = 0;

    CHECK_OK(t, put(t, JOIN("    deadline: 300ms\n    onFailure: fire\n")));
    CHECK_OK(t, put(t, "workflow: witness\n"
                       "joins:\n"
                       "  - { name: j, taskTypes: [c, d], joinKey: k, deadline: 310ms,\n"
                       "      task: { type: never } }\n"));
    for (;; missed++) { /* until it is disabled before the deadline */
        snprintf(key, sizeof(key), "kept-%zu", missed);
        fa_t_finish_task(t, member(t, "a.x", fa_arena_printf(&t->arena, "\"%s\"", key)));
        CHECK_OK(t, enable(t, "w", false));
        if (join_state(t, key)->round == 1)
            break;
        CHECK_OK(t, enable(t, "w", true));
    }
    fa_t_finish_task(t, member(t, "c", "\"seen\""));
    fa_t_wait_until(is_round_two, t, (char[]){"seen"}, "the witness has ended its round");
    CHECK_TRUE(join_state(t, key) != NULL);
    CHECK_INT(join_state(t, key)->round, 1);
    CHECK_TRUE(strstr(join_state(t, key)->members, "a.x") != NULL);
    CHECK_INT(count_of(t, "joined"), missed);
    CHECK_OK(t, enable(t, "w", true));
    fa_t_wait_until(is_round_two, t, key, "the round is over");
    CHECK_INT(count_of(t, "joined"), missed + 1);
}

static enum faina_code list_joins(struct fa_t *t, const char *workflow, int limit,
                                  const char *cursor)
{
    return fa_t_run(
        t, &(struct fa_op){.kind = FA_OP_JOIN_LIST,
                           .join = {.workflow = workflow, .limit = limit, .cursor = cursor}});
}

static void test_join__pages(struct fa_t *t)
{
    enum { KEYS = 7 };
    static const int limits[] = {1, 2, KEYS, KEYS + 1};

    CHECK_CODE(t, list_joins(t, "w", 0, NULL), FAINA_NOT_FOUND);
    CHECK_OK(t, put(t, JOIN("")));
    CHECK_OK(t, list_joins(t, "w", 0, NULL));
    CHECK_INT(t->op.joins->count, 0);
    CHECK_STR(t->op.joins->next_cursor, NULL);
    for (int i = 0; i < KEYS; i++)
        fa_t_finish_task(t, member(t, "a.x", fa_arena_printf(&t->arena, "%d", i)));
    for (size_t i = 0; i < FA_COUNT(limits); i++) {
        const char *cursor = NULL;
        int seen = 0;

        do {
            CHECK_OK(t, list_joins(t, i % 2 ? "w" : NULL, limits[i], cursor));
            for (size_t k = 0; k < t->op.joins->count; k++)
                CHECK_STR(t->op.joins->items[k].key, fa_arena_printf(&t->arena, "%d", seen++));
            cursor = t->op.joins->next_cursor;
            CHECK_TRUE(cursor == NULL || t->op.joins->count == (size_t)limits[i]);
        } while (cursor != NULL);
        CHECK_INT(seen, KEYS);
    }
    CHECK_CODE(t, list_joins(t, NULL, 1, "rubbish"), FAINA_INVALID_REQUEST);
    CHECK_CODE(t, list_joins(t, "nobody", 1, NULL), FAINA_NOT_FOUND);
}

static void test_join__removal_forgets_its_state(struct fa_t *t)
{
    CHECK_OK(t, put(t, JOIN("")));
    fa_t_finish_task(t, member(t, "a.x", "1"));
    CHECK_TRUE(join_state(t, "1") != NULL);
    CHECK_OK(t, drop(t, "w"));
    CHECK_TRUE(join_state(t, "1") == NULL);
    CHECK_OK(t, put(t, JOIN("")));
    fa_t_finish_task(t, member(t, "b", "1"));
    CHECK_INT(count_of(t, "joined"), 0);
}

static void test_origin__goes_with_the_task(struct fa_t *t)
{
    const char *id;

    CHECK_OK(t, put(t, content));
    CHECK_OK(t, emit(t, .type = "object.created",
                     .data = "{\"mimeType\":\"image/png\",\"hash\":\"h\"}"));
    id = t->op.emitted->tasks[0];
    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "no"));
    CHECK_STR(fa_t_task(t, id)->origin->trigger, "image");
    CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
    CHECK_OK(t, fa_t_retry(t, id, NOBODY));
    CHECK_STR(fa_t_task(t, id)->origin->trigger, "image");
    CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
    CHECK_OK(t, fa_t_delete_with(t, id, NOBODY, (struct faina_removal){.purge = true}));
}

/* Two workers complete the last two members at the same moment. */
#define RACE_KEYS 40

static void finish_members(struct fa_t *t, size_t number, void *arg)
{
    const char *const *ids = arg;

    for (int i = 0; i < RACE_KEYS; i++) {
        const char *id = ids[number * RACE_KEYS + (size_t)i];

        CHECK_OK(t, fa_t_complete(t, id, BY("w"), NULL));
    }
}

static void test_join__the_last_two_at_once(struct fa_t *t)
{
    const char *ids[2 * RACE_KEYS];

    CHECK_OK(t, put(t, JOIN("")));
    for (int i = 0; i < 2 * RACE_KEYS; i++) {
        ids[i] =
            member(t, i < RACE_KEYS ? "a.x" : "b", fa_arena_printf(&t->arena, "%d", i % RACE_KEYS));
        fa_t_take(t, ids[i], "w");
    }
    fa_t_together(t, 2, finish_members, ids);
    CHECK_INT(count_of(t, "joined"), RACE_KEYS);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE_SQL(test_definitions__put_list_enable_remove),
        FA_T_CASE_SQL(test_definitions__switch_a_version),
        FA_T_CASE_SQL(test_definitions__mistakes_change_nothing),
        FA_T_CASE_NEEDS(test_definitions__survive_reopening, FA_T_DURABLE | FA_T_SQL),
        FA_T_CASE_SQL(test_emit__makes_what_matches),
        FA_T_CASE_SQL(test_emit__a_known_id_does_nothing_twice),
        FA_T_CASE_SQL(test_emit__many_in_one_call),
        FA_T_CASE_SQL(test_emit__a_few_of_many),
        FA_T_CASE_SQL(test_emit__a_bad_trigger_is_named_and_the_others_fire),
        FA_T_CASE_SQL(test_emit__disabled_and_removed_stay_quiet),
        FA_T_CASE_SQL(test_emit__keys_of_tasks_hold),
        FA_T_CASE_SQL(test_emit__bad_input),
        FA_T_CASE_SQL(test_emit__is_kept),
        FA_T_CASE_NEEDS(test_emit__is_forgotten, FA_T_DURABLE | FA_T_SQL),
        FA_T_CASE_SQL(test_ends__are_events),
        FA_T_CASE_SQL(test_ends__of_what_is_deleted_are_events_too),
        FA_T_CASE_SQL(test_ends__of_chores_are_events_too),
        FA_T_CASE_SQL(test_ends__a_failing_trigger_is_an_event_of_the_task),
        FA_T_CASE_SQL(test_ends__a_chain_without_end_is_stopped),
        FA_T_CASE_SQL(test_join__fires_once_per_round),
        FA_T_CASE_SQL(test_join__keys_and_rounds_are_apart),
        FA_T_CASE_SQL(test_join__bad_members),
        FA_T_CASE_SQL(test_join__deadline),
        FA_T_CASE_SQL(test_join__a_disabled_one_keeps_its_state),
        FA_T_CASE_SQL(test_join__pages),
        FA_T_CASE_SQL(test_join__removal_forgets_its_state),
        FA_T_CASE_SQL(test_join__the_last_two_at_once),
        FA_T_CASE_SQL(test_origin__goes_with_the_task),
    };

    return fa_t_main(argc, argv, "workflows", cases, FA_COUNT(cases));
}
