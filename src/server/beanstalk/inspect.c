/*
 * inspect.c - the commands that read the engine, and those that change jobs which the session has
 * not reserved. See beanstalk_inner.h.
 *
 * A command is run in two parts: `work` asks the engine, in a thread that may block, and `after`
 * answers, in the listener's thread, which knows connections, reservations and pauses.
 */
#include "server/beanstalk/beanstalk_inner.h"

#include "base/clock.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#define KICKED_MAX 1000     /* in one transaction */
#define EVENTS_MAX_READ 100 /* of which releases, kicks and so on are counted */
#define TYPES_COUNTED 20    /* whose delayed and urgent jobs are counted in `stats` */
#define BURIED_PAGES 1000   /* of a list that is searched for buried jobs */

#define BURIED (1u << FAINA_FAILED | 1u << FAINA_DEAD_LETTER)

bool fa_beanstalk_is_buried(enum faina_status status)
{
    return BURIED & 1u << status;
}

/* ------------------------------------------------------------------------------------------
 * Asking the engine
 */

static enum faina_code ask(struct fa_beanstalk_call *call, struct fa_op *op)
{
    op->arena = &call->arena;
    return fa_service_run_one(call->listener->server->service, op, NULL);
}

/* Ended tasks other than buried ones are deleted jobs. */
void fa_beanstalk_find_job(struct fa_beanstalk_call *call, struct fa_op *op)
{
    const struct faina_task *task;

    *op =
        (struct fa_op){.kind = FA_OP_QUEUE,
                       .queue = {.ns = call->listener->ns,
                                 .part = FA_QUEUE_KEY,
                                 .key = fa_beanstalk_key(call->command.number, fa_clock_now_us())}};
    if (ask(call, op) != FAINA_OK)
        return;
    task = op->tasks->count > 0 ? &op->tasks->items[0] : NULL;
    if (!task || strcmp(task->ns, call->listener->ns) != 0 || task->status == FAINA_COMPLETED ||
        task->status == FAINA_CANCELLED)
        op->code = FAINA_TASK_NOT_FOUND;
}

static void read_queue(struct fa_beanstalk_call *call, struct fa_op *op, const char *type,
                       enum fa_queue_part part, int limit)
{
    *op = (struct fa_op){.kind = FA_OP_QUEUE,
                         .queue = {.ns = call->listener->ns,
                                   .type = type,
                                   .part = part,
                                   .priority = fa_beanstalk_priority(FA_BEANSTALK_URGENT - 1),
                                   .limit = limit}};
    (void)!ask(call, op);
}

/* The next page of buried jobs, oldest burial first; from *cursor on, which becomes NULL at the
 * end. */
static void read_buried(struct fa_beanstalk_call *call, struct fa_op *op, int limit, bool brief,
                        const char **cursor)
{
    struct faina_query query = {.ns = call->listener->ns,
                                .type = call->type,
                                .statuses = BURIED,
                                .sort = FAINA_SORT_UPDATED,
                                .ascending = true,
                                .limit = limit,
                                .brief = brief};

    for (int page = 0; page < BURIED_PAGES; page++) {
        query.cursor = *cursor;
        *op = (struct fa_op){.kind = FA_OP_LIST, .query = &query};
        *cursor = NULL;
        if (ask(call, op) != FAINA_OK)
            return;
        *cursor = op->tasks->next_cursor;
        if (op->tasks->count > 0 || !*cursor)
            return;
    }
}

static void read_stats(struct fa_beanstalk_call *call, struct fa_op *op, const char *type)
{
    *op = (struct fa_op){.kind = FA_OP_STATS, .name = {.ns = call->listener->ns, .type = type}};
    (void)!ask(call, op);
}

/* How many of the jobs of a type are delayed, and how many of the ready ones urgent. */
static void count_queue(struct fa_beanstalk_call *call, const char *type)
{
    struct fa_op op;

    read_queue(call, &op, type, FA_QUEUE_DELAYED, 1);
    call->delayed += op.code == FAINA_OK ? op.count : 0;
    read_queue(call, &op, type, FA_QUEUE_URGENT, 1);
    call->urgent += op.code == FAINA_OK ? op.count : 0;
}

