/*
 * host.c - the main thread reads frames, and each attempt has a thread. A frame is written whole,
 * under a mutex.
 */
#include "worker/plugin/host.h"

#include "json/json.h"
#include "service/service.h"
#include "wire/wire.h"
#include "worker/context.h"
#include "worker/plugin/frame.h"
#include "worker/plugin/plugin.h"
#include "worker/subtask.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define SOCKET STDIN_FILENO
#define CHUNK (64 * 1024)
#define FRAMES_MAX 24
#define CRASH_STACK (64 * 1024) /* for the signal handler when the thread's stack is full */
#define EXIT_FAILED 1

struct attempt {
    struct host *host;
    uint64_t number;
    struct fa_arena arena;
    struct faina_task task;
    const char *subtasks;
    const char *worker_id;
    size_t output_max;
    const struct faina_plugin_type *type;
    atomic_bool is_cancelled;
    struct attempt *next, **link;
};

struct host {
    const struct faina_plugin *plugin;
    pthread_mutex_t mutex; /* guards the socket's writing side and the list */
    struct attempt *attempts;
    pthread_mutex_t service_mutex; /* guards what follows */
    struct fa_service *service;    /* the worker's engine; NULL: not opened yet */
};

/* ------------------------------------------------------------------------------------------
 * Sending
 */

static void write_all(const char *ptr, size_t len)
{
    while (len > 0) {
        ssize_t done = write(SOCKET, ptr, len);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            _exit(EXIT_FAILED); /* the pool has ended */
        ptr += done;
        len -= (size_t)done;
    }
}

static void send_frame(struct host *host, enum fa_frame_kind kind, uint64_t attempt,
                       const struct fa_buf *payload)
{
    struct fa_frame head = {.kind = kind, .size = (uint32_t)payload->len, .attempt = attempt};

    pthread_mutex_lock(&host->mutex);
    write_all((const char *)&head, sizeof(head));
    write_all(payload->ptr, payload->len);
    pthread_mutex_unlock(&host->mutex);
}

/* The JSON object of a frame that is being written. */
struct message {
    struct fa_buf buf;
    struct fa_json_writer w;
};

static void message_begin(struct message *message)
{
    fa_buf_init(&message->buf, FA_FRAME_SIZE_MAX);
    fa_json_writer_init(&message->w, &message->buf, 0);
    fa_json_begin_object(&message->w);
}

static void message_end(struct message *message, struct host *host, enum fa_frame_kind kind,
                        uint64_t attempt)
{
    fa_json_end_object(&message->w);
    send_frame(host, kind, attempt, &message->buf);
    fa_buf_finish(&message->buf);
}

static void put_duration(struct fa_json_writer *w, const char *key, int64_t ms)
{
    char text[32];

    snprintf(text, sizeof(text), "%lldms", (long long)ms);
    fa_json_opt_str(w, key, ms > 0 ? text : NULL);
}

/* ------------------------------------------------------------------------------------------
 * One attempt
 */

static void report(void *ctx, const struct faina_report *report)
{
    struct attempt *attempt = ctx;
    struct message message;

    message_begin(&message);
    if (report->has_progress)
        fa_json_set_int(&message.w, "progress", report->progress);
    fa_json_opt_str(&message.w, "state", report->state);
    fa_json_opt_raw(&message.w, "metadata", report->metadata);
    message_end(&message, attempt->host, FA_FRAME_MESSAGE, attempt->number);
}

static bool is_cancelled(void *ctx)
{
    return atomic_load(&((struct attempt *)ctx)->is_cancelled);
}

/* The engine is opened at first use, and is used until the process ends. */
static enum faina_code open_service(struct host *host, struct fa_service **out,
                                    struct faina_error *err)
{
    const char *url = getenv(FA_PLUGIN_URL);
    enum faina_code code = FAINA_OK;

    if (!url)
        return fa_error_set(err, FAINA_NOT_SUPPORTED,
                            "the engine is in memory: a plugin can't create a subtask in it before "
                            "the task is blocked");
    pthread_mutex_lock(&host->service_mutex);
    if (!host->service)
        code = fa_service_open(&host->service, url, NULL, err);
    *out = host->service;
    pthread_mutex_unlock(&host->service_mutex);
    return code;
}

