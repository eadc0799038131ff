/*
 * kv_memory.c - a hash table of keys, and a log of changes that the watches read.
 */
#include "kv/memory/kv_memory.h"

#include "base/clock.h"
#include "base/map.h"
#include "base/thread.h"

#include <assert.h>
#include <stdlib.h>

#define VALUE_SIZE_MAX ((size_t)1 << 20)
#define LOG_KEEP 4096 /* changes that every watch has read are kept up to this number */

struct item {
    char *key, *value;
    size_t len;
    uint64_t revision;
    int64_t at_us;
    bool is_deleted;
};

struct fa_kv_memory {
    pthread_mutex_t mutex; /* guards everything */
    pthread_cond_t cond;   /* the log has grown, or a watch is to end */
    struct fa_map map;
    struct item **items; /* all, in the order of their creation */
    size_t item_count, item_size;
    uint64_t last; /* revision */

    /* Changes since `log_first`, each a copy. */
    struct item *log;
    size_t log_count, log_size;
    uint64_t log_first;

    struct connection *connections;
    size_t value_max;
    bool is_held;
    fa_kv_hook_fn *hook;
    void *hook_ctx;
};

struct connection {
    struct fa_kv base;
    struct fa_kv_memory *memory;
    bool owns_memory;
    struct connection *next;

    struct fa_kv_watcher watcher;
    pthread_t thread;
    bool is_watching, is_ending, should_reset;
    uint64_t position; /* of the log: the next change to deliver */
};

static bool is_key(const void *item, const char *a, const char *b)
{
    (void)b;
    return strcmp(((const struct item *)item)->key, a) == 0;
}

struct fa_kv_memory *fa_kv_memory_create(void)
{
    struct fa_kv_memory *memory = fa_alloc_zero(1, sizeof(*memory));

    pthread_mutex_init(&memory->mutex, NULL);
    fa_cond_init(&memory->cond);
    memory->map.is = is_key;
    memory->value_max = VALUE_SIZE_MAX;
    return memory;
}

void fa_kv_memory_destroy(struct fa_kv_memory *memory)
{
    if (memory == NULL)
        return;
    assert(memory->connections == NULL);
    for (size_t i = 0; i < memory->item_count; i++) {
        free(memory->items[i]->key);
        free(memory->items[i]->value);
        free(memory->items[i]);
    }
    for (size_t i = 0; i < memory->log_count; i++) {
        free(memory->log[i].key);
        free(memory->log[i].value);
    }
    free(memory->items);
    free(memory->log);
    fa_map_finish(&memory->map);
    pthread_cond_destroy(&memory->cond);
    pthread_mutex_destroy(&memory->mutex);
    free(memory);
}

void fa_kv_memory_set_hook(struct fa_kv_memory *memory, fa_kv_hook_fn *hook, void *ctx)
{
    pthread_mutex_lock(&memory->mutex);
    memory->hook = hook;
    memory->hook_ctx = ctx;
    pthread_mutex_unlock(&memory->mutex);
}

void fa_kv_memory_set_held(struct fa_kv_memory *memory, bool is_held)
{
    pthread_mutex_lock(&memory->mutex);
    memory->is_held = is_held;
    pthread_cond_broadcast(&memory->cond);
    pthread_mutex_unlock(&memory->mutex);
}

void fa_kv_memory_reset_watches(struct fa_kv_memory *memory)
{
    pthread_mutex_lock(&memory->mutex);
    for (struct connection *c = memory->connections; c != NULL; c = c->next)
        c->should_reset = true;
    pthread_cond_broadcast(&memory->cond);
    pthread_mutex_unlock(&memory->mutex);
}

/* ------------------------------------------------------------------------------------------
 * Reading and writing
 */

static char *copy_bytes(struct fa_bytes bytes)
{
    char *copy = fa_alloc(bytes.len + 1);

    if (bytes.len > 0)
        memcpy(copy, bytes.ptr, bytes.len);
    copy[bytes.len] = '\0';
    return copy;
}

