/*
 * test_workflow.c - definitions: what is read from them, and every mistake in its place.
 */
#include "unit/base/unit.h"

#include "model/limits.h"
#include "model/workflow.h"

static const struct fa_workflow_target home = {.ns = "default"};

static const struct fa_workflow *read_fine(const char *text, enum fa_workflow_format format,
                                           struct fa_arena *arena)
{
    const struct fa_workflow *workflow = NULL;
    struct fa_mistakes mistakes = {0};
    struct faina_error err = {0};

    if (fa_workflow_read(fa_str(text), format, &home, arena, &workflow, &mistakes, &err) !=
        FAINA_OK)
        fail_msg("%s: %s", text, err.message);
    assert_int_equal(mistakes.count, 0);
    return workflow;
}

static void check_rendered(const struct fa_template *task, fa_template_lookup *lookup,
                           void *context, const char *expected)
{
    struct fa_buf out;

    fa_buf_init(&out, 4096);
    assert_int_equal(fa_template_render(task, lookup, context, &out, NULL), FAINA_OK);
    assert_string_equal(out.ptr, expected);
    fa_buf_finish(&out);
}

/* The first block of YAML in the manual; free it. */
static char *read_example(void)
{
    char *manual = read_source("docs/workflows.md");
    const char *from = strstr(manual, "```yaml\n"), *to;
    char *text;

    assert_non_null(from);
    from += strlen("```yaml\n");
    to = strstr(from, "```");
    assert_non_null(to);
    text = strndup(from, (size_t)(to - from));
    free(manual);
    return text;
}

static void test_workflow__the_example(void **state)
{
    struct fa_arena arena = {0};
    char *text = read_example();
    const struct fa_workflow *workflow = read_fine(text, FA_WORKFLOW_YAML, &arena);
    const struct fa_workflow_trigger *mp3 = &workflow->triggers[0];
    const struct fa_join *join = &workflow->joins[0];
    struct fa_json data = fa_json_value(FA_LIT("{\"hash\":\"abc\",\"mimeType\":\"audio/mpeg\"}"));
    struct fa_template_members members = {fa_json_value(FA_LIT("\"abc\"")), NULL};
    struct fa_match_data matched;
    struct fa_match_verdict verdict = {0};

    memset(text, '#', strlen(text)); /* nothing points into it */
    assert_string_equal(workflow->name, "content-analysis");
    assert_true(workflow->is_enabled);
    assert_int_equal(workflow->trigger_count, 1);
    assert_string_equal(mp3->name, "mp3");
    assert_string_equal(mp3->on, "object.created");
    fa_match_data_init(&matched, data.raw);
    assert_int_equal(fa_match_run(mp3->match, &matched, &verdict, NULL), FAINA_OK);
    assert_true(verdict.is_match);
    check_rendered(mp3->task, fa_template_lookup_data, &data,
                   "{\"type\":\"extract.id3\",\"priority\":150,\"input\":{\"hash\":\"abc\"}}");
    assert_int_equal(workflow->join_count, 1);
    assert_string_equal(join->name, "post-enrichment");
    assert_int_equal(join->task_type_count, 2);
    assert_string_equal(join->task_types[1], "extract.exif");
    assert_string_equal(join->key_text, "hash");
    assert_int_equal(join->key.count, 1);
    assert_int_equal(join->on_failure, FA_JOIN_DROP);
    assert_int_equal(join->deadline_ms, 0);
    check_rendered(join->task, fa_template_lookup_members, &members,
                   "{\"type\":\"build.search\",\"input\":{\"hash\":\"abc\"}}");
    free(text);
    fa_arena_finish(&arena);
}