static int64_t count_status(const struct faina_count *count, unsigned statuses)
{
    int64_t sum = 0;

    for (int i = 0; i < FAINA_STATUS_COUNT; i++)
        sum += statuses & 1u << i ? count->by_status[i] : 0;
    return sum;
}

/* ------------------------------------------------------------------------------------------
 * Changes
 */

static void delete_job(struct fa_beanstalk_call *call)
{
    struct fa_op *op = &call->ops[0];
    const struct faina_task *task;

    fa_beanstalk_find_job(call, op);
    if (op->code != FAINA_OK)
        return;
    task = &op->tasks->items[0];
    snprintf(call->type, sizeof(call->type), "%s", task->type);
    if (task->status != FAINA_PENDING && !fa_beanstalk_is_buried(task->status)) {
        op->code = FAINA_TASK_NOT_FOUND; /* reserved elsewhere */
        return;
    }
    *op = (struct fa_op){.kind = FA_OP_DELETE,
                         .id = task->id,
                         .by = {.version = task->version},
                         .is_unaudited = true,
                         .removal = {.cancel = true}};
    (void)!ask(call, op);
}

/* Kicks these jobs in one transaction; returns how many. */
static int64_t kick_all(struct fa_beanstalk_call *call, const struct faina_tasks *tasks)
{
    struct fa_op *ops = fa_arena_zero(&call->arena, tasks->count + 1, sizeof(*ops));
    int64_t kicked = 0;

    call->requeue = (struct fa_requeue){.what = "kicked"};
    for (size_t i = 0; i < tasks->count; i++) {
        bool is_buried = fa_beanstalk_is_buried(tasks->items[i].status);

        ops[i] = (struct fa_op){.kind = is_buried ? FA_OP_RETRY : FA_OP_REQUEUE,
                                .id = tasks->items[i].id,
                                .is_unaudited = true,
                                .arena = &call->arena};
        if (!is_buried)
            ops[i].requeue = &call->requeue;
    }
    fa_service_run(call->listener->server->service, ops, tasks->count);
    for (size_t i = 0; i < tasks->count; i++)
        kicked += ops[i].code == FAINA_OK;
    return kicked;
}

/* Kicks up to `left` jobs; returns how many. */
static int64_t kick_some(struct fa_beanstalk_call *call, bool buried, int64_t left)
{
    struct fa_op *op = &call->ops[0];
    int64_t total = 0, kicked = 1;

    while (left > 0 && kicked > 0) {
        int limit = left < KICKED_MAX ? (int)left : KICKED_MAX;
        const char *cursor = NULL;

        if (buried)
            read_buried(call, op, limit, true, &cursor);
        else
            read_queue(call, op, call->type, FA_QUEUE_DELAYED, limit);
        kicked = op->code == FAINA_OK && op->tasks->count > 0 ? kick_all(call, op->tasks) : 0;
        total += kicked;
        left -= kicked;
    }
    return total;
}

/* Buried jobs; or delayed ones, if none is buried. */
static void kick(struct fa_beanstalk_call *call)
{
    int64_t most = call->command.number < INT64_MAX ? (int64_t)call->command.number : INT64_MAX;

    call->total = kick_some(call, true, most);
    if (call->total == 0 && call->ops[0].code == FAINA_OK)
        call->total = kick_some(call, false, most);
}

static void kick_job(struct fa_beanstalk_call *call)
{
    struct fa_op *op = &call->ops[0];
    const struct faina_task *task;

    fa_beanstalk_find_job(call, op);
    if (op->code != FAINA_OK)
        return;
    task = &op->tasks->items[0];
    if (!fa_beanstalk_is_buried(task->status) &&
        (task->status != FAINA_PENDING || task->run_at_us <= fa_clock_now_us()))
        op->code = FAINA_TASK_NOT_FOUND;
    else if (kick_all(call, op->tasks) == 0)
        op->code = FAINA_TASK_NOT_FOUND;
}

/* ------------------------------------------------------------------------------------------
 * The first part
 */

static void work_stats(struct fa_beanstalk_call *call)
{
    struct fa_op *op = &call->ops[0];

    read_stats(call, op, NULL);
    for (size_t i = 0; op->code == FAINA_OK && i < op->stats->count && i < TYPES_COUNTED; i++)
        if (op->stats->types[i].by_status[FAINA_PENDING] > 0)
            count_queue(call, op->stats->types[i].type);
}

