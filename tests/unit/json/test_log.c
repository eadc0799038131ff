/*
 * test_log.c - lines of the log.
 */
#include "unit/base/unit.h"

#include "json/json.h"
#include "json/log.h"

#include <unistd.h>

/* What is written by `FA_LOG` calls between begin and end. */
struct capture {
    int fds[2];
    char text[20000];
};

static void begin(struct capture *capture, struct fa_log *log, const char *level, bool is_json)
{
    assert_int_equal(pipe(capture->fds), 0);
    assert_true(fa_log_init(log, level));
    log->fd = capture->fds[1];
    log->is_json = is_json;
}

static const char *end(struct capture *capture)
{
    ssize_t got;

    close(capture->fds[1]);
    got = read(capture->fds[0], capture->text, sizeof(capture->text) - 1);
    close(capture->fds[0]);
    capture->text[got > 0 ? got : 0] = '\0';
    return capture->text;
}

static void test_log__levels(void **state)
{
    static const char *const levels[] = {"error", "warn", "info", "debug", NULL};
    static const int lines[] = {1, 2, 3, 4, 3};

    for (size_t i = 0; i < FA_COUNT(levels); i++) {
        struct capture capture;
        struct fa_log log;
        int count = 0;

        begin(&capture, &log, levels[i], true);
        for (int level = FA_LOG_ERROR; level <= FA_LOG_DEBUG; level++)
            FA_LOG(&log, (enum fa_log_level)level, "m", {NULL, NULL});
        for (const char *at = end(&capture); (at = strchr(at, '\n')) != NULL; at++)
            count++;
        check_int(levels[i] ? levels[i] : "none", count, lines[i]);
    }
    {
        struct fa_log log;

        check_true("an unknown level", !fa_log_init(&log, "loud"));
    }
}

static void test_log__json(void **state)
{
    struct capture capture;
    struct fa_log log;
    const char *text;

    begin(&capture, &log, NULL, true);
    FA_LOG(&log, FA_LOG_WARN, "a \"b\"\n", {"x", "1\n2"}, {"left out", NULL}, {"y", ""},
           {"z", "1.5", true});
    text = end(&capture);
    check_true("it ends with a line's end", text[strlen(text) - 1] == '\n');
    check_true("it is one line", strchr(text, '\n') == text + strlen(text) - 1);
    check_int("it is JSON", fa_json_check(fa_str(text), 2, "line", FAINA_INTERNAL, NULL), FAINA_OK);
    check_true("message", strstr(text, "\"level\":\"warn\",\"message\":\"a \\\"b\\\"\\n\","
                                       "\"x\":\"1\\n2\",\"y\":\"\",\"z\":1.5}") != NULL);
}

static void test_log__plain(void **state)
{
    struct capture capture;
    struct fa_log log;
    const char *text;

    begin(&capture, &log, NULL, false);
    FA_LOG(&log, FA_LOG_INFO, "hello", {"x", "\x1b[31mred\nforged"}, {"left out", NULL});
    text = end(&capture);
    check_true("escapes and ends of lines do nothing",
               strstr(text, " info  hello  x=?[31mred?forged\n"));
}

static void test_log__what_is_too_long_is_left_out(void **state)
{
    struct capture capture;
    struct fa_log log;
    char *text = fa_alloc(10000);

    memset(text, 'x', 9999);
    text[9999] = '\0';
    begin(&capture, &log, NULL, true);
    FA_LOG(&log, FA_LOG_INFO, "hello", {"x", text});
    FA_LOG(&log, FA_LOG_INFO, "again", {NULL, NULL});
    check_true("only whole lines", strstr(end(&capture), "again") != NULL);
    check_int("only whole lines", fa_json_check(fa_str(capture.text), 2, "l", FAINA_INTERNAL, NULL),
              FAINA_OK);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_log__levels),
        cmocka_unit_test(test_log__json),
        cmocka_unit_test(test_log__plain),
        cmocka_unit_test(test_log__what_is_too_long_is_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
