/*
 * test_check.c - requests within the rules, at their limits, and one beyond.
 */
#include "unit/base/unit.h"

#include "model/check.h"
#include "model/limits.h"

#include <math.h>

#define INPUT_MAX 1000
#define ID "01890a5d-ac96-774b-bcce-b302099a8057"
#define ID_SHAPE "which is a UUIDv7 such as " ID

/* Room for the longest text of a test. */
struct text {
    char bytes[70000];
};

static const char *letters(struct text *text, size_t len)
{
    assert_true(len < sizeof(text->bytes));
    memset(text->bytes, 'a', len);
    text->bytes[len] = '\0';
    return text->bytes;
}

/* JSON of `len` bytes in all: a string, or an object that holds one. */
static const char *json_of(struct text *text, size_t len, bool is_object)
{
    letters(text, len);
    if (is_object) {
        memcpy(text->bytes, "{\"k\":\"", 6);
        memcpy(text->bytes + len - 2, "\"}", 2);
    } else {
        text->bytes[0] = text->bytes[len - 1] = '"';
    }
    return text->bytes;
}

static void check_refused(const char *name, enum faina_code got, const struct faina_error *err,
                          enum faina_code code, const char *field, const char *message)
{
    check_int(name, got, code);
    check_int(name, err->code, code);
    check_str(name, err->field, field);
    check_str(name, err->message, message);
}

/* ------------------------------------------------------------------------------------------
 * Texts
 */

static void test_check__names(void **state)
{
    static const struct {
        const char *text;
        const char *message; /* NULL: fine */
    } cases[] = {
        {"a", NULL},
        {"mail.go", NULL},
        {"\xc3\xa9 \xf0\x9f\x98\x80", NULL},
        {"abcdefgh", NULL},
        {"abcdefghi", "type is 9 bytes long; the limit is 8"},
        {"", "type is empty"},
        {NULL, "type is missing"},
        {"a\nb", "type has a control character in it"},
        {"a\x1f", "type has a control character in it"},
        {"a\x7f", "type has a control character in it"},
        {"a\xff", "type is not valid UTF-8"},
        {"a\xc3", "type is not valid UTF-8"},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        const char *name = cases[i].text ? cases[i].text : "NULL";
        struct faina_error err;
        enum faina_code code = fa_check_name(cases[i].text, 8, "type", FAINA_INVALID_TASK, &err);

        if (cases[i].message)
            check_refused(name, code, &err, FAINA_INVALID_TASK, "type", cases[i].message);
        else
            check_int(name, code, FAINA_OK);
    }
}

static void test_check__text(void **state)
{
    struct faina_error err;

    assert_int_equal(fa_check_text(NULL, 4, "state", FAINA_INVALID_REQUEST, &err), FAINA_OK);
    assert_int_equal(fa_check_text("", 4, "state", FAINA_INVALID_REQUEST, &err), FAINA_OK);
    assert_int_equal(fa_check_text("a\nbc", 4, "state", FAINA_INVALID_REQUEST, &err), FAINA_OK);
    check_refused("long", fa_check_text("abcde", 4, "state", FAINA_INVALID_REQUEST, &err), &err,
                  FAINA_INVALID_REQUEST, "state", "state is 5 bytes long; the limit is 4");
    check_refused("bytes", fa_check_text("\xff", 4, "state", FAINA_INVALID_REQUEST, &err), &err,
                  FAINA_INVALID_REQUEST, "state", "state is not valid UTF-8");
}

static void test_check__json(void **state)
{
    struct faina_error err;

    assert_int_equal(fa_check_json(NULL, 5, "input", FAINA_INVALID_TASK, &err), FAINA_OK);
    assert_int_equal(fa_check_json("[1,2]", 5, "input", FAINA_INVALID_TASK, &err), FAINA_OK);
    check_refused("large", fa_check_json("[1,2 ]", 5, "input", FAINA_INVALID_TASK, &err), &err,
                  FAINA_PAYLOAD_TOO_LARGE, "input", "input is 6 bytes long; the limit is 5");
    check_refused("broken", fa_check_json("[1,]", 5, "input", FAINA_INVALID_TASK, &err), &err,
                  FAINA_INVALID_TASK, "input", "input: a value was expected at line 1, column 4");
    assert_int_equal(err.column, 4);
    check_refused("empty", fa_check_json("", 5, "input", FAINA_INVALID_TASK, &err), &err,
                  FAINA_INVALID_TASK, "input", "input: the text is empty at line 1, column 1");
}