static void work_stats_job(struct fa_beanstalk_call *call)
{
    fa_beanstalk_find_job(call, &call->ops[0]);
    if (call->ops[0].code != FAINA_OK)
        return;
    call->ops[1] = (struct fa_op){.kind = FA_OP_EVENTS,
                                  .id = call->ops[0].tasks->items[0].id,
                                  .page = {.limit = EVENTS_MAX_READ}};
    (void)!ask(call, &call->ops[1]);
}

void fa_beanstalk_inspect(struct fa_beanstalk_call *call)
{
    char type[FA_TYPE_SIZE_MAX + 1];
    const char *cursor = NULL;

    fa_beanstalk_type(call->command.tube, type);
    switch ((int)call->command.kind) {
    case FA_BEANSTALK_PEEK:
        fa_beanstalk_find_job(call, &call->ops[0]);
        break;
    case FA_BEANSTALK_PEEK_READY:
        read_queue(call, &call->ops[0], call->type, FA_QUEUE_READY, 1);
        break;
    case FA_BEANSTALK_PEEK_DELAYED:
        read_queue(call, &call->ops[0], call->type, FA_QUEUE_DELAYED, 1);
        break;
    case FA_BEANSTALK_PEEK_BURIED:
        read_buried(call, &call->ops[0], 1, false, &cursor);
        break;
    case FA_BEANSTALK_DELETE:
        delete_job(call);
        break;
    case FA_BEANSTALK_KICK:
        kick(call);
        break;
    case FA_BEANSTALK_KICK_JOB:
        kick_job(call);
        break;
    case FA_BEANSTALK_STATS:
        work_stats(call);
        break;
    case FA_BEANSTALK_STATS_JOB:
        work_stats_job(call);
        break;
    case FA_BEANSTALK_STATS_TUBE:
        read_stats(call, &call->ops[0], type);
        count_queue(call, type);
        break;
    case FA_BEANSTALK_PAUSE_TUBE:
        read_stats(call, &call->ops[0], type);
        break;
    case FA_BEANSTALK_LIST_TUBES:
        read_stats(call, &call->ops[0], NULL);
        break;
    default:
        assert(!"a command that asks the engine for nothing");
    }
}

/* ------------------------------------------------------------------------------------------
 * Reports
 */

static void reply_text(struct fa_beanstalk_session *session, struct fa_buf *text)
{
    fa_beanstalk_reply(session, "OK %zu\r\n", text->len);
    fa_beanstalk_reply_bytes(session, text->ptr, text->len);
    fa_beanstalk_reply_bytes(session, "\r\n", 2);
}

static void add_number(struct fa_buf *text, const char *name, int64_t value)
{
    fa_buf_printf(text, "%s: %" PRId64 "\n", name, value);
}

/* All types of the answer, of which some may be spellings of the same one. */
static void add_up(const struct faina_stats *stats, struct faina_count *sum)
{
    for (size_t i = 0; i < stats->count; i++)
        for (int status = 0; status < FAINA_STATUS_COUNT; status++)
            sum->by_status[status] += stats->types[i].by_status[status];
}

static void add_counts(struct fa_buf *text, const struct faina_count *sum, int64_t delayed,
                       int64_t urgent)
{
    int64_t pending = sum->by_status[FAINA_PENDING];

    if (delayed > pending)
        delayed = pending;
    add_number(text, "current-jobs-urgent",
               urgent < pending - delayed ? urgent : pending - delayed);
    add_number(text, "current-jobs-ready", pending - delayed);
    add_number(text, "current-jobs-reserved",
               count_status(sum, 1u << FAINA_CLAIMED | 1u << FAINA_RUNNING));
    add_number(text, "current-jobs-delayed", delayed);
    add_number(text, "current-jobs-buried", count_status(sum, BURIED));
}

static void add_commands(struct fa_buf *text, const struct fa_beanstalk *listener)
{
    for (int kind = 0; kind < FA_BEANSTALK_QUIT; kind++)
        fa_buf_printf(text, "cmd-%s: %llu\n", fa_beanstalk_word((enum fa_beanstalk_kind)kind),
                      listener->commands[kind]);
}

