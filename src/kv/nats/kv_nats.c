/* kv_nats.c - see kv_nats.h. */
#include "kv/nats/kv_nats.h"

#include "base/clock.h"
#include "base/thread.h"
#include "json/json.h"
#include "kv/nats/nats_request.h"
#include "model/times.h"

#include <assert.h>
#include <netdb.h>
#include <openssl/evp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define TIMEOUT_MS 10000 /* for a read or a write, with everything that it takes */
#define ATTEMPT_MS 2500  /* for one round of requests */
#define HEADERS_SIZE 512 /* room for headers in max_payload */
#define MARKER_US (30 * INT64_C(60000000))
#define RESUME_US (15 * INT64_C(60000000)) /* a longer cut begins again: markers may be gone */
#define TIDY_MAX 500
#define PAUSE_US 50000
#define WATCH_PAUSE_US 200000

/* err_code of JetStream */
#define WRONG_LAST_SEQUENCE 10071
#define NO_MESSAGE 10037
#define NO_STREAM 10059
#define TOO_LARGE 10054
#define NO_RESOURCES 10023
#define NO_STORAGE 10047
#define MAX_BYTES 10077

struct marker {
    char *key;
    uint64_t revision;
    int64_t at_us;
};

struct kv_nats {
    struct fa_kv base;
    struct fa_nats *nats;
    const struct fa_cnats *lib;
    struct fa_arena arena; /* of what follows, which doesn't change */
    struct fa_nats_url url;
    const char *stream, *prefix; /* "KV_faina", "$KV.faina." */
    const char *get_direct, *get_fresh;
    bool reads_directly, needs_leader;
    int replicas;          /* of a bucket that is created */
    atomic_llong ahead_us; /* the server's clock, as seen by the watch */

    struct fa_kv_watcher watcher;
    pthread_t thread;
    bool is_watching;
    atomic_bool is_ending;
    pthread_mutex_t mutex; /* guards what follows */
    struct fa_nats_feed *feed;
    struct marker *markers; /* in the order of their arrival */
    size_t marker_first, marker_count, marker_size;
};

static void pause_us(int64_t us)
{
    struct timespec moment = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};

    nanosleep(&moment, NULL);
}

static enum faina_code refuse_silent(struct faina_error *err)
{
    return fa_error_set(err, FAINA_UNAVAILABLE,
                        "the NATS server did not answer within %d s; whether a change was stored "
                        "is unknown",
                        TIMEOUT_MS / 1000);
}

/* ------------------------------------------------------------------------------------------
 * Reading
 */

static char *decode_base64(struct fa_bytes text, struct fa_arena *arena, size_t *len)
{
    char *out = fa_arena_take(arena, text.len / 4 * 3 + 4);
    int count =
        EVP_DecodeBlock((unsigned char *)out, (const unsigned char *)text.ptr, (int)text.len);

    if (count < 0)
        return NULL;
    for (size_t i = text.len; i > 0 && text.ptr[i - 1] == '='; i--)
        count--;
    *len = (size_t)count;
    out[count] = '\0';
    return out;
}

static bool is_marker(const char *operation)
{
    return operation != NULL && (strcmp(operation, "DEL") == 0 || strcmp(operation, "PURGE") == 0);
}

/* The answer of a direct read: the message itself. False: it is no answer. */
static bool take_direct(struct kv_nats *kv, struct fa_nats_request *request,
                        struct fa_kv_read *read, struct fa_arena *arena)
{
    const char *sequence = NULL, *operation = NULL, *time = NULL;
    natsMsg *msg = request->reply;
    int len = kv->lib->natsMsg_GetDataLength(msg);

    if (request->status == 404) {
        read->code = FAINA_NOT_FOUND;
        read->revision = 0;
        return true;
    }
    if (request->status != 0 ||
        kv->lib->natsMsgHeader_Get(msg, "Nats-Sequence", &sequence) != NATS_OK)
        return false;
    kv->lib->natsMsgHeader_Get(msg, "KV-Operation", &operation);
    read->revision = strtoull(sequence, NULL, 10);
    if (kv->lib->natsMsgHeader_Get(msg, "Nats-Time-Stamp", &time) != NATS_OK || time == NULL ||
        fa_time_parse(time, "", &read->at_us, NULL) != FAINA_OK)
        read->at_us = 0;
    read->code = is_marker(operation) ? FAINA_NOT_FOUND : FAINA_OK;
    if (read->code == FAINA_OK)
        read->value = (struct fa_bytes){
            fa_arena_copy(arena, kv->lib->natsMsg_GetData(msg), (size_t)len), (size_t)len};
    return read->revision > 0;
}

