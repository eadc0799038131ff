/*
 * commands.c - the commands of a job's usual life, each one call to the engine, and those that need
 * none. See beanstalk_inner.h; inspect.c has the others.
 */
#include "server/beanstalk/beanstalk_inner.h"

#include "base/clock.h"

#include <assert.h>
#include <inttypes.h>

#define WAIT_MS_MAX FA_SERVER_WAIT_MS_MAX

/* ------------------------------------------------------------------------------------------
 * Calls of a session
 */

static struct fa_beanstalk_call *begin(struct fa_beanstalk_session *session,
                                       void (*after)(struct fa_beanstalk_call *call))
{
    struct fa_beanstalk_call *call = fa_beanstalk_call_create(session->listener, session);

    call->after = after;
    session->call = call;
    session->state = FA_BEANSTALK_RUNS;
    return call;
}

/* The answer to a command that the engine has refused for a reason other than the job. */
static const char *failure_of(enum faina_code code)
{
    switch ((int)code) {
    case FAINA_OVERLOADED:
    case FAINA_UNAVAILABLE:
        return "OUT_OF_MEMORY\r\n";
    case FAINA_STORE_CLOSED:
        return "DRAINING\r\n";
    case FAINA_PAYLOAD_TOO_LARGE:
        return "JOB_TOO_BIG\r\n";
    default:
        return "INTERNAL_ERROR\r\n";
    }
}

static bool is_of_job(enum faina_code code)
{
    return code != FAINA_OVERLOADED && code != FAINA_UNAVAILABLE && code != FAINA_STORE_CLOSED &&
           code != FAINA_INTERNAL;
}

static void set_waiting(struct fa_beanstalk_session *session, bool waits)
{
    if (session->is_waiting == waits)
        return;
    session->is_waiting = waits;
    for (size_t i = 0; i < session->watched_count; i++)
        session->watched[i]->waiting += waits ? 1 : (size_t)-1;
}

static void run_call(struct fa_beanstalk_call *call, size_t ops)
{
    struct fa_beanstalk_session *session = call->session;
    enum faina_code code = fa_beanstalk_post(call, ops);

    if (code == FAINA_OK)
        return;
    session->call = NULL;
    set_waiting(session, false);
    if (call->job)
        fa_beanstalk_job_resume(call->job);
    fa_beanstalk_call_destroy(call);
    fa_beanstalk_session_end_command(session);
    fa_beanstalk_reply(session, "%s", failure_of(code));
}

/* ------------------------------------------------------------------------------------------
 * Put
 */

static void after_put(struct fa_beanstalk_call *call)
{
    struct fa_beanstalk_session *session = call->session;
    const struct fa_op *op = &call->ops[0];
    struct fa_id id;

    if (!session)
        return;
    fa_beanstalk_session_end_command(session);
    if (op->code == FAINA_OK && fa_id_parse(op->task_id, &id))
        fa_beanstalk_reply(session, "INSERTED %" PRIu64 "\r\n", fa_beanstalk_id(id.key));
    else
        fa_beanstalk_reply(session, "%s", failure_of(op->code));
}

static void put(struct fa_beanstalk_session *session)
{
    const struct fa_beanstalk_command *command = &session->command;
    struct fa_bytes body = {session->body.ptr, (size_t)command->size};
    uint32_t ttr = command->seconds[1] > 0 ? command->seconds[1] : 1;
    struct fa_beanstalk_call *call = begin(session, after_put);
    struct fa_beanstalk_tube *tube = session->used;

    call->submit = (struct faina_submit){
        .has_priority = true,
        .ns = session->listener->ns,
        .type = fa_arena_strdup(&call->arena, tube->type),
        .priority = fa_beanstalk_priority(command->pri),
        .max_attempts = FAINA_UNLIMITED,
        .delay_ms = (int64_t)command->seconds[0] * 1000,
    };
    fa_beanstalk_write(body, ttr, fa_arena_strdup(&call->arena, tube->name), call->submit.type,
                       &call->arena, &call->submit);
    call->ops[0] =
        (struct fa_op){.kind = FA_OP_SUBMIT, .submit = &call->submit, .arena = &call->arena};
    run_call(call, 1);
}

/* ------------------------------------------------------------------------------------------
 * Reserve
 */

static void end_reserve(struct fa_beanstalk_session *session, const char *reply)
{
    set_waiting(session, false);
    fa_beanstalk_session_end_command(session);
    if (reply)
        fa_beanstalk_reply(session, "%s", reply);
    else
        session->is_closing = true;
}

