/*
 * stream.c - one thread that reads the log for all who listen.
 *
 * In a round, those at the same place form a cohort, and the log is read once for each cohort. When
 * two cohorts have both come to the log's end they are at the same place, and are one from then on.
 *
 * Listeners with the same filter are of one kind. Whether an event fits is asked once per kind: a
 * thousand who listen to the same thing cost little when something else happens.
 *
 * A stream that is closed is freed by the thread alone, so that it never meets one that has gone.
 */
#include "server/stream.h"

#include "base/clock.h"
#include "base/json.h"
#include "model/id.h"
#include "service/wire.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define READ_AT_ONCE 500
#define FULL_SIZE ((size_t)256 * 1024)
#define BUFFER_SIZE_MAX ((size_t)4 * 1024 * 1024) /* full, one reading more, and a last event */
#define FULL_US_MAX 30000000
#define QUIET_US_MAX 15000000 /* then its place, so that both sides know of each other */
#define LOOK_US 100000        /* how often to look for what nobody told us */

struct kind {
    struct kind *next;
    struct fa_arena arena; /* of the filter */
    struct fa_stream_filter filter;
    size_t streams; /* how many are of this kind */
    bool fits;      /* the event that is being handed out */
};

struct fa_stream {
    struct fa_streams *streams;
    struct fa_stream *next, *cohort_next;
    struct kind *kind;
    struct fa_stream_guest guest;
    char place[FA_CURSOR_SIZE_MAX + 1];
    uint64_t round; /* the last one that it took part in */
    struct fa_buf buf;
    size_t taken;                   /* of buf */
    int64_t sent_us, full_since_us; /* monotonic; full_since 0: it is not */
    bool is_asleep, is_over, is_closed;
    void (*wake)(void *ctx);
    void *ctx;
};

struct fa_streams {
    struct fa_service *service;
    struct fa_listener listener;
    pthread_t thread;
    pthread_mutex_t mutex; /* guards everything here; nothing blocks while it is held */
    pthread_cond_t cond;
    struct fa_stream *first;
    struct kind *kinds;
    size_t count;
    uint64_t round;
    bool has_news, is_ending, is_over;
};

/* ------------------------------------------------------------------------------------------
 * Events
 */

static size_t waiting_size(const struct fa_stream *stream)
{
    return stream->buf.len - stream->taken;
}

static void wake(struct fa_stream *stream)
{
    if (!stream->is_asleep || stream->is_closed)
        return;
    stream->is_asleep = false;
    stream->wake(stream->ctx);
}

static void add(struct fa_stream *stream, struct fa_bytes text)
{
    if (stream->is_over || stream->is_closed)
        return;
    fa_buf_add(&stream->buf, text.ptr, text.len);
    stream->sent_us = fa_clock_mono_us();
}

static void add_text(struct fa_stream *stream, const char *text)
{
    add(stream, fa_str(text));
}

/* The last event, and the end. */
static void finish(struct fa_stream *stream, const char *last)
{
    add_text(stream, last);
    stream->is_over = true;
    wake(stream);
}

static void write_event(struct fa_buf *out, const struct fa_follow_item *item)
{
    struct fa_json_writer w;

    fa_buf_printf(out, "id: %s\nevent: %s\ndata: ", item->cursor, item->what);
    fa_json_writer_init(&w, out, 0);
    fa_json_begin_object(&w);
    fa_json_set_str(&w, "taskId", item->task_id);
    fa_json_set_str(&w, "namespace", item->ns);
    fa_json_set_str(&w, "type", item->type);
    fa_json_set_str(&w, "name", item->name);
    fa_json_set_str(&w, "event", item->what);
    fa_json_set_str(&w, "status", faina_status_name(item->status));
    fa_json_set_str(&w, "teamId", item->team_id);
    fa_json_set_str(&w, "createdBy", item->created_by);
    fa_json_set_str(&w, "idempotencyKey", item->idempotency_key);
    fa_json_key(&w, "createdAt");
    fa_wire_put_time(&w, item->at_us);
    fa_json_end_object(&w);
    fa_buf_add_str(out, "\n\n");
}