/* The answer of the stream's leader: JSON, with the message in base64. */
static bool take_fresh(struct kv_nats *kv, struct fa_nats_request *request, struct fa_kv_read *read,
                       struct fa_arena *arena)
{
    int len = kv->lib->natsMsg_GetDataLength(request->reply);
    struct fa_bytes text = {kv->lib->natsMsg_GetData(request->reply), (size_t)len};
    const char *time, *headers, *data;
    struct fa_json object, member;
    size_t header_len = 0, data_len = 0;

    if (request->status != 0 || len == 0 ||
        fa_json_check(text, 16, "", FAINA_UNAVAILABLE, NULL) != FAINA_OK)
        return false;
    object = fa_json_value(text);
    if (object.type != FA_JSON_OBJECT)
        return false;
    if (fa_json_member(object, "error", &member)) {
        read->code = FAINA_NOT_FOUND;
        read->revision = 0;
        return member.type == FA_JSON_OBJECT &&
               fa_json_member_int(member, "err_code") == NO_MESSAGE;
    }
    if (!fa_json_member(object, "message", &member) || member.type != FA_JSON_OBJECT)
        return false;
    read->revision = (uint64_t)fa_json_member_int(member, "seq");
    time = fa_json_member_text(member, "time", arena);
    if (time == NULL || fa_time_parse(time, "", &read->at_us, NULL) != FAINA_OK)
        read->at_us = 0;
    headers = fa_json_member_text(member, "hdrs", arena);
    headers = headers ? decode_base64(fa_str(headers), arena, &header_len) : NULL;
    if (headers != NULL && (strstr(headers, "KV-Operation: DEL") != NULL ||
                            strstr(headers, "KV-Operation: PURGE") != NULL)) {
        read->code = FAINA_NOT_FOUND;
        return read->revision > 0;
    }
    data = fa_json_member_text(member, "data", arena);
    data = data ? decode_base64(fa_str(data), arena, &data_len) : "";
    read->value = (struct fa_bytes){data, data_len};
    read->code = FAINA_OK;
    return data != NULL && read->revision > 0;
}

static void set_read(struct kv_nats *kv, const struct fa_kv_read *read, struct fa_arena *scratch,
                     struct fa_nats_request *out)
{
    bool is_fresh = !kv->reads_directly || (read->is_fresh && kv->needs_leader);

    *out = (struct fa_nats_request){0};
    if (is_fresh) {
        out->subject = kv->get_fresh;
        out->data =
            fa_str(fa_arena_printf(scratch, "{\"last_by_subj\":\"%s%s\"}", kv->prefix, read->key));
    } else {
        out->subject = fa_arena_printf(scratch, "%s%s%s", kv->get_direct, kv->prefix, read->key);
    }
}

/* One round for the reads that have no answer. Returns how many are left. */
static size_t read_round(struct kv_nats *kv, struct fa_kv_read **open, size_t count,
                         struct fa_arena *arena, int64_t timeout_ms)
{
    struct fa_nats_request *requests = fa_alloc_zero(count, sizeof(*requests));
    struct fa_arena scratch = {0};
    size_t left = 0;

    for (size_t i = 0; i < count; i++)
        set_read(kv, open[i], &scratch, &requests[i]);
    fa_nats_run(kv->nats, requests, count, timeout_ms);
    for (size_t i = 0; i < count; i++) {
        bool is_taken = false;

        open[i]->value = (struct fa_bytes){NULL, 0};
        if (requests[i].reply != NULL)
            is_taken = requests[i].subject == kv->get_fresh
                           ? take_fresh(kv, &requests[i], open[i], arena)
                           : take_direct(kv, &requests[i], open[i], arena);
        kv->lib->natsMsg_Destroy(requests[i].reply);
        if (!is_taken)
            open[left++] = open[i];
    }
    fa_arena_finish(&scratch);
    free(requests);
    return left;
}

static int64_t left_of(int64_t until_us)
{
    int64_t left_ms = (until_us - fa_clock_mono_us()) / 1000;

    return left_ms < ATTEMPT_MS ? left_ms : ATTEMPT_MS;
}

static void nats_read(struct fa_kv *base, struct fa_kv_read *reads, size_t count,
                      struct fa_arena *arena, struct faina_error *err)
{
    struct kv_nats *kv = (struct kv_nats *)base;
    struct fa_kv_read **open = fa_alloc_zero(count, sizeof(*open));
    int64_t until_us = fa_clock_mono_us() + TIMEOUT_MS * 1000, left_ms;
    size_t left = count;

    for (size_t i = 0; i < count; i++)
        open[i] = &reads[i];
    while (left > 0 && (left_ms = left_of(until_us)) > 0) {
        left = read_round(kv, open, left, arena, left_ms);
        if (left > 0)
            pause_us(PAUSE_US);
    }
    for (size_t i = 0; i < left; i++) {
        open[i]->code = FAINA_UNAVAILABLE;
        refuse_silent(err);
    }
    free(open);
}

/* ------------------------------------------------------------------------------------------
 * Writing
 */