/* Also of RESERVE_JOB. */
static void give_job(struct fa_beanstalk_session *session, const struct faina_task *task)
{
    struct fa_arena scratch = {0};
    struct fa_bytes body;
    struct fa_id id = {0};
    uint32_t ttr;

    set_waiting(session, false);
    session->is_worker = true;
    fa_beanstalk_session_end_command(session);
    body = fa_beanstalk_read(task, &scratch, &ttr);
    if (fa_id_parse(task->id, &id))
        fa_beanstalk_job_add(session, task, ttr);
    fa_beanstalk_reply(session, "RESERVED %" PRIu64 " %zu\r\n", fa_beanstalk_id(id.key), body.len);
    fa_beanstalk_reply_bytes(session, body.ptr, body.len);
    fa_beanstalk_reply_bytes(session, "\r\n", 2);
    fa_arena_finish(&scratch);
}

/* The same task may come back from a claim and from a RESERVE_JOB, which have one worker id: the
 * first answer counts. */
static bool is_reserved(struct fa_beanstalk *listener, const struct faina_task *task)
{
    struct fa_id id;

    return fa_id_parse(task->id, &id) &&
           fa_beanstalk_job_find(listener, NULL, fa_beanstalk_id(id.key)) != NULL;
}

static int64_t soon_of(const struct fa_beanstalk_session *session)
{
    int64_t next = fa_beanstalk_jobs_next(session);

    return next == INT64_MAX ? next : next - FA_BEANSTALK_SOON_US;
}

static void after_reserve(struct fa_beanstalk_call *call)
{
    struct fa_beanstalk_session *session = call->session;
    const struct fa_op *op = &call->ops[0];

    if (!session) {
        if (op->code == FAINA_OK && op->tasks->count > 0 &&
            !is_reserved(call->listener, &op->tasks->items[0]))
            fa_post_release_claimed(call->listener->server->post, op);
        return;
    }
    if (op->code != FAINA_OK)
        end_reserve(session, failure_of(op->code));
    else if (op->tasks->count > 0 && !is_reserved(call->listener, &op->tasks->items[0]))
        give_job(session, &op->tasks->items[0]);
    else if (atomic_load(&call->listener->is_draining))
        end_reserve(session, NULL);
    else if (soon_of(session) <= fa_clock_mono_us())
        end_reserve(session, "DEADLINE_SOON\r\n");
    else if (session->reserve_until_us <= fa_clock_mono_us() || session->is_hung_up)
        end_reserve(session, "TIMED_OUT\r\n");
    else
        fa_beanstalk_reserve_again(session);
}

/* The types of the watched tubes that aren't paused. *wake_us becomes the end of the first pause.
 */
static size_t find_types(const struct fa_beanstalk_session *session, struct fa_arena *arena,
                         const char ***out, int64_t *wake_us)
{
    int64_t now_us = fa_clock_mono_us();
    size_t count = 0;

    *out = fa_arena_zero(arena, session->watched_count, sizeof(**out));
    for (size_t i = 0; i < session->watched_count; i++) {
        struct fa_beanstalk_tube *tube = session->watched[i];

        if (tube->pause_until_us <= now_us)
            (*out)[count++] = fa_arena_strdup(arena, tube->type);
        else if (tube->pause_until_us < *wake_us)
            *wake_us = tube->pause_until_us;
    }
    return count;
}

/* No tube can be reserved from before `wake_us`. */
static void wait_for_pause(struct fa_beanstalk_session *session, int64_t soon_us, int64_t wake_us)
{
    int64_t now_us = fa_clock_mono_us();

    if (atomic_load(&session->listener->is_draining)) {
        end_reserve(session, NULL);
    } else if (soon_us <= now_us) {
        end_reserve(session, "DEADLINE_SOON\r\n");
    } else if (session->reserve_until_us <= now_us || session->is_hung_up) {
        end_reserve(session, "TIMED_OUT\r\n");
    } else {
        session->state = FA_BEANSTALK_WAITS;
        session->wake_us = wake_us;
    }
}

