/*
 * test_encode.c - operations as requests: where they go, what they say, what may be sent twice, and
 * which of them go together.
 */
#include "unit/base/unit.h"

#include "client/encode.h"

#define ID "0190c4a2-6f1e-7b3d-8a5c-1f2e3d4c5b6a"
#define OTHER "0190c4a2-6f1e-7b3d-8a5c-1f2e3d4c5b6b"

static const struct faina_submit plain = {.type = "t"};
static const struct faina_submit keyed = {.type = "t", .idempotency_key = "k"};
static const struct faina_claim claim = {.worker_id = "w", .limit = 3, .lease_ms = 1500};
static const struct faina_failure failure = {.message = "no", .permanent = true};
static const struct faina_report report = {.has_progress = true};
static const struct faina_purge purge = {.statuses = 1u << FAINA_FAILED, .limit = INT64_MAX};
static const struct faina_query query = {.ns = "*",
                                         .statuses = 1u << FAINA_PENDING | 1u << FAINA_FAILED,
                                         .created_by = "a b&c",
                                         .limit = 5};
static const struct faina_team team = {.name = "x"}, known_team = {.id = ID, .name = "x"};

#define ACT(kind_, ...)                                                                            \
    {                                                                                              \
        .kind = FA_OP_##kind_, .id = ID, .by = {.worker_id = "w"}, __VA_ARGS__                     \
    }

static void test_ask__requests(void **state)
{
    const struct {
        struct fa_op op;
        const char *want; /* method, path, body */
        bool is_repeatable;
    } cases[] = {
        {{.kind = FA_OP_SUBMIT, .submit = &plain}, "POST /tasks {\"type\":\"t\"}", false},
        {{.kind = FA_OP_SUBMIT, .submit = &keyed},
         "POST /tasks {\"type\":\"t\",\"idempotencyKey\":\"k\"}",
         true},
        {{.kind = FA_OP_CLAIM_NEXT, .claim = &claim},
         "POST /claims {\"workerId\":\"w\",\"limit\":3,\"leaseSeconds\":\"1500ms\"}",
         false},
        {ACT(CLAIM, .lease_ms = 60000),
         "POST /tasks/" ID ":claim {\"workerId\":\"w\",\"leaseSeconds\":\"1m\"}", true},
        {ACT(START), "POST /tasks/" ID ":start {\"workerId\":\"w\"}", true},
        {{.kind = FA_OP_START, .id = ID}, "POST /tasks/" ID ":start {}", false},
        {ACT(COMPLETE, .output = "[1]"),
         "POST /tasks/" ID ":complete {\"workerId\":\"w\",\"output\":[1]}", true},
        {ACT(COMPLETE, .output = "null"),
         "POST /tasks/" ID ":complete {\"workerId\":\"w\",\"output\":null,\"nulls\":[\"output\"]}",
         true},
        {ACT(FAIL, .failure = &failure),
         "POST /tasks/" ID
         ":fail {\"workerId\":\"w\",\"error\":{\"message\":\"no\",\"retryable\":false}}",
         true},
        {ACT(PROGRESS, .report = &report),
         "POST /tasks/" ID ":progress {\"workerId\":\"w\",\"progress\":0}", true},
        {ACT(RELEASE), "POST /tasks/" ID ":release {\"workerId\":\"w\"}", false},
        {ACT(RETRY, .keep_attempts = true),
         "POST /tasks/" ID ":retry {\"workerId\":\"w\",\"resetAttempts\":false}", false},
        {{.kind = FA_OP_CANCEL, .id = ID}, "POST /tasks/" ID ":cancel {}", true},
        {{.kind = FA_OP_CANCEL, .id = ID, .by = {.version = 3}},
         "POST /tasks/" ID ":cancel {}",
         false},
        {{.kind = FA_OP_DELETE, .id = ID, .removal = {.cancel = true, .purge = true}},
         "DELETE /tasks/" ID "?cancel=true&purge=true ",
         false},
        {{.kind = FA_OP_PURGE, .purge = &purge},
         "POST /tasks:purge {\"status\":[\"failed\"],\"limit\":10000}",
         false},
        {{.kind = FA_OP_RESOURCE_SET, .resource = {"a/b c", -1}},
         "PUT /resources/a%2Fb%20c {\"maxConcurrency\":null}",
         true},
        {{.kind = FA_OP_RESOURCE_LIST}, "GET /resources ", true},
        {{.kind = FA_OP_TEAM_PUT, .team = &team}, "POST /teams {\"name\":\"x\"}", false},
        {{.kind = FA_OP_TEAM_PUT, .team = &known_team}, "PUT /teams/" ID " {\"name\":\"x\"}", true},
        {{.kind = FA_OP_TEAM_LIST, .name = {.ns = "n"}}, "GET /teams?namespace=n ", true},
        {{.kind = FA_OP_LIST, .query = &query},
         "GET /tasks?namespace=%2A&status=pending%2Cfailed&createdBy=a%20b%26c&limit=5 ",
         true},
        {{.kind = FA_OP_FOLLOW, .page = {.limit = 7, .cursor = "1.2.3"}},
         "GET /log?limit=7&cursor=1.2.3 ",
         true},
    };

    (void)state;
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct fa_call call;
        char got[512];

        fa_encode_one(&cases[i].op, &call);
        snprintf(got, sizeof(got), "%s %s %s", call.method, call.path.ptr + strlen(FA_CLIENT_API),
                 call.body.len > 0 ? call.body.ptr : "");
        check_str(cases[i].want, got, cases[i].want);
        check_int(cases[i].want, call.is_repeatable, cases[i].is_repeatable);
        check_int(cases[i].want, call.if_match, cases[i].op.by.version);
        fa_call_finish(&call);
    }
}