static enum faina_code create(void *ctx, const struct faina_submit *subtask, char id[FAINA_ID_SIZE],
                              struct faina_error *err)
{
    struct attempt *attempt = ctx;
    struct faina_by by = {.worker_id = attempt->worker_id, .fence = attempt->task.fence};
    struct fa_service *service = NULL;
    enum faina_code code = open_service(attempt->host, &service, err);

    return code == FAINA_OK ? fa_subtask_create(service, &attempt->task, by, subtask, id, err)
                            : code;
}

static const struct fa_context_backend backend = {
    .report = report, .is_cancelled = is_cancelled, .create = create};

static void send_failure(struct attempt *attempt, const struct faina_failure *failure)
{
    struct message message;

    message_begin(&message);
    fa_json_key(&message.w, "error");
    fa_json_begin_object(&message.w);
    fa_json_opt_str(&message.w, "message", failure->message);
    fa_json_opt_str(&message.w, "kind", failure->kind);
    fa_json_opt_raw(&message.w, "detail", failure->detail);
    fa_json_set_bool(&message.w, "retryable", !failure->permanent);
    if (failure->retry_after_ms > 0) {
        fa_json_key(&message.w, "retryAfter");
        fa_wire_put_duration(&message.w, failure->retry_after_ms);
    } else if (failure->retry_at_us > 0) {
        fa_json_key(&message.w, "retryAfter");
        fa_wire_put_time(&message.w, failure->retry_at_us);
    }
    fa_json_end_object(&message.w);
    message_end(&message, attempt->host, FA_FRAME_MESSAGE, attempt->number);
}

static void send_subtasks(struct attempt *attempt, const struct fa_outcome *outcome)
{
    for (size_t i = 0; i < outcome->subtask_count; i++) {
        struct message message;

        message_begin(&message);
        if (i == 0 && outcome->fail_fast)
            fa_json_set_bool(&message.w, "failFast", true);
        fa_json_key(&message.w, "subtask");
        fa_wire_put_submit(&message.w, &outcome->subtasks[i]);
        message_end(&message, attempt->host, FA_FRAME_MESSAGE, attempt->number);
    }
}

static void send_background(struct attempt *attempt, const struct fa_outcome *outcome)
{
    struct message message;

    message_begin(&message);
    fa_json_key(&message.w, "background");
    fa_json_begin_object(&message.w);
    fa_json_opt_str(&message.w, "reason", outcome->reason);
    put_duration(&message.w, "timeout", outcome->timeout_ms);
    fa_json_end_object(&message.w);
    message_end(&message, attempt->host, FA_FRAME_MESSAGE, attempt->number);
}

static void send_require(struct attempt *attempt, const struct fa_outcome *outcome)
{
    for (size_t i = 0; i < outcome->settings->resource_count; i++) {
        struct message message;

        message_begin(&message);
        fa_json_opt_str(&message.w, "resource", outcome->settings->resources[i]);
        message_end(&message, attempt->host, FA_FRAME_MESSAGE, attempt->number);
    }
}

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static void send_end(struct attempt *attempt, const struct fa_outcome *outcome)
{
    struct message message;
    struct rusage thread = {0}, process = {0};

    getrusage(RUSAGE_THREAD, &thread);
    getrusage(RUSAGE_SELF, &process);
    message_begin(&message);
    if (outcome->kind == FA_OUTCOME_COMPLETE)
        fa_json_opt_raw(&message.w, "output", outcome->output);
    fa_json_set_double(&message.w, "cpuSeconds",
                       seconds(thread.ru_utime) + seconds(thread.ru_stime));
    fa_json_set_int(&message.w, "memoryBytes", (int64_t)process.ru_maxrss * 1024);
    message_end(&message, attempt->host, FA_FRAME_END, attempt->number);
}

