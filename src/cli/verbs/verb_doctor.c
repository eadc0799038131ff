/*
 * verb_doctor.c - `faina doctor`: checks of the environment, the store and the clock.
 */
#include "cli/verbs.h"

#include "base/clock.h"
#include "cli/publish.h"
#include "cli/text.h"
#include "model/times.h"
#include "wire/wire.h"

#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define OUTBOX_AGE_MS 60000 /* messages that wait longer are a warning */
#define DISK_WRONG_BYTES ((uint64_t)64 << 20)
#define DISK_WARNING_BYTES ((uint64_t)1 << 30)
#define CHECK_COUNT_MAX 64
#define CLOCK_AHEAD_US (60 * 1000000LL)
#define CLOCK_APART_MS 1000

enum level { LEVEL_OK, LEVEL_WARNING, LEVEL_WRONG };

struct check {
    const char *name;
    enum level level;
    const char *message;
};

struct doctor {
    struct fa_cli *cli;
    struct check checks[CHECK_COUNT_MAX];
    size_t count;
    enum level worst;
};

static void add(struct doctor *doctor, const char *name, enum level level, const char *message)
{
    if (level > doctor->worst)
        doctor->worst = level;
    if (doctor->count < CHECK_COUNT_MAX)
        doctor->checks[doctor->count++] = (struct check){name, level, message};
}

/* ------------------------------------------------------------------------------------------
 * The checks
 */

/* All other verbs ignore a misspelled variable. */
static void check_environment(struct doctor *doctor)
{
    static const char *const known[] = {
        "FAINA_URL",         "FAINA_LISTEN",      "FAINA_TOKEN",
        "FAINA_CA_FILE",     "FAINA_NAMESPACE",   "FAINA_HANDLERS",
        "FAINA_WORKFLOWS",   "FAINA_NODE_ID",     "FAINA_BROKER",
        "FAINA_LOG",         "FAINA_EVENTS_KEEP", "FAINA_KEEP_COMPLETED",
        "FAINA_KEEP_FAILED", "FAINA_ARCHIVE",     NULL};
    static const char *const own[] = {
        "FAINA_TASK_ID",     "FAINA_TASK_TYPE", "FAINA_ATTEMPT", "FAINA_PHASE",
        "FAINA_TRACEPARENT", "FAINA_FENCE",     "FAINA_BIN",     NULL};
    struct fa_arena *arena = &doctor->cli->arena;
    const char *log = getenv("FAINA_LOG");
    bool is_fine = true;

    if (log && log[0] && strcmp(log, "error") != 0 && strcmp(log, "warn") != 0 &&
        strcmp(log, "info") != 0 && strcmp(log, "debug") != 0) {
        add(doctor, "environment", LEVEL_WARNING,
            fa_arena_printf(arena, "FAINA_LOG is error, warn, info or debug, not %s", log));
        is_fine = false;
    }
    for (char **at = environ; at && *at; at++) {
        char *name = fa_arena_copy(arena, *at, strcspn(*at, "="));
        size_t len = strlen(name);
        bool is_known = strncmp(name, "FAINA_", 6) != 0;
        const char *nearest;

        /* Each secret may also be in a file that NAME_FILE names. */
        if (strcmp(name, "FAINA_CA_FILE") != 0 && len > 5 && strcmp(name + len - 5, "_FILE") == 0)
            name[len - 5] = '\0';
        for (size_t i = 0; known[i] && !is_known; i++)
            is_known = strcmp(name, known[i]) == 0;
        for (size_t i = 0; own[i] && !is_known; i++)
            is_known = strcmp(name, own[i]) == 0;
        if (is_known)
            continue;
        nearest = fa_wire_nearest(name, known);
        add(doctor, "environment", LEVEL_WARNING,
            nearest ? fa_arena_printf(arena, "%s is not a known variable; did you mean %s?", name,
                                      nearest)
                    : fa_arena_printf(arena, "%s is not a known variable", name));
        is_fine = false;
    }
    if (is_fine)
        add(doctor, "environment", LEVEL_OK, "every FAINA_ variable is known");
}

