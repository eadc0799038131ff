/*
 * command.c - an attempt is a `child`: its process, the three pipes it writes to, and a timer for
 * SIGKILL. It lives in the job's arena, and only the loop's thread uses it.
 */
#include "worker/command/command.h"

#include "base/clock.h"
#include "json/json.h"
#include "worker/attempt_note.h"
#include "worker/command/environment.h"
#include "worker/handler_message.h"
#include "wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHUNK (64 * 1024)
#define READS_PER_EVENT 4      /* then other watches are served */
#define READS_AT_END 32        /* a pipe holds at most 1 MiB by itself */
#define LINE_SLACK (64 * 1024) /* around a payload, in a line on descriptor 3 */

struct command {
    struct fa_handler handler;
    struct fa_event_loop *loop;
    struct fa_spawner *spawner;
    struct fa_arena arena;
    const char *path, *folder;
    struct fa_file_mark program;
    struct fa_settings settings;
    int64_t kill_after_ms;
};

/* One of the pipes. */
struct stream {
    struct fa_watch watch; /* fd -1: closed */
    struct child *child;
    void (*take)(struct child *child, const char *ptr, size_t len);
};

struct child {
    struct fa_job *job;
    struct command *command;
    struct fa_process process;
    struct stream output, log, messages;
    struct fa_timer kill_timer;
    struct fa_buf output_text, log_text, line;
    bool output_is_cut, log_is_cut, line_is_cut;
    struct fa_handler_messages reported;
    struct fa_message start;
};

/* ------------------------------------------------------------------------------------------
 * Streams
 */

static void take_output(struct child *child, const char *ptr, size_t len)
{
    if (child->output_text.len + len > child->output_text.max) {
        if (!child->output_is_cut)
            child->command->handler.ops->stop(&child->command->handler, child->job);
        child->output_is_cut = true;
        return; /* further output is dropped, so that the process can still end */
    }
    fa_buf_add(&child->output_text, ptr, len);
}

static void take_log(struct child *child, const char *ptr, size_t len)
{
    child->log_is_cut |= fa_note_log_add(&child->log_text, ptr, len);
    fa_job_log(child->job, ptr, len);
}

static void end_line(struct child *child)
{
    if (child->line_is_cut)
        fa_handler_messages_refuse(&child->reported,
                                   "line %zu on descriptor 3 is longer than %zu bytes",
                                   child->reported.line_count + 1, child->line.max);
    else
        fa_handler_messages_add(&child->reported,
                                (struct fa_bytes){child->line.ptr, child->line.len});
    child->line_is_cut = false;
    fa_buf_clear(&child->line);
}

static void take_messages(struct child *child, const char *ptr, size_t len)
{
    while (len > 0) {
        const char *newline = memchr(ptr, '\n', len);
        size_t part = newline ? (size_t)(newline - ptr) : len;

        if (child->line.len + part > child->line.max)
            child->line_is_cut = true;
        else
            fa_buf_add(&child->line, ptr, part);
        if (!newline)
            return;
        end_line(child);
        len -= part + 1;
        ptr = newline + 1;
    }
}

static void close_stream(struct stream *stream)
{
    if (stream->watch.fd < 0)
        return;
    fa_event_loop_unwatch(stream->child->command->loop, &stream->watch);
    close(stream->watch.fd);
    stream->watch.fd = -1;
}

static void read_stream(struct stream *stream, int reads)
{
    char chunk[CHUNK];

    while (stream->watch.fd >= 0 && reads-- > 0) {
        ssize_t len = read(stream->watch.fd, chunk, sizeof(chunk));

        if (len > 0)
            stream->take(stream->child, chunk, (size_t)len);
        else if (len < 0 && errno == EINTR)
            continue;
        else if (len < 0 && errno == EAGAIN)
            return;
        else
            close_stream(stream);
    }
}

static void on_stream(struct fa_watch *watch)
{
    read_stream(FA_CONTAINER_OF(watch, struct stream, watch), READS_PER_EVENT);
}

/* Makes a pipe and returns the child's end; -1: errno is set. */
static int open_stream(struct child *child, struct stream *stream,
                       void (*take)(struct child *child, const char *ptr, size_t len))
{
    int write_end;

    *stream = (struct stream){.child = child, .take = take};
    stream->watch.on_event = on_stream;
    if (!fa_pipe(&stream->watch.fd, &write_end)) {
        stream->watch.fd = -1;
        return -1;
    }
    if (fa_event_loop_watch(child->command->loop, &stream->watch))
        return write_end;
    close(stream->watch.fd);
    close(write_end);
    stream->watch.fd = -1;
    return -1;
}

