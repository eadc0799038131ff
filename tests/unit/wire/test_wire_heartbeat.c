/*
 * test_wire_heartbeat.c - workers and their heartbeats as JSON.
 */
#include "unit/base/unit.h"

#include "wire/wire.h"

#define ID "0190c4a2-6f1e-7b3d-8a5c-1f2e3d4c5b6a"

static void test_wire_beat__every_field_is_read(void **state)
{
    static const char body[] =
        "{\"id\":\"w\",\"hostname\":\"h\",\"poolSize\":4,\"types\":[\"a\",\"b\"],\"services\":[],"
        "\"version\":\"1\",\"tasks\":[{\"id\":\"" ID "\",\"fence\":7},\"x\",{\"id\":\"y\","
        "\"fence\":null}],\"leaseSeconds\":90}";
    struct fa_arena arena = {0};
    struct fa_wire_heartbeat beat;
    struct faina_error err;

    check_int("code", fa_wire_read_heartbeat(fa_str(body), &arena, &beat, &err), FAINA_OK);
    check_str("id", beat.worker.id, "w");
    check_str("hostname", beat.worker.hostname, "h");
    check_int("poolSize", beat.worker.pool_size, 4);
    check_int("types", (int64_t)beat.worker.type_count, 2);
    check_str("types[1]", beat.worker.types[1], "b");
    check_true("services", beat.worker.services != NULL && beat.worker.service_count == 0);
    check_str("version", beat.worker.version, "1");
    check_int("tasks", (int64_t)beat.held_count, 3);
    check_str("tasks[0]", beat.held[0].id, ID);
    check_int("fence", beat.held[0].fence, 7);
    check_str("tasks[1]", beat.held[1].id, "x");
    check_int("no fence", beat.held[1].fence, 0);
    check_str("tasks[2]", beat.held[2].id, "y");
    check_int("lease", beat.lease_ms, 90000);
    check_true("a list", !beat.renews_all);

    check_int("nothing", fa_wire_read_heartbeat(fa_str("{\"types\":null}"), &arena, &beat, &err),
              FAINA_OK);
    check_true("is not told", !beat.worker.types && !beat.worker.services && !beat.held);
    check_true("no list", beat.renews_all);
    check_int("none", fa_wire_read_heartbeat(fa_str("{\"tasks\":[]}"), &arena, &beat, &err),
              FAINA_OK);
    check_true("an empty list", !beat.renews_all && beat.held_count == 0);
    fa_arena_finish(&arena);
}

static void test_wire_beat__refusals_name_the_field(void **state)
{
    static const struct {
        const char *body, *field, *message;
    } cases[] = {
        {"[]", "", "a worker must be a JSON object such as {\"poolSize\":4}"},
        {"{\"hostname\":1}", "hostname", "hostname must be a string"},
        {"{\"poolSize\":-1}", "poolSize", "poolSize must be a whole number between 0 and 100000"},
        {"{\"poolSize\":100001}", "poolSize",
         "poolSize must be a whole number between 0 and 100000"},
        {"{\"types\":\"a\"}", "types", "types must be an array of strings"},
        {"{\"services\":[1]}", "services", "services must be an array of strings"},
        {"{\"tasks\":{}}", "tasks", "tasks must be an array of {\"id\":…,\"fence\":…}"},
        {"{\"tasks\":[{\"fence\":1}]}", "tasks",
         "tasks must be an array of {\"id\":…,\"fence\":…}"},
        {"{\"tasks\":[{\"id\":\"x\",\"fence\":\"1\"}]}", "tasks",
         "tasks must be an array of {\"id\":…,\"fence\":…}"},
        {"{\"tasks\":[{\"id\":\"x\",\"more\":1}]}", "tasks",
         "tasks must be an array of {\"id\":…,\"fence\":…}"},
        {"{\"leaseSeconds\":[]}", "leaseSeconds",
         "leaseSeconds must be a duration such as \"90s\", or a number of seconds"},
        {"{\"held\":3}", "held", "held is set by the engine and can't be given"},
        {"{\"isLeader\":true}", "isLeader", "isLeader is set by the engine and can't be given"},
        {"{\"poolsize\":3}", "poolsize", "unknown field \"poolsize\"; did you mean \"poolSize\"?"},
        {"{\"colour\":3}", "colour", "unknown field \"colour\""},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct fa_arena arena = {0};
        struct fa_wire_heartbeat beat;
        struct faina_error err = {0};

        check_int(cases[i].body, fa_wire_read_heartbeat(fa_str(cases[i].body), &arena, &beat, &err),
                  FAINA_INVALID_REQUEST);
        check_str(cases[i].body, err.field, cases[i].field);
        check_str(cases[i].body, err.message, cases[i].message);
        fa_arena_finish(&arena);
    }
}

static void test_wire_beat__is_written(void **state)
{
    static const char *const types[] = {"a"};
    struct faina_worker worker = {
        .id = "w", .types = types, .type_count = 1, .started_us = 1, .held = 3};
    struct faina_lost lost[] = {
        {ID, 1, FAINA_LOSS_LOST}, {"b", 2, FAINA_LOSS_CANCELLED}, {"c", 3, FAINA_LOSS_LOST}};
    struct faina_beat beat = {.lost_count = 3, .items = lost};
    struct fa_json_writer writer;
    struct fa_buf buf;

    fa_buf_init(&buf, 4096);
    fa_json_writer_init(&writer, &buf, 0);
    fa_wire_put_heartbeat(&writer, &worker, &beat);
    check_str("beat", buf.ptr,
              "{\"id\":\"w\",\"hostname\":null,\"startedAt\":\"1970-01-01T00:00:00.000001Z\","
              "\"lastHeartbeat\":null,\"poolSize\":0,\"types\":[\"a\"],\"services\":null,"
              "\"version\":null,\"isLeader\":false,\"leaderUntil\":null,\"held\":3,"
              "\"renewed\":0,\"cancelled\":[\"b\"],\"lost\":[\"" ID "\",\"c\"],"
              "\"losses\":[{\"id\":\"" ID "\",\"fence\":1,\"why\":\"lost\"},"
              "{\"id\":\"b\",\"fence\":2,\"why\":\"cancelled\"},"
              "{\"id\":\"c\",\"fence\":3,\"why\":\"lost\"}]}");
    fa_buf_finish(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wire_beat__every_field_is_read),
        cmocka_unit_test(test_wire_beat__refusals_name_the_field),
        cmocka_unit_test(test_wire_beat__is_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
