/*
 * otlp.c - see otlp.h.
 *
 *     commit --record--> queue --batch--> [body] --POST--> collector
 *
 * A record of an attempt has no trace: the metadata is no longer in memory when an attempt ends.
 * The exporter's thread remembers the traces of tasks whose submit it has seen, and reads those of
 * other tasks from the engine.
 */
#include "otlp/otlp.h"

#include "base/clock.h"
#include "base/random.h"
#include "base/thread.h"
#include "otlp/otlp_json.h"
#include "otlp/otlp_sender.h"

#include <stdlib.h>

#define FLUSH_US 2000000      /* V4 */
#define RETRY_US_MAX 60000000 /* V2 */
#define PAUSE_MIN_US 500000   /* the backoff after a refusal */
#define PAUSE_MAX_US 15000000
#define KNOWN_COUNT 8192    /* tasks whose trace is remembered; a power of two */
#define ERROR_SIZE_MAX 8192 /* of the error of an attempt; a larger one is left out */
#define ERROR_TEXT_MAX 1000 /* of its message */
#define BODY_SIZE_MAX ((size_t)256 * 1024 * 1024)
#define METRICS_SIZE_MAX ((size_t)16 * 1024 * 1024)

/* A span to be made; its texts are behind it. */
struct record {
    struct record *next;
    struct fa_id id;
    bool is_attempt, has_parent, has_failed;
    struct fa_trace parent; /* of a submit */
    int64_t fence, attempt, start_us, end_us;
    enum faina_phase phase;
    enum faina_status status;
    const char *ns, *type, *worker, *error;
    char texts[];
};

struct known {
    int64_t key; /* 0: none */
    bool has_parent;
    struct fa_trace parent;
};

struct fa_otlp {
    struct fa_service *service;
    const struct fa_otlp_settings *settings;
    struct fa_otlp_resource resource;
    struct fa_reporter log;
    struct fa_listener listener;
    bool is_listening;
    char *node_id;
    pthread_t thread;
    struct fa_otlp_sender *sender;
    int64_t start_us;      /* of the counts */
    atomic_llong until_us; /* 0: it isn't stopping */

    atomic_ullong exported, dropped; /* spans */
    atomic_ullong trace_failures, metrics_failures;

    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t cond;
    struct record *first, **last;
    size_t count;
    int64_t first_us; /* when the oldest record came; monotonic */
    bool is_stopping;

    /* Held while the metrics are read, so that metrics_end waits for that. Taken before `mutex`. */
    pthread_mutex_t metrics_mutex;
    fa_otlp_metrics_fn *write_metrics; /* NULL: none */
    void *metrics_ctx;
    struct fa_buf metrics; /* read for the last time; ptr NULL: not */

    /* The thread's. */
    struct fa_random random;
    struct known known[KNOWN_COUNT];
    struct fa_buf body; /* with body_spans spans, to be sent; 0: none */
    size_t body_spans;
    int64_t body_since_us, again_us, pause_us;
    int64_t metrics_us; /* when they are sent next */
    bool traces_fail, metrics_fail;
};

/* ------------------------------------------------------------------------------------------
 * Records, in the thread that commits
 */

static char *put_text(char *at, const char *text, const char **out)
{
    size_t size = text ? strlen(text) + 1 : 0;

    *out = text ? memcpy(at, text, size) : NULL;
    return at + size;
}