static void check_disk(struct doctor *doctor, const char *path)
{
    struct fa_arena *arena = &doctor->cli->arena;
    struct statvfs disk;
    uint64_t left;
    const char *text;

    if (statvfs(path, &disk) != 0)
        return;
    left = (uint64_t)disk.f_bavail * disk.f_frsize;
    text = fa_text_size(arena, (int64_t)left);
    if (left < DISK_WRONG_BYTES)
        add(doctor, "disk", LEVEL_WRONG, fa_arena_printf(arena, "only %s are free", text));
    else if (left < DISK_WARNING_BYTES)
        add(doctor, "disk", LEVEL_WARNING, fa_arena_printf(arena, "only %s are free", text));
    else
        add(doctor, "disk", LEVEL_OK, fa_arena_printf(arena, "%s are free", text));
}

/* The absolute value. */
static const char *duration_text(struct fa_arena *arena, int64_t ms)
{
    char text[FA_TIME_SIZE];

    fa_duration_format((ms < 0 ? -ms : ms) * 1000, text);
    return fa_arena_strdup(arena, text);
}

/* The last jump of the system clock, and the difference that isn't corrected yet. */
static void check_clock(struct doctor *doctor, const struct fa_service_clock *clock)
{
    struct fa_arena *arena = &doctor->cli->arena;
    bool is_apart = clock->offset_ms >= CLOCK_APART_MS || clock->offset_ms <= -CLOCK_APART_MS;
    const char *offset = duration_text(arena, clock->offset_ms), *side;
    char at[FA_TIME_SIZE];

    side = clock->offset_ms < 0 ? "behind" : "ahead of";
    if (clock->jumps > 0) {
        fa_time_format(clock->jump_at_us, at);
        add(doctor, "clock", LEVEL_WARNING,
            fa_arena_printf(arena, "the system clock was set %s by %s, to %s%s",
                            clock->jump_ms < 0 ? "back" : "forward",
                            duration_text(arena, clock->jump_ms), at,
                            is_apart ? "" : "; the engine's clock agrees with it again"));
    }
    if (is_apart)
        add(doctor, "clock", LEVEL_WARNING,
            fa_arena_printf(arena, "the engine's clock is %s %s the system clock, and is %s",
                            offset, side,
                            clock->offset_ms < 0 ? "set forward with the next change"
                                                 : "corrected by a tenth of the time that passes"));
    if (clock->jumps == 0 && !is_apart)
        add(doctor, "clock", LEVEL_OK, "no jump of the system clock since the engine was opened");
}

static void check_store(struct doctor *doctor)
{
    struct fa_cli *cli = doctor->cli;
    struct fa_arena *arena = &cli->arena;
    struct fa_service_info info;
    struct faina_error err;

    fa_error_clear(&err);
    if (fa_service_info(cli->service, true, arena, &info, &err) != FAINA_OK) {
        add(doctor, "store", LEVEL_WRONG, fa_arena_strdup(arena, err.message));
        return;
    }
    add(doctor, "engine", LEVEL_OK,
        fa_arena_printf(arena, "%s %s, %s%s%s", info.engine,
                        info.engine_version ? info.engine_version : "",
                        info.location ? info.location : "-", info.size_bytes < 0 ? "" : ", ",
                        info.size_bytes < 0 ? "" : fa_text_size(arena, info.size_bytes)));
    add(doctor, "schema", LEVEL_OK,
        fa_arena_printf(arena, "version %d, %s", info.schema_version,
                        fa_text_plural(arena, (int64_t)info.migration_count, "migration")));
    for (size_t i = 0; i < info.finding_count; i++)
        add(doctor, "store", LEVEL_WRONG, info.findings[i]);
    if (info.finding_count == 0)
        add(doctor, "store", LEVEL_OK, "sound: nothing was found wrong");
    if (info.full)
        add(doctor, "disk", LEVEL_WRONG, info.full);
    if (info.durability)
        add(doctor, "durability", LEVEL_OK, info.durability);
    for (size_t i = 0; i < info.warning_count; i++)
        add(doctor, "database", LEVEL_WARNING, info.warnings[i]);
    if (strcmp(info.engine, "postgres") != 0)
        check_clock(doctor, &info.clock);
    if (info.location && strcmp(info.engine, "sqlite") == 0)
        check_disk(doctor, info.location);
}