/* Every field, as JSON; and the JSON of a YAML definition reads back as the same. */
static void test_workflow__all_fields(void **state)
{
    static const char text[] =
        "{\"workflow\":\"w\",\"enabled\":false,\"triggers\":[{\"name\":\"t\",\"on\":\"e\","
        "\"match\":null,"
        "\"task\":{\"type\":\"a\",\"name\":\"b\",\"namespace\":\"default\",\"input\":[1,\"${x}\"],"
        "\"metadata\":{\"k\":\"${y}\"},\"spec\":{\"s\":5},\"priority\":-5,\"maxAttempts\":3,"
        "\"delay\":"
        "\"1m\","
        "\"idempotencyKey\":\"k-${id}\",\"dependsOn\":[\"${dep}\"],\"resources\":[\"gpu\",\"${r}\"]"
        ","
        "\"retry\":{\"base\":\"1s\",\"factor\":1.5,\"max\":60},\"teamId\":null,\"createdBy\":"
        "\"me\"}},"
        "{\"name\":\"u\",\"on\":\"e\",\"task\":{\"name\":\"x\",\"priority\":\"${p}\","
        "\"maxRetries\":0,"
        "\"runAt\":\"2030-01-31T12:00:00Z\",\"dedupe\":\"input\",\"resources\":\"${list}\","
        "\"retry\":\"${retry}\",\"metadata\":\"${m}\"}}],"
        "\"joins\":[{\"name\":\"j\",\"taskTypes\":[\"a\"],\"joinKey\":\"x.y[0]\",\"onFailure\":"
        "\"fire\","
        "\"deadline\":\"1h\",\"task\":{\"type\":\"c\",\"input\":\"${tasks.a.output}\"}}]}";
    struct fa_arena arena = {0};
    const struct fa_workflow *workflow = read_fine(text, FA_WORKFLOW_JSON, &arena), *again;

    assert_false(workflow->is_enabled);
    assert_int_equal(workflow->trigger_count, 2);
    assert_null(workflow->triggers[0].match);
    assert_int_equal(workflow->joins[0].on_failure, FA_JOIN_FIRE);
    assert_int_equal(workflow->joins[0].deadline_ms, 3600000);
    assert_int_equal(workflow->joins[0].key.count, 3);
    assert_int_equal(fa_template_path(workflow->joins[0].task, 0)->root, 0);
    again = read_fine(text, FA_WORKFLOW_YAML, &arena); /* JSON is YAML */
    assert_string_equal(again->json.ptr, workflow->json.ptr);
    fa_arena_finish(&arena);
}

#define TASK "\"task\":{\"type\":\"a\"}"
#define TRIGGER "{\"name\":\"t\",\"on\":\"e\"," TASK "}"
#define WITH(members)                                                                              \
    "{\"workflow\":\"w\",\"triggers\":[{\"name\":\"t\",\"on\":\"e\"," members "}]}"
#define WITH_TASK(members) WITH("\"task\":{\"type\":\"a\"," members "}")
#define WITH_JOIN(members)                                                                         \
    "{\"workflow\":\"w\",\"joins\":[{\"name\":\"j\",\"taskTypes\":[\"a\",\"b\"],\"joinKey\":"      \
    "\"k\"," members "}]}"