static void set_write(struct kv_nats *kv, const struct fa_kv_write *write, struct fa_arena *scratch,
                      struct fa_nats_request *out)
{
    *out = (struct fa_nats_request){
        .subject = fa_arena_printf(scratch, "%s%s", kv->prefix, write->key),
        .headers = {"Nats-Expected-Last-Subject-Sequence",
                    fa_arena_printf(scratch, "%llu", (unsigned long long)write->expected)},
        .data = write->value,
    };
    if (write->is_delete) {
        out->headers[2] = "KV-Operation";
        out->headers[3] = "DEL";
    }
}

/* The answer to a write. False: it is none that decides. */
static bool take_ack(struct kv_nats *kv, struct fa_nats_request *request, struct fa_kv_write *write,
                     struct faina_error *err)
{
    int len = kv->lib->natsMsg_GetDataLength(request->reply);
    struct fa_bytes text = {kv->lib->natsMsg_GetData(request->reply), (size_t)len};
    struct fa_arena scratch = {0};
    struct fa_json object, error;
    bool is_taken = true;

    if (request->status != 0 || len == 0 ||
        fa_json_check(text, 16, "", FAINA_UNAVAILABLE, NULL) != FAINA_OK)
        return false;
    object = fa_json_value(text);
    if (object.type != FA_JSON_OBJECT)
        return false;
    if (!fa_json_member(object, "error", &error)) {
        write->revision = (uint64_t)fa_json_member_int(object, "seq");
        write->code = FAINA_OK;
        return write->revision > write->expected;
    }
    if (error.type != FA_JSON_OBJECT)
        return false;
    switch (fa_json_member_int(error, "err_code")) {
    case WRONG_LAST_SEQUENCE:
        write->code = FAINA_CONFLICT;
        break;
    case TOO_LARGE:
        write->code = FAINA_PAYLOAD_TOO_LARGE;
        break;
    case NO_RESOURCES:
    case NO_STORAGE:
    case MAX_BYTES:
        write->code =
            fa_error_set(err, FAINA_OVERLOADED, "the NATS server has no room for more: %.200s",
                         fa_json_member_text(error, "description", &scratch));
        break;
    default:
        is_taken = false;
        break;
    }
    fa_arena_finish(&scratch);
    return is_taken;
}

/* N1. What has become of a write that no answer came for, or that was refused after such a try. */
static void resolve(struct kv_nats *kv, struct fa_kv_write **open, size_t count, size_t *left)
{
    struct fa_kv_read *reads = fa_alloc_zero(count, sizeof(*reads));
    struct fa_kv_read **asked = fa_alloc_zero(count, sizeof(*asked));
    struct fa_arena scratch = {0};
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        reads[i] =
            (struct fa_kv_read){.key = open[i]->key, .is_fresh = true, .code = FAINA_UNAVAILABLE};
        asked[i] = &reads[i];
    }
    read_round(kv, asked, count, &scratch, ATTEMPT_MS);
    for (size_t i = 0; i < count; i++) {
        struct fa_kv_write *write = open[i];
        bool is_there = reads[i].code == FAINA_OK;

        if (reads[i].code == FAINA_UNAVAILABLE || reads[i].revision == write->expected) {
            open[kept++] = write; /* not stored yet */
        } else if (reads[i].revision > write->expected &&
                   (write->is_delete ? !is_there
                                     : is_there && fa_bytes_equal(reads[i].value, write->value))) {
            write->code = FAINA_OK;
            write->revision = reads[i].revision;
        } else {
            write->code = FAINA_UNAVAILABLE; /* it may have been stored and replaced since */
        }
    }
    *left = kept;
    fa_arena_finish(&scratch);
    free(asked);
    free(reads);
}

/* One round; returns how many writes are still open. */
static size_t write_round(struct kv_nats *kv, struct fa_kv_write **open, size_t count,
                          int64_t timeout_ms, bool is_again, struct faina_error *err)
{
    struct fa_nats_request *requests = fa_alloc_zero(count, sizeof(*requests));
    struct fa_arena scratch = {0};
    size_t left = 0;

    for (size_t i = 0; i < count; i++)
        set_write(kv, open[i], &scratch, &requests[i]);
    fa_nats_run(kv->nats, requests, count, timeout_ms);
    for (size_t i = 0; i < count; i++) {
        struct fa_kv_write *write = open[i];
        bool is_taken = requests[i].is_too_large;

        if (is_taken)
            write->code = FAINA_PAYLOAD_TOO_LARGE;
        else if (requests[i].reply != NULL)
            is_taken = take_ack(kv, &requests[i], write, err);
        kv->lib->natsMsg_Destroy(requests[i].reply);
        if (!is_taken || (is_again && write->code == FAINA_CONFLICT))
            open[left++] = write;
    }
    fa_arena_finish(&scratch);
    free(requests);
    return left;
}

