/*
 * lines.c - an attempt lives in its job's arena. It is in the list of one process, whether the
 * process is up or about to be started; job->run points to it until it has ended.
 */
#include "worker/command/lines.h"

#include "base/clock.h"
#include "json/json.h"
#include "model/limits.h"
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
#include <sys/wait.h>
#include <unistd.h>

#define CHUNK (64 * 1024)
#define READS_PER_EVENT 4
#define READS_AT_END 32
#define LINE_SLACK (64 * 1024)
#define UNSENT_MAX ((size_t)4 << 30) /* each attempt's line is bounded, and so is their number */
#define END_US 1000000               /* from the end of stdin to SIGKILL */
#define PAUSE_MIN_US 100000          /* before a process is started again */
#define PAUSE_MAX_US 30000000
#define SHOWN 80
#define LEVELS_AROUND 3

struct lines_process;

struct attempt {
    struct fa_job *job;
    struct lines_process *process; /* NULL: not in a list */
    bool is_sent;
    struct fa_handler_messages messages;
    struct fa_buf log;
    struct fa_timer kill_timer;
    struct fa_message start;
    struct attempt *next, **link;
};

struct lines_process {
    struct lines *lines;
    struct fa_process process;
    bool is_up;
    struct fa_watch input, output, log; /* fd -1: closed */
    struct fa_buf unsent, line, last_log;
    bool line_is_cut;
    struct fa_timer timer; /* up: SIGKILL at its end; down: when it may start */
    int64_t pause_us;
    const char *why_killed; /* NULL: not killed here */
    char why[640];
    struct attempt *attempts;
    int count;
};

struct lines {
    struct fa_handler handler;
    struct fa_lines_group *group;
    struct fa_arena arena;
    const char *path, *folder;
    struct fa_settings settings;
    int64_t kill_after_us;
    struct lines_process *processes;
    int process_count, up_count;
    bool is_destroyed; /* it is freed when its last process has ended */
    struct fa_message end;
    struct lines *next, **link; /* in the group, while a process is up */
};

struct fa_lines_group {
    struct fa_event_loop *loop;
    struct fa_spawner *spawner;
    struct fa_reporter log;
    struct lines *running; /* the loop's */
    struct fa_message stop;
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t cond;
    int up_count;
    bool is_stopping, is_stopped;
};

/* ------------------------------------------------------------------------------------------
 * Attempts
 */

static void leave_process(struct attempt *attempt)
{
    if (!attempt->process)
        return;
    *attempt->link = attempt->next;
    if (attempt->next)
        attempt->next->link = attempt->link;
    attempt->process->count--;
    attempt->process = NULL;
}

static void end_attempt(struct attempt *attempt, struct fa_outcome outcome)
{
    struct fa_job *job = attempt->job;
    struct lines *lines = (struct lines *)job->handler;
    struct fa_note note = {.has_no_status = true,
                           .took_us = fa_clock_mono_us() - job->start_us,
                           .log = attempt->log.ptr,
                           .log_len = attempt->log.len};

    if (note.log_len > 0)
        outcome.note = fa_note_json(&job->arena, &note);
    if (outcome.kind == FA_OUTCOME_FAIL && !outcome.failure.detail)
        outcome.failure.detail = fa_note_error(&job->arena, &note);
    leave_process(attempt);
    fa_timer_clear(lines->group->loop, &attempt->kill_timer);
    fa_handler_messages_finish(&attempt->messages);
    fa_buf_finish(&attempt->log);
    job->run = NULL;
    fa_job_end(job, &outcome);
}

/* What was reported, unless the attempt was stopped meanwhile. */
static struct fa_outcome outcome_of(struct attempt *attempt)
{
    enum fa_stop stop = fa_job_stop(attempt->job);
    struct fa_outcome outcome =
        fa_handler_messages_outcome(&attempt->messages, attempt->messages.output);

    if (stop == FA_STOP_TIMEOUT || (stop == FA_STOP_SHUTDOWN && outcome.kind == FA_OUTCOME_FAIL))
        return fa_stop_outcome(attempt->job, stop);
    return outcome;
}