static void test_ask__groups(void **state)
{
    const struct fa_op submit = {.kind = FA_OP_SUBMIT, .submit = &plain};
    const struct fa_op whole = {.kind = FA_OP_SUBMIT, .submit = &plain, .wants_task = true};
    const struct fa_op done = ACT(COMPLETE), failed = ACT(FAIL, .failure = &failure);
    const struct fa_op others = {.kind = FA_OP_COMPLETE, .id = ID, .by = {.worker_id = "v"}};
    const struct fa_op versioned = {.kind = FA_OP_COMPLETE, .id = ID, .by = {.version = 1}};
    const struct fa_op beat = ACT(HEARTBEAT), longer = ACT(HEARTBEAT, .lease_ms = 5);
    const struct fa_op get = {.kind = FA_OP_GET, .id = ID}, list = {.kind = FA_OP_LIST};
    const struct fa_op rm = {.kind = FA_OP_DELETE, .id = ID};
    const struct fa_op rm_other = {.kind = FA_OP_DELETE, .id = OTHER};
    const struct {
        const char *name;
        struct fa_op ops[4];
        enum fa_encode_how how;
        size_t count;
    } cases[] = {
        {"submits", {submit, submit, submit, done}, FA_ENCODE_MANY, 3},
        {"whole tasks, one by one", {whole, whole, submit, submit}, FA_ENCODE_ONE, 1},
        {"ends and beats of any worker", {done, failed, beat, others}, FA_ENCODE_MANY, 4},
        {"acts and submits apart", {done, submit, submit, done}, FA_ENCODE_MANY, 1},
        {"a version is asked alone", {versioned, done, done, done}, FA_ENCODE_ONE, 1},
        {"a removal is no act", {beat, longer, rm, rm}, FA_ENCODE_MANY, 2},
        {"reads at once", {get, list, get, submit}, FA_ENCODE_PARALLEL, 3},
        {"a read sees the change before it", {rm, get, get, get}, FA_ENCODE_ONE, 1},
        {"removals of different tasks", {rm, rm_other, rm, rm}, FA_ENCODE_PARALLEL, 2},
    };

    (void)state;
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        size_t count = 0;

        check_int(cases[i].name, fa_encode_group(cases[i].ops, 4, &count), cases[i].how);
        check_int(cases[i].name, (int64_t)count, (int64_t)cases[i].count);
    }
}

static void test_ask__many_in_one(void **state)
{
    struct fa_op ops[] = {
        {.kind = FA_OP_COMPLETE, .id = ID, .by = {.worker_id = "w", .fence = 7}, .output = "1"},
        {.kind = FA_OP_FAIL, .id = OTHER, .by = {.worker_id = "w"}, .failure = &failure},
    };
    struct fa_op submits[] = {{.kind = FA_OP_SUBMIT, .submit = &keyed},
                              {.kind = FA_OP_SUBMIT, .submit = &plain}};
    struct fa_call call;

    (void)state;
    check_int("both", (int64_t)fa_encode_many(ops, 2, &call), 2);
    check_str("where", call.path.ptr, FA_CLIENT_API "/outcomes");
    check_str("body", call.body.ptr,
              "{\"workerId\":\"w\",\"items\":[{\"id\":\"" ID
              "\",\"fence\":7,\"status\":\"completed\",\"output\":1},{\"id\":\"" OTHER
              "\",\"status\":\"failed\",\"error\":{\"message\":\"no\",\"retryable\":false}}]}");
    check_true("a worker may tell it twice", call.is_repeatable);
    fa_call_finish(&call);
    ops[1].by.worker_id = "v";
    check_int("both", (int64_t)fa_encode_many(ops, 2, &call), 2);
    check_str("of two workers", call.path.ptr, FA_CLIENT_API "/acts");
    check_str("body", call.body.ptr,
              "{\"items\":[{\"id\":\"" ID "\",\"act\":\"complete\",\"body\":{\"workerId\":"
              "\"w\",\"fence\":7,\"output\":1}},{\"id\":\"" OTHER
              "\",\"act\":\"fail\",\"body\":{\"workerId\":\"v\",\"error\":{\"message\":\"no\","
              "\"retryable\":false}}}]}");
    fa_call_finish(&call);
    check_int("both", (int64_t)fa_encode_many(submits, 2, &call), 2);
    check_str("where", call.path.ptr, FA_CLIENT_API "/tasks:batch");
    check_true("one without a key", !call.is_repeatable);
    fa_call_finish(&call);
    check_int("one", (int64_t)fa_encode_many(submits, 1, &call), 1);
    check_true("all with a key", call.is_repeatable);
    fa_call_finish(&call);
}

/* A body stays below its limit: the rest goes into the next. */
static void test_ask__large_bodies_are_cut(void **state)
{
    enum { COUNT = 5, SIZE = 10 * 1024 * 1024 };
    char *input = malloc(SIZE + 3);
    struct faina_submit large = {.type = "t", .input = input};
    struct fa_op ops[COUNT];
    struct fa_call call;

    (void)state;
    memset(input, 'a', SIZE + 2);
    input[0] = input[SIZE + 1] = '"';
    input[SIZE + 2] = '\0';
    for (size_t i = 0; i < COUNT; i++)
        ops[i] = (struct fa_op){.kind = FA_OP_SUBMIT, .submit = &large};
    check_int("as many as fit", (int64_t)fa_encode_many(ops, COUNT, &call), 4);
    fa_call_finish(&call);
    check_int("the rest", (int64_t)fa_encode_many(ops + 4, 1, &call), 1);
    fa_call_finish(&call);
    free(input);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ask__requests),
        cmocka_unit_test(test_ask__groups),
        cmocka_unit_test(test_ask__many_in_one),
        cmocka_unit_test(test_ask__large_bodies_are_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