static void add_usage(struct fa_buf *text)
{
    struct rusage usage;

    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return;
    fa_buf_printf(text, "rusage-utime: %ld.%06ld\n", (long)usage.ru_utime.tv_sec,
                  (long)usage.ru_utime.tv_usec);
    fa_buf_printf(text, "rusage-stime: %ld.%06ld\n", (long)usage.ru_stime.tv_sec,
                  (long)usage.ru_stime.tv_usec);
}

static void report_all(struct fa_beanstalk_call *call, struct fa_buf *text)
{
    struct fa_beanstalk *listener = call->listener;
    int64_t producers = 0, workers = 0, waiting = 0;
    struct faina_count sum = {0};
    struct utsname system;

    for (int i = 0; i < FAINA_STATUS_COUNT; i++)
        sum.by_status[i] = call->ops[0].stats->by_status[i];
    for (struct fa_beanstalk_session *at = listener->sessions; at; at = at->next) {
        producers += at->is_producer;
        workers += at->is_worker;
        waiting += at->is_waiting;
    }
    add_counts(text, &sum, call->delayed, call->urgent);
    add_commands(text, listener);
    add_number(text, "job-timeouts", (int64_t)listener->timeouts);
    add_number(text, "total-jobs", count_status(&sum, ~0u));
    add_number(text, "max-job-size", (int64_t)listener->body_max);
    add_number(text, "current-tubes", (int64_t)listener->tubes.count);
    add_number(text, "current-connections", (int64_t)listener->session_count);
    add_number(text, "current-producers", producers);
    add_number(text, "current-workers", workers);
    add_number(text, "current-waiting", waiting);
    add_number(text, "total-connections", (int64_t)listener->connections);
    add_number(text, "pid", getpid());
    fa_buf_printf(text, "version: \"faina %s\"\n", FAINA_VERSION);
    add_usage(text);
    add_number(text, "uptime", (fa_clock_mono_us() - listener->start_us) / 1000000);
    for (int i = 0; i < 5; i++)
        fa_buf_printf(text, "binlog-%s: 0\n",
                      ((const char *const[]){"oldest-index", "current-index", "records-migrated",
                                             "records-written", "max-size"})[i]);
    fa_buf_printf(text, "draining: %s\n", atomic_load(&listener->is_draining) ? "true" : "false");
    fa_buf_printf(text, "id: %s\n", listener->worker_id);
    if (uname(&system) == 0)
        fa_buf_printf(text, "hostname: \"%s\"\nos: \"%s\"\nplatform: \"%s\"\n", system.nodename,
                      system.sysname, system.machine);
}

static void report_tube(struct fa_beanstalk_call *call, const struct fa_beanstalk_tube *tube,
                        struct fa_buf *text)
{
    int64_t now_us = fa_clock_mono_us();
    bool is_paused = tube && tube->pause_until_us > now_us;
    struct faina_count sum = {0};

    add_up(call->ops[0].stats, &sum);
    fa_buf_printf(text, "name: %s\n", call->command.tube);
    add_counts(text, &sum, call->delayed, call->urgent);
    add_number(text, "total-jobs", count_status(&sum, ~0u));
    add_number(text, "current-using", tube ? (int64_t)tube->using : 0);
    add_number(text, "current-watching", tube ? (int64_t)tube->watching : 0);
    add_number(text, "current-waiting", tube ? (int64_t)tube->waiting : 0);
    add_number(text, "cmd-delete", tube ? (int64_t)tube->deletes : 0);
    add_number(text, "cmd-pause-tube", tube ? (int64_t)tube->pauses : 0);
    add_number(text, "pause", is_paused ? tube->pause_us / 1000000 : 0);
    add_number(text, "pause-time-left",
               is_paused ? (tube->pause_until_us - now_us + 999999) / 1000000 : 0);
}

static int64_t count_events(const struct fa_op *op, const char *what)
{
    int64_t count = 0;

    for (size_t i = 0; op->code == FAINA_OK && i < op->events->count; i++)
        count += strcmp(op->events->items[i].what, what) == 0;
    return count;
}

static const char *state_of(const struct faina_task *task)
{
    if (fa_beanstalk_is_buried(task->status))
        return "buried";
    if (task->status == FAINA_PENDING)
        return task->run_at_us > fa_clock_now_us() ? "delayed" : "ready";
    return task->status == FAINA_BLOCKED ? "delayed" : "reserved";
}