static void test_check__json_depth(void **state)
{
    char deep[2 * FA_JSON_DEPTH_MAX + 3];

    memset(deep, '[', FA_JSON_DEPTH_MAX);
    memset(deep + FA_JSON_DEPTH_MAX, ']', FA_JSON_DEPTH_MAX);
    deep[2 * FA_JSON_DEPTH_MAX] = '\0';
    assert_int_equal(fa_check_json(deep, 1000, "x", FAINA_INVALID_TASK, NULL), FAINA_OK);
    memset(deep, '[', FA_JSON_DEPTH_MAX + 1);
    memset(deep + FA_JSON_DEPTH_MAX + 1, ']', FA_JSON_DEPTH_MAX + 1);
    deep[2 * FA_JSON_DEPTH_MAX + 2] = '\0';
    assert_int_equal(fa_check_json(deep, 1000, "x", FAINA_INVALID_TASK, NULL), FAINA_INVALID_TASK);
}

/* ------------------------------------------------------------------------------------------
 * Submit
 */

static const char *const one_id[] = {ID};
static const char *const bad_ids[] = {ID, "nonsense"};
static const char *const null_ids[] = {NULL};
static const char *const good_names[] = {"gpu", "disk"};
static const char *const bad_names[] = {"gpu", ""};

static const struct {
    struct faina_submit task;
    const char *field; /* NULL: fine */
    const char *message;
} submits[] = {
    {{.type = "t"}, NULL, NULL},
    {{.name = "n"}, NULL, NULL},
    {{.input = "1"}, NULL, NULL},
    {{.type = NULL}, "type", "type is missing"},
    {{.metadata = "{}", .priority = 1}, "type", "type is missing"},
    {{.type = "", .name = "n"}, "type", "type is empty"},
    {{.type = "t", .name = ""}, "name", "name is empty"},
    {{.type = "a\tb"}, "type", "type has a control character in it"},
    {{.type = "t", .ns = "team-a"}, NULL, NULL},
    {{.type = "t", .ns = ""}, "namespace", "namespace is empty"},
    {{.type = "t", .ns = "*"}, "namespace", "namespace is \"*\", which stands for all namespaces"},
    {{.type = "t", .input = "3", .metadata = "{}", .spec = "{\"a\":1}"}, NULL, NULL},
    {{.type = "t", .spec = "[1]"}, "spec", "spec must be a JSON object"},
    {{.type = "t", .spec = "null"}, "spec", "spec must be a JSON object"},
    {{.type = "t", .input = "{"}, "input", "input: the text ends too early at line 1, column 2"},
    {{.type = "t", .metadata = "[]"}, "metadata", "metadata must be a JSON object"},
    {{.type = "t", .metadata = "null"}, "metadata", "metadata must be a JSON object"},
    {{.type = "t", .spec = "x"}, "spec", "spec: an unexpected character at line 1, column 1"},
    {{.type = "t", .priority = 2147483647}, NULL, NULL},
    {{.type = "t", .priority = -2147483647}, NULL, NULL},
    {{.type = "t", .priority = INT32_MIN},
     "priority",
     "priority is -2147483648; it must be -2147483647 to 2147483647"},
    {{.type = "t", .max_attempts = 1}, NULL, NULL},
    {{.type = "t", .max_attempts = FAINA_UNLIMITED}, NULL, NULL},
    {{.type = "t", .max_attempts = 1000000}, NULL, NULL},
    {{.type = "t", .max_attempts = 1000001},
     "maxAttempts",
     "maxAttempts is 1000001; it must be 1 to 1000000, 0 for the default, or -1 for no limit"},
    {{.type = "t", .max_attempts = -2},
     "maxAttempts",
     "maxAttempts is -2; it must be 1 to 1000000, 0 for the default, or -1 for no limit"},
    {{.type = "t", .delay_ms = FA_DURATION_MS_MAX}, NULL, NULL},
    {{.type = "t", .delay_ms = FA_DURATION_MS_MAX + 1},
     "delay",
     "delay is longer than 3162240000 seconds"},
    {{.type = "t", .delay_ms = -1}, "delay", "delay must not be negative"},
    {{.type = "t", .run_at_us = INT64_C(253402300799999999)}, NULL, NULL},
    {{.type = "t", .run_at_us = INT64_C(253402300800000000)},
     "runAt",
     "runAt must be in the years 1970 to 9999"},
    {{.type = "t", .run_at_us = -1}, "runAt", "runAt must be in the years 1970 to 9999"},
    {{.type = "t", .run_at_us = 1, .delay_ms = 1},
     "runAt",
     "runAt and delay are both set; only one of them can be"},
    {{.type = "t", .idempotency_key = "k"}, NULL, NULL},
    {{.type = "t", .idempotency_key = ""}, "idempotencyKey", "idempotencyKey is empty"},
    {{.type = "t", .dedupe_input = true}, NULL, NULL},
    {{.type = "t", .idempotency_key = "k", .dedupe_input = true},
     "dedupe",
     "dedupe and idempotencyKey are both set; only one of them can be"},
    {{.type = "t", .depends_on = one_id, .depends_on_count = 1}, NULL, NULL},
    {{.type = "t", .depends_on = bad_ids, .depends_on_count = 2},
     "dependsOn",
     "dependsOn[1] is not a task id, " ID_SHAPE},
    {{.type = "t", .depends_on = null_ids, .depends_on_count = 1},
     "dependsOn",
     "dependsOn[0] is not a task id, " ID_SHAPE},
    {{.type = "t", .depends_on_count = 1}, "dependsOn", "dependsOn is NULL, but its count is 1"},
    {{.type = "t", .resources = good_names, .resource_count = 2}, NULL, NULL},
    {{.type = "t", .resources = bad_names, .resource_count = 2},
     "resources",
     "resources[1] is empty"},
    {{.type = "t", .resources = null_ids, .resource_count = 1},
     "resources",
     "resources[0] is missing"},
    {{.type = "t", .retry = {1, 1, 1}}, NULL, NULL},
    {{.type = "t", .retry = {FA_DURATION_MS_MAX, 1e308, FA_DURATION_MS_MAX}}, NULL, NULL},
    {{.type = "t", .retry = {-1, 0, 0}}, "retry.base", "retry.base must not be negative"},
    {{.type = "t", .retry = {0, 0, -1}}, "retry.max", "retry.max must not be negative"},
    {{.type = "t", .retry = {0, 0, FA_DURATION_MS_MAX + 1}},
     "retry.max",
     "retry.max is longer than 3162240000 seconds"},
    {{.type = "t", .retry = {0, 0.5, 0}},
     "retry.factor",
     "retry.factor must be a number from 1 on"},
    {{.type = "t", .retry = {0, -2, 0}}, "retry.factor", "retry.factor must be a number from 1 on"},
    {{.type = "t", .retry = {0, INFINITY, 0}},
     "retry.factor",
     "retry.factor must be a number from 1 on"},
    {{.type = "t", .retry = {0, NAN, 0}},
     "retry.factor",
     "retry.factor must be a number from 1 on"},
    {{.type = "t", .team_id = ID}, NULL, NULL},
    {{.type = "t", .team_id = "7"}, "teamId", "teamId is not an id, which is a UUID such as " ID},
    {{.type = "t", .created_by = "ann"}, NULL, NULL},
    {{.type = "t", .created_by = ""}, "createdBy", "createdBy is empty"},
};