static void test_workflow__mistakes(void **state)
{
    static const struct {
        const char *text, *path, *message;
    } cases[] = {
        {"5", "", "the definition must be an object"},
        {"{}", "workflow", "workflow is missing"},
        {"{\"workflow\":\"w\"}", "", "the definition has no triggers and no joins"},
        {"{\"workflow\":\"w\",\"triggers\":[],\"joins\":[]}", "", "no triggers and no joins"},
        {"{\"workflow\":\"\",\"triggers\":[" TRIGGER "]}", "workflow", "workflow is empty"},
        {"{\"workflow\":5,\"triggers\":[" TRIGGER "]}", "workflow", "workflow must be a text"},
        {"{\"workflow\":\"a\\nb\",\"triggers\":[" TRIGGER "]}", "workflow", "a control character"},
        {"{\"workflow\":\"w\",\"trigers\":[" TRIGGER "]}", "trigers",
         "trigers is not a known field; did you mean \"triggers\"?"},
        {"{\"workflow\":\"w\",\"odd name\":1,\"triggers\":[" TRIGGER "]}", "['odd name']",
         "['odd name'] is not a known field"},
        {"{\"workflow\":\"w\",\"enabled\":\"yes\",\"triggers\":[" TRIGGER "]}", "enabled",
         "enabled must be true or false"},
        {"{\"workflow\":\"w\",\"triggers\":{}}", "triggers", "triggers must be a list"},
        {"{\"workflow\":\"w\",\"triggers\":[5]}", "triggers[0]", "triggers[0] must be an object"},
        {"{\"workflow\":\"w\",\"triggers\":[{\"on\":\"e\"," TASK "}]}", "triggers[0].name",
         "triggers[0].name is missing"},
        {"{\"workflow\":\"w\",\"triggers\":[{\"name\":\"t\",\"on\":null," TASK "}]}",
         "triggers[0].on", "triggers[0].on is missing"},
        {"{\"workflow\":\"w\",\"triggers\":[{\"name\":\"t\",\"on\":\"e\"}]}", "triggers[0].task",
         "triggers[0].task is missing"},
        {"{\"workflow\":\"w\",\"triggers\":[" TRIGGER "," TRIGGER "]}", "triggers[1].name",
         "triggers[1].name is \"t\", as is that of another trigger or join"},
        {WITH("\"match\":\"a =\"," TASK), "triggers[0].match",
         "triggers[0].match: expected a field or a value, found the end of the text at line 1, "
         "column 4 of the expression"},
        {WITH("\"match\":5," TASK), "triggers[0].match", "must be a text"},
        {WITH("\"task\":5"), "triggers[0].task", "triggers[0].task must be an object"},
        {WITH("\"task\":{}"), "triggers[0].task.type", "triggers[0].task.type is missing"},
        {WITH("\"task\":{\"type\":5}"), "triggers[0].task.type", "must be a text"},
        {WITH("\"task\":{\"typ\":\"a\",\"type\":\"a\"}"), "triggers[0].task.typ",
         "did you mean \"type\"?"},
        {WITH_TASK("\"status\":\"x\""), "triggers[0].task.status", "is not a known field"},
        {WITH_TASK("\"priority\":4000000000"), "triggers[0].task.priority",
         "must be a whole number between -2147483647 and 2147483647"},
        {WITH_TASK("\"priority\":1.5"), "triggers[0].task.priority", "must be a whole number"},
        {WITH_TASK("\"priority\":\"5\""), "triggers[0].task.priority", "must be a whole number"},
        {WITH_TASK("\"maxAttempts\":-1"), "triggers[0].task.maxAttempts", "between 0 and 1000000"},
        {WITH_TASK("\"maxAttempts\":1,\"maxRetries\":1"), "triggers[0].task",
         "has both maxAttempts and maxRetries; only one of them can be"},
        {WITH_TASK("\"delay\":\"soon\""), "triggers[0].task.delay",
         "triggers[0].task.delay: \"soon\" is not a duration"},
        {WITH_TASK("\"delay\":[]"), "triggers[0].task.delay", "must be a duration such as"},
        {WITH_TASK("\"runAt\":\"now\""), "triggers[0].task.runAt", "must be a time such as"},
        {WITH_TASK("\"delay\":1,\"runAt\":\"${t}\""), "triggers[0].task", "both delay and runAt"},
        {WITH_TASK("\"dedupe\":true"), "triggers[0].task.dedupe", "must be \"input\""},
        {WITH_TASK("\"dedupe\":\"input\",\"idempotencyKey\":\"k\""), "triggers[0].task",
         "both idempotencyKey and dedupe"},
        {WITH_TASK("\"dependsOn\":[\"x\"]"), "triggers[0].task.dependsOn[0]", "must be an id"},
        {WITH_TASK("\"dependsOn\":\"x\""), "triggers[0].task.dependsOn", "must be a list"},
        {WITH_TASK("\"resources\":[\"gpu\",\"\"]"), "triggers[0].task.resources[1]", "is empty"},
        {WITH_TASK("\"retry\":{\"bas\":1}"), "triggers[0].task.retry.bas",
         "did you mean \"base\"?"},
        {WITH_TASK("\"retry\":{\"factor\":0.5}"), "triggers[0].task.retry.factor", "from 1 on"},
        {WITH_TASK("\"metadata\":5"), "triggers[0].task.metadata", "must be an object"},
        {WITH_TASK("\"teamId\":\"x\""), "triggers[0].task.teamId", "must be an id"},
        {WITH_TASK("\"namespace\":\"*\""), "triggers[0].task.namespace", "all namespaces"},
        {WITH_TASK("\"namespace\":\"other\""), "triggers[0].task.namespace",
         "triggers[0].task.namespace is not the workflow's own, default"},
        {WITH_JOIN("\"task\":{\"type\":\"c\",\"namespace\":\"other\"}"), "joins[0].task.namespace",
         "joins[0].task.namespace is not the workflow's own, default"},
        {"{\"workflow\":\"w\",\"triggers\":[{\"name\":\"t\",\"on\":\"task.bogus\"," TASK "}]}",
         "triggers[0].on",
         "triggers[0].on is not an engine event: the ends of tasks are task.completed, "
         "task.failed, task.dead_letter and task.cancelled"},
        {"{\"workflow\":\"w\",\"triggers\":[{\"name\":\"t\",\"on\":\"task.complete\"," TASK "}]}",
         "triggers[0].on", "task.completed"},
        {"{\"workflow\":\"w\",\"triggers\":[{\"name\":\"t\",\"on\":\"task.\"," TASK "}]}",
         "triggers[0].on", "task.completed"},
        {"{\"workflow\":\"w\",\"triggers\":[{\"name\":\"t\",\"on\":\"task.running\"," TASK "}]}",
         "triggers[0].on", "task.completed"},
        {WITH_TASK("\"input\":{\"a\":[1,\"${x\"]}"), "triggers[0].task.input.a[1]",
         "triggers[0].task.input.a[1]: expected } at the end of ${...}"},
        {WITH_TASK("\"input\":{\"${x}\":1}"), "triggers[0].task.input['${x}']",
         "a key can't hold ${...}"},
        {WITH_JOIN(""
                   "\"task\":{\"type\":\"c\",\"input\":\"${hash}\"}"),
         "joins[0].task.input", "expected key or tasks.TYPE"},
        {WITH_JOIN("\"task\":{\"type\":\"c\",\"input\":\"${tasks.c.output}\"}"),
         "joins[0].task.input", "does not begin with one of the join's taskTypes"},
        {WITH_JOIN("\"onFailure\":\"ignore\"," TASK), "joins[0].onFailure", "must be fire or drop"},
        {WITH_JOIN("\"deadline\":0," TASK), "joins[0].deadline", "must be longer than 0"},
        {WITH_JOIN("\"deadline\":\"-1s\"," TASK), "joins[0].deadline", "must not be negative"},
        {WITH_JOIN("\"on\":\"e\"," TASK), "joins[0].on", "is not a known field"},
        {"{\"workflow\":\"w\",\"joins\":[{\"name\":\"j\",\"taskTypes\":[],\"joinKey\":\"k\"," TASK
         "}]}",
         "joins[0].taskTypes", "joins[0].taskTypes is empty"},
        {"{\"workflow\":\"w\",\"joins\":[{\"name\":\"j\",\"taskTypes\":\"a\",\"joinKey\":"
         "\"k\"," TASK "}]}",
         "joins[0].taskTypes", "must be a list"},
        {"{\"workflow\":\"w\",\"joins\":[{\"name\":\"j\",\"taskTypes\":[\"a\",\"a\"],\"joinKey\":"
         "\"k\"," TASK "}]}",
         "joins[0].taskTypes[1]", "is listed twice"},
        {"{\"workflow\":\"w\",\"joins\":[{\"name\":\"j\",\"taskTypes\":[\"a\"],\"joinKey\":\"k."
         "\"," TASK "}]}",
         "joins[0].joinKey", "expected a name after the dot at column 3"},
        {"{\"workflow\":\"w\",\"joins\":[{\"name\":\"j\",\"taskTypes\":[\"a\"],\"joinKey\":\"k "
         "k\"," TASK "}]}",
         "joins[0].joinKey", "and nothing after it"},
        {"{\"workflow\":\"w\",\"joins\":[{\"name\":\"j\",\"taskTypes\":[\"a\"]," TASK "}]}",
         "joins[0].joinKey", "joins[0].joinKey is missing"},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct fa_arena arena = {0};
        const struct fa_workflow *workflow = NULL;
        struct fa_mistakes mistakes = {0};
        struct faina_error err = {0};

        check_int(cases[i].text,
                  fa_workflow_read(fa_str(cases[i].text), FA_WORKFLOW_JSON, &home, &arena,
                                   &workflow, &mistakes, &err),
                  FAINA_INVALID_REQUEST);
        assert_null(workflow); /* W1 */
        check_int(cases[i].text, (int64_t)mistakes.count, 1);
        check_str(cases[i].text, mistakes.items[0].path, cases[i].path);
        if (!strstr(mistakes.items[0].message, cases[i].message))
            fail_msg("%s: got \"%s\", expected \"%s\" in it", cases[i].text,
                     mistakes.items[0].message, cases[i].message);
        check_str(cases[i].text, err.message, mistakes.items[0].message);
        fa_arena_finish(&arena);
    }
}

