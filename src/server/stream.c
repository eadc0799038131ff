/*
 * stream.c - one thread that reads the event log for all streams.
 *
 * In a round, the streams at the same position of the log form a group, and the log is read once
 * for each group. Groups that have both reached the end of the log have the same position, and are
 * one group from then on.
 *
 * Streams with the same filter are of one kind. An event is encoded once, and matched once per kind
 * of a group. The matching events make one block of text, which all streams of that kind and group
 * share. So each of a thousand streams with the same filter costs a pointer.
 *
 * The thread reads, matches and encodes without the mutex: only this thread frees streams and
 * kinds, and new ones are added at the front of the lists that it walks.
 */
#include "server/stream.h"

#include "base/clock.h"
#include "json/json.h"
#include "model/id.h"
#include "wire/wire.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#define READ_AT_ONCE 500
#define GROUPS_AT_ONCE 64 /* groups that are read in a round; the others wait for the next one */
#define BLOCK_SIZE_MAX ((size_t)4 * 1024 * 1024)
#define FULL_SIZE ((size_t)256 * 1024)
#define FULL_US_MAX 30000000
#define ALL_SIZE_MAX ((size_t)128 * 1024 * 1024) /* of all blocks; above it full streams end */
#define BURST_SIZE ((size_t)64 * 1024) /* sent to one client before the others have their turn */
#define END_US_MAX 5000000             /* R3, while the server stops */
#define DROPPED_US_MAX 10000000        /* R3, otherwise */
#define QUIET_US_MAX 15000000          /* without an event, after which the position is sent */
#define COUNTS_MAX 1000                /* types and statuses of one interval */
#define FEED_US 200000                 /* how often a stream of text is fed ... */
#define FEEDS_AT_ONCE 64
#define POLL_US 100000 /* how often to read the log without a notification */

/* Text that streams share. */
struct block {
    size_t refs; /* guarded by the mutex */
    struct fa_buf text;
};

struct kind {
    struct kind *next;
    struct fa_arena arena; /* of the filter */
    struct fa_stream_filter filter;
    size_t streams; /* how many are of this kind */

    /* Used by the thread only: the current group. */
    struct kind *group_next;
    uint64_t group;
    struct block *block; /* NULL: no event matches so far */
};

struct fa_stream {
    struct fa_streams *streams;
    struct fa_stream *next;
    struct kind *kind;    /* NULL: it has `feed` instead */
    fa_stream_feed *feed; /* a stream of text */
    void *feed_ctx;
    int64_t fed_us; /* monotonic; when it was last called */
    struct fa_stream_client client;
    char position[FA_CURSOR_SIZE_MAX + 1];
    /* The blocks to be sent: a ring buffer. */
    struct block **queue;
    size_t queue_size, queue_first, queue_count;
    size_t waiting;                 /* bytes in the queue */
    size_t taken;                   /* bytes of the first block that were taken */
    size_t burst;                   /* bytes taken since it was woken */
    int64_t sent_us, full_since_us; /* monotonic; 0: it isn't full */
    int64_t over_us;                /* when it ended, or when bytes were last taken after that */
    bool is_asleep, is_over, is_cut;
    bool is_detached; /* the request has ended: no more calls */
    bool is_closed;
    struct fa_stream_calls calls;
    void *ctx;

    /* R5: since counted_us. */
    struct fa_arena count_arena;
    struct count {
        const char *type;
        enum faina_status status;
        int64_t n;
    } * counts;
    size_t count_count, count_size;
    int64_t others[FAINA_STATUS_COUNT];
    int64_t counted_us;
};

struct fa_streams {
    struct fa_service *service;
    struct fa_listener listener;
    pthread_t thread;
    pthread_mutex_t mutex; /* guards the fields up to count, and all streams; held briefly */
    struct fa_stream *first;
    struct kind *kinds;
    size_t size; /* of all blocks */
    bool is_ending;
    atomic_size_t count; /* streams that are not closed */

    /* Waking the thread. */
    pthread_mutex_t wait_mutex;
    pthread_cond_t cond;
    atomic_bool has_event, is_over;

    /* Used by the thread only: the streams of a round, by position. */
    struct fa_stream **round;
    size_t round_size, round_start;
    uint64_t group;
};