void fa_beanstalk_reserve_again(struct fa_beanstalk_session *session)
{
    struct fa_beanstalk_call *call = begin(session, after_reserve);
    int64_t now_us = fa_clock_mono_us(), wake_us = session->reserve_until_us;
    int64_t soon_us = soon_of(session);
    const char **types;
    size_t count;

    if (soon_us < wake_us)
        wake_us = soon_us;
    count = find_types(session, &call->arena, &types, &wake_us);
    if (count == 0) {
        session->call = NULL;
        fa_beanstalk_call_destroy(call);
        wait_for_pause(session, soon_us, wake_us);
        return;
    }
    call->claim = (struct faina_claim){
        .worker_id = session->listener->worker_id,
        .types = types,
        .type_count = count,
        .namespaces = &session->listener->ns,
        .namespace_count = 1,
        .limit = 1,
        .lease_ms = FA_BEANSTALK_LEASE_MS,
    };
    if (wake_us > now_us && !session->is_hung_up && !atomic_load(&session->listener->is_draining)) {
        call->is_claim_wait = true;
        call->claim.wait_ms =
            wake_us - now_us > WAIT_MS_MAX * 1000LL ? WAIT_MS_MAX : (wake_us - now_us + 999) / 1000;
    }
    call->ops[0] =
        (struct fa_op){.kind = FA_OP_CLAIM_NEXT, .claim = &call->claim, .arena = &call->arena};
    set_waiting(session, call->is_claim_wait);
    run_call(call, 1);
}

static void reserve(struct fa_beanstalk_session *session)
{
    const struct fa_beanstalk_command *command = &session->command;

    session->is_worker = true;
    session->reserve_until_us = command->kind == FA_BEANSTALK_RESERVE
                                    ? INT64_MAX
                                    : fa_clock_mono_us() + (int64_t)command->seconds[0] * 1000000;
    fa_beanstalk_reserve_again(session);
}

static void after_reserve_job(struct fa_beanstalk_call *call)
{
    struct fa_beanstalk_session *session = call->session;
    struct fa_op *op = &call->ops[0];

    bool is_taken = op->code == FAINA_OK && is_reserved(call->listener, &op->tasks->items[0]);

    if (!session && op->code == FAINA_OK && !is_taken)
        fa_post_release_claimed(call->listener->server->post, op);
    if (!session)
        return;
    if (op->code == FAINA_OK && !is_taken) {
        give_job(session, &op->tasks->items[0]);
        return;
    }
    fa_beanstalk_session_end_command(session);
    fa_beanstalk_reply(session, "%s",
                       is_of_job(op->code) || is_taken ? "NOT_FOUND\r\n" : failure_of(op->code));
}

/* In another thread: a job that is ready, delayed or buried. ops[0] becomes as after a claim. */
static void work_reserve_job(struct fa_beanstalk_call *call)
{
    struct fa_service *service = call->listener->server->service;
    struct fa_op *op = &call->ops[0];
    struct faina_task *task;

    fa_beanstalk_find_job(call, op);
    if (op->code != FAINA_OK)
        return;
    task = &op->tasks->items[0];
    if (fa_beanstalk_is_buried(task->status)) {
        *op = (struct fa_op){
            .kind = FA_OP_RETRY, .id = task->id, .is_unaudited = true, .arena = &call->arena};
        if (fa_service_run_one(service, op, NULL) != FAINA_OK)
            return;
    }
    *op = (struct fa_op){.kind = FA_OP_CLAIM,
                         .id = task->id,
                         .by = {.worker_id = call->listener->worker_id},
                         .lease_ms = FA_BEANSTALK_LEASE_MS,
                         .wants_task = true,
                         .arena = &call->arena};
    if (fa_service_run_one(service, op, NULL) != FAINA_OK)
        return;
    task = op->task;
    op->tasks = fa_arena_zero(&call->arena, 1, sizeof(*op->tasks));
    op->tasks->items = task;
    op->tasks->count = 1;
    call->claim.worker_id = call->listener->worker_id;
    op->claim = &call->claim;
}

/* ------------------------------------------------------------------------------------------
 * The end of a reservation: delete, release, bury
 */

static const char *const ends[FA_BEANSTALK_KIND_COUNT] = {
    [FA_BEANSTALK_DELETE] = "DELETED\r\n",
    [FA_BEANSTALK_RELEASE] = "RELEASED\r\n",
    [FA_BEANSTALK_BURY] = "BURIED\r\n",
};

static void after_end(struct fa_beanstalk_call *call)
{
    struct fa_beanstalk_session *session = call->session;
    const struct fa_op *op = &call->posted.ops[call->posted.count - 1];

    if (!session)
        return;
    fa_beanstalk_session_end_command(session);
    if (op->code != FAINA_OK && !is_of_job(op->code)) {
        fa_beanstalk_job_resume(call->job);
        fa_beanstalk_reply(session, "%s", failure_of(op->code));
        return;
    }
    if (call->command.kind == FA_BEANSTALK_DELETE)
        fa_beanstalk_count_delete(call->listener, call->job->type);
    fa_beanstalk_job_remove(call->job);
    fa_beanstalk_reply(session, "%s",
                       op->code == FAINA_OK ? ends[call->command.kind] : "NOT_FOUND\r\n");
}