static int64_t seconds_until(int64_t at_us, int64_t now_us)
{
    return at_us > now_us ? (at_us - now_us) / 1000000 : 0;
}

static int64_t time_left(const struct faina_task *task, const struct fa_beanstalk_job *job)
{
    int64_t now_us = fa_clock_now_us();

    if (job)
        return seconds_until(job->until_us, fa_clock_mono_us());
    if (task->status == FAINA_PENDING)
        return seconds_until(task->run_at_us, now_us);
    return fa_beanstalk_is_buried(task->status) ? 0 : seconds_until(task->lease_expires_us, now_us);
}

static void report_job(struct fa_beanstalk_call *call, struct fa_buf *text)
{
    const struct faina_task *task = &call->ops[0].tasks->items[0];
    const struct fa_op *events = &call->ops[1];
    int64_t age_us = fa_clock_now_us() - task->created_us;
    char tube[FA_BEANSTALK_TUBE_SIZE];
    uint32_t ttr;

    (void)fa_beanstalk_read(task, &call->arena, &ttr);
    fa_buf_printf(text, "id: %" PRIu64 "\ntube: %s\nstate: %s\n", call->command.number,
                  fa_beanstalk_tube(task->type, tube) ? tube : task->type, state_of(task));
    add_number(text, "pri", fa_beanstalk_pri(task->priority));
    add_number(text, "age", age_us > 0 ? age_us / 1000000 : 0);
    add_number(text, "delay",
               task->run_at_us > task->created_us
                   ? (task->run_at_us - task->created_us + 500000) / 1000000
                   : 0);
    add_number(text, "ttr", ttr);
    add_number(text, "time-left",
               time_left(task, fa_beanstalk_job_find(call->listener, NULL, call->command.number)));
    add_number(text, "file", 0);
    add_number(text, "reserves", task->fence);
    add_number(text, "timeouts", count_events(events, "lease_lost"));
    add_number(text, "releases", count_events(events, "released"));
    add_number(text, "buries",
               count_events(events, "failed") + count_events(events, "dead_letter"));
    add_number(text, "kicks", count_events(events, "kicked") + count_events(events, "retried"));
}

/* Tubes with jobs that aren't deleted, and those that connections use or watch. */
static void report_tubes(struct fa_beanstalk_call *call, struct fa_buf *text)
{
    const struct faina_stats *stats = call->ops[0].stats;
    struct fa_beanstalk *listener = call->listener;
    char tube[FA_BEANSTALK_TUBE_SIZE];

    for (const struct fa_beanstalk_tube *at = listener->tube_list; at; at = at->next)
        fa_buf_printf(text, "- %s\n", at->name);
    for (size_t i = 0; i < stats->count; i++) {
        const struct faina_count *count = &stats->types[i];

        if (count_status(count, ~(1u << FAINA_COMPLETED | 1u << FAINA_CANCELLED)) > 0 &&
            fa_beanstalk_tube(count->type, tube) && !fa_beanstalk_tube_find(listener, tube))
            fa_buf_printf(text, "- %s\n", tube);
    }
}

/* ------------------------------------------------------------------------------------------
 * The second part
 */

static void reply_found(struct fa_beanstalk_session *session, struct fa_beanstalk_call *call)
{
    const struct faina_task *task = &call->ops[0].tasks->items[0];
    struct fa_bytes body;
    struct fa_id id = {0};
    uint32_t ttr;

    if (!fa_id_parse(task->id, &id))
        assert(!"the engine has returned a task whose id is none");
    body = fa_beanstalk_read(task, &call->arena, &ttr);
    fa_beanstalk_reply(session, "FOUND %" PRIu64 " %zu\r\n", fa_beanstalk_id(id.key), body.len);
    fa_beanstalk_reply_bytes(session, body.ptr, body.len);
    fa_beanstalk_reply_bytes(session, "\r\n", 2);
}

static bool watches(const struct fa_beanstalk_session *session,
                    const struct fa_beanstalk_tube *tube)
{
    for (size_t i = 0; i < session->watched_count; i++)
        if (session->watched[i] == tube)
            return true;
    return false;
}