/* ------------------------------------------------------------------------------------------
 * Blocks. The mutex is held.
 */

static struct block *block_create(void)
{
    struct block *block = fa_alloc_zero(1, sizeof(*block));

    fa_buf_init(&block->text, BLOCK_SIZE_MAX);
    return block;
}

static void block_free(struct block *block)
{
    fa_buf_finish(&block->text);
    free(block);
}

static void push(struct fa_stream *stream, struct block *block)
{
    if (stream->queue_count == stream->queue_size) {
        size_t size = stream->queue_size > 0 ? 2 * stream->queue_size : 4;
        struct block **queue = fa_alloc_zero(size, sizeof(*queue));

        for (size_t i = 0; i < stream->queue_count; i++)
            queue[i] = stream->queue[(stream->queue_first + i) % stream->queue_size];
        free(stream->queue);
        stream->queue = queue;
        stream->queue_size = size;
        stream->queue_first = 0;
    }
    if (block->refs++ == 0)
        stream->streams->size += block->text.len;
    stream->queue[(stream->queue_first + stream->queue_count++) % stream->queue_size] = block;
    stream->waiting += block->text.len;
}

/* Removes the first block. */
static void pop(struct fa_stream *stream)
{
    struct block *block = stream->queue[stream->queue_first];

    stream->waiting -= block->text.len - stream->taken;
    stream->taken = 0;
    stream->queue_first = (stream->queue_first + 1) % stream->queue_size;
    stream->queue_count--;
    if (--block->refs == 0) {
        stream->streams->size -= block->text.len;
        block_free(block);
    }
    if (stream->queue_count == 0) { /* with many streams and few events, a quiet one needs none */
        free(stream->queue);
        stream->queue = NULL;
        stream->queue_size = 0;
    }
}

/* ------------------------------------------------------------------------------------------
 * Events
 */

static void wake(struct fa_stream *stream)
{
    if (!stream->is_asleep || stream->is_detached)
        return;
    stream->is_asleep = false;
    stream->calls.wake(stream->ctx);
}

static void add(struct fa_stream *stream, struct block *block)
{
    if (stream->is_over || stream->is_closed)
        return;
    push(stream, block);
    stream->sent_us = fa_clock_mono_us();
}

static void add_text(struct fa_stream *stream, const char *text)
{
    struct block *block;

    if (stream->is_over || stream->is_closed || text[0] == '\0')
        return;
    block = block_create();
    fa_buf_add_str(&block->text, text);
    add(stream, block);
}