static bool is_same(const char *wanted, const char *got)
{
    return !wanted || (got && strcmp(wanted, got) == 0);
}

static bool may_see(const struct fa_stream_filter *filter, const char *ns)
{
    return !filter->namespaces.items || (ns && fa_texts_have(&filter->namespaces, ns));
}

/* The time of the submit is in the id. */
static bool is_created_in(const struct fa_stream_filter *filter, const char *task_id)
{
    int64_t after_us = filter->created_after_us, before_us = filter->created_before_us;
    struct fa_id id;

    if (after_us == 0 && before_us == 0)
        return true;
    return fa_id_parse(task_id, &id) && (after_us == 0 || id.key >= fa_id_key_at(after_us)) &&
           (before_us == 0 || id.key < fa_id_key_at(before_us));
}

static bool fits(const struct fa_stream_filter *filter, const struct fa_follow_item *item)
{
    return may_see(filter, item->ns) && is_same(filter->ns, item->ns) &&
           is_same(filter->type, item->type) && is_same(filter->team_id, item->team_id) &&
           is_same(filter->created_by, item->created_by) &&
           is_same(filter->idempotency_key, item->idempotency_key) &&
           (!filter->statuses || filter->statuses & 1u << item->status) &&
           is_created_in(filter, item->task_id) &&
           (!filter->has_parent || (item->has_parent && item->parent_key == filter->parent_key));
}

/* ------------------------------------------------------------------------------------------
 * Reading
 */

static void set_place(struct fa_stream *stream, const char *place)
{
    size_t len = strlen(place);

    if (len < sizeof(stream->place))
        memcpy(stream->place, place, len + 1);
}

/* Full ones don't take part (R2). */
static bool takes_part(struct fa_stream *stream, int64_t now_us)
{
    if (stream->is_over || stream->is_closed)
        return false;
    if (waiting_size(stream) < FULL_SIZE) {
        stream->full_since_us = 0;
        return true;
    }
    if (stream->full_since_us == 0)
        stream->full_since_us = now_us;
    else if (now_us - stream->full_since_us > FULL_US_MAX)
        finish(stream, "event: dropped\ndata: {\"message\":\"you read too slowly; come back with "
                       "the id of the last event\"}\n\n");
    return false;
}

/* All that are at the place of `leader`, linked. */
static struct fa_stream *gather(struct fa_streams *streams, struct fa_stream *leader,
                                int64_t now_us)
{
    struct fa_stream *cohort = NULL;

    for (struct fa_stream *stream = leader; stream; stream = stream->next) {
        if (stream->round == streams->round || strcmp(stream->place, leader->place) != 0 ||
            !takes_part(stream, now_us))
            continue;
        stream->round = streams->round;
        stream->cohort_next = cohort;
        cohort = stream;
    }
    return cohort;
}

/* Whether anybody wants to hear of it. */
static bool ask_kinds(struct fa_streams *streams, const struct fa_follow_item *item)
{
    bool any = false;

    for (struct kind *kind = streams->kinds; kind; kind = kind->next) {
        kind->fits = fits(&kind->filter, item);
        any |= kind->fits;
    }
    return any;
}

static void hand_out(struct fa_streams *streams, struct fa_stream *cohort,
                     const struct fa_followed *followed)
{
    struct fa_buf event;

    fa_buf_init(&event, BUFFER_SIZE_MAX);
    for (struct fa_stream *stream = cohort; stream && followed->is_gap;
         stream = stream->cohort_next)
        add_text(stream, "event: gap\ndata: {\"message\":\"what happened between your place and "
                         "here is forgotten\"}\n\n");
    for (size_t i = 0; i < followed->count; i++) {
        if (!ask_kinds(streams, &followed->items[i]))
            continue;
        fa_buf_clear(&event);
        write_event(&event, &followed->items[i]);
        for (struct fa_stream *stream = cohort; stream; stream = stream->cohort_next)
            if (stream->kind->fits)
                add(stream, (struct fa_bytes){event.ptr, event.len});
    }
    fa_buf_finish(&event);
    for (struct fa_stream *stream = cohort; stream; stream = stream->cohort_next) {
        set_place(stream, followed->next);
        if (waiting_size(stream) > 0)
            wake(stream);
    }
}