/* What can never make a task is no mistake of a definition that is stored already. */
static void test_workflow__stored_ones_are_read_as_they_are(void **state)
{
    static const char *const texts[] = {
        "{\"workflow\":\"w\",\"triggers\":[{\"name\":\"t\",\"on\":\"task.bogus\"," TASK "}]}",
        WITH_TASK("\"namespace\":\"other\""),
    };

    for (size_t i = 0; i < FA_COUNT(texts); i++) {
        struct fa_arena arena = {0};
        const struct fa_workflow *workflow = NULL;
        struct fa_mistakes mistakes = {0};

        check_int(texts[i],
                  fa_workflow_read(fa_str(texts[i]), FA_WORKFLOW_JSON, NULL, &arena, &workflow,
                                   &mistakes, NULL),
                  FAINA_OK);
        fa_arena_finish(&arena);
    }
}

/* The name that is known from elsewhere becomes a part of the definition. */
static void test_workflow__a_name_from_elsewhere(void **state)
{
    static const struct {
        const char *text, *name, *json;
    } cases[] = {
        {"{\"triggers\":[" TRIGGER "]}", "a \"b\"",
         "{\"workflow\":\"a \\\"b\\\"\",\"triggers\":[" TRIGGER "]}"},
        {"{\"enabled\":false,\"workflow\":null,\"triggers\":[" TRIGGER "]}", "w",
         "{\"workflow\":\"w\",\"enabled\":false,\"triggers\":[" TRIGGER "]}"},
        {"{\"triggers\":[" TRIGGER "],\"workflow\":\"own\"}", "other",
         "{\"triggers\":[" TRIGGER "],\"workflow\":\"own\"}"},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct fa_workflow_target named = {.name = cases[i].name};
        struct fa_arena arena = {0};
        const struct fa_workflow *workflow = NULL;
        struct fa_mistakes mistakes = {0};

        check_int(cases[i].text,
                  fa_workflow_read(fa_str(cases[i].text), FA_WORKFLOW_JSON, &named, &arena,
                                   &workflow, &mistakes, NULL),
                  FAINA_OK);
        check_str(cases[i].text, workflow->name, i == 2 ? "own" : cases[i].name);
        check_str(cases[i].text, fa_arena_copy(&arena, workflow->json.ptr, workflow->json.len),
                  cases[i].json);
        fa_arena_finish(&arena);
    }
}