static void fail_attempt(struct attempt *attempt, const char *kind, const char *why)
{
    enum fa_stop stop = fa_job_stop(attempt->job);

    if (stop == FA_STOP_TIMEOUT || stop == FA_STOP_SHUTDOWN)
        end_attempt(attempt, fa_stop_outcome(attempt->job, stop));
    else
        end_attempt(attempt, fa_outcome_fail(&attempt->job->arena, kind, false, "%s", why));
}

static struct attempt *find_attempt(struct lines_process *process, struct fa_bytes id)
{
    struct attempt *attempt = process->attempts;

    while (attempt && !(attempt->is_sent && fa_bytes_equal(id, fa_str(attempt->job->task->id))))
        attempt = attempt->next;
    return attempt;
}

/* ------------------------------------------------------------------------------------------
 * Sending
 */

static void close_watch(struct lines_process *process, struct fa_watch *watch)
{
    if (watch->fd < 0)
        return;
    fa_event_loop_unwatch(process->lines->group->loop, watch);
    close(watch->fd);
    watch->fd = -1;
}

static void flush(struct lines_process *process)
{
    struct fa_buf *out = &process->unsent;
    size_t at = 0;

    while (process->input.fd >= 0 && at < out->len) {
        ssize_t done = write(process->input.fd, out->ptr + at, out->len - at);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0 && errno != EAGAIN)
            close_watch(process, &process->input); /* its end follows, or it doesn't read on */
        if (done < 0)
            break;
        at += (size_t)done;
    }
    if (at > 0)
        memmove(out->ptr, out->ptr + at, out->len - at);
    out->len -= at;
    if (process->input.fd >= 0)
        fa_event_loop_watch_writes(process->lines->group->loop, &process->input, out->len > 0);
}

static void send_attempt(struct attempt *attempt)
{
    const struct faina_task *task = attempt->job->task;
    struct fa_json_writer w;

    attempt->is_sent = true;
    fa_json_writer_init(&w, &attempt->process->unsent, 0);
    fa_json_begin_object(&w);
    fa_json_set_str(&w, "id", task->id);
    fa_json_set_str(&w, "type", task->type);
    fa_json_set_str(&w, "namespace", task->ns);
    fa_json_set_int(&w, "attempt", task->attempts);
    fa_json_set_str(&w, "phase", fa_phase_word(task->phase));
    fa_json_set_int(&w, "fence", task->fence);
    fa_json_opt_str(&w, "traceparent", task->traceparent);
    fa_json_set_raw(&w, "input", task->input);
    fa_json_set_raw(&w, "subtasks", attempt->job->subtasks);
    fa_json_end_object(&w);
    fa_buf_add_str(&attempt->process->unsent, "\n");
}

static void send_all(struct lines_process *process)
{
    if (process->why_killed)
        return; /* the next process gets them */
    for (struct attempt *attempt = process->attempts; attempt; attempt = attempt->next)
        if (!attempt->is_sent)
            send_attempt(attempt);
    flush(process);
}

/* ------------------------------------------------------------------------------------------
 * Receiving
 */

static void kill_process(struct lines_process *process, const char *why)
{
    if (!process->why_killed)
        process->why_killed = why;
    fa_process_kill(&process->process, SIGKILL);
}

/* L4 */
static void refuse_line(struct lines_process *process, const char *what)
{
    struct fa_arena scratch = {0};
    size_t len = process->line.len < SHOWN ? process->line.len : SHOWN;

    if (!process->why_killed)
        snprintf(process->why, sizeof(process->why),
                 "the process was ended: a line on its stdout %s; stdout is for lines of JSON with "
                 "the id of a task: print to stderr, or {\"id\":...,\"log\":\"text\"}; it begins: "
                 "%s",
                 what, fa_note_text(&scratch, process->line.ptr ? process->line.ptr : "", len));
    kill_process(process, process->why);
    fa_arena_finish(&scratch);
}