/* Reads once for a cohort. True: there is more. The mutex is held, but not while reading. */
static bool read_for(struct fa_streams *streams, struct fa_stream *cohort)
{
    char place[FA_CURSOR_SIZE_MAX + 1];
    struct fa_arena arena = {0};
    struct fa_op op = {.kind = FA_OP_FOLLOW, .arena = &arena};
    bool has_more = false;

    memcpy(place, cohort->place, sizeof(place));
    op.page.cursor = place;
    op.page.limit = READ_AT_ONCE;
    pthread_mutex_unlock(&streams->mutex);
    fa_service_run(streams->service, &op, 1);
    pthread_mutex_lock(&streams->mutex);
    if (op.code == FAINA_OK) {
        hand_out(streams, cohort, op.followed);
        has_more = op.followed->has_more;
    }
    fa_arena_finish(&arena);
    return has_more;
}

static void leave_kind(struct fa_streams *streams, struct kind *kind)
{
    struct kind **link = &streams->kinds;

    if (--kind->streams > 0)
        return;
    while (*link != kind)
        link = &(*link)->next;
    *link = kind->next;
    fa_arena_finish(&kind->arena);
    free(kind);
}

static void free_stream(struct fa_stream *stream)
{
    leave_kind(stream->streams, stream->kind);
    fa_buf_finish(&stream->buf);
    free(stream);
}

static void reap(struct fa_streams *streams)
{
    struct fa_stream **link = &streams->first;

    while (*link) {
        struct fa_stream *stream = *link;

        if (stream->is_closed) {
            *link = stream->next;
            free_stream(stream);
        } else {
            link = &stream->next;
        }
    }
}

/* An id alone is no event: it tells the listener where to go on, however far that is from the last
 * thing that it heard. */
static void tell_place(struct fa_stream *stream)
{
    add_text(stream, "id: ");
    add_text(stream, stream->place);
    add_text(stream, "\n\n");
    wake(stream);
}

static bool run_round(struct fa_streams *streams)
{
    int64_t now_us = fa_clock_mono_us();
    bool has_more = false;

    streams->round++;
    /* New ones come in front, so that a walk that has begun never sees them. */
    for (struct fa_stream *stream = streams->first; stream; stream = stream->next) {
        struct fa_stream *cohort;

        if (stream->round == streams->round)
            continue;
        cohort = gather(streams, stream, now_us);
        if (cohort)
            has_more |= read_for(streams, cohort);
    }
    for (struct fa_stream *stream = streams->first; stream; stream = stream->next) {
        if (now_us - stream->sent_us > QUIET_US_MAX && waiting_size(stream) == 0)
            tell_place(stream);
    }
    return has_more;
}

static void *run(void *ctx)
{
    struct fa_streams *streams = ctx;

    pthread_mutex_lock(&streams->mutex);
    while (!streams->is_over) {
        int64_t until_us = fa_clock_mono_us() + LOOK_US;
        struct timespec until = {.tv_sec = until_us / 1000000,
                                 .tv_nsec = until_us % 1000000 * 1000};

        reap(streams);
        if (!streams->first) {
            pthread_cond_wait(&streams->cond, &streams->mutex);
            continue;
        }
        streams->has_news = false;
        if (!run_round(streams) && !streams->has_news && !streams->is_over)
            pthread_cond_timedwait(&streams->cond, &streams->mutex, &until);
    }
    reap(streams);
    pthread_mutex_unlock(&streams->mutex);
    return NULL;
}