/* W2: all of them, where they are in the file. */
static void test_workflow__every_mistake_has_its_place(void **state)
{
    static const char text[] = "workflow: w\n"
                               "enabled: maybe\n"
                               "triggers:\n"
                               "  - nam: x\n"
                               "    on: e\n"
                               "    match: a = = 1\n"
                               "    task:\n"
                               "      type: a\n"
                               "      priority: high\n"
                               "      input:\n"
                               "        - \"${\"\n"
                               "        - größe: \"x ${a.} ${}\"\n"
                               "joins:\n"
                               "  - name: j\n"
                               "    taskTypes: [a]\n"
                               "    joinKey: k\n"
                               "    task: { type: b, input: \"${other}\" }\n";
    static const struct {
        const char *path;
        int line, column;
    } expected[] = {
        {"enabled", 2, 10},
        {"triggers[0].nam", 4, 5},
        {"triggers[0].name", 4, 5},
        {"triggers[0].match", 6, 12},
        {"triggers[0].task.priority", 9, 17},
        {"triggers[0].task.input[0]", 11, 11},
        {"triggers[0].task.input[1].größe", 12, 20},
        {"triggers[0].task.input[1].größe", 12, 20},
        {"joins[0].task.input", 17, 29},
    };
    struct fa_arena arena = {0};
    const struct fa_workflow *workflow = NULL;
    struct fa_mistakes mistakes = {0};
    struct faina_error err = {0};

    assert_int_equal(
        fa_workflow_read(FA_LIT(text), FA_WORKFLOW_YAML, &home, &arena, &workflow, &mistakes, &err),
        FAINA_INVALID_REQUEST);
    assert_int_equal(mistakes.count, FA_COUNT(expected));
    for (size_t i = 0; i < FA_COUNT(expected); i++) {
        check_str("path", mistakes.items[i].path, expected[i].path);
        check_int(expected[i].path, mistakes.items[i].line, expected[i].line);
        check_int(expected[i].path, mistakes.items[i].column, expected[i].column);
    }
    assert_string_equal(err.message, "enabled must be true or false; and 8 more mistakes");
    assert_string_equal(err.field, "enabled");
    assert_int_equal(err.line, 2);
    assert_int_equal(err.column, 10);
    fa_arena_finish(&arena);
}

