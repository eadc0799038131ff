/*
 * service.c - what is the same for every engine: the checks (check_op.h) and the waits.
 *
 * An engine gets only requests that passed check_op.h (O4). When some operations of a batch are
 * refused here, the others are still run together, in their order: the engine gets a compact copy
 * of them, so it never has to skip an operation.
 */
#include "service/service.h"

#include "base/clock.h"
#include "base/hash.h"
#include "model/check.h"
#include "model/codes.h"
#include "model/limits.h"
#include "model/states.h"
#include "service/access.h"
#include "service/check_op.h"

#include <assert.h>
#include <stdlib.h>
#include <time.h>

/* A wait reads the task again after this long even without a wake-up: a lost wake-up delays the
 * caller, but never blocks it forever. */
#define WAIT_SLICE_MS 5000

const char *fa_op_name(enum fa_op_kind kind)
{
    static const char *const names[FA_OP_COUNT] = {
#define FA_OP_NAME(name, text, writes) [FA_OP_##name] = (text),
        FA_OP_LIST(FA_OP_NAME)
#undef FA_OP_NAME
    };
    assert(kind < FA_OP_COUNT);
    return names[kind];
}

bool fa_op_writes(enum fa_op_kind kind)
{
    static const bool changes[FA_OP_COUNT] = {
#define FA_OP_WRITES(name, text, writes) [FA_OP_##name] = (writes),
        FA_OP_LIST(FA_OP_WRITES)
#undef FA_OP_WRITES
    };
    assert(kind < FA_OP_COUNT);
    return changes[kind];
}

uint64_t fa_claim_types(const struct faina_claim *claim)
{
    uint64_t types = 0;

    for (size_t i = 0; i < claim->type_count; i++)
        types |= fa_hash_bit(claim->types[i]);
    return claim->type_count > 0 ? types : FA_TYPES_ALL;
}

/* ------------------------------------------------------------------------------------------
 * Closing
 */

/* Running calls are counted so that closing can wait for them. */
static void enter(struct fa_service *service)
{
    atomic_fetch_add(&service->inside, 1);
}

static void leave(struct fa_service *service)
{
    atomic_fetch_sub(&service->inside, 1);
}

void fa_service_shut(struct fa_service *service)
{
    const struct timespec moment = {.tv_nsec = 1000000};

    if (atomic_exchange(&service->is_shut, true))
        return;
    service->ops->shut(service);
    while (atomic_load(&service->inside) > 0)
        nanosleep(&moment, NULL);
}

void fa_service_close(struct fa_service *service)
{
    if (!service)
        return;
    fa_service_shut(service);
    service->ops->close(service);
}

/* ------------------------------------------------------------------------------------------
 * Running
 */

/* Copies the operations whose code is OK to `accepted`, or back. */
static void copy_accepted(struct fa_op *ops, size_t count, struct fa_op *accepted, bool copies_back)
{
    for (size_t i = 0; i < count; i++) {
        if (ops[i].code != FAINA_OK)
            continue;
        if (copies_back)
            fa_op_copy(&ops[i], accepted++);
        else
            fa_op_copy(accepted++, &ops[i]);
    }
}

/* Completes a result: what is the same for every engine. */
static void finish_op(struct fa_op *op)
{
    assert(op->code < FAINA_CODE_COUNT);
    fa_access_finish(op);
    if (op->code != FAINA_OK) {
        op->error.code = op->code;
        if (op->error.message[0] == '\0')
            fa_error_set(&op->error, op->code, "%s", fa_code_sentence(op->code));
    } else if ((op->kind == FA_OP_SUBMIT || op->kind == FA_OP_CRON_RUN) && op->wants_task) {
        op->task->existing = op->existing;
        op->task->input_mismatch = op->input_mismatch;
    } else if (op->kind == FA_OP_CANCEL && op->wants_task) {
        op->task->cancelled_count = op->count;
    }
}

/* At a server the namespace defaults to the token's. */
static const char *default_ns(const struct fa_service *service)
{
    return service->ops->is_remote ? NULL : "default";
}