static void test_check_submit__fields(void **state)
{
    for (size_t i = 0; i < FA_COUNT(submits); i++) {
        const char *name = submits[i].message ? submits[i].message : "a good one";
        struct faina_error err;
        enum faina_code code = fa_check_submit(&submits[i].task, INPUT_MAX, &err);

        if (submits[i].message)
            check_refused(name, code, &err, FAINA_INVALID_TASK, submits[i].field,
                          submits[i].message);
        else if (code != FAINA_OK)
            fail_msg("row %zu: %s", i, err.message);
        check_int(name, fa_check_submit(&submits[i].task, INPUT_MAX, NULL), code);
    }
}

/* Each text of a submit, at its limit and one byte beyond. */
static void test_check_submit__sizes(void **state)
{
    static const struct {
        const char *field;
        size_t offset, max;
        enum faina_code code;
        enum { TEXT, JSON, OBJECT } kind;
    } fields[] = {
#define FIELD(member, name, max, code, kind)                                                       \
    {name, offsetof(struct faina_submit, member), max, FAINA_##code, kind}
        FIELD(type, "type", FA_TYPE_SIZE_MAX, INVALID_TASK, TEXT),
        FIELD(name, "name", FA_NAME_SIZE_MAX, INVALID_TASK, TEXT),
        FIELD(ns, "namespace", FA_NAMESPACE_SIZE_MAX, INVALID_TASK, TEXT),
        FIELD(idempotency_key, "idempotencyKey", FA_KEY_SIZE_MAX, INVALID_TASK, TEXT),
        FIELD(created_by, "createdBy", FA_CREATED_BY_SIZE_MAX, INVALID_TASK, TEXT),
        FIELD(input, "input", INPUT_MAX, PAYLOAD_TOO_LARGE, JSON),
        FIELD(metadata, "metadata", FA_METADATA_SIZE_MAX, PAYLOAD_TOO_LARGE, OBJECT),
        FIELD(spec, "spec", FA_SPEC_SIZE_MAX, PAYLOAD_TOO_LARGE, OBJECT),
#undef FIELD
    };
    struct text *text = fa_alloc(sizeof(*text));

    for (size_t i = 0; i < FA_COUNT(fields); i++) {
        for (size_t len = fields[i].max; len <= fields[i].max + 1; len++) {
            struct faina_submit task = {.type = "t"};
            const char *value = fields[i].kind == TEXT
                                    ? letters(text, len)
                                    : json_of(text, len, fields[i].kind == OBJECT);
            struct faina_error err;
            enum faina_code code;
            char message[128];

            memcpy((char *)&task + fields[i].offset, &value, sizeof(value));
            code = fa_check_submit(&task, INPUT_MAX, &err);
            snprintf(message, sizeof(message), "%s is %zu bytes long; the limit is %zu",
                     fields[i].field, len, fields[i].max);
            if (len == fields[i].max)
                check_int(fields[i].field, code, FAINA_OK);
            else
                check_refused(fields[i].field, code, &err, fields[i].code, fields[i].field,
                              message);
        }
    }
    free(text);
}

static void test_check_submit__counts(void **state)
{
    const char *ids[FA_DEPENDS_ON_MAX + 1], *names[FA_RESOURCES_MAX + 1];
    struct faina_submit task = {.type = "t", .depends_on = ids, .resources = names};
    struct faina_error err;

    for (size_t i = 0; i < FA_COUNT(ids); i++)
        ids[i] = ID;
    for (size_t i = 0; i < FA_COUNT(names); i++)
        names[i] = "r";
    task.depends_on_count = FA_DEPENDS_ON_MAX;
    task.resource_count = FA_RESOURCES_MAX;
    assert_int_equal(fa_check_submit(&task, INPUT_MAX, &err), FAINA_OK);
    task.depends_on_count++;
    check_refused("ids", fa_check_submit(&task, INPUT_MAX, &err), &err, FAINA_INVALID_TASK,
                  "dependsOn", "dependsOn has 1001 items; the limit is 1000");
    task.depends_on_count = 0;
    task.resource_count++;
    check_refused("names", fa_check_submit(&task, INPUT_MAX, &err), &err, FAINA_INVALID_TASK,
                  "resources", "resources has 17 items; the limit is 16");
}

static void test_check_submit__resource_name_size(void **state)
{
    struct text *text = fa_alloc(sizeof(*text));
    const char *const names[] = {letters(text, FA_RESOURCE_NAME_SIZE_MAX)};
    struct faina_submit task = {.type = "t", .resources = names, .resource_count = 1};
    struct faina_error err;

    assert_int_equal(fa_check_submit(&task, INPUT_MAX, &err), FAINA_OK);
    letters(text, FA_RESOURCE_NAME_SIZE_MAX + 1);
    check_refused("long", fa_check_submit(&task, INPUT_MAX, &err), &err, FAINA_INVALID_TASK,
                  "resources", "resources[0] is 256 bytes long; the limit is 255");
    free(text);
}

/* ------------------------------------------------------------------------------------------
 * The other requests
 */

static void test_check__worker(void **state)
{
    struct text *text = fa_alloc(sizeof(*text));
    struct faina_error err;

    assert_int_equal(fa_check_worker("host-12-ab", &err), FAINA_OK);
    assert_int_equal(fa_check_worker(letters(text, FA_WORKER_ID_SIZE_MAX), &err), FAINA_OK);
    check_refused("none", fa_check_worker(NULL, &err), &err, FAINA_INVALID_WORKER_ID, "workerId",
                  "workerId is missing");
    check_refused("empty", fa_check_worker("", &err), &err, FAINA_INVALID_WORKER_ID, "workerId",
                  "workerId is empty");
    check_refused("long", fa_check_worker(letters(text, FA_WORKER_ID_SIZE_MAX + 1), &err), &err,
                  FAINA_INVALID_WORKER_ID, "workerId",
                  "workerId is 256 bytes long; the limit is 255");
    free(text);
}

static void test_check__claim(void **state)
{
    static const struct {
        struct faina_claim claim;
        enum faina_code code;
        const char *field, *message;
    } cases[] = {
        {{.worker_id = "w"}, FAINA_OK, NULL, NULL},
        {{.worker_id = "w",
          .types = good_names,
          .type_count = 2,
          .namespaces = good_names,
          .namespace_count = 2,
          .services = good_names,
          .service_count = 2,
          .limit = FA_CLAIM_LIMIT_MAX,
          .lease_ms = FA_LEASE_MS_MAX,
          .wait_ms = FA_DURATION_MS_MAX},
         FAINA_OK,
         NULL,
         NULL},
        {{.worker_id = "w", .services = good_names}, FAINA_OK, NULL, NULL},
        {{.worker_id = NULL}, FAINA_INVALID_WORKER_ID, "workerId", "workerId is missing"},
        {{.worker_id = "w", .types = bad_names, .type_count = 2},
         FAINA_INVALID_REQUEST,
         "types",
         "types[1] is empty"},
        {{.worker_id = "w", .type_count = 2},
         FAINA_INVALID_REQUEST,
         "types",
         "types is NULL, but its count is 2"},
        {{.worker_id = "w", .namespaces = bad_names, .namespace_count = 2},
         FAINA_INVALID_REQUEST,
         "namespaces",
         "namespaces[1] is empty"},
        {{.worker_id = "w", .services = bad_names, .service_count = 2},
         FAINA_INVALID_REQUEST,
         "services",
         "services[1] is empty"},
        {{.worker_id = "w", .limit = FA_CLAIM_LIMIT_MAX + 1},
         FAINA_INVALID_REQUEST,
         "limit",
         "limit is 1001; it must be 0 to 1000"},
        {{.worker_id = "w", .limit = -1},
         FAINA_INVALID_REQUEST,
         "limit",
         "limit is -1; it must be 0 to 1000"},
        {{.worker_id = "w", .lease_ms = FA_LEASE_MS_MAX + 1},
         FAINA_INVALID_REQUEST,
         "leaseSeconds",
         "leaseSeconds is longer than 86400 seconds"},
        {{.worker_id = "w", .lease_ms = -1},
         FAINA_INVALID_REQUEST,
         "leaseSeconds",
         "leaseSeconds must not be negative"},
        {{.worker_id = "w", .wait_ms = -1},
         FAINA_INVALID_REQUEST,
         "waitSeconds",
         "waitSeconds must not be negative"},
    };
    const char *many[FA_CLAIM_NAMES_MAX + 1];
    struct faina_claim claim = {.worker_id = "w", .types = many, .type_count = FA_CLAIM_NAMES_MAX};
    struct faina_error err;

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        enum faina_code code = fa_check_claim(&cases[i].claim, &err);

        if (cases[i].code == FAINA_OK)
            check_int("a good one", code, FAINA_OK);
        else
            check_refused(cases[i].message, code, &err, cases[i].code, cases[i].field,
                          cases[i].message);
    }
    for (size_t i = 0; i < FA_COUNT(many); i++)
        many[i] = "t";
    assert_int_equal(fa_check_claim(&claim, &err), FAINA_OK);
    claim.type_count++;
    assert_int_equal(fa_check_claim(&claim, &err), FAINA_INVALID_REQUEST);
}