static size_t add_bury(struct fa_beanstalk_call *call, struct fa_op op)
{
    bool moves = call->command.pri != call->job->pri;

    call->failure = (struct faina_failure){
        .message = "buried by a beanstalkd client", .kind = "buried", .permanent = true};
    call->requeue = (struct fa_requeue){
        .what = "released",
        .has_priority = true,
        .priority = fa_beanstalk_priority(call->command.pri),
    };
    if (moves) { /* a kick makes it ready with the new priority */
        call->ops[0] = op;
        call->ops[0].kind = FA_OP_REQUEUE;
        call->ops[0].requeue = &call->requeue;
        op.by = (struct faina_by){0};
        op.is_unaudited = true;
    }
    op.kind = FA_OP_FAIL;
    op.failure = &call->failure;
    call->ops[moves] = op;
    return 1 + (size_t)moves;
}

static void end_job(struct fa_beanstalk_session *session, struct fa_beanstalk_job *job)
{
    const struct fa_beanstalk_command *command = &session->command;
    struct fa_beanstalk_call *call = begin(session, after_end);
    size_t count = 1;
    struct fa_op op = {.id = fa_arena_strdup(&call->arena, job->task_id),
                       .by = {.worker_id = session->listener->worker_id, .fence = job->fence},
                       .arena = &call->arena};

    call->job = job;
    fa_beanstalk_job_suspend(job);
    if (command->kind == FA_BEANSTALK_DELETE) {
        op.kind = FA_OP_COMPLETE;
        call->ops[0] = op;
    } else if (command->kind == FA_BEANSTALK_BURY) {
        count = add_bury(call, op);
    } else {
        call->requeue = (struct fa_requeue){
            .what = "released",
            .delay_ms = (int64_t)command->seconds[0] * 1000,
            .has_priority = command->pri != job->pri,
            .priority = fa_beanstalk_priority(command->pri),
        };
        op.kind = FA_OP_REQUEUE;
        op.requeue = &call->requeue;
        call->ops[0] = op;
    }
    run_call(call, count);
}

static void touch(struct fa_beanstalk_session *session, struct fa_beanstalk_job *job)
{
    if (job) {
        job->until_us = fa_clock_mono_us() + job->ttr_us;
        fa_beanstalk_job_resume(job);
    }
    fa_beanstalk_reply(session, job ? "TOUCHED\r\n" : "NOT_FOUND\r\n");
}

/* ------------------------------------------------------------------------------------------
 * Tubes
 */

static void use(struct fa_beanstalk_session *session)
{
    struct fa_beanstalk_tube *tube =
                                 fa_beanstalk_tube_get(session->listener, session->command.tube),
                             *before = session->used;

    if (!tube) {
        fa_beanstalk_reply(session, "OUT_OF_MEMORY\r\n");
        return;
    }
    tube->using ++;
    session->used = tube;
    before->using --;
    fa_beanstalk_reply(session, "USING %s\r\n", tube->name);
    fa_beanstalk_tube_drop(session->listener, before);
}

static size_t find_watched(const struct fa_beanstalk_session *session, const char *name)
{
    size_t at = 0;

    while (at < session->watched_count && strcmp(session->watched[at]->name, name) != 0)
        at++;
    return at;
}

static void watch(struct fa_beanstalk_session *session)
{
    struct fa_beanstalk_tube *tube = NULL;

    if (find_watched(session, session->command.tube) == session->watched_count) {
        if (session->watched_count < FA_BEANSTALK_WATCHED_MAX)
            tube = fa_beanstalk_tube_get(session->listener, session->command.tube);
        if (!tube) {
            fa_beanstalk_reply(session, "OUT_OF_MEMORY\r\n");
            return;
        }
        session->watched = fa_grow(session->watched, session->watched_count, &session->watched_size,
                                   sizeof(*session->watched));
        session->watched[session->watched_count++] = tube;
        tube->watching++;
    }
    fa_beanstalk_reply(session, "WATCHING %zu\r\n", session->watched_count);
}