static void memory_read(struct fa_kv *kv, struct fa_kv_read *reads, size_t count,
                        struct fa_arena *arena, struct faina_error *err)
{
    struct fa_kv_memory *memory = ((struct connection *)kv)->memory;

    (void)err;
    pthread_mutex_lock(&memory->mutex);
    for (size_t i = 0; i < count; i++) {
        const struct item *item = fa_map_get(&memory->map, reads[i].key, NULL);

        reads[i].revision = item ? item->revision : 0;
        reads[i].at_us = item ? item->at_us : 0;
        reads[i].code = item && !item->is_deleted ? FAINA_OK : FAINA_NOT_FOUND;
        reads[i].value = (struct fa_bytes){NULL, 0};
        if (reads[i].code == FAINA_OK)
            reads[i].value =
                (struct fa_bytes){fa_arena_copy(arena, item->value, item->len), item->len};
    }
    pthread_mutex_unlock(&memory->mutex);
}

static void add_to_log(struct fa_kv_memory *memory, const struct item *item)
{
    struct item copy = *item;

    copy.key = copy_bytes(fa_str(item->key));
    copy.value = copy_bytes((struct fa_bytes){item->value, item->len});
    memory->log = fa_grow(memory->log, memory->log_count, &memory->log_size, sizeof(copy));
    memory->log[memory->log_count++] = copy;
}

/* Forgets what every watch has delivered. */
static void trim_log(struct fa_kv_memory *memory)
{
    uint64_t end = memory->log_first + memory->log_count;
    size_t count;

    if (memory->log_count < LOG_KEEP)
        return;
    for (const struct connection *c = memory->connections; c != NULL; c = c->next)
        if (c->is_watching && c->position < end)
            end = c->position;
    count = (size_t)(end - memory->log_first);
    for (size_t i = 0; i < count; i++) {
        free(memory->log[i].key);
        free(memory->log[i].value);
    }
    memory->log_count -= count;
    memory->log_first = end;
    memmove(memory->log, memory->log + count, memory->log_count * sizeof(*memory->log));
}

static void store(struct fa_kv_memory *memory, struct fa_kv_write *write)
{
    struct item *item = fa_map_get(&memory->map, write->key, NULL);

    write->code = FAINA_CONFLICT;
    if ((item != NULL ? item->revision : 0) != write->expected)
        return;
    write->code = FAINA_PAYLOAD_TOO_LARGE;
    if (write->value.len > memory->value_max)
        return;
    if (item == NULL) {
        item = fa_alloc_zero(1, sizeof(*item));
        item->key = copy_bytes(fa_str(write->key));
        memory->items =
            fa_grow(memory->items, memory->item_count, &memory->item_size, sizeof(item));
        memory->items[memory->item_count++] = item;
        fa_map_put(&memory->map, item->key, NULL, item);
    }
    free(item->value);
    item->value = copy_bytes(write->value);
    item->len = write->value.len;
    item->is_deleted = write->is_delete;
    item->revision = ++memory->last;
    item->at_us = fa_clock_now_us();
    add_to_log(memory, item);
    trim_log(memory);
    write->code = FAINA_OK;
    write->revision = item->revision;
    pthread_cond_broadcast(&memory->cond);
}

static void memory_write(struct fa_kv *kv, struct fa_kv_write *writes, size_t count,
                         struct faina_error *err)
{
    struct fa_kv_memory *memory = ((struct connection *)kv)->memory;