static void take_log(struct lines_process *process, const char *ptr, size_t len)
{
    fa_note_log_add(&process->last_log, ptr, len);
    for (struct attempt *attempt = process->attempts; attempt; attempt = attempt->next)
        if (attempt->is_sent) {
            fa_note_log_add(&attempt->log, ptr, len);
            fa_job_log(attempt->job, ptr, len);
        }
}

static void read_watch(struct lines_process *process, struct fa_watch *watch, int reads,
                       void (*take)(struct lines_process *, const char *, size_t))
{
    char chunk[CHUNK];

    while (watch->fd >= 0 && reads-- > 0) {
        ssize_t len = read(watch->fd, chunk, sizeof(chunk));

        if (len > 0)
            take(process, chunk, (size_t)len);
        else if (len < 0 && errno == EINTR)
            continue;
        else if (len < 0 && errno == EAGAIN)
            return;
        else
            close_watch(process, watch);
    }
}

static void end_line(struct lines_process *process)
{
    struct fa_bytes text = {process->line.ptr, process->line.len};
    struct faina_error err;
    struct fa_json object, id;
    struct attempt *attempt;

    fa_error_clear(&err);
    if (process->why_killed)
        return;
    if (process->line_is_cut) {
        refuse_line(process, "is longer than an output may be");
        return;
    }
    if (text.len == 0)
        return;
    if (fa_json_check(text, FA_JSON_DEPTH_MAX + LEVELS_AROUND, "line", FAINA_INVALID_REQUEST,
                      &err) != FAINA_OK) {
        refuse_line(process, "is not JSON");
        return;
    }
    object = fa_json_value(text);
    if (object.type != FA_JSON_OBJECT || !fa_json_member(object, "id", &id) ||
        id.type != FA_JSON_STRING) {
        refuse_line(process, "has no id of a task");
        return;
    }
    attempt = find_attempt(process, (struct fa_bytes){id.raw.ptr + 1, id.raw.len - 2});
    if (!attempt)
        return; /* it has ended meanwhile */
    fa_handler_messages_add_object(&attempt->messages, object);
    if (!attempt->messages.has_ended && !attempt->messages.is_wrong)
        return;
    process->pause_us = 0;
    read_watch(process, &process->log, 1, take_log); /* what it wrote before this line */
    end_attempt(attempt, outcome_of(attempt));
}

static void take_output(struct lines_process *process, const char *ptr, size_t len)
{
    while (len > 0) {
        const char *newline = memchr(ptr, '\n', len);
        size_t part = newline ? (size_t)(newline - ptr) : len;

        if (process->line.len + part > process->line.max)
            process->line_is_cut = true;
        else
            fa_buf_add(&process->line, ptr, part);
        if (!newline)
            return;
        end_line(process);
        process->line_is_cut = false;
        fa_buf_clear(&process->line);
        len -= part + 1;
        ptr = newline + 1;
    }
}

static void on_output(struct fa_watch *watch)
{
    struct lines_process *process = FA_CONTAINER_OF(watch, struct lines_process, output);

    read_watch(process, watch, READS_PER_EVENT, take_output);
}

static void on_log(struct fa_watch *watch)
{
    struct lines_process *process = FA_CONTAINER_OF(watch, struct lines_process, log);

    read_watch(process, watch, READS_PER_EVENT, take_log);
}

/* There is room for more, or the process has closed its stdin. */
static void on_input(struct fa_watch *watch)
{
    struct lines_process *process = FA_CONTAINER_OF(watch, struct lines_process, input);

    if (process->unsent.len > 0)
        flush(process);
    else
        close_watch(process, watch);
}

/* ------------------------------------------------------------------------------------------
 * Processes
 */

static void free_lines(struct lines *lines)
{
    for (int i = 0; i < lines->process_count; i++) {
        fa_buf_finish(&lines->processes[i].unsent);
        fa_buf_finish(&lines->processes[i].line);
        fa_buf_finish(&lines->processes[i].last_log);
    }
    fa_arena_finish(&lines->arena);
    free(lines);
}

