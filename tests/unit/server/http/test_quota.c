/*
 * test_quota.c - what a client has: counts, limits, keys, and entries that go away.
 */
#include "unit/base/unit.h"

#include "server/http/quota.h"

#include <arpa/inet.h>
#include <stdio.h>

static struct fa_quota_key key_of(const char *text)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address = {.any = {0}};

    if (inet_pton(AF_INET, text, &address.v4.sin_addr) == 1)
        address.any.sa_family = AF_INET;
    else if (inet_pton(AF_INET6, text, &address.v6.sin6_addr) == 1)
        address.any.sa_family = AF_INET6;
    else
        address.any.sa_family = AF_UNIX;
    return fa_quota_key_of_address(&address.any);
}

static bool is_same(const char *a, const char *b)
{
    struct fa_quota_key x = key_of(a), y = key_of(b);

    return x.len == y.len && memcmp(x.bytes, y.bytes, x.len) == 0;
}

static void test_quota__clients(void **state)
{
    assert_true(is_same("10.0.0.1", "10.0.0.1"));
    assert_false(is_same("10.0.0.1", "10.0.0.2"));
    assert_true(is_same("::ffff:10.0.0.1", "10.0.0.1"));
    assert_true(is_same("2001:db8:1:2::1", "2001:db8:1:2:ffff::2"));
    assert_false(is_same("2001:db8:1:2::1", "2001:db8:1:3::1"));
    assert_int_equal(key_of("unix").len, 0);
    assert_int_equal(fa_quota_key_of_token(NULL).len, 0);
    assert_int_equal(fa_quota_key_of_token("abc").len, 4);
}

static void test_quota__limits(void **state)
{
    struct fa_quotas *quotas = fa_quotas_create((size_t[]){2, 1});
    struct fa_quota_key one = key_of("10.0.0.1"), two = key_of("10.0.0.2"), none = key_of("unix");
    struct fa_quota *got[4], *wait, *extra;

    assert_true(fa_quota_take(quotas, &one, FA_QUOTA_CONNECTIONS, &got[0]));
    assert_true(fa_quota_take(quotas, &one, FA_QUOTA_CONNECTIONS, &got[1]));
    assert_false(fa_quota_take(quotas, &one, FA_QUOTA_CONNECTIONS, &extra));
    assert_null(extra);
    assert_true(fa_quota_take(quotas, &one, FA_QUOTA_WAITS, &wait));
    assert_false(fa_quota_take(quotas, &one, FA_QUOTA_WAITS, &extra));
    assert_true(fa_quota_take(quotas, &two, FA_QUOTA_CONNECTIONS, &got[2]));
    for (int i = 0; i < 10; i++)
        assert_true(fa_quota_take(quotas, &none, FA_QUOTA_WAITS, &extra) && !extra);
    assert_true(fa_quota_is_of(got[0], &one) && !fa_quota_is_of(got[0], &two));
    fa_quota_release(quotas, got[0], FA_QUOTA_CONNECTIONS);
    assert_true(fa_quota_take(quotas, &one, FA_QUOTA_CONNECTIONS, &got[0]));
    for (int i = 0; i < 3; i++)
        fa_quota_release(quotas, got[i], FA_QUOTA_CONNECTIONS);
    /* The entry outlives the connections while a request waits. */
    assert_true(fa_quota_is_of(wait, &one));
    fa_quota_release(quotas, wait, FA_QUOTA_WAITS);
    fa_quota_release(quotas, NULL, FA_QUOTA_WAITS);
    fa_quotas_destroy(quotas); /* asserts that nothing is left */
}

static void test_quota__many_clients(void **state)
{
    enum { COUNT = 5000 };
    struct fa_quotas *quotas = fa_quotas_create((size_t[]){1, 0});
    struct fa_quota *got[COUNT], *extra;
    char id[32];

    for (int i = 0; i < COUNT; i++) {
        struct fa_quota_key key;

        snprintf(id, sizeof(id), "token-%d", i);
        key = fa_quota_key_of_token(id);
        assert_true(fa_quota_take(quotas, &key, FA_QUOTA_CONNECTIONS, &got[i]));
        assert_false(fa_quota_take(quotas, &key, FA_QUOTA_CONNECTIONS, &extra));
        assert_true(fa_quota_take(quotas, &key, FA_QUOTA_WAITS, &extra) && !extra); /* no limit */
    }
    for (int i = 0; i < COUNT; i++)
        fa_quota_release(quotas, got[i], FA_QUOTA_CONNECTIONS);
    fa_quotas_destroy(quotas);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quota__clients),
        cmocka_unit_test(test_quota__limits),
        cmocka_unit_test(test_quota__many_clients),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