static void check_tasks(struct doctor *doctor)
{
    struct fa_cli *cli = doctor->cli;
    struct fa_arena *arena = &cli->arena;
    struct fa_op op = {.kind = FA_OP_STATS, .arena = arena};
    char pending[FA_TEXT_COUNT_SIZE];
    int64_t total = 0, dead;

    op.name.ns = "*";
    if (fa_service_run_one(cli->service, &op, NULL) != FAINA_OK) {
        add(doctor, "tasks", LEVEL_WRONG, fa_arena_strdup(arena, op.error.message));
        return;
    }
    for (enum faina_status status = 0; status < FAINA_STATUS_COUNT; status++)
        total += op.stats->by_status[status];
    add(doctor, "tasks", LEVEL_OK,
        fa_arena_printf(arena, "%s, %s pending", fa_text_plural(arena, total, "task"),
                        fa_text_count(op.stats->by_status[FAINA_PENDING], pending)));
    dead = op.stats->by_status[FAINA_DEAD_LETTER];
    if (dead > 0)
        add(doctor, "tasks", LEVEL_WARNING,
            fa_arena_printf(arena, "%s used up all attempts: faina ls --status dead_letter",
                            fa_text_plural(arena, dead, "task")));
    for (size_t i = 0; i < op.stats->count; i++) {
        const struct faina_count *row = &op.stats->types[i];

        if (row->is_paused && row->by_status[FAINA_PENDING] > 0)
            add(doctor, "tasks", LEVEL_WARNING,
                fa_arena_printf(arena, "%s of type %s wait because the type is paused",
                                fa_text_plural(arena, row->by_status[FAINA_PENDING], "task"),
                                row->type));
    }
}

#define UNLEASED_US INT64_C(3600000000)
#define UNLEASED_SHOWN 10
#define RUNNING_READ_MAX 1000

/* Tasks that were started without a worker and a lease: nothing makes them ready again. */
static void check_unleased(struct doctor *doctor)
{
    struct fa_arena *arena = &doctor->cli->arena;
    struct faina_query query = {
        .ns = "*", .limit = RUNNING_READ_MAX, .brief = true, .statuses = 1u << FAINA_RUNNING};
    struct fa_op op = {.kind = FA_OP_LIST, .query = &query, .arena = arena};
    int64_t count = 0, before_us = fa_clock_now_us() - UNLEASED_US;

    if (fa_service_run_one(doctor->cli->service, &op, NULL) != FAINA_OK)
        return;
    for (size_t i = 0; i < op.tasks->count; i++) {
        const struct faina_task *task = &op.tasks->items[i];

        if (task->lease_expires_us != 0 || task->started_us > before_us)
            continue;
        if (++count > UNLEASED_SHOWN)
            continue;
        add(doctor, "tasks", LEVEL_WARNING,
            fa_arena_printf(
                arena, "%s of type %s runs without a lease for %s%s%s: complete, fail or cancel it",
                task->id, task->type,
                duration_text(arena, (fa_clock_now_us() - task->started_us) / 1000),
                task->resource_count > 0 ? ", and holds " : "",
                task->resource_count > 0
                    ? fa_text_join(arena, task->resources, task->resource_count, " ")
                    : ""));
    }
    if (count > UNLEASED_SHOWN)
        add(doctor, "tasks", LEVEL_WARNING,
            fa_arena_printf(arena, "%lld more tasks run without a lease for over an hour",
                            (long long)(count - UNLEASED_SHOWN)));
}

#define UNHANDLED_SHOWN 10
#define UNHANDLED_US (INT64_C(60) * 1000000) /* a task that waits for longer is a warning */

static bool handles(const struct faina_worker *worker, const char *type)
{
    bool is_handled =
        worker->type_count == 0 && worker->pool_size > 0; /* else it is a plain node */

    for (size_t i = 0; !is_handled && i < worker->type_count; i++)
        is_handled = fa_name_is_same(worker->types[i], type);
    return is_handled;
}