static void free_attempt(struct attempt *attempt)
{
    pthread_mutex_lock(&attempt->host->mutex);
    *attempt->link = attempt->next;
    if (attempt->next)
        attempt->next->link = attempt->link;
    pthread_mutex_unlock(&attempt->host->mutex);
    fa_arena_finish(&attempt->arena);
    free(attempt);
}

static void *attempt_main(void *arg)
{
    struct attempt *attempt = arg;
    struct faina_context context = {
        .arena = &attempt->arena,
        .task = &attempt->task,
        .subtasks_json = attempt->subtasks,
        .output_max = attempt->output_max,
        .backend = &backend,
        .backend_ctx = attempt,
    };
    stack_t crash_stack = {.ss_sp = fa_arena_take(&attempt->arena, CRASH_STACK),
                           .ss_size = CRASH_STACK};
    stack_t no_stack = {.ss_flags = SS_DISABLE};
    struct fa_outcome outcome;

    sigaltstack(&crash_stack, NULL);
    outcome = fa_context_run(&context, &attempt->type->handler, attempt->type->user);
    if (outcome.kind == FA_OUTCOME_FAIL)
        send_failure(attempt, &outcome.failure);
    else if (outcome.kind == FA_OUTCOME_BLOCK)
        send_subtasks(attempt, &outcome);
    else if (outcome.kind == FA_OUTCOME_BACKGROUND)
        send_background(attempt, &outcome);
    else if (outcome.kind == FA_OUTCOME_AMEND)
        send_require(attempt, &outcome);
    send_end(attempt, &outcome);
    sigaltstack(&no_stack, NULL);
    free_attempt(attempt);
    return NULL;
}

/* ------------------------------------------------------------------------------------------
 * Frames of the pool
 */

static void copy_id(char out[FAINA_ID_SIZE], const char *id)
{
    snprintf(out, FAINA_ID_SIZE, "%s", id ? id : "");
}

/* The pool wrote it (plugin.c, write_start), so it needs no checks. */
static void read_start(struct attempt *attempt, struct fa_json object)
{
    struct fa_arena *arena = &attempt->arena;
    struct faina_task *task = &attempt->task;
    struct fa_json names;

    copy_id(task->id, fa_json_member_text(object, "id", arena));
    copy_id(task->parent_id, fa_json_member_text(object, "parentId", arena));
    task->ns = fa_json_member_text(object, "namespace", arena);
    task->type = fa_json_member_text(object, "type", arena);
    task->name = fa_json_member_text(object, "name", arena);
    task->created_by = fa_json_member_text(object, "createdBy", arena);
    task->input = fa_json_member_raw(object, "input", arena);
    task->metadata = fa_json_member_raw(object, "metadata", arena);
    task->spec = fa_json_member_raw(object, "spec", arena);
    task->status = FAINA_RUNNING;
    task->phase = (enum faina_phase)fa_json_member_int(object, "phase");
    task->priority = (int)fa_json_member_int(object, "priority");
    task->attempts = fa_json_member_int(object, "attempts");
    task->max_attempts = fa_json_member_int(object, "maxAttempts");
    task->fence = fa_json_member_int(object, "fence");
    task->traceparent = fa_json_member_text(object, "traceparent", arena);
    attempt->worker_id = fa_json_member_text(object, "workerId", arena);
    if (fa_json_member(object, "resources", &names))
        (void)!fa_json_texts(names, arena, &task->resources, &task->resource_count);
    attempt->subtasks = fa_json_member_raw(object, "subtasks", arena);
    attempt->output_max = (size_t)fa_json_member_int(object, "outputMax");
}

static const struct faina_plugin_type *find_type(const struct faina_plugin *plugin,
                                                 const char *type)
{
    for (size_t i = 0; i < plugin->type_count; i++)
        if (fa_name_is_same(plugin->types[i].type, type))
            return &plugin->types[i];
    return NULL;
}

