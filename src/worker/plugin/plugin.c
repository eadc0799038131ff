/*
 * plugin.c - the pool's side of a plugin: its process, the socket to it, and the attempts in it.
 *
 * An attempt lives in its job's arena. It is in the plugin's list and is sent when the process is
 * up; job->run points to it until it has ended.
 */
#include "worker/plugin/plugin.h"

#include "base/clock.h"
#include "json/json.h"
#include "worker/handler_folder.h"
#include "worker/plugin/frame.h"
#include "worker/attempt_note.h"
#include "worker/command/environment.h"
#include "worker/handler_message.h"
#include "wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHUNK (64 * 1024)
#define HELLO_US 10000000   /* until its first frame */
#define END_US 1000000      /* until its end after the socket was closed */
#define PAUSE_MIN_US 100000 /* before it is started again */
#define PAUSE_MAX_US 5000000

enum process_state { DOWN, STARTING, UP };

struct attempt {
    struct fa_job *job;
    struct fa_plugin *plugin;
    uint64_t number; /* 0: not sent yet */
    struct fa_handler_messages messages;
    struct fa_timer kill_timer;
    struct fa_message start;
    struct attempt *next, **link;
};

struct plugin_handler {
    struct fa_handler handler;
    struct fa_arena arena;
    struct fa_plugin *plugin;
};

struct fa_plugin {
    struct fa_plugin_share *share;
    char *path;
    struct fa_arena arena;
    struct fa_settings settings;

    /* The loop's. */
    enum process_state state;
    bool has_been_up, is_ending;
    struct fa_process process;
    struct fa_watch socket, log; /* fd -1: none */
    struct fa_buf in, out, log_text;
    struct fa_timer timer; /* DOWN: to start again; STARTING: for HELLO; is_ending: for its end */
    int64_t pause_us;
    const char *why_killed; /* NULL: not killed here; "": already in the log */
    struct attempt *attempts;
    uint64_t last_number;
    struct fa_message begin;

    const char *workflow; /* JSON, once it is settled; NULL: it has no triggers or joins */
    bool is_settled;      /* under the mutex: it has been up, or its first start has failed */
};

static void start_process(struct fa_plugin *plugin);

/* ------------------------------------------------------------------------------------------
 * Attempts
 */

static void end_attempt(struct attempt *attempt, struct fa_outcome outcome)
{
    struct fa_job *job = attempt->job;

    *attempt->link = attempt->next;
    if (attempt->next)
        attempt->next->link = attempt->link;
    fa_timer_clear(attempt->plugin->share->loop, &attempt->kill_timer);
    fa_handler_messages_finish(&attempt->messages);
    job->run = NULL;
    fa_job_end(job, &outcome);
}

static struct fa_outcome stopped(struct attempt *attempt)
{
    return fa_stop_outcome(attempt->job, fa_job_stop(attempt->job));
}

/* What host.c's read_start reads. */
static void write_start(struct fa_buf *out, const struct fa_job *job)
{
    const struct faina_task *task = job->task;
    struct fa_json_writer w;

    fa_json_writer_init(&w, out, 0);
    fa_json_begin_object(&w);
    fa_json_set_str(&w, "id", task->id);
    fa_json_set_str(&w, "parentId", task->parent_id);
    fa_json_set_str(&w, "namespace", task->ns);
    fa_json_set_str(&w, "type", task->type);
    fa_json_set_str(&w, "name", task->name);
    fa_json_set_str(&w, "createdBy", task->created_by);
    fa_json_set_raw(&w, "input", task->input);
    fa_json_set_raw(&w, "metadata", task->metadata);
    fa_json_set_raw(&w, "spec", task->spec);
    fa_json_set_int(&w, "phase", task->phase);
    fa_json_set_int(&w, "priority", task->priority);
    fa_json_set_int(&w, "attempts", task->attempts);
    fa_json_set_int(&w, "maxAttempts", task->max_attempts);
    fa_json_set_int(&w, "fence", task->fence);
    fa_json_set_str(&w, "workerId", fa_job_worker(job));
    fa_json_set_str(&w, "traceparent", task->traceparent);
    fa_json_key(&w, "resources");
    fa_json_begin_array(&w);
    for (size_t i = 0; i < task->resource_count; i++)
        fa_json_put_str(&w, task->resources[i]);
    fa_json_end_array(&w);
    fa_json_set_raw(&w, "subtasks", job->subtasks);
    fa_json_set_int(&w, "outputMax", (int64_t)fa_job_output_max(job));
    fa_json_end_object(&w);
}