static void nats_write(struct fa_kv *base, struct fa_kv_write *writes, size_t count,
                       struct faina_error *err)
{
    struct kv_nats *kv = (struct kv_nats *)base;
    struct fa_kv_write **open = fa_alloc_zero(count, sizeof(*open));
    int64_t until_us = fa_clock_mono_us() + TIMEOUT_MS * 1000, left_ms;
    size_t left = count;
    bool is_again = false;

    for (size_t i = 0; i < count; i++) {
        writes[i].code = FAINA_UNAVAILABLE;
        open[i] = &writes[i];
    }
    while (left > 0 && (left_ms = left_of(until_us)) > 0) {
        left = write_round(kv, open, left, left_ms, is_again, err);
        is_again = true;
        if (left > 0) {
            pause_us(PAUSE_US);
            resolve(kv, open, left, &left);
        }
    }
    for (size_t i = 0; i < left; i++)
        open[i]->code = FAINA_UNAVAILABLE;
    for (size_t i = 0; i < count; i++)
        if (writes[i].code == FAINA_UNAVAILABLE)
            refuse_silent(err);
    free(open);
}

static size_t nats_value_max(struct fa_kv *base)
{
    struct kv_nats *kv = (struct kv_nats *)base;
    int64_t max = kv->lib->natsConnection_GetMaxPayload(fa_nats_connection(kv->nats));

    return max > HEADERS_SIZE ? (size_t)max - HEADERS_SIZE : 0;
}

/* ------------------------------------------------------------------------------------------
 * Watching
 */

static bool set_entry(struct kv_nats *kv, const struct fa_nats_item *item, struct fa_arena *arena,
                      struct fa_kv_entry *out)
{
    const char *subject = kv->lib->natsMsg_GetSubject(item->msg), *operation = NULL;
    int len = kv->lib->natsMsg_GetDataLength(item->msg);

    if (strncmp(subject, kv->prefix, strlen(kv->prefix)) != 0)
        return false;
    kv->lib->natsMsgHeader_Get(item->msg, "KV-Operation", &operation);
    *out = (struct fa_kv_entry){.key = subject + strlen(kv->prefix),
                                .revision = item->sequence,
                                .at_us = item->at_us,
                                .is_deleted = is_marker(operation)};
    out->value = (struct fa_bytes){
        fa_arena_copy(arena, kv->lib->natsMsg_GetData(item->msg), (size_t)len), (size_t)len};
    return fa_kv_key_is_valid(out->key);
}

static enum faina_code nats_list(struct fa_kv *base, const char *prefix, fa_kv_each_fn *each,
                                 void *ctx, struct faina_error *err)
{
    struct kv_nats *kv = (struct kv_nats *)base;
    struct fa_arena arena = {0};
    struct fa_nats_feed *feed = NULL;
    uint64_t pending = 0;
    const char *filter = fa_arena_printf(&arena, "%s%s>", kv->prefix, prefix);
    enum faina_code code = fa_nats_feed_open(&feed, kv->nats, kv->stream, filter, 0, &pending, err);

    while (code == FAINA_OK && pending > 0) {
        struct fa_nats_item item;
        struct fa_kv_entry entry;
        bool is_broken;

        if (fa_nats_feed_next(feed, 1000, &item, &is_broken)) {
            fa_arena_reset(&arena);
            if (set_entry(kv, &item, &arena, &entry) && !entry.is_deleted)
                each(ctx, &entry);
            pending = item.pending;
            kv->lib->natsMsg_Destroy(item.msg);
        } else if (fa_nats_feed_is_idle(feed)) {
            pending = 0;
        } else if (is_broken) {
            code = fa_error_set(err, FAINA_UNAVAILABLE, "the list of keys was cut; try again");
        }
    }
    fa_nats_feed_close(feed);
    fa_arena_finish(&arena);
    return code;
}

static void add_marker(struct kv_nats *kv, const struct fa_kv_entry *entry)
{
    size_t len = strlen(entry->key);
    struct marker marker = {fa_alloc(len + 1), entry->revision, entry->at_us};

    memcpy(marker.key, entry->key, len + 1);
    pthread_mutex_lock(&kv->mutex);
    if (kv->marker_first > 1024 && kv->marker_first * 2 > kv->marker_count) {
        kv->marker_count -= kv->marker_first;
        memmove(kv->markers, kv->markers + kv->marker_first,
                kv->marker_count * sizeof(*kv->markers));
        kv->marker_first = 0;
    }
    kv->markers = fa_grow(kv->markers, kv->marker_count, &kv->marker_size, sizeof(*kv->markers));
    kv->markers[kv->marker_count++] = marker;
    pthread_mutex_unlock(&kv->mutex);
}