static void count_up(struct lines *lines, int change)
{
    struct fa_lines_group *group = lines->group;

    lines->up_count += change;
    if (change > 0 && lines->up_count == 1) {
        lines->next = group->running;
        lines->link = &group->running;
        if (lines->next)
            lines->next->link = &lines->next;
        group->running = lines;
    } else if (change < 0 && lines->up_count == 0) {
        *lines->link = lines->next;
        if (lines->next)
            lines->next->link = lines->link;
    }
    pthread_mutex_lock(&group->mutex);
    group->up_count += change;
    pthread_cond_broadcast(&group->cond);
    pthread_mutex_unlock(&group->mutex);
}

/* The last line of what the process wrote to stderr that is not empty. */
static const char *last_log_line(const struct lines_process *process, struct fa_arena *arena)
{
    const char *text = process->last_log.ptr;
    size_t end = process->last_log.len, begin;

    while (end > 0 && (text[end - 1] == '\n' || text[end - 1] == ' ' || text[end - 1] == '\r'))
        end--;
    for (begin = end; begin > 0 && text[begin - 1] != '\n';)
        begin--;
    return end > begin ? fa_note_text(arena, text + begin, end - begin) : "";
}

static const char *why_it_ended(const struct lines_process *process, bool is_known, int status,
                                struct fa_arena *arena)
{
    const char *last = last_log_line(process, arena);
    const char *how;

    if (process->why_killed)
        return process->why_killed;
    if (!is_known)
        how = "the process ended";
    else if (WIFSIGNALED(status))
        how = fa_arena_printf(arena, "the process was ended by signal %d (%s)%s", WTERMSIG(status),
                              strsignal(WTERMSIG(status)),
                              fa_limits_broken(&process->lines->settings.limits, status, arena));
    else
        how = fa_arena_printf(arena, "the process exited with code %d before it ended the attempt",
                              WEXITSTATUS(status));
    return fa_arena_printf(arena, "%s%s%s", how, last[0] ? ": " : "", last);
}

/* L2 */
static void fail_sent(struct lines_process *process, const char *kind, const char *why)
{
    struct attempt *next;

    for (struct attempt *attempt = process->attempts; attempt; attempt = next) {
        next = attempt->next;
        if (attempt->is_sent)
            fail_attempt(attempt, kind, why);
    }
}

static void set_pause(struct lines_process *process)
{
    int64_t now_us = fa_clock_mono_us();

    fa_timer_set(process->lines->group->loop, &process->timer, now_us + process->pause_us);
    process->pause_us = process->pause_us == 0 ? PAUSE_MIN_US : process->pause_us * 2;
    if (process->pause_us > PAUSE_MAX_US)
        process->pause_us = PAUSE_MAX_US;
}

static void on_exit_of_process(struct fa_process *ended)
{
    struct lines_process *process = FA_CONTAINER_OF(ended, struct lines_process, process);
    struct lines *lines = process->lines;
    struct fa_arena scratch = {0};
    struct rusage usage;
    int status = 0;
    bool is_known;

    read_watch(process, &process->log, READS_AT_END, take_log);
    read_watch(process, &process->output, READS_AT_END, take_output);
    is_known = fa_process_status(ended, &status);
    (void)!fa_process_finish(ended, &status, &usage);
    close_watch(process, &process->input);
    close_watch(process, &process->output);
    close_watch(process, &process->log);
    fa_timer_clear(lines->group->loop, &process->timer);
    process->is_up = false;
    count_up(lines, -1);
    fail_sent(process,
              process->why_killed == process->why ? "protocol"
              : is_known && WIFSIGNALED(status)   ? "signal"
                                                  : "exit",
              why_it_ended(process, is_known, status, &scratch));
    fa_arena_finish(&scratch);
    if (lines->is_destroyed && lines->up_count == 0)
        free_lines(lines);
    else
        set_pause(process);
}