/* Types with ready tasks that no live worker handles. Workers of other programs need not register,
 * so this is a warning, and only once a task has waited for a while. */
static void check_handlers(struct doctor *doctor)
{
    struct fa_arena *arena = &doctor->cli->arena;
    struct fa_op stats = {.kind = FA_OP_STATS, .arena = arena};
    struct fa_op workers = {.kind = FA_OP_WORKER_LIST, .arena = arena};
    int64_t count = 0, new_us = fa_clock_now_us() - UNHANDLED_US;

    stats.name.ns = "*";
    if (fa_service_run_one(doctor->cli->service, &stats, NULL) != FAINA_OK ||
        fa_service_run_one(doctor->cli->service, &workers, NULL) != FAINA_OK)
        return;
    for (size_t i = 0; i < stats.stats->count; i++) {
        const struct faina_count *row = &stats.stats->types[i];
        bool is_handled = row->oldest_ready_us == 0; /* none is ready */

        for (size_t k = 0; !is_handled && k < workers.workers->count; k++)
            is_handled = handles(&workers.workers->items[k], row->type);
        if (is_handled || ++count > UNHANDLED_SHOWN)
            continue;
        add(doctor, "workers", row->oldest_ready_us < new_us ? LEVEL_WARNING : LEVEL_OK,
            fa_arena_printf(arena, "no live worker handles type %s: %s", row->type,
                            fa_text_plural(arena, row->by_status[FAINA_PENDING], "pending task")));
    }
    if (count > UNHANDLED_SHOWN)
        add(doctor, "workers", LEVEL_WARNING,
            fa_arena_printf(arena, "%lld more types have tasks and no live worker",
                            (long long)(count - UNHANDLED_SHOWN)));
}

/* Resources at their limit, with tasks that wait for them. */
static void check_resources(struct doctor *doctor)
{
    struct fa_arena *arena = &doctor->cli->arena;
    struct fa_op resources = {.kind = FA_OP_RESOURCE_LIST, .arena = arena};

    if (fa_service_run_one(doctor->cli->service, &resources, NULL) != FAINA_OK)
        return;
    for (size_t i = 0; i < resources.resources->count; i++) {
        const struct faina_resource *resource = &resources.resources->items[i];
        struct faina_query query = {.ns = "*",
                                    .resource = resource->name,
                                    .statuses = 1u << FAINA_PENDING,
                                    .limit = 100,
                                    .brief = true};
        struct fa_op waiting = {.kind = FA_OP_LIST, .query = &query, .arena = arena};

        if (resource->max_concurrency < 0 || resource->in_use < resource->max_concurrency ||
            fa_service_run_one(doctor->cli->service, &waiting, NULL) != FAINA_OK ||
            waiting.tasks->count == 0)
            continue;
        add(doctor, "resources", LEVEL_WARNING,
            fa_arena_printf(arena, "%s%s wait for resource %s, which is at %lld/%lld",
                            waiting.tasks->next_cursor ? "more than " : "",
                            fa_text_plural(arena, (int64_t)waiting.tasks->count, "task"),
                            resource->name, (long long)resource->in_use,
                            (long long)resource->max_concurrency));
    }
}

/* Schedules whose last time made no task. */
static void check_schedules(struct doctor *doctor)
{
    struct fa_arena *arena = &doctor->cli->arena;
    struct fa_op op = {.kind = FA_OP_CRON_LIST, .arena = arena};

    op.name.ns = "*";
    if (fa_service_run_one(doctor->cli->service, &op, NULL) != FAINA_OK)
        return;
    for (size_t i = 0; i < op.crons->count; i++) {
        const struct fa_cron_job *job = &op.crons->items[i];

        if (job->problem)
            add(doctor, "schedules", LEVEL_WARNING,
                fa_arena_printf(arena, "schedule %s of namespace %s missed a time: %s", job->name,
                                job->ns, job->problem));
    }
}