static void on_news(void *ctx, const struct fa_news *news)
{
    struct fa_streams *streams = ctx;

    (void)news;
    pthread_mutex_lock(&streams->mutex);
    if (streams->first && !streams->has_news) {
        streams->has_news = true;
        pthread_cond_signal(&streams->cond);
    }
    pthread_mutex_unlock(&streams->mutex);
}

/* ------------------------------------------------------------------------------------------
 * Listeners
 */

static struct fa_stream_filter copy_filter(const struct fa_stream_filter *filter,
                                           struct fa_arena *arena)
{
    struct fa_stream_filter copy = *filter;

    copy.ns = fa_arena_strdup(arena, filter->ns);
    copy.type = fa_arena_strdup(arena, filter->type);
    copy.team_id = fa_arena_strdup(arena, filter->team_id);
    copy.created_by = fa_arena_strdup(arena, filter->created_by);
    copy.idempotency_key = fa_arena_strdup(arena, filter->idempotency_key);
    if (filter->namespaces.items) {
        const char **items = fa_arena_zero(arena, filter->namespaces.count + 1, sizeof(*items));

        for (size_t i = 0; i < filter->namespaces.count; i++)
            items[i] = fa_arena_strdup(arena, filter->namespaces.items[i]);
        copy.namespaces.items = items;
    }
    return copy;
}

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_same_list(const struct fa_texts *a, const struct fa_texts *b)
{
    if (a->count != b->count || !a->items != !b->items)
        return false;
    for (size_t i = 0; a->items && i < a->count; i++)
        if (strcmp(a->items[i], b->items[i]) != 0)
            return false;
    return true;
}

static bool is_same_filter(const struct fa_stream_filter *a, const struct fa_stream_filter *b)
{
    return is_same_text(a->ns, b->ns) && is_same_text(a->type, b->type) &&
           is_same_text(a->team_id, b->team_id) && is_same_text(a->created_by, b->created_by) &&
           is_same_text(a->idempotency_key, b->idempotency_key) && a->statuses == b->statuses &&
           a->has_parent == b->has_parent && a->parent_key == b->parent_key &&
           a->created_after_us == b->created_after_us &&
           a->created_before_us == b->created_before_us &&
           is_same_list(&a->namespaces, &b->namespaces);
}

/* The kind of a filter, one stream more. The mutex is held. */
static struct kind *join_kind(struct fa_streams *streams, const struct fa_stream_filter *filter)
{
    struct kind *kind = streams->kinds;

    while (kind && !is_same_filter(&kind->filter, filter))
        kind = kind->next;
    if (!kind) {
        kind = fa_alloc_zero(1, sizeof(*kind));
        kind->filter = copy_filter(filter, &kind->arena);
        kind->next = streams->kinds;
        streams->kinds = kind;
    }
    kind->streams++;
    return kind;
}

struct fa_stream *fa_stream_open(struct fa_streams *streams, const struct fa_stream_filter *filter,
                                 const struct fa_stream_guest *guest, const char *place,
                                 void (*wake_fn)(void *ctx), void *ctx)
{
    struct fa_stream *stream = fa_alloc_zero(1, sizeof(*stream));

    stream->streams = streams;
    stream->guest = *guest;
    stream->wake = wake_fn;
    stream->ctx = ctx;
    fa_buf_init(&stream->buf, BUFFER_SIZE_MAX);
    set_place(stream, place);
    add_text(stream, "retry: 1000\n\n");
    pthread_mutex_lock(&streams->mutex);
    stream->kind = join_kind(streams, filter);
    if (streams->is_ending)
        finish(stream, "");
    stream->next = streams->first;
    streams->first = stream;
    streams->count++;
    streams->has_news = true;
    pthread_cond_signal(&streams->cond);
    pthread_mutex_unlock(&streams->mutex);
    return stream;
}