static void check(const struct fa_service *service, struct fa_op *op)
{
    assert(op->kind < FA_OP_COUNT);
    assert(op->arena);
    fa_error_clear(&op->error);
    op->who = op->grant ? op->grant->name : service->user;
    if (!op->by.reason)
        op->by.reason = service->reason;
    op->code = FAINA_OK;
    if (op->by.reason)
        op->code = fa_check_text(op->by.reason, FA_REASON_SIZE_MAX, "reason", FAINA_INVALID_REQUEST,
                                 &op->error);
    if (op->code == FAINA_OK)
        op->code = fa_access_check(op, &op->error);
    if (op->code == FAINA_OK)
        op->code = fa_op_check(op, service->input_size_max, default_ns(service), &op->error);
}

void fa_service_check(const struct fa_service *service, struct fa_op *ops, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!ops[i].is_checked)
            check(service, &ops[i]);
        ops[i].is_checked = true;
    }
}

/* Checks what was not checked ahead. Returns the number of accepted operations. */
static size_t check_all(const struct fa_service *service, struct fa_op *ops, size_t count)
{
    size_t good = 0;

    assert(service);
    assert(ops || count == 0);
    for (size_t i = 0; i < count; i++) {
        if (!ops[i].is_checked)
            check(service, &ops[i]);
        else if (ops[i].code == FAINA_OK)
            fa_error_clear(&ops[i].error);
        ops[i].is_checked = false;
        good += ops[i].code == FAINA_OK;
    }
    return good;
}

static void finish_all(struct fa_op *ops, size_t count)
{
    for (size_t i = 0; i < count; i++)
        finish_op(&ops[i]);
}

static void run_all(struct fa_service *service, struct fa_op *ops, size_t count)
{
    size_t good = check_all(service, ops, count);
    struct fa_op *accepted;

    if (good == count && count > 0) {
        service->ops->run(service, ops, count);
    } else if (good > 0) {
        accepted = fa_alloc_zero(good, sizeof(*accepted));
        copy_accepted(ops, count, accepted, false);
        service->ops->run(service, accepted, good);
        copy_accepted(ops, count, accepted, true);
        free(accepted);
    }
    finish_all(ops, count);
}

void fa_service_run(struct fa_service *service, struct fa_op *ops, size_t count)
{
    enter(service);
    run_all(service, ops, count);
    leave(service);
}

static void finish_post(void *ctx)
{
    struct fa_service_post *post = ctx;

    if (post->accepted != NULL)
        copy_accepted(post->ops, post->count, post->accepted, true);
    finish_all(post->ops, post->count);
    post->done(post);
}

/* Operations in the engine's queue aren't counted as running calls: its `shut` waits for them. */
enum faina_code fa_service_post(struct fa_service *service, struct fa_service_post *post)
{
    struct fa_op *ops = post->ops;
    enum faina_code code = FAINA_OK;
    size_t good;

    enter(service);
    good = check_all(service, ops, post->count);
    post->accepted = NULL;
    if (good > 0 && good < post->count) {
        ops = post->accepted = fa_arena_zero(ops[0].arena, good, sizeof(*ops));
        copy_accepted(post->ops, post->count, ops, false);
    }
    if (good > 0 && service->ops->post != NULL) {
        code = service->ops->post(service, ops, good, finish_post, post);
    } else {
        if (good > 0)
            service->ops->run(service, ops, good);
        finish_post(post);
    }
    leave(service);
    return code;
}

static enum faina_code run_one(struct fa_service *service, struct fa_op *op,
                               struct faina_error *err)
{
    run_all(service, op, 1);
    if (err && op->code != FAINA_OK)
        *err = op->error;
    return op->code;
}

enum faina_code fa_service_run_one(struct fa_service *service, struct fa_op *op,
                                   struct faina_error *err)
{
    enum faina_code code;

    enter(service);
    code = run_one(service, op, err);
    leave(service);
    return code;
}

/* What is left of `timeout_ms` since `start_us`; a negative time-out never ends. */
static int64_t time_left_ms(int64_t start_us, int64_t timeout_ms)
{
    int64_t passed_ms = (fa_clock_mono_us() - start_us) / 1000;

    if (timeout_ms < 0)
        return WAIT_SLICE_MS;
    return passed_ms >= timeout_ms ? 0 : timeout_ms - passed_ms;
}

/* The engine may return before the time is over; then it is called again. */
static enum faina_code claim_wait(struct fa_service *service, struct fa_op *op,
                                  struct faina_error *err)
{
    int64_t start_us = fa_clock_mono_us();
    int64_t left_ms = op->claim->wait_ms;