/* ------------------------------------------------------------------------------------------
 * Ending
 */

static bool is_permanent_exit(int exit_code)
{
    /* EX_USAGE, EX_DATAERR, EX_CONFIG, and a shell's two. */
    static const int codes[] = {64, 65, 78, FA_SPAWN_CANNOT, FA_SPAWN_MISSING};

    for (size_t i = 0; i < FA_COUNT(codes); i++)
        if (codes[i] == exit_code)
            return true;
    return false;
}

/* The reason when the file can't be run because it was removed or replaced since it was checked:
 * that is not the task's failure. NULL: another exit. */
static const char *changed_file(const struct child *child, int exit_code)
{
    const struct command *command = child->command;
    struct fa_file_mark mark;
    struct stat st;

    if (exit_code != FA_SPAWN_CANNOT && exit_code != FA_SPAWN_MISSING)
        return NULL;
    if (stat(command->path, &st) != 0)
        return errno == ENOENT || errno == ENOTDIR ? "the handler's file is gone" : NULL;
    mark = fa_file_mark_of(&st);
    return fa_file_mark_is_same(&mark, &command->program) ? NULL : "the handler's file has changed";
}

/* The last line of the log that is not empty: usually the error. */
static const char *last_log_line(struct child *child)
{
    const char *text = fa_note_text(&child->job->arena, child->log_text.ptr, child->log_text.len);
    size_t end = strlen(text), begin;

    while (end > 0 && (text[end - 1] == '\n' || text[end - 1] == ' ' || text[end - 1] == '\r'))
        end--;
    for (begin = end; begin > 0 && text[begin - 1] != '\n';)
        begin--;
    return fa_arena_copy(&child->job->arena, text + begin, end - begin);
}

/* The end of the error message: the invalid line on descriptor 3, and the last line of the log. The
 * latter is last, since it may be cut. */
static const char *error_suffix(struct child *child)
{
    const char *line = last_log_line(child), *wrong = child->reported.wrong;
    const char *before = !line[0] ? "" : wrong[0] ? "; it logged: " : ": ";

    return fa_arena_printf(&child->job->arena, "%s%s%s%s", wrong[0] ? "; " : "", wrong, before,
                           line);
}

/* The failure that the handler reported; an invalid line on descriptor 3 is added to it. */
static struct faina_failure reported_failure(struct child *child, bool is_permanent)
{
    const struct fa_handler_messages *reported = &child->reported;
    struct faina_failure failure = reported->failure;

    if (reported->is_wrong)
        failure.message = fa_outcome_fail(&child->job->arena, NULL, false, "%s; %s",
                                          failure.message, reported->wrong)
                              .failure.message;
    if (!reported->has_retryable)
        failure.permanent = is_permanent;
    return failure;
}

/* An exit that is not 0, or a signal. */
static struct fa_outcome failed_exit(struct child *child, int status)
{
    struct fa_job *job = child->job;
    const char *rest = error_suffix(child);
    struct fa_outcome outcome;
    const char *changed = WIFEXITED(status) ? changed_file(child, WEXITSTATUS(status)) : NULL;
    bool is_permanent = WIFEXITED(status) && is_permanent_exit(WEXITSTATUS(status)) && !changed;

    if (WIFSIGNALED(status))
        outcome = fa_outcome_fail(
            &job->arena, "signal", false, "the handler was ended by signal %d (%s)%s%s",
            WTERMSIG(status), strsignal(WTERMSIG(status)),
            fa_limits_broken(&child->command->settings.limits, status, &job->arena), rest);
    else if (changed)
        outcome = fa_outcome_fail(&job->arena, "spawn", false, "%s; it exited with code %d%s",
                                  changed, WEXITSTATUS(status), rest);
    else
        outcome = fa_outcome_fail(&job->arena, "exit", is_permanent,
                                  "the handler exited with code %d%s", WEXITSTATUS(status), rest);
    if (child->reported.has_error)
        outcome.failure = reported_failure(child, is_permanent);
    return outcome;
}