static void ignore(struct fa_beanstalk_session *session)
{
    size_t at = find_watched(session, session->command.tube);
    struct fa_beanstalk_tube *tube;

    if (at < session->watched_count && session->watched_count == 1) {
        fa_beanstalk_reply(session, "NOT_IGNORED\r\n");
        return;
    }
    if (at < session->watched_count) {
        tube = session->watched[at];
        memmove(&session->watched[at], &session->watched[at + 1],
                (--session->watched_count - at) * sizeof(*session->watched));
        tube->watching--;
        fa_beanstalk_tube_drop(session->listener, tube);
    }
    fa_beanstalk_reply(session, "WATCHING %zu\r\n", session->watched_count);
}

static void list_watched(struct fa_beanstalk_session *session)
{
    struct fa_buf text;

    fa_buf_init(&text, SIZE_MAX / 2);
    fa_buf_add_str(&text, "---\n");
    for (size_t i = 0; i < session->watched_count; i++)
        fa_buf_printf(&text, "- %s\n", session->watched[i]->name);
    fa_beanstalk_reply(session, "OK %zu\r\n", text.len);
    fa_beanstalk_reply_bytes(session, text.ptr, text.len);
    fa_beanstalk_reply_bytes(session, "\r\n", 2);
    fa_buf_finish(&text);
}

/* ------------------------------------------------------------------------------------------
 * All
 */

static void reserve_job(struct fa_beanstalk_session *session)
{
    struct fa_beanstalk_call *call;

    if (fa_beanstalk_job_find(session->listener, NULL, session->command.number)) {
        fa_beanstalk_reply(session, "NOT_FOUND\r\n");
        return;
    }
    call = begin(session, after_reserve_job);
    call->work = work_reserve_job;
    run_call(call, 0);
}

static void inspect(struct fa_beanstalk_session *session)
{
    struct fa_beanstalk_call *call = begin(session, fa_beanstalk_after_inspect);

    memcpy(call->type, session->used->type, sizeof(call->type));
    call->work = fa_beanstalk_inspect;
    run_call(call, 0);
}

static void end_or_delete(struct fa_beanstalk_session *session)
{
    uint64_t id = session->command.number;
    struct fa_beanstalk_job *job = fa_beanstalk_job_find(session->listener, session, id);

    if (job)
        end_job(session, job);
    else if (session->command.kind != FA_BEANSTALK_DELETE ||
             fa_beanstalk_job_find(session->listener, NULL, id))
        fa_beanstalk_reply(session, "NOT_FOUND\r\n");
    else
        inspect(session);
}

void fa_beanstalk_run(struct fa_beanstalk_session *session)
{
    struct fa_beanstalk *listener = session->listener;
    const struct fa_beanstalk_command *command = &session->command;

    switch (command->kind) {
    case FA_BEANSTALK_PUT:
        put(session);
        return;
    case FA_BEANSTALK_RESERVE:
    case FA_BEANSTALK_RESERVE_WITH_TIMEOUT:
        reserve(session);
        return;
    case FA_BEANSTALK_RESERVE_JOB:
        reserve_job(session);
        return;
    case FA_BEANSTALK_DELETE:
    case FA_BEANSTALK_RELEASE:
    case FA_BEANSTALK_BURY:
        end_or_delete(session);
        return;
    case FA_BEANSTALK_TOUCH:
        touch(session, fa_beanstalk_job_find(listener, session, command->number));
        return;
    case FA_BEANSTALK_USE:
        use(session);
        return;
    case FA_BEANSTALK_WATCH:
        watch(session);
        return;
    case FA_BEANSTALK_IGNORE:
        ignore(session);
        return;
    case FA_BEANSTALK_LIST_TUBE_USED:
        fa_beanstalk_reply(session, "USING %s\r\n", session->used->name);
        return;
    case FA_BEANSTALK_LIST_TUBES_WATCHED:
        list_watched(session);
        return;
    case FA_BEANSTALK_QUIT:
        session->is_closing = true;
        return;
    case FA_BEANSTALK_PEEK:
    case FA_BEANSTALK_PEEK_READY:
    case FA_BEANSTALK_PEEK_DELAYED:
    case FA_BEANSTALK_PEEK_BURIED:
    case FA_BEANSTALK_KICK:
    case FA_BEANSTALK_KICK_JOB:
    case FA_BEANSTALK_STATS:
    case FA_BEANSTALK_STATS_JOB:
    case FA_BEANSTALK_STATS_TUBE:
    case FA_BEANSTALK_LIST_TUBES:
    case FA_BEANSTALK_PAUSE_TUBE:
        inspect(session);
        return;
    case FA_BEANSTALK_KIND_COUNT:
        break;
    }
    assert(!"a command of no known kind");
}