    assert(op->kind == FA_OP_CLAIM_NEXT);
    check(service, op);
    while (op->code == FAINA_OK) {
        service->ops->claim_wait(service, op, left_ms);
        if (op->code != FAINA_OK || op->tasks->count > 0)
            break;
        left_ms = time_left_ms(start_us, op->claim->wait_ms);
        if (left_ms == 0 || (op->give_up && atomic_load(op->give_up)))
            break;
    }
    finish_op(op);
    if (err && op->code != FAINA_OK)
        *err = op->error;
    return op->code;
}

enum faina_code fa_service_claim_wait(struct fa_service *service, struct fa_op *op,
                                      struct faina_error *err)
{
    enum faina_code code;

    enter(service);
    op->is_poll = false;
    code = op->claim->wait_ms > 0 ? claim_wait(service, op, err) : run_one(service, op, err);
    leave(service);
    return code;
}

void fa_service_wake(struct fa_service *service)
{
    enter(service);
    if (service->ops->wake)
        service->ops->wake(service);
    leave(service);
}

/* Reads the task into a scratch arena: a wait may read it thousands of times, and the caller's
 * arena frees nothing before its end. */
static enum faina_code probe_ended(struct fa_service *service, const struct fa_op *op,
                                   bool *is_ended, struct faina_error *err)
{
    struct fa_arena scratch = {0};
    struct fa_op probe = {.kind = FA_OP_GET, .id = op->id, .grant = op->grant, .arena = &scratch};
    enum faina_code code = run_one(service, &probe, err);

    if (code == FAINA_OK)
        *is_ended = fa_status_is_ended(probe.task->status);
    fa_arena_finish(&scratch);
    return code;
}

static enum faina_code wait_ended(struct fa_service *service, struct fa_op *op, int64_t timeout_ms,
                                  struct faina_error *err)
{
    int64_t start_us = fa_clock_mono_us();

    assert(op->kind == FA_OP_GET);
    for (;;) {
        bool is_ended = false;
        int64_t left_ms;
        enum faina_code code = probe_ended(service, op, &is_ended, err);

        if (code != FAINA_OK)
            return op->code = code;
        left_ms = time_left_ms(start_us, timeout_ms);
        if (is_ended || left_ms == 0) {
            /* The task may have been queued again, or have ended, since the read above. */
            code = run_one(service, op, err);
            if (code != FAINA_OK || fa_status_is_ended(op->task->status))
                return code;
            if (left_ms == 0) {
                op->code = fa_error_set(&op->error, FAINA_TIMEOUT,
                                        "the time ran out; task %.64s is still %s", op->id,
                                        faina_status_name(op->task->status));
                if (err)
                    *err = op->error;
                return op->code;
            }
            continue;
        }
        service->ops->wait_end(service, op->id, left_ms < WAIT_SLICE_MS ? left_ms : WAIT_SLICE_MS);
    }
}

enum faina_code fa_service_wait(struct fa_service *service, struct fa_op *op, int64_t timeout_ms,
                                struct faina_error *err)
{
    enum faina_code code;

    enter(service);
    code = wait_ended(service, op, timeout_ms, err);
    leave(service);
    return code;
}

static enum faina_code refuse_old(struct faina_error *err)
{
    return fa_error_set(err, FAINA_NOT_SUPPORTED,
                        "retention runs in the process that opens the store");
}

enum faina_code fa_service_expired_find(struct fa_service *service,
                                        const struct fa_expired_query *query,
                                        struct fa_arena *arena, struct fa_expired *out,
                                        struct faina_error *err)
{
    enum faina_code code;

    assert(query->limit > 0);
    enter(service);
    code = service->ops->expired_find ? service->ops->expired_find(service, query, arena, out, err)
                                      : refuse_old(err);
    leave(service);
    return code;
}

enum faina_code fa_service_expired_remove(struct fa_service *service, const struct fa_expired *what,
                                          bool events_only, size_t *removed,
                                          struct faina_error *err)
{
    enum faina_code code;

    enter(service);
    code = service->ops->expired_remove
               ? service->ops->expired_remove(service, what, events_only, removed, err)
               : refuse_old(err);
    leave(service);
    return code;
}