static enum faina_code check_worker(struct faina_worker worker, struct faina_error *err)
{
    worker.id = worker.id ? worker.id : "w";
    return fa_check_heartbeat(&worker, NULL, 0, 0, err);
}

/* At each limit, and one beyond. */
static void test_check__beat(void **state)
{
    struct text *text = fa_alloc(sizeof(*text));
    const char *many[FA_CLAIM_NAMES_MAX + 1];
    struct faina_worker names = {.types = many, .type_count = FA_CLAIM_NAMES_MAX};
    struct faina_error err;

    for (size_t i = 0; i < FA_COUNT(many); i++)
        many[i] = "t";
    letters(text, FA_HOSTNAME_SIZE_MAX);
    assert_int_equal(FA_WORKER_VERSION_SIZE_MAX, FA_HOSTNAME_SIZE_MAX);
    assert_int_equal(FA_WORKER_ID_SIZE_MAX, FA_HOSTNAME_SIZE_MAX);
    assert_int_equal(check_worker((struct faina_worker){.id = text->bytes,
                                                        .hostname = text->bytes,
                                                        .version = text->bytes,
                                                        .pool_size = FA_POOL_SIZE_MAX},
                                  &err),
                     FAINA_OK);
    letters(text, FA_HOSTNAME_SIZE_MAX + 1);
    check_refused("id", check_worker((struct faina_worker){.id = text->bytes}, &err), &err,
                  FAINA_INVALID_WORKER_ID, "workerId",
                  "workerId is 256 bytes long; the limit is 255");
    check_refused("hostname", check_worker((struct faina_worker){.hostname = text->bytes}, &err),
                  &err, FAINA_INVALID_REQUEST, "hostname",
                  "hostname is 256 bytes long; the limit is 255");
    check_refused("version", check_worker((struct faina_worker){.version = text->bytes}, &err),
                  &err, FAINA_INVALID_REQUEST, "version",
                  "version is 256 bytes long; the limit is 255");
    check_refused("pool", check_worker((struct faina_worker){.pool_size = 100001}, &err), &err,
                  FAINA_INVALID_REQUEST, "poolSize", "poolSize is 100001; it must be -1 to 100000");
    assert_int_equal(check_worker(names, &err), FAINA_OK);
    names.type_count++;
    check_refused("types", check_worker(names, &err), &err, FAINA_INVALID_REQUEST, "types",
                  "types has 1001 items; the limit is 1000");
    free(text);
}