/* The output without the space around it. NULL: none. */
static const char *output_of(struct child *child)
{
    static const char space[] = " \t\r\n";
    struct fa_buf *text = &child->output_text;
    char *begin = text->ptr;

    if (text->len == 0)
        return NULL;
    if (strlen(begin) != text->len)
        return "a NUL byte"; /* refused as invalid JSON */
    while (text->len > 0 && strchr(space, begin[text->len - 1]))
        begin[--text->len] = '\0';
    begin += strspn(begin, space);
    return begin[0] ? begin : NULL;
}

static struct fa_outcome outcome_of_exit(struct child *child, bool is_known, int status)
{
    struct fa_job *job = child->job;
    enum fa_stop stop = fa_job_stop(job);
    struct fa_outcome outcome;

    if (fa_handler_messages_requires(&child->reported, &outcome))
        return outcome;
    if (stop == FA_STOP_TIMEOUT)
        return fa_stop_outcome(job, stop);
    if (child->output_is_cut)
        return fa_outcome_fail(
            &job->arena, "output_too_large", true,
            "the handler printed more than the %zu bytes that an output may have",
            fa_job_output_max(job));
    if (!is_known)
        return fa_outcome_fail(&job->arena, "lost", false,
                               "how the handler ended is not known: this program ignores SIGCHLD");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return fa_handler_messages_outcome(&child->reported, output_of(child));
    if (WIFEXITED(status) && fa_handler_messages_snoozes(&child->reported, &outcome))
        return outcome;
    if (stop == FA_STOP_SHUTDOWN)
        return fa_stop_outcome(job, stop);
    return failed_exit(child, status);
}

static void free_child(struct child *child)
{
    fa_timer_clear(child->command->loop, &child->kill_timer);
    close_stream(&child->output);
    close_stream(&child->log);
    close_stream(&child->messages);
    fa_buf_finish(&child->output_text);
    fa_buf_finish(&child->log_text);
    fa_buf_finish(&child->line);
    fa_handler_messages_finish(&child->reported);
}

static void end_child(struct child *child, struct fa_outcome outcome)
{
    struct fa_job *job = child->job;

    if (outcome.kind == FA_OUTCOME_COMPLETE && outcome.output) /* it outlives the buffers */
        outcome.output = fa_arena_strdup(&job->arena, outcome.output);
    free_child(child);
    job->run = NULL;
    fa_job_end(job, &outcome);
}

/* K3. A cancelled or lost task doesn't continue, whatever the outcome. */
static bool continues_in_background(const struct child *child, const struct fa_outcome *outcome)
{
    enum fa_stop stop = fa_job_stop(child->job);

    return outcome->kind == FA_OUTCOME_BACKGROUND && stop != FA_STOP_CANCELLED &&
           stop != FA_STOP_LOST;
}

static void on_exit_of_child(struct fa_process *process)
{
    struct child *child = FA_CONTAINER_OF(process, struct child, process);
    struct fa_job *job = child->job;
    struct fa_note note = {.took_us = fa_clock_mono_us() - job->start_us};
    struct fa_outcome outcome;
    bool is_known, continues;

    read_stream(&child->output, READS_AT_END);
    read_stream(&child->log, READS_AT_END);
    read_stream(&child->messages, READS_AT_END);
    if (child->line.len > 0 || child->line_is_cut)
        end_line(child);
    is_known = fa_process_status(process, &note.status);
    outcome = outcome_of_exit(child, is_known, note.status);
    continues = continues_in_background(child, &outcome);
    if (continues)
        (void)!fa_process_reap(process, &note.status, &note.usage);
    else
        (void)!fa_process_finish(process, &note.status, &note.usage);
    note.log = child->log_text.ptr;
    note.log_len = child->log_text.len;
    note.is_cut = child->log_is_cut;
    outcome.note = fa_note_json(&job->arena, &note);
    if (outcome.kind == FA_OUTCOME_FAIL && !outcome.failure.detail)
        outcome.failure.detail = fa_note_error(&job->arena, &note);
    end_child(child, outcome);
}

/* ------------------------------------------------------------------------------------------
 * Starting
 */