static enum faina_code refuse_outbox(struct faina_error *err)
{
    return fa_error_set(err, FAINA_NOT_SUPPORTED,
                        "messages are published where the engine is: give the server FAINA_BROKER");
}

enum faina_code fa_service_outbox_lead(struct fa_service *service, const char *node, bool *leads,
                                       struct faina_error *err)
{
    enum faina_code code;

    enter(service);
    *leads = false;
    code = service->ops->outbox_lead ? service->ops->outbox_lead(service, node, leads, err)
                                     : refuse_outbox(err);
    leave(service);
    return code;
}

enum faina_code fa_service_outbox_read(struct fa_service *service, int64_t after, size_t limit,
                                       struct fa_arena *arena, struct fa_outbox *out,
                                       struct faina_error *err)
{
    enum faina_code code;

    enter(service);
    *out = (struct fa_outbox){0};
    code = service->ops->outbox_read
               ? service->ops->outbox_read(service, after, limit, arena, out, err)
               : refuse_outbox(err);
    leave(service);
    return code;
}

enum faina_code fa_service_outbox_remove(struct fa_service *service, const struct fa_outbox *what,
                                         size_t unroutable, struct faina_error *err)
{
    enum faina_code code;

    enter(service);
    code = service->ops->outbox_remove ? service->ops->outbox_remove(service, what, unroutable, err)
                                       : refuse_outbox(err);
    leave(service);
    return code;
}

enum faina_code fa_service_expired_day_find(struct fa_service *service,
                                            const struct fa_expired_query *query,
                                            struct fa_expired_day *out, struct faina_error *err)
{
    enum faina_code code;

    enter(service);
    *out = (struct fa_expired_day){0};
    code = service->ops->expired_day_find ? service->ops->expired_day_find(service, query, out, err)
                                          : refuse_old(err);
    leave(service);
    return code;
}

enum faina_code fa_service_expired_day_drop(struct fa_service *service,
                                            const struct fa_expired_day *day,
                                            struct faina_error *err)
{
    enum faina_code code;

    enter(service);
    code = service->ops->expired_day_drop ? service->ops->expired_day_drop(service, day, err)
                                          : refuse_old(err);
    leave(service);
    return code;
}

enum faina_code fa_service_info(struct fa_service *service, bool thorough, struct fa_arena *arena,
                                struct fa_service_info *out, struct faina_error *err)
{
    enum faina_code code;

    assert(service && arena && out);
    *out = (struct fa_service_info){0};
    enter(service);
    code = service->ops->info(service, thorough, arena, out, err);
    leave(service);
    return code;
}

bool fa_service_listen(struct fa_service *service, struct fa_listener *listener)
{
    assert(service && listener);
    if (!service->ops->listen)
        return false;
    service->ops->listen(service, listener);
    return true;
}

void fa_service_expect(struct fa_service *service, const struct fa_id *id)
{
    if (service->ops->expect != NULL)
        service->ops->expect(service, id);
}

void fa_service_unlisten(struct fa_service *service, struct fa_listener *listener)
{
    if (service->ops->unlisten)
        service->ops->unlisten(service, listener);
}

bool fa_service_is_heavy(struct fa_service *service, const struct fa_op *ops, size_t count)
{
    bool is_heavy = false;

    for (size_t i = 0; service->ops->is_heavy != NULL && i < count && !is_heavy; i++)
        is_heavy = ops[i].code == FAINA_OK && service->ops->is_heavy(service, &ops[i]);
    return is_heavy;
}

void fa_service_prepare(struct fa_service *service, struct fa_op *ops, size_t count)
{
    for (size_t i = 0; service->ops->prepare != NULL && i < count; i++)
        if (ops[i].code == FAINA_OK)
            service->ops->prepare(service, &ops[i]);
}

void fa_service_clock(struct fa_service *service, struct fa_service_clock *out)
{
    *out = (struct fa_service_clock){0};
    if (service->ops->clock != NULL)
        service->ops->clock(service, out);
}

void fa_service_advertise(struct fa_service *service, const char *address)
{
    if (service->ops->advertise)
        service->ops->advertise(service, address);
}

bool fa_service_is_remote(const struct fa_service *service)
{
    return service->ops->is_remote;
}
