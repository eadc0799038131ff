/*
 * test_logins.c - failed logins: how many an address may have, what an address is, and what is
 * logged.
 */
#include "unit/base/unit.h"

#include "server/http/logins.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <unistd.h>

#define SECOND INT64_C(1000000)
#define START (1000 * SECOND)

static const struct fa_log quiet = {.fd = -1, .level = FA_LOG_ERROR};

static struct fa_login_address from(const char *text)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    struct sockaddr_in four = {.sin_family = AF_INET};
    struct fa_login_address out;

    if (inet_pton(AF_INET, text, &four.sin_addr) == 1)
        fa_login_address_of((struct sockaddr *)&four, &out);
    else if (inet_pton(AF_INET6, text, &six.sin6_addr) == 1)
        fa_login_address_of((struct sockaddr *)&six, &out);
    else
        fa_login_address_of(NULL, &out);
    return out;
}

static void assert_text(const char *text)
{
    struct fa_login_address address = from(text);
    char out[FA_LOGIN_TEXT_SIZE];

    fa_login_address_text(&address, out);
    assert_string_equal(out, text);
}

static bool may_try(struct fa_logins *logins, const char *text, int64_t now_us)
{
    struct fa_login_address address = from(text);

    return fa_logins_may_try(logins, &address, now_us);
}

static bool login_fails(struct fa_logins *logins, const char *text, int64_t now_us)
{
    struct fa_login_address address = from(text);

    return fa_logins_fail(logins, &address, "GET", "/tasks", "bad", now_us);
}

static void fail_often(struct fa_logins *logins, const char *text, int64_t now_us)
{
    for (int i = 0; i < FA_LOGINS_BURST; i++) {
        assert_true(may_try(logins, text, now_us));
        assert_true(login_fails(logins, text, now_us));
    }
    assert_false(login_fails(logins, text, now_us));
}

static void test_logins__some_at_once_then_one_a_second(void **state)
{
    struct fa_logins *logins = fa_logins_create(&quiet);

    (void)state;
    fail_often(logins, "10.1.2.3", START);
    assert_false(may_try(logins, "10.1.2.3", START + SECOND - 1));
    assert_true(may_try(logins, "10.1.2.3", START + SECOND));
    assert_true(login_fails(logins, "10.1.2.3", START + SECOND));
    assert_false(may_try(logins, "10.1.2.3", START + SECOND));
    /* Never more than at first, however long it was quiet; a clock that goes back adds none. */
    fail_often(logins, "10.1.2.3", START + 1000 * SECOND);
    assert_false(may_try(logins, "10.1.2.3", START));
    assert_true(may_try(logins, "10.1.2.4", START));
    assert_true(fa_logins_failures(logins) == 2 * FA_LOGINS_BURST + 3);
    fa_logins_destroy(logins);
}

static void test_logins__what_an_address_is(void **state)
{
    struct fa_logins *logins = fa_logins_create(&quiet);

    (void)state;
    fail_often(logins, "2001:db8:1:2::1", START);
    assert_false(may_try(logins, "2001:db8:1:2:ffff::9", START)); /* the same network */
    assert_true(may_try(logins, "2001:db8:1:3::1", START));
    fail_often(logins, "10.1.2.3", START);
    assert_false(may_try(logins, "::ffff:10.1.2.3", START)); /* the same, by another socket */
    assert_true(may_try(logins, "10.1.2.4", START));
    fail_often(logins, "::", START); /* not to be mistaken for Unix sockets */
    assert_true(login_fails(logins, "unix", START));
    assert_text("unix");
    assert_text("10.1.2.3");
    assert_text("2001:db8:1:2::1");
    fa_logins_destroy(logins);
}

static void test_logins__this_machine_is_always_compared(void **state)
{
    static const char *const local[] = {"127.0.0.1", "127.9.9.9", "::1", "unix"};
    struct fa_logins *logins = fa_logins_create(&quiet);

    (void)state;
    for (size_t i = 0; i < FA_COUNT(local); i++) {
        fail_often(logins, local[i], START);
        assert_true(may_try(logins, local[i], START));
        assert_false(login_fails(logins, local[i], START));
    }
    fa_logins_destroy(logins);
}

static void test_logins__a_good_token_opens_an_address(void **state)
{
    struct fa_logins *logins = fa_logins_create(&quiet);
    struct fa_login_address proxy = from("10.1.2.3"), other = from("10.1.2.4");

    (void)state;
    fa_logins_pass(logins, &proxy); /* before its first failure: nothing is kept */
    fail_often(logins, "10.1.2.3", START);
    assert_false(may_try(logins, "10.1.2.3", START));
    fa_logins_pass(logins, &other);
    assert_false(may_try(logins, "10.1.2.3", START));
    fa_logins_pass(logins, &proxy);
    assert_true(may_try(logins, "10.1.2.3", START));
    assert_false(login_fails(logins, "10.1.2.3", START)); /* bad ones are refused all the same */
    fa_logins_destroy(logins);
}

/* N3: any number of addresses; the newest are known. */
static void test_logins__memory_is_bounded(void **state)
{
    struct fa_logins *logins = fa_logins_create(&quiet);
    char text[32];

    (void)state;
    for (int i = 0; i < 20 * FA_LOGINS_ADDRESSES; i++) {
        snprintf(text, sizeof(text), "10.%d.%d.%d", i >> 16, i >> 8 & 255, i & 255);
        assert_true(login_fails(logins, text, START + i));
    }
    fail_often(logins, "192.0.2.7", START + SECOND);
    assert_false(may_try(logins, "192.0.2.7", START + SECOND));
    fa_logins_destroy(logins);
}

/* N4: some lines at once, then one a second, with the number of failures that were not logged. */
static void test_logins__the_log_is_bounded(void **state)
{
    char text[16384] = "";
    struct fa_log log = {.level = FA_LOG_INFO, .is_json = true};
    struct fa_logins *logins;
    int fds[2], lines = 0;
    ssize_t len;

    (void)state;
    assert_int_equal(pipe(fds), 0);
    log.fd = fds[1];
    logins = fa_logins_create(&log);
    for (int i = 0; i < 1000; i++)
        login_fails(logins, "10.1.2.3", START);
    login_fails(logins, "10.1.2.3", START + SECOND);
    len = read(fds[0], text, sizeof(text) - 1);
    assert_true(len > 0);
    for (char *at = text; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    assert_int_equal(lines, FA_LOGINS_BURST + 1);
    assert_non_null(strstr(text, "\"address\":\"10.1.2.3\",\"method\":\"GET\",\"route\":\"/tasks\","
                                 "\"reason\":\"bad\"}"));
    assert_non_null(strstr(text, "\"leftOut\":990}"));
    fa_logins_destroy(logins);
    close(fds[0]);
    close(fds[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_logins__some_at_once_then_one_a_second),
        cmocka_unit_test(test_logins__what_an_address_is),
        cmocka_unit_test(test_logins__this_machine_is_always_compared),
        cmocka_unit_test(test_logins__a_good_token_opens_an_address),
        cmocka_unit_test(test_logins__memory_is_bounded),
        cmocka_unit_test(test_logins__the_log_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