static void test_check__report(void **state)
{
    struct text *text = fa_alloc(sizeof(*text));
    struct faina_report report = {.has_progress = true, .progress = 100, .metadata = "{}"};
    struct faina_error err;

    report.state = letters(text, FA_STATE_SIZE_MAX);
    assert_int_equal(fa_check_report(&report, &err), FAINA_OK);
    assert_int_equal(fa_check_report(&(struct faina_report){.progress = 500}, &err), FAINA_OK);
    report.state = letters(text, FA_STATE_SIZE_MAX + 1);
    check_refused("state", fa_check_report(&report, &err), &err, FAINA_INVALID_REQUEST, "state",
                  "state is 1025 bytes long; the limit is 1024");
    report = (struct faina_report){.has_progress = true, .progress = 101};
    check_refused("more", fa_check_report(&report, &err), &err, FAINA_INVALID_REQUEST, "progress",
                  "progress is 101; it must be 0 to 100");
    report.progress = -1;
    check_refused("less", fa_check_report(&report, &err), &err, FAINA_INVALID_REQUEST, "progress",
                  "progress is -1; it must be 0 to 100");
    report = (struct faina_report){.metadata = "7"};
    check_refused("metadata", fa_check_report(&report, &err), &err, FAINA_INVALID_REQUEST,
                  "metadata", "metadata must be a JSON object");
    report.metadata = json_of(text, FA_METADATA_SIZE_MAX + 1, true);
    assert_int_equal(fa_check_report(&report, &err), FAINA_PAYLOAD_TOO_LARGE);
    free(text);
}