static void start_attempt(struct host *host, uint64_t number, struct fa_bytes payload)
{
    struct attempt *attempt = fa_alloc_zero(1, sizeof(*attempt));
    pthread_t thread;
    int failed;

    attempt->host = host;
    attempt->number = number;
    read_start(attempt, fa_json_value(payload));
    attempt->type = find_type(host->plugin, attempt->task.type);
    pthread_mutex_lock(&host->mutex);
    attempt->next = host->attempts;
    attempt->link = &host->attempts;
    if (attempt->next)
        attempt->next->link = &attempt->next;
    host->attempts = attempt;
    pthread_mutex_unlock(&host->mutex);
    failed = attempt->type ? pthread_create(&thread, NULL, attempt_main, attempt) : ENOENT;
    if (!failed) {
        pthread_detach(thread);
        return;
    }
    send_failure(attempt, &(struct faina_failure){.message = strerror(failed), .kind = "thread"});
    send_end(attempt, &(struct fa_outcome){.kind = FA_OUTCOME_FAIL});
    free_attempt(attempt);
}

static void stop_attempt(struct host *host, uint64_t number)
{
    pthread_mutex_lock(&host->mutex);
    for (struct attempt *attempt = host->attempts; attempt; attempt = attempt->next)
        if (attempt->number == number)
            atomic_store(&attempt->is_cancelled, true);
    pthread_mutex_unlock(&host->mutex);
}

/* Takes whole frames from the front of what was read. */
static void take_frames(struct host *host, struct fa_buf *in)
{
    size_t at = 0, used;
    struct fa_bytes payload;
    struct fa_frame frame;

    while (fa_frame_read((struct fa_bytes){in->ptr + at, in->len - at}, &frame, &payload, &used) ==
           1) {
        if (frame.kind == FA_FRAME_START)
            start_attempt(host, frame.attempt, payload);
        else if (frame.kind == FA_FRAME_STOP)
            stop_attempt(host, frame.attempt);
        at += used;
    }
    if (at > 0)
        memmove(in->ptr, in->ptr + at, in->len - at);
    in->len -= at;
}

static void read_frames(struct host *host)
{
    struct fa_buf in;

    fa_buf_init(&in, FA_FRAME_SIZE_MAX + CHUNK + sizeof(struct fa_frame));
    for (;;) {
        char chunk[CHUNK];
        ssize_t len = read(SOCKET, chunk, sizeof(chunk));

        if (len < 0 && errno == EINTR)
            continue;
        if (len <= 0)
            break; /* the pool has ended, or fa_plugin_end closed the socket */
        fa_buf_add(&in, chunk, (size_t)len);
        take_frames(host, &in);
    }
    fa_buf_finish(&in);
}

/* ------------------------------------------------------------------------------------------
 * Crashing
 */

/* Writes the stack to stderr; then the signal takes its default action. */
static void on_crash(int signal_number)
{
    static const char head[] = "faina: the plugin crashed; its stack:\n";
    void *frames[FRAMES_MAX];
    int count = backtrace(frames, FRAMES_MAX);

    (void)!write(STDERR_FILENO, head, sizeof(head) - 1);
    backtrace_symbols_fd(frames, count, STDERR_FILENO);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void watch_for_crashes(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    struct sigaction action = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK | SA_RESETHAND};
    void *frames[1];

    (void)!backtrace(frames, 1); /* loads its library now, not in the signal handler */
    for (size_t i = 0; i < FA_COUNT(signals); i++)
        sigaction(signals[i], &action, NULL);
}

/* ------------------------------------------------------------------------------------------
 * Loading
 */

/* Resumes the task of a trigger or join: all tasks that it has built are done. */
static enum faina_outcome end_building(struct faina_context *context, void *user)
{
    (void)context;
    (void)user;
    return FAINA_OUTCOME_COMPLETE;
}

static struct faina_plugin_type builder(const char *plugin, const char *name,
                                        faina_handler_fn *build, void *user)
{
    size_t size = strlen(plugin) + strlen(name ? name : "") + 2;
    char *type = fa_alloc(size);

    snprintf(type, size, "%s.%s", plugin, name ? name : "");
    return (struct faina_plugin_type){
        .type = type, .handler = {.on_start = build, .on_resume = end_building}, .user = user};
}