ssize_t fa_stream_take(struct fa_stream *stream, char *to, size_t size, void (*sleep)(void *ctx))
{
    bool is_over;
    size_t len;

    pthread_mutex_lock(&stream->streams->mutex);
    len = waiting_size(stream) < size ? waiting_size(stream) : size;
    if (len > 0) {
        memcpy(to, stream->buf.ptr + stream->taken, len);
        stream->taken += len;
    }
    if (stream->taken == stream->buf.len && stream->taken > 0) {
        size_t max = stream->buf.max;

        /* Many listen and few are told much: a quiet one keeps no memory. */
        fa_buf_finish(&stream->buf);
        fa_buf_init(&stream->buf, max);
        stream->taken = 0;
    }
    is_over = stream->is_over;
    if (len == 0 && !is_over) {
        stream->is_asleep = true;
        sleep(stream->ctx);
    }
    pthread_mutex_unlock(&stream->streams->mutex);
    if (len > 0)
        return (ssize_t)len;
    return is_over ? -1 : 0;
}

void fa_stream_close(struct fa_stream *stream)
{
    struct fa_streams *streams = stream->streams;

    pthread_mutex_lock(&streams->mutex);
    stream->is_closed = true;
    streams->count--;
    streams->has_news = true;
    pthread_cond_signal(&streams->cond);
    pthread_mutex_unlock(&streams->mutex);
}

/* ------------------------------------------------------------------------------------------
 * Life
 */

struct fa_streams *fa_streams_create(struct fa_service *service)
{
    struct fa_streams *streams = fa_alloc_zero(1, sizeof(*streams));
    pthread_condattr_t attr;

    streams->service = service;
    streams->listener = (struct fa_listener){.tell = on_news, .ctx = streams};
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&streams->mutex, NULL);
    pthread_cond_init(&streams->cond, &attr);
    pthread_condattr_destroy(&attr);
    if (pthread_create(&streams->thread, NULL, run, streams) != 0) {
        pthread_cond_destroy(&streams->cond);
        pthread_mutex_destroy(&streams->mutex);
        free(streams);
        return NULL;
    }
    pthread_setname_np(streams->thread, "fa-streams");
    fa_service_listen(service, &streams->listener);
    return streams;
}

void fa_streams_end(struct fa_streams *streams)
{
    pthread_mutex_lock(&streams->mutex);
    streams->is_ending = true;
    for (struct fa_stream *stream = streams->first; stream; stream = stream->next)
        finish(stream, "event: end\ndata: {\"message\":\"the server is going down\"}\n\n");
    pthread_mutex_unlock(&streams->mutex);
}

void fa_streams_end_unless(struct fa_streams *streams,
                           bool (*may)(void *ctx, const struct fa_stream_guest *guest), void *ctx)
{
    pthread_mutex_lock(&streams->mutex);
    for (struct fa_stream *stream = streams->first; stream; stream = stream->next)
        if (!may(ctx, &stream->guest))
            finish(stream,
                   "event: end\ndata: {\"message\":\"your token is not good any more\"}\n\n");
    pthread_mutex_unlock(&streams->mutex);
}

size_t fa_streams_count(struct fa_streams *streams)
{
    size_t count;

    pthread_mutex_lock(&streams->mutex);
    count = streams->count;
    pthread_mutex_unlock(&streams->mutex);
    return count;
}

void fa_streams_destroy(struct fa_streams *streams)
{
    if (!streams)
        return;
    fa_service_unlisten(streams->service, &streams->listener);
    pthread_mutex_lock(&streams->mutex);
    streams->is_over = true;
    pthread_cond_signal(&streams->cond);
    pthread_mutex_unlock(&streams->mutex);
    pthread_join(streams->thread, NULL);
    pthread_cond_destroy(&streams->cond);
    pthread_mutex_destroy(&streams->mutex);
    free(streams);
}