/* ------------------------------------------------------------------------------------------
 * Sending
 */

static void flush(struct fa_plugin *plugin)
{
    struct fa_buf *out = &plugin->out;
    size_t at = 0;

    while (plugin->socket.fd >= 0 && at < out->len) {
        ssize_t done = send(plugin->socket.fd, out->ptr + at, out->len - at, MSG_NOSIGNAL);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            break; /* full: on_socket continues; broken: on_exit follows */
        at += (size_t)done;
    }
    if (at > 0)
        memmove(out->ptr, out->ptr + at, out->len - at);
    out->len -= at;
    if (plugin->socket.fd >= 0)
        fa_event_loop_watch_writes(plugin->share->loop, &plugin->socket, out->len > 0);
}

static void send_attempt(struct attempt *attempt)
{
    struct fa_plugin *plugin = attempt->plugin;
    struct fa_buf payload;

    attempt->number = ++plugin->last_number;
    fa_buf_init(&payload, FA_FRAME_SIZE_MAX);
    write_start(&payload, attempt->job);
    fa_frame_add(&plugin->out, FA_FRAME_START, attempt->number, payload.ptr, payload.len);
    fa_buf_finish(&payload);
}

static void send_all(struct fa_plugin *plugin)
{
    for (struct attempt *attempt = plugin->attempts; attempt; attempt = attempt->next)
        if (attempt->number == 0)
            send_attempt(attempt);
    flush(plugin);
}

static void kill_late(struct fa_timer *timer)
{
    struct attempt *attempt = FA_CONTAINER_OF(timer, struct attempt, kill_timer);
    struct fa_plugin *plugin = attempt->plugin;

    plugin->why_killed = "an attempt in its process did not stop when asked";
    fa_process_kill(&plugin->process, SIGKILL);
}

/* Runs in the loop. */
static void begin_attempt(struct fa_message *message)
{
    struct attempt *attempt = FA_CONTAINER_OF(message, struct attempt, start);
    struct fa_plugin *plugin = attempt->plugin;
    struct attempt **last = &plugin->attempts;

    while (*last)
        last = &(*last)->next;
    *last = attempt;
    attempt->link = last;
    attempt->job->run = attempt;
    attempt->kill_timer.fire = kill_late;
    fa_handler_messages_init(&attempt->messages, attempt->job);
    if (fa_job_stop(attempt->job) != FA_STOP_NONE)
        end_attempt(attempt, stopped(attempt));
    else if (plugin->state == UP)
        send_all(plugin);
    else if (plugin->state == DOWN && plugin->timer.heap_index == 0)
        start_process(plugin);
}

static void plugin_start(struct fa_handler *handler, struct fa_job *job)
{
    struct fa_plugin *plugin = ((struct plugin_handler *)handler)->plugin;
    struct attempt *attempt = fa_arena_zero(&job->arena, 1, sizeof(*attempt));

    attempt->job = job;
    attempt->plugin = plugin;
    attempt->start.run = begin_attempt;
    fa_event_loop_send(plugin->share->loop, &attempt->start);
}

static void stop_attempt(struct fa_job *job)
{
    struct attempt *attempt = job->run;

    if (attempt && attempt->number == 0) {
        end_attempt(attempt, stopped(attempt));
    } else if (attempt && attempt->kill_timer.heap_index == 0) {
        struct fa_plugin *plugin = attempt->plugin;

        fa_frame_add(&plugin->out, FA_FRAME_STOP, attempt->number, "", 0);
        flush(plugin);
        fa_timer_set(plugin->share->loop, &attempt->kill_timer,
                     fa_clock_mono_us() + plugin->share->kill_after_us);
    }
}