/* Appends the types of the triggers and joins to the plugin's own. Never freed: the plugin is
 * loaded as long as the process lives. */
static void add_builders(struct faina_plugin *plugin)
{
    size_t count = plugin->type_count;
    struct faina_plugin_type *types =
        fa_alloc_zero(count + plugin->trigger_count + plugin->join_count, sizeof(*types));

    if (count > 0)
        memcpy(types, plugin->types, count * sizeof(*types));
    for (size_t i = 0; i < plugin->trigger_count; i++) {
        const struct faina_plugin_trigger *trigger = &plugin->triggers[i];

        types[count++] = builder(plugin->name, trigger->name, trigger->build, trigger->user);
    }
    for (size_t i = 0; i < plugin->join_count; i++) {
        const struct faina_plugin_join *join = &plugin->joins[i];

        types[count++] = builder(plugin->name, join->name, join->build, join->user);
    }
    plugin->types = types;
    plugin->type_count = count;
}

static enum faina_code check_version(const struct faina_plugin *plugin, struct faina_error *err)
{
    if (!plugin)
        return fa_error_set(err, FAINA_INVALID_REQUEST, "it reports that it can't be used here");
    if (plugin->abi != FAINA_PLUGIN_ABI || plugin->handler_size != sizeof(struct faina_plugin_type))
        return fa_error_set(err, FAINA_NOT_SUPPORTED,
                            "it was built for version %u of the plugin interface and this program "
                            "has version %d: build it anew",
                            plugin->abi, FAINA_PLUGIN_ABI);
    if ((plugin->trigger_count > 0 || plugin->join_count > 0) && !plugin->name)
        return fa_error_set(err, FAINA_INVALID_REQUEST, "it has triggers or joins, and no name");
    return FAINA_OK;
}

static enum faina_code check_types(const struct faina_plugin *plugin, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    if (plugin->type_count == 0 || !plugin->types)
        return fa_error_set(err, FAINA_INVALID_REQUEST, "it handles no types");
    for (size_t i = 0; code == FAINA_OK && i < plugin->type_count; i++)
        code = fa_context_check(plugin->types[i].type, &plugin->types[i].handler, err);
    return code;
}

static enum faina_code load(const char *path, struct faina_plugin *out, struct faina_error *err)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const struct faina_plugin *found;
    faina_plugin_fn *entry;
    enum faina_code code;
    void *symbol;

    if (!library)
        return fa_error_set(err, FAINA_INVALID_REQUEST, "%.400s", dlerror());
    symbol = dlsym(library, FAINA_PLUGIN_ENTRY);
    if (!symbol)
        return fa_error_set(err, FAINA_INVALID_REQUEST, "it has no function " FAINA_PLUGIN_ENTRY);
    memcpy(&entry, &symbol, sizeof(entry)); /* C has no cast from an object to a function pointer */
    found = entry();
    code = check_version(found, err);
    if (code != FAINA_OK)
        return code;
    *out = *found;
    if (out->trigger_count > 0 || out->join_count > 0)
        add_builders(out);
    return check_types(out, err);
}

/* The task of a trigger or join, which the builder handles, and the end of the rule. */
static void end_rule(struct fa_json_writer *w, const struct faina_plugin *plugin, const char *name,
                     const struct faina_plugin_join *join)
{
    struct fa_arena scratch = {0};

    fa_json_key(w, "task");
    fa_json_begin_object(w);
    fa_json_opt_str(w, "type", fa_arena_printf(&scratch, "%s.%s", plugin->name, name));
    fa_json_key(w, "input");
    if (join) {
        fa_json_begin_object(w);
        fa_json_opt_str(w, "key", "${key}");
        fa_json_key(w, "tasks");
        fa_json_begin_object(w);
        for (size_t i = 0; i < join->task_type_count; i++)
            fa_json_opt_str(w, join->task_types[i],
                            fa_arena_printf(&scratch, "${tasks.%s}", join->task_types[i]));
        fa_json_end_object(w);
        fa_json_end_object(w);
    } else {
        fa_json_put_str(w, "${}");
    }
    fa_json_end_object(w);
    fa_json_end_object(w);
    fa_arena_finish(&scratch);
}