static void test_check__failure(void **state)
{
    struct text *text = fa_alloc(sizeof(*text));
    struct faina_failure failure = {.kind = "Timeout", .detail = "[1]"};
    struct faina_error err;

    failure.message = letters(text, FA_ERROR_MESSAGE_SIZE_MAX);
    assert_int_equal(fa_check_failure(&failure, &err), FAINA_OK);
    failure.message = letters(text, FA_ERROR_MESSAGE_SIZE_MAX + 1);
    check_refused("long", fa_check_failure(&failure, &err), &err, FAINA_INVALID_REQUEST,
                  "error.message", "error.message is 8193 bytes long; the limit is 8192");
    failure.message = NULL;
    check_refused("none", fa_check_failure(&failure, &err), &err, FAINA_INVALID_REQUEST,
                  "error.message", "error.message is missing; it explains why the attempt failed");
    failure.message = "";
    assert_int_equal(fa_check_failure(&failure, &err), FAINA_INVALID_REQUEST);
    failure.message = "two\nlines";
    failure.kind = letters(text, FA_ERROR_KIND_SIZE_MAX);
    assert_int_equal(fa_check_failure(&failure, &err), FAINA_OK);
    failure.kind = letters(text, FA_ERROR_KIND_SIZE_MAX + 1);
    check_refused("kind", fa_check_failure(&failure, &err), &err, FAINA_INVALID_REQUEST,
                  "error.kind", "error.kind is 256 bytes long; the limit is 255");
    failure.kind = NULL;
    failure.detail = json_of(text, FA_ERROR_DETAIL_SIZE_MAX, false);
    assert_int_equal(fa_check_failure(&failure, &err), FAINA_OK);
    failure.detail = json_of(text, FA_ERROR_DETAIL_SIZE_MAX + 1, false);
    assert_int_equal(fa_check_failure(&failure, &err), FAINA_PAYLOAD_TOO_LARGE);
    failure.detail = "oops";
    check_refused("detail", fa_check_failure(&failure, &err), &err, FAINA_INVALID_REQUEST,
                  "error.detail", "error.detail: an unexpected character at line 1, column 1");
    free(text);
}

