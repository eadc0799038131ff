/*
 * test_outage.c - the pool while its engine can't be reached, or its responses are lost.
 *
 * A service that passes all calls to the test's engine, except while an outage is set.
 */
#include "worker/world.h"

#include "base/clock.h"

#include <unistd.h>

enum mode {
    FINE,
    DOWN,           /* calls fail without an effect */
    RESPONSES_LOST, /* calls take effect, and their responses are lost */
};

struct outage {
    struct fa_service service; /* first */
    struct fa_service *inner;
    atomic_int mode;
    atomic_int refused;
    enum faina_code code; /* of refusals */
};

static void refuse(struct outage *outage, struct fa_op *ops, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ops[i].code = fa_error_set(&ops[i].error, outage->code, "the engine is out");
    atomic_fetch_add(&outage->refused, 1);
}

static void run(struct fa_service *service, struct fa_op *ops, size_t count)
{
    struct outage *outage = (struct outage *)service;
    int mode = atomic_load(&outage->mode);

    if (mode != DOWN)
        outage->inner->ops->run(outage->inner, ops, count);
    if (mode != FINE)
        refuse(outage, ops, count);
}

static void wait_end(struct fa_service *service, const char *id, int64_t timeout_ms)
{
    struct fa_service *inner = ((struct outage *)service)->inner;

    inner->ops->wait_end(inner, id, timeout_ms);
}

/* A wait may begin before the outage and end during it. */
static void claim_wait(struct fa_service *service, struct fa_op *op, int64_t wait_ms)
{
    struct outage *outage = (struct outage *)service;

    if (atomic_load(&outage->mode) == FINE)
        outage->inner->ops->claim_wait(outage->inner, op, wait_ms);
    else
        run(service, op, 1);
    if (op->code == FAINA_OK && atomic_load(&outage->mode) != FINE)
        refuse(outage, op, 1);
}

static void wake(struct fa_service *service)
{
    struct fa_service *inner = ((struct outage *)service)->inner;

    inner->ops->wake(inner);
}

static const struct fa_service_ops outage_ops = {
    .name = "outage",
    .run = run,
    .wait_end = wait_end,
    .claim_wait = claim_wait,
    .wake = wake,
};

/* The world's runtime uses the service with the outage, the test itself doesn't. */
static void start(struct world *w, struct outage *outage)
{
    struct fa_service *inner = w->t->svc;

    *outage = (struct outage){.inner = inner, .code = FAINA_UNAVAILABLE};
    outage->service.ops = &outage_ops;
    outage->service.input_size_max = inner->input_size_max;
    w->t->svc = &outage->service;
    world_start(w);
    w->t->svc = inner;
}

struct gate {
    atomic_int entered, left;
    atomic_bool may_report, is_open;
};

static enum faina_outcome wait_at_gate(struct faina_context *context, void *user)
{
    struct gate *gate = user;

    atomic_fetch_add(&gate->entered, 1);
    while (!atomic_load(&gate->is_open) && !faina_context_cancelled(context))
        usleep(1000);
    atomic_fetch_add(&gate->left, 1);
    faina_context_output(context, "1", NULL);
    return FAINA_OUTCOME_COMPLETE;
}

static enum faina_outcome report_at_gate(struct faina_context *context, void *user)
{
    struct gate *gate = user;

    atomic_fetch_add(&gate->entered, 1);
    while (!atomic_load(&gate->may_report) && !faina_context_cancelled(context))
        usleep(1000);
    faina_context_metadata(context, "{\"a\":1}", NULL);
    faina_context_progress(context, 50, "early");
    usleep(10000);
    faina_context_progress(context, 60, "late");
    return wait_at_gate(context, user);
}

static bool has_entered(struct fa_t *t, void *arg)
{
    (void)t;
    return atomic_load(&((struct gate *)arg)->entered) > 0;
}

static bool has_left(struct fa_t *t, void *arg)
{
    (void)t;
    return atomic_load(&((struct gate *)arg)->left) > 0;
}

static bool was_refused(struct fa_t *t, void *arg)
{
    (void)t;
    return atomic_load(&((struct outage *)arg)->refused) > 2;
}