/* What the watch knows. */
struct watch {
    struct kv_nats *kv;
    uint64_t last;      /* sequence number; 0: nothing was delivered */
    uint64_t begin_end; /* the last sequence number when the watch began */
    bool is_ready;      /* everything of the beginning was delivered */
    bool has_begun;
    int64_t seen_us;     /* when the feed was last sound; monotonic */
    const char *created; /* of the stream */
    struct fa_arena arena;
};

static enum faina_code ask_stream(struct kv_nats *kv, int64_t timeout_ms, struct fa_arena *arena,
                                  struct fa_json *out, int64_t *error_code, struct faina_error *err)
{
    struct fa_bytes answer;
    enum faina_code code =
        fa_nats_ask(kv->nats, fa_arena_printf(arena, "$JS.API.STREAM.INFO.%s", kv->stream), "",
                    timeout_ms, arena, &answer, error_code, err);

    if (code == FAINA_OK)
        *out = fa_json_value(answer);
    return code;
}

static enum faina_code create_bucket(struct kv_nats *kv, struct fa_arena *arena,
                                     struct faina_error *err)
{
    const char *body = fa_arena_printf(
        arena,
        "{\"name\":\"%s\",\"subjects\":[\"%s>\"],\"retention\":\"limits\",\"max_consumers\":-1,"
        "\"max_msgs\":-1,\"max_bytes\":-1,\"max_age\":0,\"max_msgs_per_subject\":1,"
        "\"max_msg_size\":-1,\"discard\":\"new\",\"storage\":\"file\",\"num_replicas\":%d,"
        "\"duplicate_window\":120000000000,\"deny_delete\":true,\"allow_rollup_hdrs\":true,"
        "\"allow_direct\":true,\"description\":\"tasks of Faina\"}",
        kv->stream, kv->prefix, kv->replicas);
    struct fa_bytes answer;
    int64_t error_code;
    enum faina_code code =
        fa_nats_ask(kv->nats, fa_arena_printf(arena, "$JS.API.STREAM.CREATE.%s", kv->stream), body,
                    TIMEOUT_MS, arena, &answer, &error_code, err);

    if (code == FAINA_OK && error_code != 0)
        code = fa_error_set(err, FAINA_UNAVAILABLE,
                            "the NATS server did not create the bucket %.64s: %.250s",
                            kv->url.bucket, answer.ptr);
    return code;
}

/* N2. Whether the watch can continue where it was cut. */
static bool can_resume(struct watch *watch, struct fa_json stream)
{
    struct fa_json state;

    if (!watch->is_ready || watch->created == NULL ||
        fa_clock_mono_us() - watch->seen_us > RESUME_US)
        return false;
    return strcmp(fa_json_member_text(stream, "created", &watch->arena), watch->created) == 0 &&
           fa_json_member(stream, "state", &state) &&
           (uint64_t)fa_json_member_int(state, "last_seq") >= watch->last;
}

/* Opens the feed, from where the watch was or from the beginning. */
static struct fa_nats_feed *open_feed(struct watch *watch)
{
    struct kv_nats *kv = watch->kv;
    struct fa_arena scratch = {0};
    struct fa_nats_feed *feed = NULL;
    struct fa_json stream, state;
    uint64_t pending = 0;
    int64_t error_code = 0;
    bool resumes;

    if (ask_stream(kv, 2000, &scratch, &stream, &error_code, NULL) != FAINA_OK || error_code != 0) {
        if (error_code == NO_STREAM)
            (void)create_bucket(kv, &scratch,
                                NULL); /* N3; if it fails, the next round repeats it */
        fa_arena_finish(&scratch);
        return NULL;
    }
    resumes = can_resume(watch, stream);
    if (fa_nats_feed_open(&feed, kv->nats, kv->stream, fa_arena_printf(&scratch, "%s>", kv->prefix),
                          resumes ? watch->last + 1 : 0, &pending, NULL) != FAINA_OK)
        feed = NULL;
    if (feed != NULL && !resumes) {
        if (watch->has_begun)
            kv->watcher.reset(kv->watcher.ctx);
        watch->has_begun = true;
        watch->is_ready = false;
        watch->last = 0;
        fa_arena_finish(&watch->arena);
        watch->created = fa_json_member_text(stream, "created", &watch->arena);
        watch->begin_end = 0;
        if (fa_json_member(stream, "state", &state))
            watch->begin_end = (uint64_t)fa_json_member_int(state, "last_seq");
        if (pending == 0) {
            watch->is_ready = true;
            kv->watcher.ready(kv->watcher.ctx);
        }
    }
    watch->seen_us = fa_clock_mono_us();
    fa_arena_finish(&scratch);
    return feed;
}

/* The largest of recent values is the one with the least delay. */
static void note_clock(struct kv_nats *kv, int64_t at_us)
{
    int64_t ahead = at_us - fa_clock_now_us(), known = atomic_load(&kv->ahead_us);

    atomic_store(&kv->ahead_us, known == 0 || ahead > known ? ahead : known - (known - ahead) / 64);
}

