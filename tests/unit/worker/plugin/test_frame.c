/* test_frame.c - frames in any pieces, and notes of any bytes. */
#include "worker/plugin/frame.h"

#include "json/json.h"
#include "worker/attempt_note.h"
#include "support/support.h"

#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

static void test_frame__in_any_pieces(void **state)
{
    struct fa_bytes payload;
    struct fa_frame frame;
    struct fa_buf buf;
    size_t used;

    (void)state;
    fa_buf_init(&buf, 1024);
    fa_frame_add(&buf, FA_FRAME_MESSAGE, 7, "hello", 5);
    fa_frame_add(&buf, FA_FRAME_STOP, 8, "", 0);
    for (size_t len = 0; len < sizeof(frame) + 5; len++)
        assert_int_equal(fa_frame_read((struct fa_bytes){buf.ptr, len}, &frame, &payload, &used),
                         0);
    assert_int_equal(fa_frame_read((struct fa_bytes){buf.ptr, buf.len}, &frame, &payload, &used),
                     1);
    assert_int_equal(used, sizeof(frame) + 5);
    assert_int_equal(frame.attempt, 7);
    assert_memory_equal(payload.ptr, "hello", 5);
    assert_int_equal(
        fa_frame_read((struct fa_bytes){buf.ptr + used, buf.len - used}, &frame, &payload, &used),
        1);
    assert_int_equal(frame.kind, FA_FRAME_STOP);
    assert_int_equal(payload.len, 0);
    fa_buf_finish(&buf);
}

static void test_frame__nonsense(void **state)
{
    struct fa_frame bad[] = {{.kind = 0}, {.kind = 99}, {.kind = FA_FRAME_MESSAGE, .size = ~0u}};
    struct fa_bytes payload;
    struct fa_frame frame;
    size_t used;

    (void)state;
    for (size_t i = 0; i < FA_COUNT(bad); i++)
        assert_int_equal(fa_frame_read((struct fa_bytes){(const char *)&bad[i], sizeof(bad[i])},
                                       &frame, &payload, &used),
                         -1);
}

static void test_frame__notes_are_always_json(void **state)
{
    (void)state;
    for (int seed = 0; seed < 300; seed++) {
        struct fa_arena arena = {0};
        char log[1000];
        struct fa_note note = {.log = log, .log_len = (size_t)(seed * 13 % 1000)};
        const char *text;

        srandom((unsigned)seed);
        for (size_t i = 0; i < sizeof(log); i++)
            log[i] = (char)random();
        text = fa_note_json(&arena, &note);
        assert_non_null(text);
        assert_int_equal(fa_json_check(fa_str(text), 10, "note", FAINA_INTERNAL, NULL), FAINA_OK);
        text = fa_note_error(&arena, &note);
        assert_int_equal(fa_json_check(fa_str(text), 10, "note", FAINA_INTERNAL, NULL), FAINA_OK);
        fa_arena_finish(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frame__in_any_pieces),
        cmocka_unit_test(test_frame__nonsense),
        cmocka_unit_test(test_frame__notes_are_always_json),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