static size_t size_of(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

static struct record *make_record(const struct fa_kind *kind, const char *worker, const char *error)
{
    size_t size = size_of(kind->ns) + size_of(kind->type) + size_of(worker) + size_of(error);
    struct record *record = fa_alloc(sizeof(*record) + size);
    char *at = record->texts;

    *record = (struct record){.next = NULL};
    at = put_text(at, kind->ns, &record->ns);
    at = put_text(at, kind->type, &record->type);
    at = put_text(at, worker, &record->worker);
    put_text(at, error, &record->error);
    return record;
}

static struct record *record_of_submit(const struct fa_span_submit *submit)
{
    struct record *record = make_record(&submit->kind, NULL, NULL);

    record->id = submit->id;
    record->start_us = submit->created_us;
    record->end_us = fa_clock_now_us();
    record->has_parent = fa_trace_of_metadata(submit->metadata, &record->parent);
    return record;
}

static struct record *record_of_attempt(const struct fa_span_attempt *attempt)
{
    const char *error =
        attempt->error && strlen(attempt->error) < ERROR_SIZE_MAX ? attempt->error : NULL;
    struct record *record = make_record(&attempt->kind, attempt->worker, error);

    record->is_attempt = true;
    record->id = attempt->id;
    record->fence = attempt->fence;
    record->attempt = attempt->attempt;
    record->phase = attempt->phase;
    record->status = attempt->status;
    record->has_failed = attempt->has_failed;
    record->start_us = attempt->start_us;
    record->end_us = attempt->end_us;
    return record;
}

/* How many of `count` records have room (V1); the others are counted. With the mutex held. */
static size_t room_for(struct fa_otlp *otlp, size_t count)
{
    size_t room = otlp->settings->queue_max - otlp->count;

    if (count <= room)
        return count;
    atomic_fetch_add(&otlp->dropped, count - room);
    return room;
}

static void add_record(struct fa_otlp *otlp, struct record *record)
{
    if (otlp->count++ == 0)
        otlp->first_us = fa_clock_mono_us();
    *otlp->last = record;
    otlp->last = &record->next;
}

static void on_commit(void *ctx, const struct fa_commit_stats *stats)
{
    size_t before, batch, room;
    struct fa_otlp *otlp = ctx;

    if (stats->span_submit_count + stats->span_attempt_count == 0)
        return;
    pthread_mutex_lock(&otlp->mutex);
    before = otlp->count;
    room = room_for(otlp, stats->span_submit_count);
    for (size_t i = 0; i < room; i++)
        add_record(otlp, record_of_submit(&stats->span_submits[i]));
    room = room_for(otlp, stats->span_attempt_count);
    for (size_t i = 0; i < room; i++)
        add_record(otlp, record_of_attempt(&stats->span_attempts[i]));
    batch = otlp->settings->batch_max;
    if ((before == 0 && otlp->count > 0) || (before < batch && otlp->count >= batch))
        pthread_cond_signal(&otlp->cond);
    pthread_mutex_unlock(&otlp->mutex);
}

/* ------------------------------------------------------------------------------------------
 * Traces of tasks
 */

static struct known *place_of(struct fa_otlp *otlp, int64_t key)
{
    return &otlp->known[(uint64_t)key * 0x9e3779b97f4a7c15u >> 32 & (KNOWN_COUNT - 1)];
}

static void remember(struct fa_otlp *otlp, int64_t key, bool has_parent,
                     const struct fa_trace *parent)
{
    *place_of(otlp, key) = (struct known){key, has_parent, *parent};
}

/* Reads the tasks of these records whose traces are not known. A task that was removed has none. */
static void read_traces(struct fa_otlp *otlp, struct record *list, size_t count)
{
    struct fa_arena arena = {0};
    struct fa_op *ops = fa_arena_zero(&arena, count + 1, sizeof(*ops));
    struct record **wanted = fa_arena_zero(&arena, count + 1, sizeof(struct record *));
    size_t n = 0;

    for (struct record *record = list; record; record = record->next) {
        struct known *known = place_of(otlp, record->id.key);
        char *id;

        if (!record->is_attempt) {
            remember(otlp, record->id.key, record->has_parent, &record->parent);
        } else if (known->key == record->id.key) {
            record->has_parent = known->has_parent;
            record->parent = known->parent;
        } else {
            id = fa_arena_take(&arena, FAINA_ID_SIZE);
            fa_id_format(record->id, id);
            ops[n] = (struct fa_op){.kind = FA_OP_GET, .id = id, .arena = &arena};
            wanted[n++] = record;
        }
    }
    if (n > 0)
        fa_service_run(otlp->service, ops, n);
    for (size_t i = 0; i < n; i++) {
        struct record *record = wanted[i];

        record->has_parent =
            ops[i].code == FAINA_OK && fa_trace_of_metadata(ops[i].task->metadata, &record->parent);
        remember(otlp, record->id.key, record->has_parent, &record->parent);
    }
    fa_arena_finish(&arena);
}

/* ------------------------------------------------------------------------------------------
 * Spans
 */

/* The kind and the message of an error; NULL where there is none. */
static void read_error(const struct record *record, struct fa_arena *arena,
                       struct fa_otlp_span *span)
{
    struct fa_json error = fa_json_value(fa_str(record->error));
    char *text;

    if (!record->error || error.type != FA_JSON_OBJECT)
        return;
    span->error_kind = fa_json_member_text(error, "kind", arena);
    text = (char *)(uintptr_t)fa_json_member_text(error, "message", arena);
    if (text && strlen(text) > ERROR_TEXT_MAX) {
        size_t len = ERROR_TEXT_MAX;

        while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
            len--; /* not within a character */
        text[len] = '\0';
    }
    span->error = text;
}

/* False: its trace is not sampled. */
static bool put_span(struct fa_otlp *otlp, struct fa_json_writer *w, const struct record *record,
                     struct fa_arena *arena)
{
    struct fa_task_trace trace;
    struct fa_otlp_span span = {
        .trace = &trace,
        .kind = record->is_attempt ? FA_OTLP_CONSUMER : FA_OTLP_PRODUCER,
        .start_us = record->start_us,
        .end_us = record->end_us,
        .ns = record->ns,
        .type = record->type,
        .attempt = record->attempt,
        .phase = record->phase,
        .status = record->status,
        .worker = record->worker,
        .has_failed = record->has_failed,
    };

    fa_trace_of_task(&otlp->settings->sampler, record->id,
                     record->has_parent ? &record->parent : NULL, &trace);
    if (!trace.is_sampled)
        return false;
    span.span = record->is_attempt ? fa_trace_attempt(record->id, record->fence) : trace.submit;
    fa_id_format(record->id, span.id);
    read_error(record, arena, &span);
    fa_otlp_span_put(w, &span);
    return true;
}

/* Takes up to a batch from the queue. */
static struct record *take_records(struct fa_otlp *otlp, size_t *count)
{
    struct record *list, **end;

    pthread_mutex_lock(&otlp->mutex);
    list = otlp->first;
    end = &otlp->first;
    for (*count = 0; *end && *count < otlp->settings->batch_max; (*count)++)
        end = &(*end)->next;
    otlp->first = *end;
    *end = NULL;
    otlp->count -= *count;
    if (!otlp->first)
        otlp->last = &otlp->first;
    pthread_mutex_unlock(&otlp->mutex);
    return *count > 0 ? list : NULL;
}

/* Makes the body of the next request, if any of its spans is sampled. */
static void make_body(struct fa_otlp *otlp)
{
    size_t count;
    struct record *list = take_records(otlp, &count);
    struct fa_arena arena = {0};
    struct fa_json_writer w;

    read_traces(otlp, list, count);
    fa_buf_clear(&otlp->body);
    fa_otlp_spans_begin(&w, &otlp->body, &otlp->resource);
    while (list) {
        struct record *next = list->next;

        otlp->body_spans += put_span(otlp, &w, list, &arena);
        free(list);
        list = next;
    }
    fa_otlp_spans_end(&w);
    fa_arena_finish(&arena);
    otlp->body_since_us = fa_clock_mono_us();
    otlp->again_us = otlp->pause_us = 0;
}

/* ------------------------------------------------------------------------------------------
 * Sending
 */

/* Logs when a signal begins to fail, and when it works again. */
static void report(struct fa_otlp *otlp, const char *what, bool *fails, const char *why)
{
    if (why && !*fails)
        fa_report(&otlp->log, FA_LOG_WARN, "%s can't be exported: %s", what, why);
    else if (!why && *fails)
        fa_report(&otlp->log, FA_LOG_INFO, "%s are exported again", what);
    *fails = why != NULL;
}

static void end_body(struct fa_otlp *otlp, size_t exported)
{
    atomic_fetch_add(&otlp->exported, exported);
    atomic_fetch_add(&otlp->dropped, otlp->body_spans - exported);
    otlp->body_spans = 0;
}

static void send_body(struct fa_otlp *otlp)
{
    const struct fa_bytes body = {otlp->body.ptr, otlp->body.len};
    struct fa_otlp_answer answer;
    enum fa_otlp_sent sent = FA_OTLP_REFUSED;
    int64_t now_us;
    size_t rejected;

    if (otlp->body.overflow)
        answer = (struct fa_otlp_answer){.why = "the spans are too large"};
    else
        sent = fa_otlp_send(otlp->sender, &otlp->settings->traces, body, &answer);
    report(otlp, "traces", &otlp->traces_fail, sent == FA_OTLP_SENT ? NULL : answer.why);
    now_us = fa_clock_mono_us();
    if (sent == FA_OTLP_SENT) {
        rejected = (uint64_t)answer.rejected < otlp->body_spans ? (size_t)answer.rejected
                                                                : otlp->body_spans;
        end_body(otlp, otlp->body_spans - rejected);
        return;
    }
    atomic_fetch_add(&otlp->trace_failures, 1);
    if (sent == FA_OTLP_REFUSED || now_us - otlp->body_since_us > RETRY_US_MAX) {
        end_body(otlp, 0);
        return;
    }
    otlp->pause_us = otlp->pause_us == 0 ? PAUSE_MIN_US : otlp->pause_us * 2;
    if (otlp->pause_us > PAUSE_MAX_US)
        otlp->pause_us = PAUSE_MAX_US;
    otlp->again_us =
        now_us + (answer.retry_after_ms > 0
                      ? answer.retry_after_ms * 1000
                      : otlp->pause_us / 2 + (int64_t)fa_random_below(
                                                 &otlp->random, (uint64_t)otlp->pause_us / 2 + 1));
}

static void send_metrics_text(struct fa_otlp *otlp, const struct fa_buf *text)
{
    struct fa_otlp_answer answer = {.why = "they are too large"};
    enum fa_otlp_sent sent = FA_OTLP_REFUSED;
    struct fa_buf body;

    fa_buf_init(&body, BODY_SIZE_MAX);
    fa_otlp_metrics_put(text->ptr ? text->ptr : "", otlp->start_us, fa_clock_now_us(),
                        &otlp->resource, &body);
    if (!text->overflow && !body.overflow)
        sent = fa_otlp_send(otlp->sender, &otlp->settings->metrics,
                            (struct fa_bytes){body.ptr, body.len}, &answer);
    report(otlp, "metrics", &otlp->metrics_fail, sent == FA_OTLP_SENT ? NULL : answer.why);
    if (sent != FA_OTLP_SENT)
        atomic_fetch_add(&otlp->metrics_failures, 1);
    fa_buf_finish(&body);
}

static void send_metrics(struct fa_otlp *otlp)
{
    struct fa_buf text;
    bool has_metrics;

    fa_buf_init(&text, METRICS_SIZE_MAX);
    pthread_mutex_lock(&otlp->metrics_mutex);
    has_metrics = otlp->write_metrics != NULL;
    if (has_metrics)
        otlp->write_metrics(otlp->metrics_ctx, &text);
    pthread_mutex_unlock(&otlp->metrics_mutex);
    if (has_metrics)
        send_metrics_text(otlp, &text);
    fa_buf_finish(&text);
}

/* ------------------------------------------------------------------------------------------
 * The thread
 */

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* When there is something to do next. With the mutex held. */
static int64_t next_time(const struct fa_otlp *otlp)
{
    int64_t next_us = otlp->settings->metrics.url ? otlp->metrics_us : INT64_MAX;

    if (otlp->is_stopping)
        return 0;
    if (otlp->body_spans > 0)
        return earlier(next_us, otlp->again_us);
    if (otlp->count >= otlp->settings->batch_max)
        return 0;
    if (otlp->count > 0)
        next_us = earlier(next_us, otlp->first_us + otlp->settings->delay_ms * 1000);
    return next_us;
}

/* Returns whether the exporter is stopping. */
static bool wait_for_work(struct fa_otlp *otlp)
{
    bool is_stopping;

    pthread_mutex_lock(&otlp->mutex);
    while (next_time(otlp) > fa_clock_mono_us())
        (void)!fa_cond_wait_until(&otlp->cond, &otlp->mutex, next_time(otlp));
    is_stopping = otlp->is_stopping;
    pthread_mutex_unlock(&otlp->mutex);
    return is_stopping;
}

static size_t queued(struct fa_otlp *otlp)
{
    size_t count;

    pthread_mutex_lock(&otlp->mutex);
    count = otlp->count;
    if (count > 0) /* those that stay wait from now on */
        otlp->first_us = fa_clock_mono_us();
    pthread_mutex_unlock(&otlp->mutex);
    return count;
}

/* The last requests (V4). What can't be sent is dropped. */
static void flush(struct fa_otlp *otlp)
{
    while (fa_clock_mono_us() < atomic_load(&otlp->until_us)) {
        if (otlp->body_spans == 0 && queued(otlp) == 0)
            break;
        if (otlp->body_spans == 0)
            make_body(otlp);
        if (otlp->body_spans > 0)
            send_body(otlp);
        if (otlp->body_spans > 0)
            break; /* the collector doesn't take it now */
    }
    if (otlp->metrics.ptr && fa_clock_mono_us() < atomic_load(&otlp->until_us))
        send_metrics_text(otlp, &otlp->metrics);
}

static void *export_main(void *arg)
{
    struct fa_otlp *otlp = arg;

    while (!wait_for_work(otlp)) {
        int64_t now_us = fa_clock_mono_us();

        if (otlp->settings->metrics.url && now_us >= otlp->metrics_us) {
            otlp->metrics_us = now_us + otlp->settings->interval_ms * 1000;
            send_metrics(otlp);
        }
        if (otlp->body_spans == 0 && queued(otlp) > 0)
            make_body(otlp);
        if (otlp->body_spans > 0 && fa_clock_mono_us() >= otlp->again_us)
            send_body(otlp);
    }
    flush(otlp);
    return NULL;
}

/* ------------------------------------------------------------------------------------------
 * Starting and stopping
 */

static void destroy(struct fa_otlp *otlp)
{
    size_t count;
    struct record *list;

    while ((list = take_records(otlp, &count)) != NULL) {
        while (list) {
            struct record *next = list->next;

            free(list);
            list = next;
        }
    }
    fa_otlp_sender_destroy(otlp->sender);
    fa_buf_finish(&otlp->body);
    fa_buf_finish(&otlp->metrics);
    pthread_cond_destroy(&otlp->cond);
    pthread_mutex_destroy(&otlp->mutex);
    pthread_mutex_destroy(&otlp->metrics_mutex);
    free(otlp->node_id);
    free(otlp);
}

enum faina_code fa_otlp_start(struct fa_otlp **out, struct fa_service *service,
                              const struct fa_otlp_config *config, struct faina_error *err)
{
    struct fa_otlp *otlp = fa_alloc_zero(1, sizeof(*otlp));
    enum faina_code code;

    otlp->service = service;
    otlp->settings = config->settings;
    otlp->log = config->log;
    otlp->node_id = config->node_id ? strdup(config->node_id) : NULL;
    otlp->resource = (struct fa_otlp_resource){config->settings, otlp->node_id};
    otlp->last = &otlp->first;
    otlp->start_us = fa_clock_now_us();
    otlp->metrics_us = fa_clock_mono_us() + config->settings->interval_ms * 1000;
    fa_random_seed_system(&otlp->random);
    fa_buf_init(&otlp->body, BODY_SIZE_MAX);
    pthread_mutex_init(&otlp->mutex, NULL);
    pthread_mutex_init(&otlp->metrics_mutex, NULL);
    fa_cond_init(&otlp->cond);
    code = fa_otlp_sender_create(&otlp->sender, otlp->settings, &otlp->until_us, err);
    if (code == FAINA_OK && fa_thread_start(&otlp->thread, export_main, otlp) != 0)
        code = fa_error_set(err, FAINA_UNAVAILABLE, "no thread can be started");
    if (code != FAINA_OK) {
        destroy(otlp);
        return code;
    }
    otlp->listener = (struct fa_listener){.count = on_commit, .wants_spans = true, .ctx = otlp};
    otlp->is_listening = otlp->settings->traces.url && fa_service_listen(service, &otlp->listener);
    *out = otlp;
    return FAINA_OK;
}

void fa_otlp_stop(struct fa_otlp *otlp)
{
    if (!otlp)
        return;
    if (otlp->is_listening)
        fa_service_unlisten(otlp->service, &otlp->listener);
    atomic_store(&otlp->until_us, fa_clock_mono_us() + FLUSH_US);
    pthread_mutex_lock(&otlp->mutex);
    otlp->is_stopping = true;
    pthread_cond_signal(&otlp->cond);
    pthread_mutex_unlock(&otlp->mutex);
    pthread_join(otlp->thread, NULL);
    destroy(otlp);
}

void fa_otlp_metrics_begin(struct fa_otlp *otlp, fa_otlp_metrics_fn *write, void *ctx)
{
    pthread_mutex_lock(&otlp->metrics_mutex);
    otlp->write_metrics = write;
    otlp->metrics_ctx = ctx;
    pthread_mutex_unlock(&otlp->metrics_mutex);
}

void fa_otlp_metrics_end(struct fa_otlp *otlp)
{
    if (!otlp)
        return;
    pthread_mutex_lock(&otlp->metrics_mutex);
    if (otlp->write_metrics && otlp->settings->metrics.url) {
        fa_buf_init(&otlp->metrics, METRICS_SIZE_MAX);
        otlp->write_metrics(otlp->metrics_ctx, &otlp->metrics);
    }
    otlp->write_metrics = NULL;
    pthread_mutex_unlock(&otlp->metrics_mutex);
}

/* ------------------------------------------------------------------------------------------
 * Its own metrics
 */

static void put_counter(struct fa_buf *out, const char *name, const char *help, uint64_t value)
{
    fa_buf_printf(out, "# HELP %s %s\n# TYPE %s counter\n%s %llu\n", name, help, name, name,
                  (unsigned long long)value);
}

void fa_otlp_write_own_metrics(void *ctx, struct fa_buf *out)
{
    struct fa_otlp *otlp = ctx;

    put_counter(out, "faina_otlp_spans_exported_total", "Spans that the collector has taken.",
                atomic_load(&otlp->exported));
    put_counter(out, "faina_otlp_spans_dropped_total",
                "Spans that were dropped: the queue was full, or the collector refused them.",
                atomic_load(&otlp->dropped));
    fa_buf_printf(out,
                  "# HELP faina_otlp_failures_total Requests to the collector that failed.\n"
                  "# TYPE faina_otlp_failures_total counter\n"
                  "faina_otlp_failures_total{signal=\"traces\"} %llu\n"
                  "faina_otlp_failures_total{signal=\"metrics\"} %llu\n",
                  (unsigned long long)atomic_load(&otlp->trace_failures),
                  (unsigned long long)atomic_load(&otlp->metrics_failures));
}