static void set_ready(struct watch *watch)
{
    if (watch->is_ready)
        return;
    watch->is_ready = true;
    watch->kv->watcher.ready(watch->kv->watcher.ctx);
}

static void deliver(struct watch *watch, const struct fa_nats_item *item)
{
    struct kv_nats *kv = watch->kv;
    struct fa_arena scratch = {0};
    struct fa_kv_entry entry;

    if (set_entry(kv, item, &scratch, &entry)) {
        kv->watcher.changed(kv->watcher.ctx, &entry);
        if (entry.is_deleted)
            add_marker(kv, &entry);
    }
    if (item->sequence > watch->last)
        watch->last = item->sequence;
    if (watch->is_ready)
        note_clock(kv, item->at_us);
    if (item->pending == 0 || item->sequence >= watch->begin_end)
        set_ready(watch);
    fa_arena_finish(&scratch);
}

static void set_feed(struct kv_nats *kv, struct fa_nats_feed *feed)
{
    pthread_mutex_lock(&kv->mutex);
    kv->feed = feed;
    pthread_mutex_unlock(&kv->mutex);
}

static void *run_watch(void *arg)
{
    struct watch watch = {.kv = arg};
    struct kv_nats *kv = arg;

    while (!atomic_load(&kv->is_ending)) {
        struct fa_nats_feed *feed = open_feed(&watch);
        bool is_broken = feed == NULL;

        set_feed(kv, feed);
        while (!is_broken && !atomic_load(&kv->is_ending)) {
            struct fa_nats_item item;

            if (fa_nats_feed_next(feed, 1000, &item, &is_broken)) {
                deliver(&watch, &item);
                kv->lib->natsMsg_Destroy(item.msg);
            }
            if (!is_broken && fa_nats_feed_is_idle(feed))
                set_ready(&watch);
            if (!is_broken)
                watch.seen_us = fa_clock_mono_us();
        }
        set_feed(kv, NULL);
        fa_nats_feed_close(feed);
        if (!atomic_load(&kv->is_ending))
            pause_us(WATCH_PAUSE_US);
    }
    fa_arena_finish(&watch.arena);
    return NULL;
}

static enum faina_code nats_watch(struct fa_kv *base, const struct fa_kv_watcher *watcher,
                                  struct faina_error *err)
{
    struct kv_nats *kv = (struct kv_nats *)base;

    assert(!kv->is_watching);
    kv->watcher = *watcher;
    atomic_store(&kv->is_ending, false);
    kv->is_watching = fa_thread_start(&kv->thread, run_watch, kv) == 0;
    return kv->is_watching ? FAINA_OK
                           : fa_error_set(err, FAINA_UNAVAILABLE, "no thread can be started");
}

static void nats_unwatch(struct fa_kv *base)
{
    struct kv_nats *kv = (struct kv_nats *)base;

    if (!kv->is_watching)
        return;
    atomic_store(&kv->is_ending, true);
    pthread_mutex_lock(&kv->mutex);
    if (kv->feed != NULL)
        fa_nats_feed_wake(kv->feed);
    pthread_mutex_unlock(&kv->mutex);
    pthread_join(kv->thread, NULL);
    kv->is_watching = false;
}

/* Purges a marker, and nothing newer: up to its own sequence number. */
static void nats_tidy(struct fa_kv *base)
{
    struct kv_nats *kv = (struct kv_nats *)base;
    struct fa_nats_request *requests = fa_alloc_zero(TIDY_MAX, sizeof(*requests));
    struct fa_arena scratch = {0};
    const char *subject = fa_arena_printf(&scratch, "$JS.API.STREAM.PURGE.%s", kv->stream);
    int64_t before_us = fa_clock_now_us() - MARKER_US;
    size_t count = 0;

    pthread_mutex_lock(&kv->mutex);
    while (count < TIDY_MAX && kv->marker_first < kv->marker_count &&
           kv->markers[kv->marker_first].at_us < before_us) {
        struct marker *marker = &kv->markers[kv->marker_first++];

        requests[count++] = (struct fa_nats_request){
            .subject = subject,
            .data =
                fa_str(fa_arena_printf(&scratch, "{\"filter\":\"%s%s\",\"seq\":%llu}", kv->prefix,
                                       marker->key, (unsigned long long)marker->revision + 1))};
        free(marker->key);
    }
    pthread_mutex_unlock(&kv->mutex);
    if (count > 0)
        fa_nats_run(kv->nats, requests, count, ATTEMPT_MS); /* what fails stays for another node */
    for (size_t i = 0; i < count; i++)
        kv->lib->natsMsg_Destroy(requests[i].reply);
    fa_arena_finish(&scratch);
    free(requests);
}

/* ------------------------------------------------------------------------------------------
 * Information
 */