    for (size_t i = 0; i < count; i++) {
        fa_kv_hook_fn *hook;
        void *ctx;

        writes[i].code = FAINA_OK;
        pthread_mutex_lock(&memory->mutex);
        hook = memory->hook;
        ctx = memory->hook_ctx;
        pthread_mutex_unlock(&memory->mutex);
        if (hook != NULL)
            hook(ctx, FA_KV_BEFORE, &writes[i]);
        if (writes[i].code == FAINA_OK) {
            pthread_mutex_lock(&memory->mutex);
            store(memory, &writes[i]);
            pthread_mutex_unlock(&memory->mutex);
            if (hook != NULL)
                hook(ctx, FA_KV_AFTER, &writes[i]);
        }
        if (writes[i].code == FAINA_UNAVAILABLE)
            fa_error_set(err, FAINA_UNAVAILABLE, "the store in memory does not answer");
    }
}

/* ------------------------------------------------------------------------------------------
 * Listing and watching
 */

static struct fa_kv_entry entry_of(const struct item *item)
{
    return (struct fa_kv_entry){.key = item->key,
                                .value = {item->value, item->len},
                                .revision = item->revision,
                                .at_us = item->at_us,
                                .is_deleted = item->is_deleted};
}

/* Copies of all items, so that they can be delivered without the lock. */
static struct item *snapshot(struct fa_kv_memory *memory, const char *prefix,
                             struct fa_arena *arena, size_t *count)
{
    struct item *copies = fa_arena_take(arena, (memory->item_count + 1) * sizeof(*copies));

    *count = 0;
    for (size_t i = 0; i < memory->item_count; i++) {
        const struct item *item = memory->items[i];

        if (strncmp(item->key, prefix, strlen(prefix)) != 0)
            continue;
        copies[*count] = *item;
        copies[*count].key = fa_arena_strdup(arena, item->key);
        copies[*count].value = fa_arena_copy(arena, item->value, item->len);
        (*count)++;
    }
    return copies;
}

static enum faina_code memory_list(struct fa_kv *kv, const char *prefix, fa_kv_each_fn *each,
                                   void *ctx, struct faina_error *err)
{
    struct fa_kv_memory *memory = ((struct connection *)kv)->memory;
    struct fa_arena arena = {0};
    struct item *copies;
    size_t count;

    (void)err;
    pthread_mutex_lock(&memory->mutex);
    copies = snapshot(memory, prefix, &arena, &count);
    pthread_mutex_unlock(&memory->mutex);
    for (size_t i = 0; i < count; i++) {
        struct fa_kv_entry entry = entry_of(&copies[i]);

        if (!entry.is_deleted)
            each(ctx, &entry);
    }
    fa_arena_finish(&arena);
    return FAINA_OK;
}

/* Delivers all items; the mutex is released meanwhile. */
static void deliver_all(struct connection *c)
{
    struct fa_kv_memory *memory = c->memory;
    struct fa_arena arena = {0};
    size_t count;
    struct item *copies = snapshot(memory, "", &arena, &count);

    c->position = memory->log_first + memory->log_count;
    pthread_mutex_unlock(&memory->mutex);
    for (size_t i = 0; i < count; i++) {
        struct fa_kv_entry entry = entry_of(&copies[i]);

        c->watcher.changed(c->watcher.ctx, &entry);
    }
    c->watcher.ready(c->watcher.ctx);
    fa_arena_finish(&arena);
    pthread_mutex_lock(&memory->mutex);
}

static void deliver_next(struct connection *c)
{
    struct fa_kv_memory *memory = c->memory;
    struct item copy = memory->log[c->position - memory->log_first];
    struct fa_kv_entry entry;

    copy.key = copy_bytes(fa_str(copy.key));
    copy.value = copy_bytes((struct fa_bytes){copy.value, copy.len});
    c->position++;
    pthread_mutex_unlock(&memory->mutex);
    entry = entry_of(&copy);
    c->watcher.changed(c->watcher.ctx, &entry);
    free(copy.key);
    free(copy.value);
    pthread_mutex_lock(&memory->mutex);
}

