/* test_event_loop.c - the invariants of event_loop.h. */
#include "worker/event_loop.h"

#include "base/clock.h"
#include "support/support.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

struct turn {
    struct fa_event_loop *loop;
    struct fa_message post;
    struct fa_timer timers[200];
    struct fa_watch watches[2];
    int64_t last_us;
    int fired, seen, pipes[2][2];
    atomic_bool is_done;
};

static void open_turn(struct turn *turn, void (*run)(struct fa_message *post))
{
    *turn = (struct turn){.post.run = run};
    assert_int_equal(fa_event_loop_create(&turn->loop, NULL), FAINA_OK);
}

#define TURN_OF(member, pointer)                                                                   \
    ((struct turn *)(void *)((char *)(pointer)-offsetof(struct turn, member)))

static void wait_for(struct turn *turn)
{
    while (!atomic_load(&turn->is_done))
        usleep(500);
    fa_event_loop_destroy(turn->loop);
}

/* Timers ----------------------------------------------------------------------------------- */

static struct turn *timer_turn; /* one test at a time */

static void fire(struct fa_timer *timer)
{
    assert_true(timer->at_us >= timer_turn->last_us);
    assert_true(fa_clock_mono_us() >= timer->at_us);
    assert_int_equal(timer->heap_index, 0);
    timer_turn->last_us = timer->at_us;
    if (++timer_turn->fired == 100)
        atomic_store(&timer_turn->is_done, true);
}

static void set_timers(struct fa_message *post)
{
    struct turn *turn = TURN_OF(post, post);
    int64_t now_us = fa_clock_mono_us();

    for (int i = 0; i < 200; i++) {
        turn->timers[i].fire = fire;
        fa_timer_set(turn->loop, &turn->timers[i], now_us + (i * 7919 % 200) * 100);
    }
    for (int i = 0; i < 200; i += 2) /* moved, then every second one is cleared */
        fa_timer_set(turn->loop, &turn->timers[i], now_us + (i * 31 % 200) * 100);
    for (int i = 1; i < 200; i += 2)
        fa_timer_clear(turn->loop, &turn->timers[i]);
    fa_timer_clear(turn->loop, &turn->timers[1]); /* again: no effect */
}

static void test_loop__timers_fire_in_order(void **state)
{
    struct turn turn;

    (void)state;
    timer_turn = &turn;
    open_turn(&turn, set_timers);
    fa_event_loop_send(turn.loop, &turn.post);
    wait_for(&turn);
    assert_int_equal(turn.fired, 100);
}

/* Watches ---------------------------------------------------------------------------------- */

/* Both are readable at once; the first callback removes the other watch (L2). */
static void take_other(struct fa_watch *watch)
{
    struct turn *turn = timer_turn;
    char byte;

    assert_int_equal(read(watch->fd, &byte, 1), 1);
    turn->seen++;
    fa_event_loop_unwatch(turn->loop, &turn->watches[0]);
    fa_event_loop_unwatch(turn->loop, &turn->watches[1]);
}

static void done(struct fa_timer *timer)
{
    (void)timer;
    atomic_store(&timer_turn->is_done, true);
}

static void watch_pipes(struct fa_message *post)
{
    struct turn *turn = TURN_OF(post, post);

    for (int i = 0; i < 2; i++) {
        turn->watches[i] = (struct fa_watch){.fd = turn->pipes[i][0], .on_event = take_other};
        assert_true(fa_event_loop_watch(turn->loop, &turn->watches[i]));
    }
    turn->timers[0].fire = done;
    fa_timer_set(turn->loop, &turn->timers[0], fa_clock_mono_us() + 50000);
}

static void test_loop__an_unwatched_one_is_not_called(void **state)
{
    struct turn turn;

    (void)state;
    timer_turn = &turn;
    open_turn(&turn, watch_pipes);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pipe(turn.pipes[i]), 0);
        assert_int_equal(write(turn.pipes[i][1], "x", 1), 1);
    }
    fa_event_loop_send(turn.loop, &turn.post);
    wait_for(&turn);
    assert_int_equal(turn.seen, 1);
    for (int i = 0; i < 2; i++) {
        close(turn.pipes[i][0]);
        close(turn.pipes[i][1]);
    }
}

/* Messages --------------------------------------------------------------------------------- */

enum { POSTERS = 4, POSTS = 2000 };

struct note {
    struct fa_message post;
    int poster, number;
};

static struct {
    int next[POSTERS];
    atomic_int count;
} posts;

static void take_note(struct fa_message *post)
{
    struct note *note = (struct note *)post;

    assert_int_equal(note->number, posts.next[note->poster]);
    posts.next[note->poster]++;
    atomic_fetch_add(&posts.count, 1);
    free(note);
}

struct poster {
    struct fa_event_loop *loop;
    int number;
};

static void *post_many(void *arg)
{
    struct poster *poster = arg;

    for (int i = 0; i < POSTS; i++) {
        struct note *note = fa_alloc_zero(1, sizeof(*note));

        *note = (struct note){.post.run = take_note, .poster = poster->number, .number = i};
        fa_event_loop_send(poster->loop, &note->post);
    }
    return NULL;
}

static void test_loop__each_post_once_and_in_order(void **state)
{
    struct poster posters[POSTERS];
    pthread_t threads[POSTERS];
    struct fa_event_loop *loop;

    (void)state;
    assert_int_equal(fa_event_loop_create(&loop, NULL), FAINA_OK);
    for (int i = 0; i < POSTERS; i++) {
        posters[i] = (struct poster){loop, i};
        assert_int_equal(pthread_create(&threads[i], NULL, post_many, &posters[i]), 0);
    }
    for (int i = 0; i < POSTERS; i++)
        pthread_join(threads[i], NULL);
    fa_event_loop_destroy(loop); /* runs the messages sent before */
    assert_int_equal(atomic_load(&posts.count), POSTERS * POSTS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loop__timers_fire_in_order),
        cmocka_unit_test(test_loop__an_unwatched_one_is_not_called),
        cmocka_unit_test(test_loop__each_post_once_and_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
