/*
 * test_sessions.c - sessions: opened, found by the whole secret only, ended, and bounded.
 */
#include "unit/base/unit.h"

#include "server/sessions.h"

#define NOW INT64_C(1000000000000)
#define LIFE ((int64_t)FA_SESSION_SECONDS * 1000000)

static struct fa_session open_session(struct fa_sessions *sessions, const char *token,
                                      int64_t expires_us, char secret[FA_SESSION_SECRET_SIZE])
{
    struct fa_session session;
    struct faina_error err;

    assert_int_equal(fa_sessions_open(sessions, token, expires_us, NOW, secret, &session, &err),
                     FAINA_OK);
    return session;
}

static void test_sessions__found_by_the_whole_secret(void **state)
{
    struct fa_sessions *sessions = fa_sessions_create();
    char secret[FA_SESSION_SECRET_SIZE], other[FA_SESSION_SECRET_SIZE];
    struct fa_session found, opened = open_session(sessions, "t1", 0, secret);

    (void)state;
    open_session(sessions, "t2", NOW + 5, other);
    assert_true(fa_sessions_find(sessions, secret, NOW, &found));
    assert_string_equal(found.token_id, "t1");
    assert_int_equal(found.number, opened.number);
    assert_int_equal(found.expires_us, NOW + LIFE);
    assert_true(fa_sessions_is_open(sessions, opened.number, NOW + LIFE - 1));
    assert_false(fa_sessions_is_open(sessions, opened.number, NOW + LIFE));
    assert_false(fa_sessions_find(sessions, secret, NOW + LIFE, &found));
    assert_true(fa_sessions_find(sessions, other, NOW + 4, &found));
    assert_false(fa_sessions_find(sessions, other, NOW + 5, &found)); /* its token has expired */
    for (size_t i = 0; i < strlen(secret); i++) {
        char bad[FA_SESSION_SECRET_SIZE + 1];

        memcpy(bad, secret, sizeof(secret));
        bad[i] = bad[i] == '0' ? '1' : '0';
        assert_false(fa_sessions_find(sessions, bad, NOW, &found));
        bad[i] = '\0';
        assert_false(fa_sessions_find(sessions, bad, NOW, &found));
    }
    fa_sessions_end(sessions, "");
    fa_sessions_end(sessions, secret);
    assert_false(fa_sessions_find(sessions, secret, NOW, &found));
    assert_false(fa_sessions_is_open(sessions, opened.number, NOW));
    assert_false(fa_sessions_is_open(sessions, 0, NOW));
    fa_sessions_destroy(sessions);
}

static void test_sessions__the_oldest_make_room(void **state)
{
    struct fa_sessions *sessions = fa_sessions_create();
    static char secrets[FA_SESSIONS_MAX + 1][FA_SESSION_SECRET_SIZE];
    struct fa_session found;
    char token[16];

    (void)state;
    for (size_t i = 0; i <= FA_SESSIONS_TOKEN_MAX; i++)
        open_session(sessions, "busy", 0, secrets[i]);
    assert_false(fa_sessions_find(sessions, secrets[0], NOW, &found));
    assert_true(fa_sessions_find(sessions, secrets[1], NOW, &found));
    for (size_t i = FA_SESSIONS_TOKEN_MAX + 1; i <= FA_SESSIONS_MAX; i++) {
        snprintf(token, sizeof(token), "t%zu", i);
        open_session(sessions, token, 0, secrets[i]);
    }
    assert_true(fa_sessions_find(sessions, secrets[1], NOW, &found));
    open_session(sessions, "last", 0, secrets[0]);
    assert_false(fa_sessions_find(sessions, secrets[1], NOW, &found));
    assert_true(fa_sessions_find(sessions, secrets[2], NOW, &found));
    assert_true(fa_sessions_find(sessions, secrets[0], NOW, &found));
    fa_sessions_destroy(sessions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sessions__found_by_the_whole_secret),
        cmocka_unit_test(test_sessions__the_oldest_make_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