static void plugin_stop(struct fa_handler *handler, struct fa_job *job)
{
    fa_job_send_stop(job, ((struct plugin_handler *)handler)->plugin->share->loop, stop_attempt);
}

static void plugin_destroy(struct fa_handler *handler)
{
    fa_arena_finish(&((struct plugin_handler *)handler)->arena);
    free(handler);
}

static const struct fa_handler_ops plugin_ops = {
    .start = plugin_start,
    .stop = plugin_stop,
    .destroy = plugin_destroy,
};

/* ------------------------------------------------------------------------------------------
 * Frames of the process
 */

static void settle(struct fa_plugin *plugin)
{
    struct fa_plugin_share *share = plugin->share;

    pthread_mutex_lock(&share->mutex);
    plugin->is_settled = true;
    pthread_cond_broadcast(&share->cond);
    pthread_mutex_unlock(&share->mutex);
}

static void put_handler(struct fa_plugin *plugin, struct fa_json item)
{
    struct fa_plugin_share *share = plugin->share;
    struct fa_arena scratch = {0};
    struct plugin_handler *handler;
    struct faina_error err;
    struct fa_json value;
    const char *type;

    type = fa_json_member_text(item, "type", &scratch);
    if (type && fa_folder_wants(type, share->types, share->type_count)) {
        handler = fa_alloc_zero(1, sizeof(*handler));
        handler->plugin = plugin;
        handler->handler = (struct fa_handler){
            .ops = &plugin_ops,
            .type = fa_arena_strdup(&handler->arena, type),
            .timeout_ms = fa_json_member_int(item, "timeoutMs"),
            .concurrency = (int)fa_json_member_int(item, "concurrency"),
        };
        fa_error_clear(&err);
        if (fa_json_member(item, "settings", &value))
            (void)!fa_wire_read_submit(value.raw, &handler->arena, &handler->handler.settings,
                                       &err);
        if (fa_pool_put(share->pool, &handler->handler, &err) == FAINA_OK)
            fa_report(&share->log, FA_LOG_INFO, "handles %s by %s", type, plugin->path);
        else
            fa_report(&share->log, FA_LOG_ERROR, "%s is not used: %s", type, err.message);
    }
    fa_arena_finish(&scratch);
}

static void take_hello(struct fa_plugin *plugin, struct fa_json object)
{
    struct fa_plugin_share *share = plugin->share;
    struct fa_json value, item;
    struct fa_arena scratch = {0};
    struct fa_json_iter it;
    const char *error = fa_json_member_text(object, "error", &scratch);

    if (error)
        fa_report(&share->log, FA_LOG_ERROR, "%s is not used: %s", plugin->path, error);
    fa_arena_finish(&scratch);
    if (error) {
        plugin->why_killed = "";
        return;
    }
    plugin->state = UP;
    fa_timer_clear(share->loop, &plugin->timer);
    if (!plugin->has_been_up && fa_json_member(object, "types", &value) &&
        value.type == FA_JSON_ARRAY)
        for (it = fa_json_iter(value); fa_json_next(&it, NULL, &item);)
            put_handler(plugin, item);
    if (!plugin->has_been_up && fa_json_member(object, "workflow", &value))
        plugin->workflow = fa_arena_copy(&plugin->arena, value.raw.ptr, value.raw.len);
    plugin->has_been_up = true;
    send_all(plugin);
    settle(plugin);
}

static struct attempt *find_attempt(struct fa_plugin *plugin, uint64_t number)
{
    struct attempt *attempt = plugin->attempts;

    while (attempt && (number == 0 || attempt->number != number))
        attempt = attempt->next;
    return attempt;
}