/* The messages that wait, the broker, and the queues of --broker-queue. */
static void check_outbox(struct doctor *doctor, bool has_url)
{
    struct fa_arena *arena = &doctor->cli->arena;
    struct fa_op op = {.kind = FA_OP_BROKER_GET, .arena = arena};
    const struct fa_broker *broker;
    int64_t age_ms;

    if (fa_service_run_one(doctor->cli->service, &op, NULL) != FAINA_OK) {
        if (op.code != FAINA_NOT_SUPPORTED || has_url)
            add(doctor, "outbox", LEVEL_WARNING, fa_arena_strdup(arena, op.error.message));
        return;
    }
    broker = op.broker_answer;
    if (!broker->is_on && broker->depth == 0 && !has_url)
        return;
    age_ms = broker->oldest_us != 0 ? (fa_clock_now_us() - broker->oldest_us) / 1000 : 0;
    add(doctor, "outbox", age_ms > OUTBOX_AGE_MS ? LEVEL_WARNING : LEVEL_OK,
        broker->depth == 0
            ? fa_arena_printf(arena, "%s, and empty", broker->is_on ? "on" : "off")
            : fa_arena_printf(arena, "%s, and %s%s wait for the broker, the oldest for %s",
                              broker->is_on ? "on" : "off", broker->depth > 10000 ? "about " : "",
                              fa_text_plural(arena, broker->depth, "message"),
                              duration_text(arena, age_ms)));
    if (broker->unroutable > 0)
        add(doctor, "outbox", LEVEL_WARNING,
            fa_arena_printf(arena, "no queue was bound for %s so far",
                            fa_text_plural(arena, broker->unroutable, "message")));
    if (broker->dropped > 0)
        add(doctor, "outbox", LEVEL_WARNING,
            fa_arena_printf(arena, "%s dropped so far, because more than %lld waited",
                            fa_text_plural(arena, broker->dropped, "message"),
                            (long long)broker->size_max));
}

static void check_queue(struct doctor *doctor, struct fa_amqp *amqp, const char *name)
{
    struct fa_arena *arena = &doctor->cli->arena;
    uint32_t messages, consumers;
    struct faina_error err;

    if (fa_amqp_queue(amqp, name, &messages, &consumers, &err) != FAINA_OK) {
        add(doctor, "queue", LEVEL_WRONG, fa_arena_strdup(arena, err.message));
        return;
    }
    add(doctor, "queue", consumers == 0 ? LEVEL_WARNING : LEVEL_OK,
        fa_arena_printf(arena, "%s: %s, %s", name, fa_text_plural(arena, messages, "message"),
                        fa_text_plural(arena, consumers, "consumer")));
}

static void check_broker(struct doctor *doctor, const char *url)
{
    struct fa_arena *arena = &doctor->cli->arena;
    const char *const *queues;
    size_t count = 0;
    struct fa_amqp amqp;
    struct faina_error err;

    fa_error_clear(&err);
    fa_amqp_init(&amqp);
    queues = fa_flag_list(doctor->cli, "broker-queue", &count);
    if (fa_amqp_open(&amqp, url, "faina doctor", &err) != FAINA_OK) {
        add(doctor, "broker", LEVEL_WRONG, fa_arena_strdup(arena, err.message));
        fa_amqp_finish(&amqp);
        return;
    }
    add(doctor, "broker", LEVEL_OK, fa_arena_printf(arena, "reached at %s", amqp.address));
    for (size_t i = 0; i < count; i++) {
        if (amqp.state == NULL && fa_amqp_open(&amqp, url, "faina doctor", &err) != FAINA_OK)
            break;
        check_queue(doctor, &amqp, queues[i]);
        if (doctor->checks[doctor->count - 1].level == LEVEL_WRONG)
            fa_amqp_close(&amqp); /* the channel is closed */
    }
    fa_amqp_finish(&amqp);
}