static void *run_watch(void *arg)
{
    struct connection *c = arg;
    struct fa_kv_memory *memory = c->memory;

    pthread_mutex_lock(&memory->mutex);
    deliver_all(c);
    while (!c->is_ending) {
        if (c->should_reset) {
            c->should_reset = false;
            pthread_mutex_unlock(&memory->mutex);
            c->watcher.reset(c->watcher.ctx);
            pthread_mutex_lock(&memory->mutex);
            deliver_all(c);
        } else if (!memory->is_held && c->position < memory->log_first + memory->log_count) {
            deliver_next(c);
        } else {
            pthread_cond_wait(&memory->cond, &memory->mutex);
        }
    }
    pthread_mutex_unlock(&memory->mutex);
    return NULL;
}

static enum faina_code memory_watch(struct fa_kv *kv, const struct fa_kv_watcher *watcher,
                                    struct faina_error *err)
{
    struct connection *c = (struct connection *)kv;

    assert(!c->is_watching);
    c->watcher = *watcher;
    c->is_ending = c->should_reset = false;
    c->position = UINT64_MAX;
    pthread_mutex_lock(&c->memory->mutex);
    c->is_watching = true;
    pthread_mutex_unlock(&c->memory->mutex);
    if (fa_thread_start(&c->thread, run_watch, c) == 0)
        return FAINA_OK;
    pthread_mutex_lock(&c->memory->mutex);
    c->is_watching = false;
    pthread_mutex_unlock(&c->memory->mutex);
    return fa_error_set(err, FAINA_UNAVAILABLE, "no thread can be started");
}

static void memory_unwatch(struct fa_kv *kv)
{
    struct connection *c = (struct connection *)kv;

    if (!c->is_watching)
        return;
    pthread_mutex_lock(&c->memory->mutex);
    c->is_ending = true;
    pthread_cond_broadcast(&c->memory->cond);
    pthread_mutex_unlock(&c->memory->mutex);
    pthread_join(c->thread, NULL);
    pthread_mutex_lock(&c->memory->mutex);
    c->is_watching = false;
    pthread_mutex_unlock(&c->memory->mutex);
}

static size_t memory_value_max(struct fa_kv *kv)
{
    struct fa_kv_memory *memory = ((struct connection *)kv)->memory;
    size_t size;

    pthread_mutex_lock(&memory->mutex);
    size = memory->value_max;
    pthread_mutex_unlock(&memory->mutex);
    return size;
}

static enum faina_code memory_info(struct fa_kv *kv, struct fa_arena *arena, struct fa_kv_info *out,
                                   struct faina_error *err)
{
    (void)kv;
    (void)arena;
    (void)err;
    out->version = "";
    return FAINA_OK;
}

static void memory_close(struct fa_kv *kv)
{
    struct connection *c = (struct connection *)kv;
    struct fa_kv_memory *memory = c->memory;

    memory_unwatch(kv);
    pthread_mutex_lock(&memory->mutex);
    for (struct connection **link = &memory->connections; *link != NULL; link = &(*link)->next) {
        if (*link == c) {
            *link = c->next;
            break;
        }
    }
    pthread_mutex_unlock(&memory->mutex);
    if (c->owns_memory)
        fa_kv_memory_destroy(memory);
    free(c);
}

struct fa_kv *fa_kv_memory_open(struct fa_kv_memory *memory)
{
    static const struct fa_kv_ops ops = {
        .name = "memory",
        .read = memory_read,
        .write = memory_write,
        .list = memory_list,
        .watch = memory_watch,
        .unwatch = memory_unwatch,
        .value_max = memory_value_max,
        .info = memory_info,
        .close = memory_close,
    };
    struct connection *c = fa_alloc_zero(1, sizeof(*c));

    c->base.ops = &ops;
    c->owns_memory = memory == NULL;
    c->memory = memory != NULL ? memory : fa_kv_memory_create();
    pthread_mutex_lock(&c->memory->mutex);
    c->next = c->memory->connections;
    c->memory->connections = c;
    pthread_mutex_unlock(&c->memory->mutex);
    return &c->base;
}