/* A trace made from the task's id, with a span for each attempt. Not sampled. */
static const char *own_trace(struct fa_job *job)
{
    char trace[FAINA_ID_SIZE] = "";
    size_t len = 0;

    for (const char *at = job->task->id; *at; at++)
        if (*at != '-' && len < sizeof(trace) - 1)
            trace[len++] = *at;
    return fa_arena_printf(&job->arena, "00-%.32s-%08x%08x-00", trace, (unsigned)job->id.tail,
                           (unsigned)job->task->fence);
}

/* That of the claim, else what the task's metadata has, else its own. */
static const char *traceparent(struct fa_job *job)
{
    const char *metadata = job->task->metadata;
    const char *kept =
        metadata ? fa_json_member_text(fa_json_value(fa_str(metadata)), "traceparent", &job->arena)
                 : NULL;

    return job->task->traceparent ? job->task->traceparent : kept ? kept : own_trace(job);
}

/* The task's resources, separated by commas. */
static const char *resource_list(const struct faina_task *task, struct fa_arena *arena)
{
    const char *list = "";

    for (size_t i = 0; i < task->resource_count; i++)
        list = fa_arena_printf(arena, "%s%s%s", list, i ? "," : "", task->resources[i]);
    return list;
}

static enum faina_code make_environment(struct child *child, struct fa_environment *out,
                                        struct faina_error *err)
{
    const struct faina_task *task = child->job->task;
    struct fa_arena *arena = &child->job->arena;
    enum faina_code code;

    fa_environment_init(out, arena);
    code = fa_environment_add(out, &child->command->settings, err);
    fa_environment_set(out, fa_arena_printf(arena, "FAINA_TASK_ID=%s", task->id));
    fa_environment_set(out, fa_arena_printf(arena, "FAINA_TASK_TYPE=%s", task->type));
    fa_environment_set(out, fa_arena_printf(arena, "FAINA_NAMESPACE=%s", task->ns));
    fa_environment_set(out,
                       fa_arena_printf(arena, "FAINA_ATTEMPT=%lld", (long long)task->attempts));
    fa_environment_set(out, fa_arena_printf(arena, "FAINA_PHASE=%s", fa_phase_word(task->phase)));
    fa_environment_set(out, fa_arena_printf(arena, "FAINA_FENCE=%lld", (long long)task->fence));
    fa_environment_set(out,
                       fa_arena_printf(arena, "FAINA_TRACEPARENT=%s", traceparent(child->job)));
    if (task->resource_count > 0)
        fa_environment_set(
            out, fa_arena_printf(arena, "FAINA_RESOURCES=%s", resource_list(task, arena)));
    return code;
}

static bool write_all(int fd, const char *text)
{
    size_t len = strlen(text);

    while (len > 0) {
        ssize_t done = write(fd, text, len);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        text += done;
        len -= (size_t)done;
    }
    return true;
}

/* A file in memory, so that the loop doesn't have to write to a pipe. -1: errno is set. */
static int make_input(const struct fa_job *job)
{
    const char *input = job->task->input ? job->task->input : "null";
    int low = memfd_create("faina-input", MFD_CLOEXEC), fd;
    bool is_written;

    if (low < 0)
        return -1;
    if (job->task->phase == FAINA_PHASE_START)
        is_written = write_all(low, input);
    else
        is_written = write_all(low, "{\"input\":") && write_all(low, input) &&
                     write_all(low, ",\"subtasks\":") && write_all(low, job->subtasks) &&
                     write_all(low, "}");
    fd = is_written && lseek(low, 0, SEEK_SET) == 0 ? fcntl(low, F_DUPFD_CLOEXEC, 16) : -1;
    close(low);
    return fd;
}