/* In JSON a mistake of an expression is where it is in the file. */
static void test_workflow__place_of_an_expression(void **state)
{
    static const char text[] =
        "{\"workflow\":\"w\",\n \"triggers\":[{\"name\":\"t\",\"on\":\"e\",\n"
        "  \"match\":\"a = = 1\",\n  \"task\":{\"type\":\"a\"}}]}";
    struct fa_arena arena = {0};
    const struct fa_workflow *workflow = NULL;
    struct fa_mistakes mistakes = {0};

    assert_int_equal(
        fa_workflow_read(FA_LIT(text), FA_WORKFLOW_JSON, &home, &arena, &workflow, &mistakes, NULL),
        FAINA_INVALID_REQUEST);
    assert_int_equal(mistakes.count, 1);
    assert_int_equal(mistakes.items[0].line, 3);
    assert_int_equal(mistakes.items[0].column, 16);
    assert_string_equal(mistakes.items[0].path, "triggers[0].match");
    fa_arena_finish(&arena);
}

static void test_workflow__no_json_or_yaml_at_all(void **state)
{
    static const struct {
        const char *text;
        enum fa_workflow_format format;
        int line, column;
        const char *message;
    } cases[] = {
        {"{\"workflow\":}", FA_WORKFLOW_JSON, 1, 13, "definition: "},
        {"", FA_WORKFLOW_JSON, 1, 1, "definition: "},
        {"{\"a\":1,\"a\":2}", FA_WORKFLOW_JSON, 1, 8, "duplicate key"},
        {"workflow: &a b\n", FA_WORKFLOW_YAML, 1, 11, "anchors"},
        {"", FA_WORKFLOW_YAML, 1, 1, "the document is empty"},
        {"a: 1\na: 2\n", FA_WORKFLOW_YAML, 2, 1, "duplicate key"},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct fa_arena arena = {0};
        const struct fa_workflow *workflow = NULL;
        struct fa_mistakes mistakes = {0};
        struct faina_error err = {0};

        check_int(cases[i].text,
                  fa_workflow_read(fa_str(cases[i].text), cases[i].format, &home, &arena, &workflow,
                                   &mistakes, &err),
                  FAINA_INVALID_REQUEST);
        check_int(cases[i].text, (int64_t)mistakes.count, 1);
        check_int(cases[i].text, mistakes.items[0].line, cases[i].line);
        check_int(cases[i].text, mistakes.items[0].column, cases[i].column);
        check_true(cases[i].text, strstr(err.message, cases[i].message) != NULL);
        fa_arena_finish(&arena);
    }
}

/* ------------------------------------------------------------------------------------------
 * Limits
 */

static size_t count_mistakes(struct fa_buf *text, struct faina_error *err)
{
    struct fa_arena arena = {0};
    const struct fa_workflow *workflow = NULL;
    struct fa_mistakes mistakes = {0};
    enum faina_code code =
        fa_workflow_read((struct fa_bytes){text->ptr, text->len}, FA_WORKFLOW_JSON, &home, &arena,
                         &workflow, &mistakes, err);

    assert_int_equal(code == FAINA_OK, mistakes.count == 0);
    fa_arena_finish(&arena);
    fa_buf_finish(text);
    return mistakes.count;
}

static size_t with_triggers(size_t count, struct faina_error *err)
{
    struct fa_buf text;

    fa_buf_init(&text, SIZE_MAX);
    fa_buf_add_str(&text, "{\"workflow\":\"w\",\"triggers\":[");
    for (size_t i = 0; i < count; i++)
        fa_buf_printf(&text, "%s{\"name\":\"%zu\",\"on\":\"e\"," TASK "}", i ? "," : "", i);
    fa_buf_add_str(&text, "]}");
    return count_mistakes(&text, err);
}