static void test_outage__a_lease_that_can_not_be_renewed_is_given_up(struct fa_t *t)
{
    struct gate gate = {0};
    struct outage outage;
    int64_t down_us, gone_us;
    struct world w;
    const char *id;

    world_open(&w, t);
    w.config.lease_ms = 4000;
    start(&w, &outage);
    world_native(&w, "gate", wait_at_gate, &gate);
    id = fa_t_submit(t, .type = "gate", .retry.base_ms = 1, .retry.max_ms = 2);
    fa_t_wait_until(has_entered, t, &gate, "the handler");
    fa_t_wait_status(t, id, FAINA_RUNNING);
    down_us = fa_clock_mono_us();
    atomic_store(&outage.mode, DOWN);
    fa_t_wait_until(has_left, t, &gate, "the handler to stop");
    gone_us = fa_clock_mono_us();
    /* The pool stopped the attempt before the lease expired in the engine. */
    CHECK_TRUE(gone_us - down_us < 4000000);
    CHECK_NOW(t, id, FAINA_RUNNING);
    atomic_store(&gate.is_open, true);
    atomic_store(&outage.mode, FINE);
    CHECK_STR(world_await(&w, id, FAINA_COMPLETED)->output, "1"); /* the next attempt */
    CHECK_INT(fa_t_task(t, id)->attempts, 2);
    CHECK_TRUE(world_event(&w, id, "late_result") == NULL);
    CHECK_TRUE(world_has_logged(&w, "can't renew leases: the engine is out"));
    world_close(&w);
}

/* Reports and outcomes of the outage are sent afterwards. A lost database returns STORE_CLOSED. */
static void send_after_outage(struct fa_t *t, enum faina_code code)
{
    struct gate gate = {0};
    struct faina_task *task;
    struct outage outage;
    struct world w;
    const char *id;

    world_open(&w, t);
    start(&w, &outage);
    outage.code = code;
    world_native(&w, "gate", report_at_gate, &gate);
    id = fa_t_submit(t, .type = "gate", .max_attempts = 1);
    fa_t_wait_until(has_entered, t, &gate, "the handler");
    fa_t_wait_status(t, id, FAINA_RUNNING);
    atomic_store(&outage.mode, DOWN);
    atomic_store(&gate.may_report, true);
    fa_t_wait_until(was_refused, t, &outage, "the sender to try");
    CHECK_INT(atomic_load(&gate.left), 0);
    atomic_store(&gate.is_open, true);
    fa_t_wait_until(has_left, t, &gate, "the handler");
    atomic_store(&outage.mode, FINE);
    task = world_await(&w, id, FAINA_COMPLETED);
    CHECK_STR(task->output, "1");
    CHECK_STR(task->metadata, "{\"a\":1}");
    world_close(&w);
}

static void test_outage__an_outcome_is_sent_when_it_is_over(struct fa_t *t)
{
    send_after_outage(t, FAINA_UNAVAILABLE);
}

static void test_outage__a_closed_store_may_open_again(struct fa_t *t)
{
    send_after_outage(t, FAINA_STORE_CLOSED);
}

static void test_outage__answers_that_are_lost(struct fa_t *t)
{
    struct gate gate = {.is_open = true};
    struct outage outage;
    const char *ids[20];
    struct world w;

    world_open(&w, t);
    w.config.lease_ms = 1000;
    start(&w, &outage);
    world_native(&w, "gate", wait_at_gate, &gate);
    for (int i = 0; i < 20; i++) {
        ids[i] = fa_t_submit(t, .type = "gate", .retry.base_ms = 1, .retry.max_ms = 2);
        atomic_store(&outage.mode, i % 2 ? RESPONSES_LOST : FINE);
        usleep(3000);
    }
    atomic_store(&outage.mode, FINE);
    for (int i = 0; i < 20; i++) {
        const char *story;

        world_await(&w, ids[i], FAINA_COMPLETED);
        story = fa_t_story(t, ids[i]);
        /* Completed once, and the late result is in the events. */
        CHECK_TRUE(strstr(strstr(story, "completed") + 1, "completed") == NULL);
    }
    world_close(&w);
}

static void test_outage__stopping_does_not_hang(struct fa_t *t)
{
    struct gate gate = {0};
    struct outage outage;
    struct world w;
    const char *id;

    world_open(&w, t);
    start(&w, &outage);
    world_native(&w, "gate", wait_at_gate, &gate);
    id = fa_t_submit(t, .type = "gate");
    fa_t_wait_until(has_entered, t, &gate, "the handler");
    fa_t_wait_status(t, id, FAINA_RUNNING);
    atomic_store(&outage.mode, DOWN);
    world_stop(&w, 10);
    CHECK_NOW(t, id, FAINA_RUNNING); /* its lease will end */
    world_close(&w);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE_LOCAL(test_outage__a_lease_that_can_not_be_renewed_is_given_up),
        FA_T_CASE_LOCAL(test_outage__an_outcome_is_sent_when_it_is_over),
        FA_T_CASE_LOCAL(test_outage__a_closed_store_may_open_again),
        FA_T_CASE_LOCAL(test_outage__answers_that_are_lost),
        FA_T_CASE_LOCAL(test_outage__stopping_does_not_hang),
    };

    return fa_t_main(argc, argv, "outage", cases, FA_COUNT(cases));
}