static void close_fds(const int *fds, int count)
{
    for (int i = 0; i < count; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

static enum faina_code spawn_child(struct child *child, struct faina_error *err)
{
    const struct command *command = child->command;
    const char *const argv[] = {command->path, NULL};
    struct fa_spawn spawn = {
        .path = command->path,
        .argv = argv,
        .folder = command->folder,
        .limits = command->settings.limits,
        .fd_count = 4,
        .fds = {make_input(child->job), open_stream(child, &child->output, take_output),
                open_stream(child, &child->log, take_log),
                open_stream(child, &child->messages, take_messages)},
    };
    struct fa_environment environment;
    enum faina_code code = make_environment(child, &environment, err);

    spawn.env = environment.items;
    snprintf(spawn.marks.variables[0], FA_MARK_SIZE, "FAINA_TASK_ID=%s", child->job->task->id);
    snprintf(spawn.marks.variables[1], FA_MARK_SIZE, "FAINA_FENCE=%lld",
             (long long)child->job->task->fence);
    for (int i = 0; code == FAINA_OK && i < spawn.fd_count; i++)
        if (spawn.fds[i] < 0)
            code = fa_error_set(err, FAINA_UNAVAILABLE, "can't make the pipes of a process: %s",
                                strerror(errno));
    if (code == FAINA_OK)
        code = fa_spawn(command->spawner, &spawn, &child->process, err);
    close_fds(spawn.fds, spawn.fd_count);
    return code;
}

static void kill_child(struct fa_timer *timer)
{
    struct child *child = FA_CONTAINER_OF(timer, struct child, kill_timer);

    fa_process_kill(&child->process, SIGKILL);
}

static void start_child(struct fa_message *message)
{
    struct child *child = FA_CONTAINER_OF(message, struct child, start);
    struct fa_job *job = child->job;
    enum fa_stop stop = fa_job_stop(job);
    struct faina_error err;

    fa_handler_messages_init(&child->reported, job);
    child->output.watch.fd = child->log.watch.fd = child->messages.watch.fd = -1;
    child->output.child = child->log.child = child->messages.child = child;
    child->kill_timer.fire = kill_child;
    child->process.on_exit = on_exit_of_child;
    fa_buf_init(&child->output_text, fa_job_output_max(job) + CHUNK);
    fa_buf_init(&child->log_text, FA_NOTE_LOG_MAX + CHUNK);
    fa_buf_init(&child->line, fa_job_output_max(job) + LINE_SLACK);
    fa_error_clear(&err);
    if (stop != FA_STOP_NONE)
        end_child(child, fa_stop_outcome(job, stop));
    else if (spawn_child(child, &err) != FAINA_OK)
        end_child(child, fa_outcome_fail(&job->arena, "spawn", false, "%s", err.message));
    else
        job->run = child;
}

static void command_start(struct fa_handler *handler, struct fa_job *job)
{
    struct command *command = (struct command *)handler;
    struct child *child = fa_arena_zero(&job->arena, 1, sizeof(*child));

    child->job = job;
    child->command = command;
    child->start.run = start_child;
    fa_event_loop_send(command->loop, &child->start);
}

/* ------------------------------------------------------------------------------------------
 * Stopping
 */

static void stop_child(struct fa_job *job)
{
    struct child *child = job->run;

    if (!child || child->kill_timer.heap_index != 0)
        return;
    fa_process_kill(&child->process, SIGTERM);
    fa_process_kill(&child->process, SIGCONT); /* a stopped process would not get SIGTERM */
    fa_timer_set(child->command->loop, &child->kill_timer,
                 fa_clock_mono_us() + child->command->kill_after_ms * 1000);
}

static void command_stop(struct fa_handler *handler, struct fa_job *job)
{
    fa_job_send_stop(job, ((struct command *)handler)->loop, stop_child);
}

/* ------------------------------------------------------------------------------------------
 * The handler
 */

static void command_destroy(struct fa_handler *handler)
{
    struct command *command = (struct command *)handler;

    fa_arena_finish(&command->arena);
    free(command);
}

static const struct fa_handler_ops command_ops = {
    .start = command_start,
    .stop = command_stop,
    .destroy = command_destroy,
};

struct fa_handler *fa_command_create(struct fa_event_loop *loop, struct fa_spawner *spawner,
                                     const struct fa_command_config *config)
{
    struct command *command = fa_alloc_zero(1, sizeof(*command));

    command->loop = loop;
    command->spawner = spawner;
    command->path = fa_arena_strdup(&command->arena, config->path);
    command->folder = fa_arena_strdup(&command->arena, config->folder);
    command->program = config->program;
    command->settings = *config->settings;
    fa_settings_own(&command->settings, &command->arena);
    command->kill_after_ms = config->kill_after_ms > 0 ? config->kill_after_ms : FA_KILL_AFTER_MS;
    command->handler = (struct fa_handler){
        .ops = &command_ops,
        .type = fa_arena_strdup(&command->arena, config->type),
        .timeout_ms = config->settings->timeout_ms,
        .concurrency = config->settings->concurrency,
        .needs_completed = !config->settings->takes_bad_ends,
        .settings = fa_settings_submit(&command->arena, config->settings),
    };
    return &command->handler;
}