/* Adds the last event and ends the stream. */
static void finish(struct fa_stream *stream, const char *last)
{
    if (stream->is_over)
        return;
    if (stream->kind)
        add_text(stream, last);
    stream->is_over = true;
    stream->over_us = fa_clock_mono_us();
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
    fa_json_set_str(&w, "workerId", item->worker_id);
    fa_json_set_int(&w, "attempt", item->attempt);
    fa_json_set_int(&w, "progress", item->progress);
    fa_json_set_str(&w, "parentId", item->parent_id[0] ? item->parent_id : NULL);
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

/* The id contains the time of the submit. */
static bool is_created_in(const struct fa_stream_filter *filter, const char *task_id)
{
    int64_t after_us = filter->created_after_us, before_us = filter->created_before_us;
    struct fa_id id;

    if (after_us == 0 && before_us == 0)
        return true;
    return fa_id_parse(task_id, &id) && (after_us == 0 || id.key >= fa_id_key_at(after_us)) &&
           (before_us == 0 || id.key < fa_id_key_at(before_us));
}

static int by_key(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static bool is_followed(const struct fa_stream_filter *filter, const char *task_id)
{
    struct fa_id id;

    return !filter->keys ||
           (fa_id_parse(task_id, &id) && bsearch(&id.key, filter->keys, filter->key_count,
                                                 sizeof(*filter->keys), by_key) != NULL);
}

static bool matches(const struct fa_stream_filter *filter, const struct fa_follow_item *item)
{
    return is_followed(filter, item->task_id) && may_see(filter, item->ns) &&
           is_same(filter->ns, item->ns) &&
           (!filter->type || (item->type && fa_name_is_same(filter->type, item->type))) &&
           is_same(filter->name, item->name) && is_same(filter->team_id, item->team_id) &&
           is_same(filter->created_by, item->created_by) &&
           is_same(filter->idempotency_key, item->idempotency_key) &&
           (!filter->statuses || filter->statuses & 1u << item->status) &&
           is_created_in(filter, item->task_id) &&
           (!filter->has_parent || (item->has_parent && item->parent_key == filter->parent_key));
}

/* ------------------------------------------------------------------------------------------
 * Reading
 */

static void set_position(struct fa_stream *stream, const char *position)
{
    size_t len = strlen(position);

    if (len < sizeof(stream->position))
        memcpy(stream->position, position, len + 1);
}

/* The log isn't read for a stream that is full (R2). */
static bool can_read(struct fa_stream *stream, int64_t now_us)
{
    if (stream->is_over || stream->is_closed)
        return false;
    if (stream->waiting < FULL_SIZE) {
        stream->full_since_us = 0;
        return true;
    }
    if (stream->full_since_us == 0)
        stream->full_since_us = now_us;
    if (now_us - stream->full_since_us > FULL_US_MAX || stream->streams->size > ALL_SIZE_MAX)
        finish(stream, "event: dropped\ndata: {\"message\":\"the client reads too slowly; connect "
                       "again with the id of the last event\"}\n\n");
    return false;
}

/* An id without data is not an event: the client continues there, even if its last event is much
 * older. */
static void send_position(struct fa_stream *stream)
{
    struct block *block = block_create();

    fa_buf_printf(&block->text, "id: %s\n\n", stream->position);
    push(stream, block);
    stream->sent_us = fa_clock_mono_us();
    wake(stream);
}

/* R3. A client that doesn't read would never get to the end of its queue. */
static void cut_if_stalled(struct fa_stream *stream, int64_t now_us)
{
    int64_t max_us = stream->streams->is_ending ? END_US_MAX : DROPPED_US_MAX;

    if (!stream->is_over || stream->is_cut || stream->is_detached ||
        now_us - stream->over_us < max_us)
        return;
    stream->is_cut = true;
    stream->calls.cut(stream->ctx);
}

static int compare_positions(const void *a, const void *b)
{
    const struct fa_stream *x = *(struct fa_stream *const *)a, *y = *(struct fa_stream *const *)b;

    return strcmp(x->position, y->position);
}

static void send_counts(struct fa_stream *stream, int64_t now_us);

/* Collects the streams of a round, sorted by position. Sends positions to quiet streams and cuts
 * stalled ones. */
static size_t gather(struct fa_streams *streams)
{
    int64_t now_us = fa_clock_mono_us();
    size_t count = 0;

    pthread_mutex_lock(&streams->mutex);
    for (struct fa_stream *stream = streams->first; stream; stream = stream->next) {
        if (stream->kind && now_us - stream->sent_us > QUIET_US_MAX && stream->waiting == 0 &&
            !stream->is_over && !stream->is_closed)
            send_position(stream);
        cut_if_stalled(stream, now_us);
        if (!stream->kind || !can_read(stream, now_us))
            continue;
        if (stream->kind->filter.aggregate_us != 0)
            send_counts(stream, now_us);
        streams->round = fa_grow(streams->round, count, &streams->round_size, sizeof(stream));
        streams->round[count++] = stream;
    }
    pthread_mutex_unlock(&streams->mutex);
    /* Only this thread changes positions. */
    if (count > 0)
        qsort(streams->round, count, sizeof(*streams->round), compare_positions);
    return count;
}

/* The linked list of the kinds in a group. */
static struct kind *gather_kinds(struct fa_streams *streams, struct fa_stream **group, size_t count)
{
    struct kind *kinds = NULL;

    streams->group++;
    for (size_t i = 0; i < count; i++) {
        struct kind *kind = group[i]->kind;

        if (kind->group == streams->group)
            continue;
        kind->group = streams->group;
        kind->group_next = kinds;
        kinds = kind;
    }
    return kinds;
}

/* Adds each event to the blocks of the kinds that it matches. */
static void encode(struct kind *kinds, const struct fa_followed *followed)
{
    struct fa_buf event;

    fa_buf_init(&event, BLOCK_SIZE_MAX);
    for (size_t i = 0; i < followed->count; i++) {
        fa_buf_clear(&event);
        for (struct kind *kind = kinds; kind; kind = kind->group_next) {
            if (kind->filter.aggregate_us != 0 || !matches(&kind->filter, &followed->items[i]))
                continue;
            if (event.len == 0)
                write_event(&event, &followed->items[i]);
            if (!kind->block)
                kind->block = block_create();
            fa_buf_add(&kind->block->text, event.ptr, event.len);
        }
    }
    fa_buf_finish(&event);
}

/* ------------------------------------------------------------------------------------------
 * Counts (R5)
 */

static void count_event(struct fa_stream *stream, const struct fa_follow_item *item)
{
    struct count *count;

    for (size_t i = 0; i < stream->count_count; i++) {
        count = &stream->counts[i];
        if (count->status == item->status && fa_name_is_same(count->type, item->type)) {
            count->n++;
            return;
        }
    }
    /* Of more types the rest is counted together. */
    if (stream->count_count >= COUNTS_MAX) {
        stream->others[item->status]++;
        return;
    }
    stream->counts =
        fa_grow(stream->counts, stream->count_count, &stream->count_size, sizeof(*stream->counts));
    count = &stream->counts[stream->count_count++];
    *count = (struct count){fa_arena_strdup(&stream->count_arena, item->type), item->status, 1};
}

/* The mutex is held. */
static void count_events(struct fa_stream *stream, const struct fa_followed *followed)
{
    if (stream->is_over || stream->is_closed)
        return;
    for (size_t i = 0; i < followed->count; i++) {
        const struct fa_follow_item *item = &followed->items[i];

        if (!item->is_note && item->type && matches(&stream->kind->filter, item))
            count_event(stream, item);
    }
}

static void put_count(struct fa_json_writer *w, const char *type, enum faina_status status,
                      int64_t n)
{
    fa_json_begin_object(w);
    fa_json_set_str(w, "type", type);
    fa_json_set_str(w, "status", faina_status_name(status));
    fa_json_set_int(w, "count", n);
    fa_json_end_object(w);
}

/* Sends what was counted, when the interval is over. The mutex is held. */
static void send_counts(struct fa_stream *stream, int64_t now_us)
{
    struct fa_json_writer w;
    struct block *block;

    if (now_us - stream->counted_us < stream->kind->filter.aggregate_us)
        return;
    stream->counted_us = now_us;
    if (stream->count_count == 0)
        return;
    block = block_create();
    fa_buf_printf(&block->text, "id: %s\nevent: counts\ndata: ", stream->position);
    fa_json_writer_init(&w, &block->text, 0);
    fa_json_begin_object(&w);
    fa_json_key(&w, "items");
    fa_json_begin_array(&w);
    for (size_t i = 0; i < stream->count_count; i++)
        put_count(&w, stream->counts[i].type, stream->counts[i].status, stream->counts[i].n);
    for (int status = 0; status < FAINA_STATUS_COUNT; status++)
        if (stream->others[status] > 0)
            put_count(&w, NULL, (enum faina_status)status, stream->others[status]);
    fa_json_end_array(&w);
    fa_json_end_object(&w);
    fa_buf_add_str(&block->text, "\n\n");
    stream->count_count = 0;
    memset(stream->others, 0, sizeof(stream->others));
    fa_arena_reset(&stream->count_arena);
    add(stream, block);
    wake(stream);
}

static void deliver(struct fa_streams *streams, struct fa_stream **group, size_t count,
                    struct kind *kinds, const struct fa_followed *followed)
{
    pthread_mutex_lock(&streams->mutex);
    for (size_t i = 0; i < count; i++) {
        struct fa_stream *stream = group[i];

        if (followed->is_gap)
            add_text(stream,
                     "event: gap\ndata: {\"message\":\"events between the last id and here have "
                     "been removed from the log\"}\n\n");
        if (stream->kind->block)
            add(stream, stream->kind->block);
        set_position(stream, followed->next);
        if (stream->kind->filter.aggregate_us != 0)
            count_events(stream, followed);
        if (stream->waiting > 0)
            wake(stream);
    }
    for (struct kind *kind = kinds; kind; kind = kind->group_next) {
        if (kind->block && kind->block->refs == 0) /* all its streams have ended meanwhile */
            block_free(kind->block);
        kind->block = NULL; /* the streams own it now */
    }
    pthread_mutex_unlock(&streams->mutex);
}

/* Reads the log once for a group. True: there is more to read. */
static bool serve(struct fa_streams *streams, struct fa_stream **group, size_t count)
{
    struct kind *kinds = gather_kinds(streams, group, count);
    char position[FA_CURSOR_SIZE_MAX + 1];
    struct fa_arena arena = {0};
    struct fa_op op = {.kind = FA_OP_FOLLOW, .arena = &arena};
    bool has_more = false;

    memcpy(position, group[0]->position, sizeof(position));
    op.page.cursor = position;
    op.page.limit = READ_AT_ONCE;
    fa_service_run(streams->service, &op, 1);
    if (op.code == FAINA_OK) {
        encode(kinds, op.followed);
        deliver(streams, group, count, kinds, op.followed);
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
    if (stream->kind)
        leave_kind(stream->streams, stream->kind);
    free(stream->feed_ctx);
    while (stream->queue_count > 0)
        pop(stream);
    fa_arena_finish(&stream->count_arena);
    free(stream->counts);
    free(stream);
}

static void free_closed(struct fa_streams *streams)
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

/* Reads for at most GROUPS_AT_ONCE groups, so that the streams at the end of the log wait for no
 * more than that. Each round begins where the last one stopped. True: there is more to read. */
static bool run_round(struct fa_streams *streams)
{
    size_t count = gather(streams), done = 0, groups = 0, from;
    bool has_more = false;

    if (count == 0)
        return false;
    from = streams->round_start < count ? streams->round_start : 0;
    while (from > 0 && compare_positions(&streams->round[from - 1], &streams->round[from]) == 0)
        from--;
    while (done < count && groups < GROUPS_AT_ONCE) {
        size_t start = (from + done) % count, size = 1;

        while (start + size < count &&
               compare_positions(&streams->round[start], &streams->round[start + size]) == 0)
            size++;
        has_more |= serve(streams, &streams->round[start], size);
        done += size;
        groups++;
    }
    streams->round_start = done < count ? (from + done) % count : 0;
    return has_more || done < count;
}

/* Only this thread frees streams, so they stay while the mutex is not held. */
static void feed_one(struct fa_stream *stream)
{
    struct fa_streams *streams = stream->streams;
    struct block *block = block_create();
    bool goes_on = stream->feed(stream->feed_ctx, &block->text);

    pthread_mutex_lock(&streams->mutex);
    if (block->text.len > 0 && !stream->is_over && !stream->is_closed) {
        add(stream, block);
        wake(stream);
    } else {
        block_free(block);
    }
    if (!goes_on)
        finish(stream, "");
    pthread_mutex_unlock(&streams->mutex);
}

/* The streams of text, a bounded number at once. */
static void feed_texts(struct fa_streams *streams)
{
    struct fa_stream *due[FEEDS_AT_ONCE];
    int64_t now_us = fa_clock_mono_us();
    size_t count = 0;

    pthread_mutex_lock(&streams->mutex);
    for (struct fa_stream *s = streams->first; s && count < FEEDS_AT_ONCE; s = s->next) {
        if (s->kind || now_us - s->fed_us < FEED_US || !can_read(s, now_us))
            continue;
        s->fed_us = now_us;
        due[count++] = s;
    }
    pthread_mutex_unlock(&streams->mutex);
    for (size_t i = 0; i < count; i++)
        feed_one(due[i]);
}

static void notify(struct fa_streams *streams)
{
    if (atomic_exchange(&streams->has_event, true))
        return;
    pthread_mutex_lock(&streams->wait_mutex);
    pthread_cond_signal(&streams->cond);
    pthread_mutex_unlock(&streams->wait_mutex);
}

/* Waits for a notification, or for POLL_US if there are streams. */
static void wait_for_event(struct fa_streams *streams, bool has_any)
{
    int64_t until_us = fa_clock_mono_us() + POLL_US;
    struct timespec until = {.tv_sec = until_us / 1000000, .tv_nsec = until_us % 1000000 * 1000};
    int rc = 0;

    pthread_mutex_lock(&streams->wait_mutex);
    while (rc == 0 && !atomic_load(&streams->has_event) && !atomic_load(&streams->is_over))
        rc = has_any ? pthread_cond_timedwait(&streams->cond, &streams->wait_mutex, &until)
                     : pthread_cond_wait(&streams->cond, &streams->wait_mutex);
    pthread_mutex_unlock(&streams->wait_mutex);
}

static void *run(void *ctx)
{
    struct fa_streams *streams = ctx;

    while (!atomic_load(&streams->is_over)) {
        bool has_any;

        atomic_store(&streams->has_event, false);
        pthread_mutex_lock(&streams->mutex);
        free_closed(streams);
        has_any = streams->first != NULL;
        pthread_mutex_unlock(&streams->mutex);
        if (has_any)
            feed_texts(streams);
        if (!has_any || !run_round(streams))
            wait_for_event(streams, has_any);
    }
    pthread_mutex_lock(&streams->mutex);
    free_closed(streams);
    pthread_mutex_unlock(&streams->mutex);
    return NULL;
}

/* Called by the writer thread, which must not wait for streams. */
static void on_commit(void *ctx, const struct fa_notification *notification)
{
    struct fa_streams *streams = ctx;

    (void)notification;
    if (atomic_load(&streams->count) > 0)
        notify(streams);
}

/* ------------------------------------------------------------------------------------------
 * Clients
 */

static struct fa_stream_filter copy_filter(const struct fa_stream_filter *filter,
                                           struct fa_arena *arena)
{
    struct fa_stream_filter copy = *filter;

    copy.ns = fa_arena_strdup(arena, filter->ns);
    copy.type = fa_arena_strdup(arena, filter->type);
    copy.name = fa_arena_strdup(arena, filter->name);
    copy.team_id = fa_arena_strdup(arena, filter->team_id);
    copy.created_by = fa_arena_strdup(arena, filter->created_by);
    copy.idempotency_key = fa_arena_strdup(arena, filter->idempotency_key);
    if (filter->keys) {
        int64_t *keys = fa_arena_take(arena, (filter->key_count + 1) * sizeof(*keys));

        memcpy(keys, filter->keys, filter->key_count * sizeof(*keys));
        qsort(keys, filter->key_count, sizeof(*keys), by_key);
        copy.keys = keys;
    }
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
           is_same_text(a->name, b->name) && is_same_text(a->team_id, b->team_id) &&
           is_same_text(a->created_by, b->created_by) &&
           is_same_text(a->idempotency_key, b->idempotency_key) && a->statuses == b->statuses &&
           a->has_parent == b->has_parent && a->parent_key == b->parent_key &&
           a->created_after_us == b->created_after_us &&
           a->created_before_us == b->created_before_us &&
           is_same_list(&a->namespaces, &b->namespaces) && !a->keys && !b->keys &&
           a->aggregate_us == b->aggregate_us;
}

/* Finds or adds the kind of a filter, and counts a stream. The mutex is held. */
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
                                 const struct fa_stream_client *client, const char *position,
                                 const struct fa_stream_calls *calls, void *ctx)
{
    struct fa_stream *stream = fa_alloc_zero(1, sizeof(*stream));

    stream->streams = streams;
    stream->client = *client;
    stream->calls = *calls;
    stream->ctx = ctx;
    set_position(stream, position);
    pthread_mutex_lock(&streams->mutex);
    add_text(stream, "retry: 1000\n\n");
    stream->kind = join_kind(streams, filter);
    if (streams->is_ending)
        finish(stream, "");
    stream->next = streams->first;
    streams->first = stream;
    atomic_fetch_add(&streams->count, 1);
    pthread_mutex_unlock(&streams->mutex);
    notify(streams);
    return stream;
}

struct fa_stream *fa_stream_open_text(struct fa_streams *streams, fa_stream_feed *feed,
                                      void *feed_ctx, const struct fa_stream_client *client,
                                      const struct fa_stream_calls *calls, void *ctx)
{
    struct fa_stream *stream = fa_alloc_zero(1, sizeof(*stream));

    stream->streams = streams;
    stream->client = *client;
    stream->calls = *calls;
    stream->ctx = ctx;
    stream->feed = feed;
    stream->feed_ctx = feed_ctx;
    pthread_mutex_lock(&streams->mutex);
    if (streams->is_ending)
        finish(stream, "");
    stream->next = streams->first;
    streams->first = stream;
    atomic_fetch_add(&streams->count, 1);
    pthread_mutex_unlock(&streams->mutex);
    notify(streams);
    return stream;
}

/* Copies up to `size` bytes, and removes the blocks that were taken completely. */
static size_t take(struct fa_stream *stream, char *to, size_t size)
{
    size_t len = 0;

    while (len < size && stream->queue_count > 0) {
        const struct fa_buf *text = &stream->queue[stream->queue_first]->text;
        size_t part =
            text->len - stream->taken < size - len ? text->len - stream->taken : size - len;

        memcpy(to + len, text->ptr + stream->taken, part);
        len += part;
        stream->taken += part;
        stream->waiting -= part;
        if (stream->taken == text->len)
            pop(stream);
    }
    stream->burst += len;
    if (stream->is_over)
        stream->over_us = fa_clock_mono_us();
    return len;
}

ssize_t fa_stream_take(struct fa_stream *stream, char *to, size_t size)
{
    ssize_t got = 0;

    pthread_mutex_lock(&stream->streams->mutex);
    if (stream->queue_count > 0 && stream->burst >= BURST_SIZE) {
        /* R4: the others have their turn. */
        stream->burst = 0;
        stream->calls.sleep(stream->ctx);
        stream->calls.wake(stream->ctx);
    } else if (stream->queue_count > 0) {
        got = (ssize_t)take(stream, to, size);
    } else if (stream->is_over) {
        got = -1;
    } else {
        stream->burst = 0;
        stream->is_asleep = true;
        stream->calls.sleep(stream->ctx);
    }
    pthread_mutex_unlock(&stream->streams->mutex);
    return got;
}

void fa_stream_detach(struct fa_stream *stream)
{
    pthread_mutex_lock(&stream->streams->mutex);
    stream->is_detached = true;
    pthread_mutex_unlock(&stream->streams->mutex);
}

void fa_stream_close(struct fa_stream *stream)
{
    struct fa_streams *streams = stream->streams;

    pthread_mutex_lock(&streams->mutex);
    stream->is_closed = stream->is_detached = true;
    atomic_fetch_sub(&streams->count, 1);
    pthread_mutex_unlock(&streams->mutex);
    notify(streams);
}

/* ------------------------------------------------------------------------------------------
 * Life
 */

struct fa_streams *fa_streams_create(struct fa_service *service)
{
    struct fa_streams *streams = fa_alloc_zero(1, sizeof(*streams));
    pthread_condattr_t attr;

    streams->service = service;
    streams->listener = (struct fa_listener){.on_commit = on_commit, .ctx = streams};
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&streams->mutex, NULL);
    pthread_mutex_init(&streams->wait_mutex, NULL);
    pthread_cond_init(&streams->cond, &attr);
    pthread_condattr_destroy(&attr);
    if (pthread_create(&streams->thread, NULL, run, streams) != 0) {
        pthread_cond_destroy(&streams->cond);
        pthread_mutex_destroy(&streams->wait_mutex);
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
        finish(stream, "event: end\ndata: {\"message\":\"the server is shutting down\"}\n\n");
    pthread_mutex_unlock(&streams->mutex);
}

void fa_streams_end_unless(struct fa_streams *streams,
                           bool (*may)(void *ctx, const struct fa_stream_client *client), void *ctx)
{
    pthread_mutex_lock(&streams->mutex);
    for (struct fa_stream *stream = streams->first; stream; stream = stream->next)
        if (!may(ctx, &stream->client))
            finish(stream, "event: end\ndata: {\"message\":\"the token is no longer valid\"}\n\n");
    pthread_mutex_unlock(&streams->mutex);
}

size_t fa_streams_count(struct fa_streams *streams)
{
    return atomic_load(&streams->count);
}

void fa_streams_destroy(struct fa_streams *streams)
{
    if (!streams)
        return;
    fa_service_unlisten(streams->service, &streams->listener);
    atomic_store(&streams->is_over, true);
    pthread_mutex_lock(&streams->wait_mutex);
    pthread_cond_signal(&streams->cond);
    pthread_mutex_unlock(&streams->wait_mutex);
    pthread_join(streams->thread, NULL);
    pthread_cond_destroy(&streams->cond);
    pthread_mutex_destroy(&streams->wait_mutex);
    pthread_mutex_destroy(&streams->mutex);
    free(streams->round);
    free(streams);
}