static void take_end(struct attempt *attempt, struct fa_json object)
{
    struct fa_job *job = attempt->job;
    enum fa_stop stop = fa_job_stop(job);
    struct fa_note note = {.took_us = fa_clock_mono_us() - job->start_us, .has_no_status = true};
    struct fa_outcome outcome;
    const char *output = fa_json_member_raw(object, "output", &job->arena);
    struct fa_json value;
    double cpu_s = 0;

    if (fa_json_member(object, "cpuSeconds", &value) && value.type == FA_JSON_NUMBER)
        (void)!fa_json_double(value, &cpu_s);
    outcome = fa_handler_messages_outcome(&attempt->messages, output);
    if (stop == FA_STOP_TIMEOUT ||
        (stop == FA_STOP_SHUTDOWN && outcome.kind != FA_OUTCOME_COMPLETE))
        outcome = stopped(attempt);
    note.usage.ru_utime.tv_sec = (time_t)cpu_s;
    note.usage.ru_utime.tv_usec = (suseconds_t)((cpu_s - (double)(time_t)cpu_s) * 1e6);
    note.usage.ru_maxrss = (long)(fa_json_member_int(object, "memoryBytes") / 1024);
    outcome.note = fa_note_json(&job->arena, &note);
    attempt->plugin->pause_us = 0;
    end_attempt(attempt, outcome);
}

/* False: it is invalid. A plugin that writes to the socket itself could cause that. */
static bool take_frame(struct fa_plugin *plugin, const struct fa_frame *frame,
                       struct fa_bytes payload)
{
    struct attempt *attempt = find_attempt(plugin, frame->attempt);

    if (fa_json_check(payload, 128, "frame", FAINA_INVALID_REQUEST, NULL) != FAINA_OK)
        return false;
    if (frame->kind == FA_FRAME_HELLO && plugin->state == STARTING)
        take_hello(plugin, fa_json_value(payload));
    else if (frame->kind == FA_FRAME_MESSAGE && attempt)
        fa_handler_messages_add(&attempt->messages, payload);
    else if (frame->kind == FA_FRAME_END && attempt)
        take_end(attempt, fa_json_value(payload));
    else
        return false;
    return true;
}

static void take_frames(struct fa_plugin *plugin)
{
    struct fa_buf *in = &plugin->in;
    size_t at = 0, used;
    struct fa_bytes payload;
    struct fa_frame frame;
    int got;

    while ((got = fa_frame_read((struct fa_bytes){in->ptr + at, in->len - at}, &frame, &payload,
                                &used)) == 1) {
        if (!take_frame(plugin, &frame, payload)) {
            got = -1;
            break;
        }
        at += used;
    }
    if (got < 0) {
        plugin->why_killed = "its process sent an invalid frame";
        fa_process_kill(&plugin->process, SIGKILL);
        at = in->len;
    }
    if (at > 0)
        memmove(in->ptr, in->ptr + at, in->len - at);
    in->len -= at;
}

/* ------------------------------------------------------------------------------------------
 * Reading
 */

static void close_watch(struct fa_plugin *plugin, struct fa_watch *watch)
{
    if (watch->fd < 0)
        return;
    fa_event_loop_unwatch(plugin->share->loop, watch);
    close(watch->fd);
    watch->fd = -1;
}

/* False: there is nothing to read now, or the other end is closed. */
static bool read_some(struct fa_plugin *plugin, struct fa_watch *watch, char *chunk, size_t *len)
{
    ssize_t got = watch->fd < 0 ? -1 : read(watch->fd, chunk, CHUNK);

    if (got > 0) {
        *len = (size_t)got;
        return true;
    }
    if (watch->fd >= 0 && (got == 0 || (errno != EAGAIN && errno != EINTR)))
        close_watch(plugin, watch);
    return false;
}

static void read_socket(struct fa_plugin *plugin)
{
    char chunk[CHUNK];
    size_t len;

    while (read_some(plugin, &plugin->socket, chunk, &len)) {
        fa_buf_add(&plugin->in, chunk, len);
        take_frames(plugin);
    }
}