/* A task with a creation time in the future: the clock was ahead when it was stored. */
static void check_newest(struct doctor *doctor)
{
    struct faina_query query = {.ns = "*", .limit = 1, .brief = true};
    struct fa_op op = {.kind = FA_OP_LIST, .query = &query, .arena = &doctor->cli->arena};

    if (fa_service_run_one(doctor->cli->service, &op, NULL) != FAINA_OK)
        return;
    if (op.tasks->count > 0 && op.tasks->items[0].created_us > fa_clock_now_us() + CLOCK_AHEAD_US)
        add(doctor, "clock", LEVEL_WARNING,
            "the newest task was created in the future: was the clock set back?");
    else
        add(doctor, "clock", LEVEL_OK, "not behind the newest task");
}

/* ------------------------------------------------------------------------------------------
 * The report
 */

static const char *level_name(enum level level)
{
    static const char *const names[] = {"ok", "warning", "wrong"};

    return names[level];
}

static void print_json(struct fa_cli *cli, const struct doctor *doctor)
{
    struct fa_out_json json;
    struct fa_json_writer *w = &json.writer;

    fa_out_json_begin(cli, &json);
    fa_json_begin_object(w);
    fa_json_set_str(w, "verdict", level_name(doctor->worst));
    fa_json_key(w, "checks");
    fa_json_begin_array(w);
    for (size_t i = 0; i < doctor->count; i++) {
        fa_json_begin_object(w);
        fa_json_set_str(w, "name", doctor->checks[i].name);
        fa_json_set_str(w, "level", level_name(doctor->checks[i].level));
        fa_json_set_str(w, "message", doctor->checks[i].message);
        fa_json_end_object(w);
    }
    fa_json_end_array(w);
    fa_json_end_object(w);
    fa_out_json_end(cli, &json);
}

static void print_lines(struct fa_cli *cli, const struct doctor *doctor)
{
    static const enum fa_style styles[] = {FA_GREEN, FA_YELLOW, FA_RED};
    static const char *const verdicts[] = {
        "All checks passed.",
        "No errors were found, but there are warnings.",
        "Errors were found.",
    };

    for (size_t i = 0; i < doctor->count; i++) {
        const struct check *check = &doctor->checks[i];
        enum fa_style style = styles[check->level];

        fa_outf(cli, "%s%-7s%s  %-11s  %s\n", fa_style_on(cli, style), level_name(check->level),
                fa_style_off(cli, style), check->name, fa_text_clean(&cli->arena, check->message));
    }
    fa_outf(cli, "%s%s%s\n", fa_style_on(cli, styles[doctor->worst]), verdicts[doctor->worst],
            fa_style_off(cli, styles[doctor->worst]));
}

/* A file that another process owns can't be checked: that is a warning, not an error. */
static void add_unopened(struct doctor *doctor, const struct faina_error *err)
{
    struct fa_arena *arena = &doctor->cli->arena;
    const char *url;

    if (err->code == FAINA_UNAVAILABLE && fa_cli_url(doctor->cli, &url, NULL) == FAINA_OK &&
        fa_service_owner(url) > 0)
        add(doctor, "engine", LEVEL_WARNING,
            fa_arena_printf(arena, "not checked: %s", err->message));
    else
        add(doctor, "engine", LEVEL_WRONG, fa_arena_strdup(arena, err->message));
}

int fa_verb_doctor(struct fa_cli *cli)
{
    struct doctor doctor = {.cli = cli};
    const char *broker = NULL;
    struct faina_error err;
    int code = fa_cli_broker_url(cli, &broker);

    if (code != FA_EXIT_OK)
        return code;
    check_environment(&doctor);
    if (fa_cli_try_open(cli, &err) != FAINA_OK) {
        add_unopened(&doctor, &err);
    } else {
        check_store(&doctor);
        check_tasks(&doctor);
        check_unleased(&doctor);
        check_handlers(&doctor);
        check_resources(&doctor);
        check_schedules(&doctor);
        check_newest(&doctor);
        check_outbox(&doctor, broker != NULL);
    }
    if (broker != NULL)
        check_broker(&doctor, broker);
    if (cli->format == FA_CLI_TABLE)
        print_lines(cli, &doctor);
    else
        print_json(cli, &doctor);
    return doctor.worst == LEVEL_WRONG ? FA_EXIT_FAILURE : FA_EXIT_OK;
}