/* Makes the pipe to stdin, whose writing end doesn't block. Returns the reading end; -1: errno. */
static int open_input(struct lines_process *process)
{
    int read_end;

    if (!fa_pipe(&read_end, &process->input.fd)) {
        process->input.fd = -1;
        return -1;
    }
    if (fcntl(read_end, F_SETFL, 0) == 0 && fcntl(process->input.fd, F_SETFL, O_NONBLOCK) == 0 &&
        fa_event_loop_watch(process->lines->group->loop, &process->input))
        return read_end;
    close(process->input.fd);
    close(read_end);
    process->input.fd = -1;
    return -1;
}

static int open_output(struct lines_process *process, struct fa_watch *watch)
{
    int write_end;

    if (!fa_pipe(&watch->fd, &write_end)) {
        watch->fd = -1;
        return -1;
    }
    if (fa_event_loop_watch(process->lines->group->loop, watch))
        return write_end;
    close(watch->fd);
    close(write_end);
    watch->fd = -1;
    return -1;
}

static enum faina_code spawn(struct lines_process *process, struct faina_error *err)
{
    struct lines *lines = process->lines;
    const char *const argv[] = {lines->path, NULL};
    struct fa_arena scratch = {0};
    struct fa_environment environment;
    struct fa_spawn spawn = {
        .path = lines->path,
        .argv = argv,
        .folder = lines->folder,
        .limits = lines->settings.limits,
        .fd_count = 3,
        .fds = {open_input(process), open_output(process, &process->output),
                open_output(process, &process->log)},
    };
    enum faina_code code;

    fa_environment_init(&environment, &scratch);
    code = fa_environment_add(&environment, &lines->settings, err);
    fa_spawner_make_mark(lines->group->spawner, &spawn.marks);
    fa_environment_set(&environment, spawn.marks.variables[0]);
    spawn.env = environment.items;
    for (int i = 0; code == FAINA_OK && i < spawn.fd_count; i++)
        if (spawn.fds[i] < 0)
            code = fa_error_set(err, FAINA_UNAVAILABLE, "can't make the pipes of a process: %s",
                                strerror(errno));
    if (code == FAINA_OK)
        code = fa_spawn(lines->group->spawner, &spawn, &process->process, err);
    for (int i = 0; i < spawn.fd_count; i++)
        if (spawn.fds[i] >= 0)
            close(spawn.fds[i]);
    fa_arena_finish(&scratch);
    return code;
}

static void start_process(struct lines_process *process)
{
    struct faina_error err;

    fa_error_clear(&err);
    fa_buf_clear(&process->unsent);
    fa_buf_clear(&process->line);
    fa_buf_clear(&process->last_log);
    process->line_is_cut = false;
    process->why_killed = NULL;
    if (spawn(process, &err) == FAINA_OK) {
        process->is_up = true;
        count_up(process->lines, 1);
        send_all(process);
        return;
    }
    close_watch(process, &process->input);
    close_watch(process, &process->output);
    close_watch(process, &process->log);
    for (struct attempt *attempt = process->attempts; attempt; attempt = attempt->next)
        attempt->is_sent = true;
    fail_sent(process, "spawn", err.message);
    set_pause(process);
}

/* Up: the process was asked to end. Down: it may be started. */
static void on_timer(struct fa_timer *timer)
{
    struct lines_process *process = FA_CONTAINER_OF(timer, struct lines_process, timer);

    if (process->is_up)
        kill_process(process, "the process did not end with its stdin");
    else if (process->count > 0)
        start_process(process);
}

/* Closes stdin; a process that goes on is killed. */
static void end_processes(struct lines *lines)
{
    for (int i = 0; i < lines->process_count; i++) {
        struct lines_process *process = &lines->processes[i];

        if (!process->is_up)
            continue;
        close_watch(process, &process->input);
        fa_timer_set(lines->group->loop, &process->timer, fa_clock_mono_us() + END_US);
    }
}

/* ------------------------------------------------------------------------------------------
 * Starting and stopping an attempt
 */