static void read_log(struct fa_plugin *plugin)
{
    char chunk[CHUNK];
    size_t len;

    while (read_some(plugin, &plugin->log, chunk, &len))
        fa_note_log_add(&plugin->log_text, chunk, len);
}

static void on_socket(struct fa_watch *watch)
{
    struct fa_plugin *plugin = FA_CONTAINER_OF(watch, struct fa_plugin, socket);

    flush(plugin);
    read_socket(plugin);
}

static void on_log(struct fa_watch *watch)
{
    read_log(FA_CONTAINER_OF(watch, struct fa_plugin, log));
}

/* ------------------------------------------------------------------------------------------
 * The end of the process
 */

static struct fa_outcome crashed(struct fa_plugin *plugin, struct attempt *attempt,
                                 const struct fa_note *note)
{
    struct fa_arena *arena = &attempt->job->arena;
    enum fa_stop stop = fa_job_stop(attempt->job);
    struct fa_note mine = *note;
    struct fa_outcome outcome;

    mine.took_us = fa_clock_mono_us() - attempt->job->start_us;
    if (stop != FA_STOP_NONE)
        outcome = stopped(attempt);
    else if (plugin->why_killed)
        outcome =
            fa_outcome_fail(arena, "plugin", false, "the plugin was ended: %s", plugin->why_killed);
    else if (WIFSIGNALED(note->status))
        outcome = fa_outcome_fail(arena, "crash", false, "the plugin crashed by signal %d (%s)%s",
                                  WTERMSIG(note->status), strsignal(WTERMSIG(note->status)),
                                  fa_limits_broken(&plugin->settings.limits, note->status, arena));
    else
        outcome = fa_outcome_fail(arena, "crash", false, "the plugin exited with code %d",
                                  WEXITSTATUS(note->status));
    outcome.note = fa_note_json(arena, &mine);
    outcome.failure.detail = fa_note_error(arena, &mine);
    return outcome;
}

/* G1, for the attempts that were sent; the others wait for the next process. */
static void fail_attempts(struct fa_plugin *plugin, const struct fa_note *note, bool was_up)
{
    struct attempt *next;

    for (struct attempt *attempt = plugin->attempts; attempt; attempt = next) {
        next = attempt->next;
        if (attempt->number != 0 || !was_up)
            end_attempt(attempt, crashed(plugin, attempt, note));
    }
}