static void put_join(struct fa_json_writer *w, const struct faina_plugin *plugin,
                     const struct faina_plugin_join *join)
{
    fa_json_begin_object(w);
    fa_json_opt_str(w, "name", join->name);
    fa_json_set_strs(w, "taskTypes", join->task_types, join->task_type_count);
    fa_json_opt_str(w, "joinKey", join->join_key);
    fa_json_opt_str(w, "onFailure", join->fires_after_failure ? "fire" : "drop");
    put_duration(w, "deadline", join->deadline_ms);
    end_rule(w, plugin, join->name, join);
}

/* The workflow definition of its triggers and joins. It is checked when the pool stores it. */
static void put_workflow(struct fa_json_writer *w, const struct faina_plugin *plugin)
{
    if (plugin->trigger_count + plugin->join_count == 0)
        return;
    fa_json_key(w, "workflow");
    fa_json_begin_object(w);
    fa_json_opt_str(w, "workflow", plugin->name);
    fa_json_key(w, "triggers");
    fa_json_begin_array(w);
    for (size_t i = 0; i < plugin->trigger_count; i++) {
        const struct faina_plugin_trigger *trigger = &plugin->triggers[i];

        fa_json_begin_object(w);
        fa_json_opt_str(w, "name", trigger->name);
        fa_json_opt_str(w, "on", trigger->on);
        fa_json_opt_str(w, "match", trigger->match);
        end_rule(w, plugin, trigger->name, NULL);
    }
    fa_json_end_array(w);
    fa_json_key(w, "joins");
    fa_json_begin_array(w);
    for (size_t i = 0; i < plugin->join_count; i++)
        put_join(w, plugin, &plugin->joins[i]);
    fa_json_end_array(w);
    fa_json_end_object(w);
}

static void send_hello(struct host *host, const struct faina_error *err)
{
    struct message message;

    message_begin(&message);
    if (!host->plugin) {
        fa_json_opt_str(&message.w, "error", err->message);
        message_end(&message, host, FA_FRAME_HELLO, 0);
        return;
    }
    fa_json_key(&message.w, "types");
    fa_json_begin_array(&message.w);
    for (size_t i = 0; i < host->plugin->type_count; i++) {
        const struct faina_plugin_type *type = &host->plugin->types[i];

        fa_json_begin_object(&message.w);
        fa_json_opt_str(&message.w, "type", type->type);
        fa_json_set_int(&message.w, "timeoutMs", type->handler.timeout_ms);
        fa_json_set_int(&message.w, "concurrency", type->handler.concurrency);
        fa_json_key(&message.w, "settings");
        fa_wire_put_submit(&message.w, &(struct faina_submit){
                                           .type = type->type,
                                           .max_attempts = type->handler.max_attempts,
                                           .retry = type->handler.retry,
                                           .resources = type->handler.resources,
                                           .resource_count = type->handler.resource_count,
                                       });
        fa_json_end_object(&message.w);
    }
    fa_json_end_array(&message.w);
    put_workflow(&message.w, host->plugin);
    message_end(&message, host, FA_FRAME_HELLO, 0);
}

int fa_host_main(const char *path)
{
    struct host host = {0};
    struct faina_plugin plugin = {0};
    struct faina_error err;
    enum faina_code code;

    signal(SIGPIPE, SIG_IGN);
    watch_for_crashes();
    pthread_mutex_init(&host.mutex, NULL);
    pthread_mutex_init(&host.service_mutex, NULL);
    fa_error_clear(&err);
    code = load(path, &plugin, &err);
    host.plugin = code == FAINA_OK ? &plugin : NULL;
    send_hello(&host, &err);
    if (code == FAINA_OK)
        read_frames(&host);
    /* Attempts may still run: _exit calls no destructors. */
    _exit(code == FAINA_OK ? 0 : EXIT_FAILED);
}