/* The version of a server is in its INFO line, which the client library doesn't pass on. */
static const char *read_version(struct kv_nats *kv, struct fa_arena *arena)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    const struct timeval timeout = {.tv_sec = 2};
    struct addrinfo *found = NULL;
    char url[512] = "", greeting[4096];
    char *host, *port;
    const char *version = NULL;
    ssize_t len = -1;
    int fd;

    if (kv->lib->natsConnection_GetConnectedUrl(fa_nats_connection(kv->nats), url, sizeof(url)) !=
        NATS_OK)
        return NULL;
    host = strstr(url, "://");
    host = host != NULL ? host + 3 : url;
    host = strchr(host, '@') != NULL ? strchr(host, '@') + 1 : host;
    port = strrchr(host, ':');
    if (port == NULL)
        return NULL;
    *port++ = '\0';
    if (getaddrinfo(host, port, &hints, &found) != 0)
        return NULL;
    fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
        if (connect(fd, found->ai_addr, found->ai_addrlen) == 0)
            len = recv(fd, greeting, sizeof(greeting) - 1, 0);
        close(fd);
    }
    freeaddrinfo(found);
    if (len > 5 && strncmp(greeting, "INFO ", 5) == 0) {
        struct fa_bytes text;

        greeting[len] = '\0';
        text = (struct fa_bytes){greeting + 5, strcspn(greeting + 5, "\r\n")};
        if (fa_json_check(text, 16, "", FAINA_INTERNAL, NULL) == FAINA_OK)
            version = fa_json_member_text(fa_json_value(text), "version", arena);
    }
    return version;
}

/* Replicas that are there and up to date, the leader included; 0: the server is no cluster. */
static int64_t count_current(struct fa_json stream, const char **leader, struct fa_arena *arena)
{
    struct fa_json cluster, replicas, item, value;
    struct fa_json_iter it;
    int64_t current = 1;

    *leader = NULL;
    if (!fa_json_member(stream, "cluster", &cluster) || cluster.type != FA_JSON_OBJECT)
        return 0;
    *leader = fa_json_member_text(cluster, "leader", arena);
    if (!fa_json_member(cluster, "replicas", &replicas) || replicas.type != FA_JSON_ARRAY)
        return 1;
    for (it = fa_json_iter(replicas); fa_json_next(&it, NULL, &item);)
        if (item.type == FA_JSON_OBJECT && fa_json_member(item, "current", &value) &&
            value.type == FA_JSON_TRUE &&
            !(fa_json_member(item, "offline", &value) && value.type == FA_JSON_TRUE))
            current++;
    return current;
}

static void describe(struct fa_json stream, int64_t replicas, const char *storage,
                     struct fa_arena *arena, struct fa_kv_info *out)
{
    const char *leader;
    int64_t current = count_current(stream, &leader, arena);

    out->durability = fa_arena_printf(
        arena,
        "%lld replica%s (%lld up to date%s%s), storage %s; sync_interval unknown: assume that "
        "writes are acknowledged before fsync",
        (long long)replicas, replicas == 1 ? "" : "s", (long long)(current > 0 ? current : 1),
        leader ? ", leader " : "", leader ? leader : "", storage);
    if (strcmp(storage, "file") != 0)
        out->risk = "the bucket is kept in memory: a restart of its servers loses every task";
    else if (replicas < 3)
        out->risk = fa_arena_printf(
            arena,
            "the bucket has %lld replica%s: a crash of one machine (not of the server alone) can "
            "lose writes that were acknowledged up to some minutes before, because the server "
            "acknowledges before fsync; use replicas=3 on three machines",
            (long long)replicas, replicas == 1 ? "" : "s");
    else if (current * 2 <= replicas + 1 && current < replicas)
        out->risk = fa_arena_printf(
            arena,
            "only %lld of %lld replicas are up to date: a crash of one more machine stops the "
            "bucket, and can lose acknowledged writes",
            (long long)current, (long long)replicas);
}

static enum faina_code nats_info(struct fa_kv *base, struct fa_arena *arena, struct fa_kv_info *out,
                                 struct faina_error *err)
{
    struct kv_nats *kv = (struct kv_nats *)base;
    struct fa_json stream, config, state;
    int64_t error_code;
    const char *storage;
    enum faina_code code = ask_stream(kv, 5000, arena, &stream, &error_code, err);

    if (code != FAINA_OK)
        return code;
    if (error_code != 0 || !fa_json_member(stream, "config", &config) ||
        !fa_json_member(stream, "state", &state))
        return fa_error_set(err, FAINA_UNAVAILABLE, "the NATS server has no bucket %.64s",
                            kv->url.bucket);
    storage = fa_json_member_text(config, "storage", arena);
    out->version = read_version(kv, arena);
    out->location = fa_arena_strdup(arena, kv->url.location);
    out->size_bytes = fa_json_member_int(state, "bytes");
    out->keys = fa_json_member_int(state, "messages");
    out->clock_ahead_us = atomic_load(&kv->ahead_us);
    describe(stream, fa_json_member_int(config, "num_replicas"), storage ? storage : "unknown",
             arena, out);
    return FAINA_OK;
}