static size_t with_joins(size_t count, size_t types)
{
    struct fa_buf text;

    fa_buf_init(&text, SIZE_MAX);
    fa_buf_add_str(&text, "{\"workflow\":\"w\",\"joins\":[");
    for (size_t i = 0; i < count; i++) {
        fa_buf_printf(&text, "%s{\"name\":\"%zu\",\"joinKey\":\"k\"," TASK ",\"taskTypes\":[",
                      i ? "," : "", i);
        for (size_t k = 0; k < types; k++)
            fa_buf_printf(&text, "%s\"t%zu\"", k ? "," : "", k);
        fa_buf_add_str(&text, "]}");
    }
    fa_buf_add_str(&text, "]}");
    return count_mistakes(&text, NULL);
}

static void test_workflow__limits(void **state)
{
    struct faina_error err = {0};

    assert_int_equal(with_triggers(FA_WORKFLOW_TRIGGERS_MAX, &err), 0);
    assert_int_equal(with_triggers(FA_WORKFLOW_TRIGGERS_MAX + 1, &err), 1);
    assert_string_equal(err.message, "triggers has 1001 items; the limit is 1000");
    assert_int_equal(with_joins(FA_WORKFLOW_JOINS_MAX, 1), 0);
    assert_int_equal(with_joins(FA_WORKFLOW_JOINS_MAX + 1, 1), 1);
    assert_int_equal(with_joins(1, FA_JOIN_TYPES_MAX), 0);
    assert_int_equal(with_joins(1, FA_JOIN_TYPES_MAX + 1), 1);
}

static size_t with_unknown(size_t count, struct faina_error *err)
{
    struct fa_buf text;

    fa_buf_init(&text, SIZE_MAX);
    fa_buf_add_str(&text, "{\"workflow\":\"w\",\"triggers\":[" TRIGGER "]");
    for (size_t i = 0; i < count; i++)
        fa_buf_printf(&text, ",\"x%zu\":1", i);
    fa_buf_add_char(&text, '}');
    return count_mistakes(&text, err);
}

static void test_workflow__mistakes_without_end(void **state)
{
    struct faina_error err = {0};

    assert_int_equal(with_unknown(FA_WORKFLOW_MISTAKES_MAX, &err), FA_WORKFLOW_MISTAKES_MAX);
    assert_string_equal(err.message, "x0 is not a known field; and 99 more mistakes");
    assert_int_equal(with_unknown(FA_WORKFLOW_MISTAKES_MAX + 50, &err), FA_WORKFLOW_MISTAKES_MAX);
    assert_string_equal(err.message, "x0 is not a known field; and 149 more mistakes");
}

static size_t of_size(size_t size)
{
    struct fa_buf text;

    fa_buf_init(&text, SIZE_MAX);
    fa_buf_add_str(&text, "{\"workflow\":\"w\",\"triggers\":[" TRIGGER "]}");
    while (text.len < size)
        fa_buf_add_char(&text, ' ');
    return count_mistakes(&text, NULL);
}

static void test_workflow__size(void **state)
{
    assert_int_equal(of_size(FA_WORKFLOW_SIZE_MAX), 0);
    assert_int_equal(of_size(FA_WORKFLOW_SIZE_MAX + 1), 1);
}

static void test_workflow__formats(void **state)
{
    enum fa_workflow_format format = FA_WORKFLOW_JSON;

    assert_true(fa_workflow_format_of("a.yaml", &format));
    assert_int_equal(format, FA_WORKFLOW_YAML);
    assert_true(fa_workflow_format_of("a.JSON", &format));
    assert_int_equal(format, FA_WORKFLOW_JSON);
    assert_true(fa_workflow_format_of("dir/x.yml", &format));
    assert_int_equal(format, FA_WORKFLOW_YAML);
    assert_false(fa_workflow_format_of("a.yaml~", &format));
    assert_false(fa_workflow_format_of(".yaml", &format));
    assert_false(fa_workflow_format_of("", &format));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_workflow__the_example),
        cmocka_unit_test(test_workflow__all_fields),
        cmocka_unit_test(test_workflow__mistakes),
        cmocka_unit_test(test_workflow__stored_ones_are_read_as_they_are),
        cmocka_unit_test(test_workflow__a_name_from_elsewhere),
        cmocka_unit_test(test_workflow__every_mistake_has_its_place),
        cmocka_unit_test(test_workflow__place_of_an_expression),
        cmocka_unit_test(test_workflow__no_json_or_yaml_at_all),
        cmocka_unit_test(test_workflow__limits),
        cmocka_unit_test(test_workflow__mistakes_without_end),
        cmocka_unit_test(test_workflow__size),
        cmocka_unit_test(test_workflow__formats),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