static void test_check__query(void **state)
{
    static const struct {
        struct faina_query query;
        const char *field, *message;
    } cases[] = {
        {{.limit = 0}, NULL, NULL},
        {{.ns = "*",
          .statuses = (1u << FAINA_STATUS_COUNT) - 1,
          .type = "t",
          .team_id = ID,
          .parent_id = ID,
          .created_by = "ann",
          .idempotency_key = "k",
          .created_after_us = 1,
          .created_before_us = 2,
          .limit = FA_LIST_LIMIT_MAX,
          .cursor = "abc"},
         NULL,
         NULL},
        {{.ns = ""}, "namespace", "namespace is empty"},
        {{.statuses = 1u << FAINA_STATUS_COUNT}, "status", "status has an unknown status"},
        {{.type = ""}, "type", "type is empty"},
        {{.team_id = "7"}, "teamId", "teamId is not an id, which is a UUID such as " ID},
        {{.parent_id = ""}, "parentId", "parentId is not an id, " ID_SHAPE},
        {{.created_by = "\n"}, "createdBy", "createdBy has a control character in it"},
        {{.idempotency_key = ""}, "idempotencyKey", "idempotencyKey is empty"},
        {{.created_after_us = -1},
         "createdAfter",
         "createdAfter must be in the years 1970 to 9999"},
        {{.created_before_us = INT64_MAX},
         "createdBefore",
         "createdBefore must be in the years 1970 to 9999"},
        {{.limit = FA_LIST_LIMIT_MAX + 1}, "limit", "limit is 1001; it must be 0 to 1000"},
        {{.limit = -1}, "limit", "limit is -1; it must be 0 to 1000"},
        {{.cursor = ""}, "cursor", "cursor is empty"},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct faina_error err;
        enum faina_code code = fa_check_query(&cases[i].query, &err);

        if (cases[i].message)
            check_refused(cases[i].message, code, &err, FAINA_INVALID_REQUEST, cases[i].field,
                          cases[i].message);
        else
            check_int("a good one", code, FAINA_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_check__names),
        cmocka_unit_test(test_check__text),
        cmocka_unit_test(test_check__json),
        cmocka_unit_test(test_check__json_depth),
        cmocka_unit_test(test_check_submit__fields),
        cmocka_unit_test(test_check_submit__sizes),
        cmocka_unit_test(test_check_submit__counts),
        cmocka_unit_test(test_check_submit__resource_name_size),
        cmocka_unit_test(test_check__worker),
        cmocka_unit_test(test_check__claim),
        cmocka_unit_test(test_check__beat),
        cmocka_unit_test(test_check__report),
        cmocka_unit_test(test_check__failure),
        cmocka_unit_test(test_check__query),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