/* ------------------------------------------------------------------------------------------
 * Opening and closing
 */

static void nats_close(struct fa_kv *base)
{
    struct kv_nats *kv = (struct kv_nats *)base;

    nats_unwatch(base);
    fa_nats_close(kv->nats);
    for (size_t i = kv->marker_first; i < kv->marker_count; i++)
        free(kv->markers[i].key);
    free(kv->markers);
    pthread_mutex_destroy(&kv->mutex);
    fa_arena_finish(&kv->arena);
    free(kv);
}

/* Opens the bucket: it must be one that keeps a message for each key. */
static enum faina_code open_bucket(struct kv_nats *kv, bool must_exist, struct faina_error *err)
{
    struct fa_arena scratch = {0};
    struct fa_json stream, config, value;
    int64_t error_code = 0;
    enum faina_code code = ask_stream(kv, TIMEOUT_MS, &scratch, &stream, &error_code, err);

    if (code == FAINA_OK && error_code == NO_STREAM && must_exist)
        code = fa_error_set(err, FAINA_UNAVAILABLE, "there is no bucket %.64s at %.200s",
                            kv->url.bucket, kv->url.location);
    else if (code == FAINA_OK && error_code == NO_STREAM) {
        code = create_bucket(kv, &scratch, err);
        if (code == FAINA_OK)
            code = ask_stream(kv, TIMEOUT_MS, &scratch, &stream, &error_code, err);
    }
    if (code == FAINA_OK && (error_code != 0 || !fa_json_member(stream, "config", &config)))
        code = fa_error_set(err, FAINA_UNAVAILABLE, "the bucket %.64s can't be opened (error %lld)",
                            kv->url.bucket, (long long)error_code);
    if (code == FAINA_OK && fa_json_member_int(config, "max_age") != 0)
        code = fa_error_set(err, FAINA_UNAVAILABLE,
                            "the bucket %.64s removes keys after a time, so tasks would be lost",
                            kv->url.bucket);
    if (code == FAINA_OK && kv->url.replicas > 0 &&
        fa_json_member_int(config, "num_replicas") != kv->url.replicas)
        code = fa_error_set(err, FAINA_UNAVAILABLE,
                            "the bucket %.64s has %lld replicas, not %d; change it with `nats "
                            "stream edit`, or the URL",
                            kv->url.bucket, (long long)fa_json_member_int(config, "num_replicas"),
                            kv->url.replicas);
    if (code == FAINA_OK) {
        kv->reads_directly =
            fa_json_member(config, "allow_direct", &value) && value.type == FA_JSON_TRUE;
        kv->replicas = (int)fa_json_member_int(config, "num_replicas");
        kv->needs_leader = kv->replicas > 1;
    }
    fa_arena_finish(&scratch);
    return code;
}

enum faina_code fa_kv_nats_open(struct fa_kv **out, const char *url, bool must_exist,
                                struct faina_error *err)
{
    static const struct fa_kv_ops ops = {
        .name = "nats",
        .read = nats_read,
        .write = nats_write,
        .list = nats_list,
        .watch = nats_watch,
        .unwatch = nats_unwatch,
        .value_max = nats_value_max,
        .info = nats_info,
        .tidy = nats_tidy,
        .close = nats_close,
    };
    struct kv_nats *kv = fa_alloc_zero(1, sizeof(*kv));
    enum faina_code code;

    kv->base.ops = &ops;
    pthread_mutex_init(&kv->mutex, NULL);
    code = fa_nats_url_read(url, &kv->arena, &kv->url, err);
    if (code == FAINA_OK)
        code = fa_nats_connect(&kv->nats, &kv->url, err);
    if (code == FAINA_OK) {
        kv->lib = fa_nats_library(kv->nats);
        kv->stream = fa_arena_printf(&kv->arena, "KV_%s", kv->url.bucket);
        kv->prefix = fa_arena_printf(&kv->arena, "$KV.%s.", kv->url.bucket);
        kv->get_direct = fa_arena_printf(&kv->arena, "$JS.API.DIRECT.GET.%s.", kv->stream);
        kv->get_fresh = fa_arena_printf(&kv->arena, "$JS.API.STREAM.MSG.GET.%s", kv->stream);
        kv->replicas = kv->url.replicas > 0 ? kv->url.replicas : 1;
        code = open_bucket(kv, must_exist, err);
    }
    if (code != FAINA_OK) {
        nats_close(&kv->base);
        return code;
    }
    *out = &kv->base;
    return FAINA_OK;
}