/* L3 */
static void kill_late(struct fa_timer *timer)
{
    struct attempt *attempt = FA_CONTAINER_OF(timer, struct attempt, kill_timer);

    kill_process(attempt->process,
                 "the process was killed: a task in it did not end when it was asked to");
}

/* The process with the fewest attempts, and among them one that is up. */
static struct lines_process *choose(struct lines *lines)
{
    struct lines_process *best = &lines->processes[0];

    for (int i = 1; i < lines->process_count; i++) {
        struct lines_process *process = &lines->processes[i];

        if (process->count < best->count ||
            (process->count == best->count && process->is_up && !best->is_up))
            best = process;
    }
    return best;
}

static void begin_attempt(struct fa_message *message)
{
    struct attempt *attempt = FA_CONTAINER_OF(message, struct attempt, start);
    struct lines *lines = (struct lines *)attempt->job->handler;
    struct lines_process *process = choose(lines);
    struct attempt **last = &process->attempts;

    while (*last)
        last = &(*last)->next;
    *last = attempt;
    attempt->link = last;
    attempt->process = process;
    process->count++;
    attempt->job->run = attempt;
    attempt->kill_timer.fire = kill_late;
    fa_handler_messages_init(&attempt->messages, attempt->job);
    fa_buf_init(&attempt->log, FA_NOTE_LOG_MAX + CHUNK);
    attempt->messages.log = &attempt->log;
    process->line.max = fa_job_output_max(attempt->job) + LINE_SLACK;
    if (fa_job_stop(attempt->job) != FA_STOP_NONE)
        fail_attempt(attempt, "stopped", "the attempt was stopped before it began");
    else if (process->is_up)
        send_all(process);
    else if (process->timer.heap_index == 0)
        start_process(process);
}

static void lines_start(struct fa_handler *handler, struct fa_job *job)
{
    struct attempt *attempt = fa_arena_zero(&job->arena, 1, sizeof(*attempt));

    attempt->job = job;
    attempt->start.run = begin_attempt;
    fa_event_loop_send(((struct lines *)handler)->group->loop, &attempt->start);
}

static void stop_attempt(struct fa_job *job)
{
    struct attempt *attempt = job->run;
    struct lines *lines = (struct lines *)job->handler;

    if (attempt && !attempt->is_sent) {
        fail_attempt(attempt, "stopped", "the attempt was stopped before it began");
    } else if (attempt && attempt->kill_timer.heap_index == 0) {
        struct fa_json_writer w;

        fa_json_writer_init(&w, &attempt->process->unsent, 0);
        fa_json_begin_object(&w);
        fa_json_set_str(&w, "id", job->task->id);
        fa_json_set_bool(&w, "cancel", true);
        fa_json_end_object(&w);
        fa_buf_add_str(&attempt->process->unsent, "\n");
        flush(attempt->process);
        fa_timer_set(lines->group->loop, &attempt->kill_timer,
                     fa_clock_mono_us() + lines->kill_after_us);
    }
}

static void lines_stop(struct fa_handler *handler, struct fa_job *job)
{
    fa_job_send_stop(job, ((struct lines *)handler)->group->loop, stop_attempt);
}

/* ------------------------------------------------------------------------------------------
 * The handler
 */

static void end_lines(struct fa_message *message)
{
    struct lines *lines = FA_CONTAINER_OF(message, struct lines, end);

    for (int i = 0; i < lines->process_count; i++)
        fa_timer_clear(lines->group->loop, &lines->processes[i].timer);
    lines->is_destroyed = true;
    if (lines->up_count == 0)
        free_lines(lines);
    else
        end_processes(lines);
}

static void lines_destroy(struct fa_handler *handler)
{
    struct lines *lines = (struct lines *)handler;
    struct fa_lines_group *group = lines->group;
    bool is_stopped;

    pthread_mutex_lock(&group->mutex);
    is_stopped = group->is_stopped;
    if (!is_stopped) /* the loop runs: fa_lines_group_stop sets is_stopped under the mutex */
        fa_event_loop_send(group->loop, &lines->end);
    pthread_mutex_unlock(&group->mutex);
    if (is_stopped)
        free_lines(lines);
}

