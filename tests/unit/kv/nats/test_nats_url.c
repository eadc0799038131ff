/* test_nats_url.c - the parts of a NATS URL, and what is refused. */
#include "support/support.h"

#include "kv/nats/nats_url.h"

#include <setjmp.h>

#include <cmocka.h>

static void test_nats_url__parts(void **state)
{
    struct fa_arena arena = {0};
    struct fa_nats_url url;

    CHECK_INT(fa_nats_url_read("nats://ann:p%40ss@a:1,b?bucket=my-tasks&replicas=3&tls=require"
                               "&creds=%2Fetc%2Fc",
                               &arena, &url, NULL),
              FAINA_OK);
    CHECK_INT(url.server_count, 2);
    CHECK_STR(url.servers[0], "nats://a:1");
    CHECK_STR(url.servers[1], "nats://b:4222");
    CHECK_STR(url.user, "ann");
    CHECK_STR(url.password, "p@ss");
    CHECK_STR(url.bucket, "my-tasks");
    CHECK_INT(url.replicas, 3);
    CHECK_TRUE(url.needs_tls);
    CHECK_STR(url.creds, "/etc/c");
    CHECK_TRUE(strstr(url.location, "p@ss") == NULL && strstr(url.location, "p%40ss") == NULL);
    CHECK_INT(fa_nats_url_read("nats://[::1]:4222/", &arena, &url, NULL), FAINA_OK);
    CHECK_STR(url.servers[0], "nats://[::1]:4222");
    CHECK_STR(url.bucket, "faina");
    CHECK_INT(url.replicas, 0);
    fa_arena_finish(&arena);
}

static void test_nats_url__refused(void **state)
{
    static const char *const bad[] = {
        "nats://",
        "nats://a,,b",
        "nats://:4222",
        "nats://a?bucket=a.b",
        "nats://a?bucket=",
        "nats://a?replicas=0",
        "nats://a?replicas=6",
        "nats://a?tls=no",
        "nats://a?creds=",
        "nats://a?other=secret",
        "nats://a?bucket",
        "nats://:p@a",
        "nats://u:%zz@a",
        "nats://a/b",
    };
    struct fa_arena arena = {0};

    for (size_t i = 0; i < FA_COUNT(bad); i++) {
        struct fa_nats_url url;
        struct faina_error err = {0};

        CHECK(fa_nats_url_read(bad[i], &arena, &url, &err) == FAINA_INVALID_REQUEST,
              "%s was accepted", bad[i]);
        CHECK_STR(err.field, "url");
    }
    fa_arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nats_url__parts),
        cmocka_unit_test(test_nats_url__refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