/* Sessions that wait for a job of the tube go on without it. */
static void restart_waits(struct fa_beanstalk *listener, const struct fa_beanstalk_tube *tube)
{
    for (struct fa_beanstalk_session *at = listener->sessions; at; at = at->next) {
        struct fa_beanstalk_call *call = at->call;

        if (at->state == FA_BEANSTALK_WAITS) {
            at->wake_us = 0; /* checked in the next sweep */
        } else if (call && call->is_claim_wait && !call->is_ended && watches(at, tube)) {
            call->is_ended = true;
            fa_post_cancel_claim(listener->server->post, &call->posted);
        }
    }
}

static bool has_jobs(const struct fa_beanstalk_call *call)
{
    struct faina_count sum = {0};

    add_up(call->ops[0].stats, &sum);
    return count_status(&sum, ~0u) > 0;
}

static void pause_tube(struct fa_beanstalk_session *session, struct fa_beanstalk_call *call)
{
    struct fa_beanstalk *listener = call->listener;
    struct fa_beanstalk_tube *tube = fa_beanstalk_tube_find(listener, call->command.tube);
    int64_t pause_us = (int64_t)call->command.seconds[0] * 1000000;

    if (!tube && has_jobs(call))
        tube = fa_beanstalk_tube_get(listener, call->command.tube);
    if (!tube) {
        fa_beanstalk_reply(session, "NOT_FOUND\r\n");
        return;
    }
    tube->pauses++;
    tube->pause_us = pause_us;
    tube->pause_until_us = pause_us > 0 ? fa_clock_mono_us() + pause_us : 0;
    fa_beanstalk_reply(session, "PAUSED\r\n");
    restart_waits(listener, tube);
    fa_beanstalk_tube_drop(listener, tube);
}

static void report(struct fa_beanstalk_session *session, struct fa_beanstalk_call *call)
{
    const struct fa_beanstalk_tube *tube =
        fa_beanstalk_tube_find(call->listener, call->command.tube);
    struct fa_buf text;

    if (call->command.kind == FA_BEANSTALK_STATS_TUBE && !tube && !has_jobs(call)) {
        fa_beanstalk_reply(session, "NOT_FOUND\r\n");
        return;
    }
    fa_buf_init(&text, SIZE_MAX / 2);
    fa_buf_add_str(&text, "---\n");
    if (call->command.kind == FA_BEANSTALK_STATS)
        report_all(call, &text);
    else if (call->command.kind == FA_BEANSTALK_STATS_JOB)
        report_job(call, &text);
    else if (call->command.kind == FA_BEANSTALK_STATS_TUBE)
        report_tube(call, tube, &text);
    else
        report_tubes(call, &text);
    reply_text(session, &text);
    fa_buf_finish(&text);
}

void fa_beanstalk_after_inspect(struct fa_beanstalk_call *call)
{
    struct fa_beanstalk_session *session = call->session;
    enum faina_code code = call->ops[0].code;
    bool is_fault = code == FAINA_UNAVAILABLE || code == FAINA_INTERNAL ||
                    code == FAINA_STORE_CLOSED || code == FAINA_OVERLOADED;

    if (!session)
        return;
    fa_beanstalk_session_end_command(session);
    if (is_fault) {
        fa_beanstalk_reply(session, "INTERNAL_ERROR\r\n");
        return;
    }
    if (code != FAINA_OK) {
        fa_beanstalk_reply(session, "NOT_FOUND\r\n");
        return;
    }
    switch ((int)call->command.kind) {
    case FA_BEANSTALK_PEEK:
    case FA_BEANSTALK_PEEK_READY:
    case FA_BEANSTALK_PEEK_DELAYED:
    case FA_BEANSTALK_PEEK_BURIED:
        if (call->ops[0].tasks->count > 0)
            reply_found(session, call);
        else
            fa_beanstalk_reply(session, "NOT_FOUND\r\n");
        break;
    case FA_BEANSTALK_DELETE:
        fa_beanstalk_count_delete(call->listener, call->type);
        fa_beanstalk_reply(session, "DELETED\r\n");
        break;
    case FA_BEANSTALK_KICK:
        fa_beanstalk_reply(session, "KICKED %" PRId64 "\r\n", call->total);
        break;
    case FA_BEANSTALK_KICK_JOB:
        fa_beanstalk_reply(session, "KICKED\r\n");
        break;
    case FA_BEANSTALK_PAUSE_TUBE:
        pause_tube(session, call);
        break;
    default:
        report(session, call);
    }
}