static const struct fa_handler_ops lines_ops = {
    .start = lines_start,
    .stop = lines_stop,
    .destroy = lines_destroy,
};

struct fa_handler *fa_lines_create(struct fa_lines_group *group,
                                   const struct fa_command_config *config)
{
    const struct fa_settings *settings = config->settings;
    struct lines *lines = fa_alloc_zero(1, sizeof(*lines));
    int concurrency = settings->concurrency > 0 ? settings->concurrency : 1;

    lines->group = group;
    lines->path = fa_arena_strdup(&lines->arena, config->path);
    lines->folder = fa_arena_strdup(&lines->arena, config->folder);
    lines->settings = *settings;
    fa_settings_own(&lines->settings, &lines->arena);
    lines->kill_after_us =
        1000 * (config->kill_after_ms > 0 ? config->kill_after_ms : FA_KILL_AFTER_MS);
    lines->end.run = end_lines;
    lines->process_count = settings->processes > 0 ? settings->processes : 1;
    lines->processes =
        fa_arena_zero(&lines->arena, (size_t)lines->process_count, sizeof(*lines->processes));
    for (int i = 0; i < lines->process_count; i++) {
        struct lines_process *process = &lines->processes[i];

        process->lines = lines;
        process->process.on_exit = on_exit_of_process;
        process->timer.fire = on_timer;
        process->input = (struct fa_watch){.fd = -1, .on_event = on_input};
        process->output = (struct fa_watch){.fd = -1, .on_event = on_output};
        process->log = (struct fa_watch){.fd = -1, .on_event = on_log};
        fa_buf_init(&process->unsent, UNSENT_MAX);
        fa_buf_init(&process->line, LINE_SLACK);
        fa_buf_init(&process->last_log, FA_NOTE_LOG_MAX + CHUNK);
    }
    lines->handler = (struct fa_handler){
        .ops = &lines_ops,
        .type = fa_arena_strdup(&lines->arena, config->type),
        .timeout_ms = settings->timeout_ms,
        .concurrency = concurrency * lines->process_count,
        .needs_completed = !settings->takes_bad_ends,
        .settings = fa_settings_submit(&lines->arena, settings),
    };
    return &lines->handler;
}

/* ------------------------------------------------------------------------------------------
 * The group
 */

static void stop_group(struct fa_message *message)
{
    struct fa_lines_group *group = FA_CONTAINER_OF(message, struct fa_lines_group, stop);

    for (struct lines *lines = group->running; lines; lines = lines->next)
        end_processes(lines);
    pthread_mutex_lock(&group->mutex);
    group->is_stopping = true;
    pthread_cond_broadcast(&group->cond);
    pthread_mutex_unlock(&group->mutex);
}

struct fa_lines_group *fa_lines_group_create(struct fa_event_loop *loop, struct fa_spawner *spawner,
                                             const struct fa_reporter *log)
{
    struct fa_lines_group *group = fa_alloc_zero(1, sizeof(*group));

    group->loop = loop;
    group->spawner = spawner;
    group->log = *log;
    group->stop.run = stop_group;
    pthread_mutex_init(&group->mutex, NULL);
    pthread_cond_init(&group->cond, NULL);
    return group;
}

void fa_lines_group_stop(struct fa_lines_group *group)
{
    if (!group || group->is_stopped)
        return;
    fa_event_loop_send(group->loop, &group->stop);
    pthread_mutex_lock(&group->mutex);
    while (!group->is_stopping || group->up_count > 0)
        pthread_cond_wait(&group->cond, &group->mutex);
    group->is_stopped = true;
    pthread_mutex_unlock(&group->mutex);
}

void fa_lines_group_destroy(struct fa_lines_group *group)
{
    if (!group)
        return;
    pthread_mutex_destroy(&group->mutex);
    pthread_cond_destroy(&group->cond);
    free(group);
}