static void report_end(struct fa_plugin *plugin, int status, bool was_up)
{
    const struct fa_reporter *log = &plugin->share->log;

    if (plugin->is_ending || (plugin->why_killed && !plugin->why_killed[0]))
        return;
    if (!was_up)
        fa_report(log, FA_LOG_ERROR, "%s is not used: its process ended before it was loaded%s%s",
                  plugin->path, plugin->why_killed ? ": " : "",
                  plugin->why_killed ? plugin->why_killed : "");
    else
        fa_report(log, FA_LOG_ERROR, "the plugin %s ended by %s %d and is started again",
                  plugin->path, WIFSIGNALED(status) ? "signal" : "exit code",
                  WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static void on_exit_of_plugin(struct fa_process *process)
{
    struct fa_plugin *plugin = FA_CONTAINER_OF(process, struct fa_plugin, process);
    struct fa_plugin_share *share = plugin->share;
    struct fa_note note = {0};
    bool was_up;

    read_socket(plugin);
    read_log(plugin);
    was_up = plugin->state == UP;
    (void)!fa_process_finish(process, &note.status, &note.usage);
    close_watch(plugin, &plugin->socket);
    close_watch(plugin, &plugin->log);
    fa_timer_clear(share->loop, &plugin->timer);
    plugin->state = DOWN;
    report_end(plugin, note.status, was_up);
    note.log = plugin->log_text.ptr;
    note.log_len = plugin->log_text.len;
    fail_attempts(plugin, &note, was_up);
    plugin->why_killed = NULL;
    plugin->pause_us = plugin->pause_us == 0 ? PAUSE_MIN_US : plugin->pause_us * 2;
    if (plugin->pause_us > PAUSE_MAX_US)
        plugin->pause_us = PAUSE_MAX_US;
    if (!plugin->is_ending && plugin->has_been_up)
        fa_timer_set(share->loop, &plugin->timer, fa_clock_mono_us() + plugin->pause_us);
    pthread_mutex_lock(&share->mutex);
    share->running--;
    plugin->is_settled = true;
    pthread_cond_broadcast(&share->cond);
    pthread_mutex_unlock(&share->mutex);
}

/* ------------------------------------------------------------------------------------------
 * The start of the process
 */

static bool open_socket(struct fa_plugin *plugin, int *child_end)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    plugin->socket.fd = fcntl(ends[0], F_DUPFD_CLOEXEC, 16);
    *child_end = fcntl(ends[1], F_DUPFD_CLOEXEC, 16);
    close(ends[0]);
    close(ends[1]);
    return plugin->socket.fd >= 0 && *child_end >= 0 &&
           fcntl(plugin->socket.fd, F_SETFL, O_NONBLOCK) == 0 &&
           fa_event_loop_watch(plugin->share->loop, &plugin->socket);
}

/* The cleaned environment, and what faina_plugin_open reads: the URL, and a token as this process
 * has it. */
static enum faina_code make_environment(const struct fa_plugin *plugin, struct fa_environment *out,
                                        struct fa_arena *arena, struct faina_error *err)
{
    static const char *const tokens[] = {"FAINA_TOKEN", "FAINA_TOKEN_FILE"};
    enum faina_code code;

    fa_environment_init(out, arena);
    code = fa_environment_add(out, &plugin->settings, err);
    if (!plugin->share->url)
        return code;
    fa_environment_set(out, fa_arena_printf(arena, "%s=%s", FA_PLUGIN_URL, plugin->share->url));
    for (size_t i = 0; i < FA_COUNT(tokens); i++)
        if (getenv(tokens[i]))
            fa_environment_set(out, fa_arena_printf(arena, "%s=%s", tokens[i], getenv(tokens[i])));
    return code;
}

static enum faina_code spawn_process(struct fa_plugin *plugin, struct faina_error *err)
{
    struct fa_arena scratch = {0};
    const struct fa_settings *settings = &plugin->settings;
    const char *argv[] = {"faina", "plugin-host", plugin->path, NULL};
    struct fa_spawn spawn = {
        .path = plugin->share->program,
        .argv = argv,
        .limits = settings->limits,
        .fd_count = 3,
        .fds = {-1, -1, -1},
    };
    struct fa_environment environment;
    enum faina_code code = make_environment(plugin, &environment, &scratch, err);

    fa_spawner_make_mark(plugin->share->spawner, &spawn.marks);
    fa_environment_set(&environment, spawn.marks.variables[0]);
    spawn.env = environment.items;
    if (code == FAINA_OK &&
        (!open_socket(plugin, &spawn.fds[0]) || !fa_pipe(&plugin->log.fd, &spawn.fds[1]) ||
         !fa_event_loop_watch(plugin->share->loop, &plugin->log)))
        code = fa_error_set(err, FAINA_UNAVAILABLE, "can't make the sockets of a process: %s",
                            strerror(errno));
    spawn.fds[2] = spawn.fds[1];
    if (code == FAINA_OK)
        code = fa_spawn(plugin->share->spawner, &spawn, &plugin->process, err);
    for (int i = 0; i < 2; i++)
        if (spawn.fds[i] >= 0)
            close(spawn.fds[i]);
    fa_arena_finish(&scratch);
    return code;
}

static void start_process(struct fa_plugin *plugin)
{
    struct fa_plugin_share *share = plugin->share;
    struct faina_error err;

    plugin->in.len = plugin->out.len = plugin->log_text.len = 0;
    fa_error_clear(&err);
    if (spawn_process(plugin, &err) != FAINA_OK) {
        fa_report(&share->log, FA_LOG_ERROR, "%s: %s", plugin->path, err.message);
        close_watch(plugin, &plugin->socket);
        close_watch(plugin, &plugin->log);
        fa_timer_set(share->loop, &plugin->timer, fa_clock_mono_us() + PAUSE_MAX_US);
        settle(plugin);
        return;
    }
    plugin->state = STARTING;
    fa_timer_set(share->loop, &plugin->timer, fa_clock_mono_us() + HELLO_US);
    pthread_mutex_lock(&share->mutex);
    share->running++;
    pthread_mutex_unlock(&share->mutex);
}

static void on_plugin_timer(struct fa_timer *timer)
{
    struct fa_plugin *plugin = FA_CONTAINER_OF(timer, struct fa_plugin, timer);

    if (plugin->state == DOWN && !plugin->is_ending) {
        start_process(plugin);
    } else if (plugin->state != DOWN) {
        plugin->why_killed = "it took too long";
        fa_process_kill(&plugin->process, SIGKILL);
    }
}

static void begin_plugin(struct fa_message *message)
{
    start_process(FA_CONTAINER_OF(message, struct fa_plugin, begin));
}

/* ------------------------------------------------------------------------------------------
 * For its owner
 */

enum faina_code fa_plugin_create(struct fa_plugin **out, struct fa_plugin_share *share,
                                 const char *path, struct faina_error *err)
{
    struct fa_plugin *plugin = fa_alloc_zero(1, sizeof(*plugin));
    enum faina_code code;

    plugin->share = share;
    plugin->path = memcpy(fa_alloc(strlen(path) + 1), path, strlen(path) + 1);
    plugin->socket = (struct fa_watch){.fd = -1, .on_event = on_socket};
    plugin->log = (struct fa_watch){.fd = -1, .on_event = on_log};
    plugin->timer.fire = on_plugin_timer;
    plugin->process.on_exit = on_exit_of_plugin;
    plugin->begin.run = begin_plugin;
    fa_buf_init(&plugin->in, FA_FRAME_SIZE_MAX + CHUNK + sizeof(struct fa_frame));
    fa_buf_init(&plugin->out, (size_t)4 << 30);
    fa_buf_init(&plugin->log_text, FA_NOTE_LOG_MAX + CHUNK);
    code =
        fa_folder_settings(path, ".so", &share->pass_env, &plugin->arena, &plugin->settings, err);
    if (code != FAINA_OK) {
        fa_plugin_destroy(plugin);
        return code;
    }
    *out = plugin;
    fa_event_loop_send(share->loop, &plugin->begin);
    return FAINA_OK;
}

void fa_plugin_wait(struct fa_plugin *plugin)
{
    pthread_mutex_lock(&plugin->share->mutex);
    while (!plugin->is_settled)
        pthread_cond_wait(&plugin->share->cond, &plugin->share->mutex);
    pthread_mutex_unlock(&plugin->share->mutex);
}

const char *fa_plugin_path(const struct fa_plugin *plugin)
{
    return plugin->path;
}

const char *fa_plugin_workflow(const struct fa_plugin *plugin)
{
    return plugin->workflow;
}

void fa_plugin_end(struct fa_plugin *plugin)
{
    plugin->is_ending = true;
    fa_timer_clear(plugin->share->loop, &plugin->timer);
    close_watch(plugin, &plugin->socket); /* the process then ends by itself */
    if (plugin->state != DOWN)
        fa_timer_set(plugin->share->loop, &plugin->timer, fa_clock_mono_us() + END_US);
}

void fa_plugin_destroy(struct fa_plugin *plugin)
{
    fa_buf_finish(&plugin->in);
    fa_buf_finish(&plugin->out);
    fa_buf_finish(&plugin->log_text);
    fa_arena_finish(&plugin->arena);
    free(plugin->path);
    free(plugin);
}
