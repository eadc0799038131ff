/* set_aside.c - see set_aside.h. */
#include "store/upkeep/set_aside.h"

#include "service/service.h"
#include "store/txn/json_text.h"
#include "store/txn/unit.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define BUCKETS 1024      /* a power of two */
#define ENTRIES_MAX 10000 /* more are refused: then the damage is not of single items */
#define RETRY_US INT64_C(3600000000)
#define PUT_OFF_US INT64_C(10000000)
#define RETRY_DOUBLINGS_MAX 5
#define RETRY_US_MAX (24 * RETRY_US)
#define SETTLED_US INT64_C(600000000) /* from a try without a failure to the removal */
#define REFRESH_US INT64_C(10000000)

struct entry {
    char *kind, *key, *name, *reason;
    int64_t until_us, tries;
    enum { STORED, PENDING, WRITING, UNPUBLISHED } state;
    struct entry *next;
};

struct fa_aside {
    void (*reported)(void *ctx);
    void *ctx;
    pthread_mutex_t mutex; /* guards everything but the atomics */
    struct entry *buckets[BUCKETS];
    atomic_size_t count;       /* entries */
    atomic_size_t pending;     /* entries to be stored ... */
    atomic_size_t unpublished; /* ... and stored ones that are not published */
    int64_t refresh_us;        /* when the table is read again */
};

struct fa_aside *fa_aside_create(void (*reported)(void *ctx), void *ctx)
{
    struct fa_aside *aside = fa_alloc_zero(1, sizeof(*aside));

    aside->reported = reported;
    aside->ctx = ctx;
    pthread_mutex_init(&aside->mutex, NULL);
    return aside;
}

static void free_entry(struct entry *entry)
{
    free(entry->kind);
    free(entry->key);
    free(entry->name);
    free(entry->reason);
    free(entry);
}

void fa_aside_destroy(struct fa_aside *aside)
{
    if (aside == NULL)
        return;
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct entry *entry = aside->buckets[i], *next; entry != NULL; entry = next) {
            next = entry->next;
            free_entry(entry);
        }
    }
    pthread_mutex_destroy(&aside->mutex);
    free(aside);
}

static struct entry **bucket_of(struct fa_aside *aside, const char *kind, const char *key)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (; *kind != '\0'; kind++)
        hash = (hash ^ (unsigned char)*kind) * UINT64_C(0x100000001b3);
    for (; *key != '\0'; key++)
        hash = (hash ^ (unsigned char)*key) * UINT64_C(0x100000001b3);
    return &aside->buckets[(hash ^ hash >> 32) & (BUCKETS - 1)];
}

/* The mutex is held. */
static struct entry *find(struct fa_aside *aside, const char *kind, const char *key)
{
    struct entry *entry = *bucket_of(aside, kind, key);

    while (entry != NULL && (strcmp(entry->key, key) != 0 || strcmp(entry->kind, kind) != 0))
        entry = entry->next;
    return entry;
}

static char *copy_text(const char *text)
{
    size_t size = text ? strlen(text) + 1 : 0;

    return text ? memcpy(fa_alloc(size), text, size) : NULL;
}

/* The mutex is held. NULL: there are ENTRIES_MAX already. */
static struct entry *add(struct fa_aside *aside, const char *kind, const char *key)
{
    struct entry **bucket = bucket_of(aside, kind, key), *entry;

    if (atomic_load(&aside->count) >= ENTRIES_MAX)
        return NULL;
    entry = fa_alloc_zero(1, sizeof(*entry));
    entry->kind = copy_text(kind);
    entry->key = copy_text(key);
    entry->next = *bucket;
    *bucket = entry;
    atomic_fetch_add(&aside->count, 1);
    return entry;
}

/* The mutex is held. */
static void set_texts(struct entry *entry, const char *name, const char *reason)
{
    free(entry->name);
    free(entry->reason);
    entry->name = copy_text(name);
    entry->reason = copy_text(reason);
}

static int64_t retry_after_us(int64_t tries, int64_t first_us)
{
    int64_t doublings = tries > RETRY_DOUBLINGS_MAX ? RETRY_DOUBLINGS_MAX
                        : tries > 1                 ? tries - 1
                                                    : 0;
    int64_t us = first_us << doublings;

    return us < RETRY_US_MAX ? us : RETRY_US_MAX;
}

static bool report(struct fa_aside *aside, const char *kind, const char *key, const char *name,
                   const char *reason, int64_t now_us, int64_t first_us)
{
    struct entry *entry;
    bool is_new;

    if (aside == NULL)
        return false;
    pthread_mutex_lock(&aside->mutex);
    entry = find(aside, kind, key);
    is_new = entry == NULL ||
             (entry->until_us <= now_us && (entry->state == STORED || entry->state == UNPUBLISHED));
    if (entry == NULL)
        entry = add(aside, kind, key);
    is_new &= entry != NULL;
    if (is_new) {
        entry->tries++;
        entry->until_us = now_us + retry_after_us(entry->tries, first_us);
        if (entry->state == UNPUBLISHED)
            atomic_fetch_sub(&aside->unpublished, 1);
        entry->state = PENDING;
        set_texts(entry, name, reason);
        atomic_fetch_add(&aside->pending, 1);
    }
    pthread_mutex_unlock(&aside->mutex);
    if (is_new)
        aside->reported(aside->ctx);
    return is_new;
}

bool fa_aside_report(struct fa_aside *aside, const char *kind, const char *key, const char *name,
                     const char *reason, int64_t now_us)
{
    return report(aside, kind, key, name, reason, now_us, RETRY_US);
}

bool fa_aside_put_off(struct fa_aside *aside, const char *kind, const char *key, const char *reason,
                      int64_t now_us)
{
    return report(aside, kind, key, NULL, reason, now_us, PUT_OFF_US);
}

static void print_key(int64_t key, char out[24])
{
    snprintf(out, 24, "%" PRId64, key);
}

bool fa_aside_report_task(struct fa_aside *aside, int64_t key, const char *name, const char *reason,
                          int64_t now_us)
{
    char text[24];

    print_key(key, text);
    return fa_aside_report(aside, FA_ASIDE_TASK, text, name, reason, now_us);
}

const char *fa_aside_report_row(struct fa_aside *aside, const char *table,
                                const struct fa_value *id, const char *reason,
                                struct fa_arena *arena, int64_t now_us)
{
    const char *key = id->kind == FA_TEXT
                          ? fa_value_dup(id, arena)
                          : fa_arena_printf(arena, "%lld", (long long)fa_value_as_int(id));

    key = fa_arena_printf(arena, "%s %s", table, key);
    fa_aside_report(aside, FA_ASIDE_ROW, key, NULL, reason, now_us);
    return fa_arena_printf(arena, "row %s is damaged: %s", key, reason);
}

bool fa_aside_has(struct fa_aside *aside, const char *kind, const char *key, int64_t now_us)
{
    const struct entry *entry;
    bool has;

    if (aside == NULL || atomic_load_explicit(&aside->count, memory_order_relaxed) == 0)
        return false;
    pthread_mutex_lock(&aside->mutex);
    entry = find(aside, kind, key);
    has = entry != NULL && entry->until_us > now_us;
    pthread_mutex_unlock(&aside->mutex);
    return has;
}

bool fa_aside_has_task(struct fa_aside *aside, int64_t key, int64_t now_us)
{
    char text[24];

    if (aside == NULL || atomic_load_explicit(&aside->count, memory_order_relaxed) == 0)
        return false;
    print_key(key, text);
    return fa_aside_has(aside, FA_ASIDE_TASK, text, now_us);
}

bool fa_aside_is_pending(struct fa_aside *aside)
{
    return aside != NULL && atomic_load_explicit(&aside->pending, memory_order_relaxed) > 0;
}

/* Storing ------------------------------------------------------------------------------------- */

struct writing {
    struct fa_arena *arena;
    struct entry *items; /* copies */
    size_t count, size;
};

/* Copies the entries of a state into the arena, and moves them to another state. */
static void gather(struct fa_aside *aside, struct writing *out, int from, int to)
{
    pthread_mutex_lock(&aside->mutex);
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct entry *entry = aside->buckets[i]; entry != NULL; entry = entry->next) {
            struct entry *copy;

            if ((int)entry->state != from)
                continue;
            entry->state = to;
            out->items =
                fa_arena_grow(out->arena, out->items, out->count, &out->size, sizeof(*out->items));
            copy = &out->items[out->count++];
            *copy = *entry;
            copy->kind = fa_arena_strdup(out->arena, entry->kind);
            copy->key = fa_arena_strdup(out->arena, entry->key);
            copy->name = fa_arena_strdup(out->arena, entry->name);
            copy->reason = fa_arena_strdup(out->arena, entry->reason);
        }
    }
    pthread_mutex_unlock(&aside->mutex);
}

/* The name of a task is its id, if its row in `task` exists. */
static enum faina_code name_task(struct fa_aside *aside, struct fa_unit *unit, struct entry *entry,
                                 struct faina_error *err)
{
    struct fa_id id = {strtoll(entry->key, NULL, 10), -1};
    struct fa_value key = fa_value_int(id.key);
    enum faina_code code =
        fa_db_one(unit->source.db, FA_SQL_TASK_TAIL, &key, 1, fa_db_sink_int, &id.tail, err);
    struct entry *known;

    if (code != FAINA_OK || !fa_id_is_valid(id))
        return code;
    entry->name = fa_arena_take(&unit->arena, FAINA_ID_SIZE);
    fa_id_format(id, entry->name);
    pthread_mutex_lock(&aside->mutex);
    known = find(aside, entry->kind, entry->key);
    if (known != NULL && known->name == NULL)
        known->name = copy_text(entry->name);
    pthread_mutex_unlock(&aside->mutex);
    return FAINA_OK;
}

static enum faina_code put(struct fa_unit *unit, const struct entry *entry, struct faina_error *err)
{
    struct fa_value params[7] = {
        fa_value_text(entry->kind),   fa_value_text(entry->key),  fa_value_text(entry->name),
        fa_value_text(entry->reason), fa_value_int(unit->now_us), fa_value_int(entry->until_us),
        fa_value_int(entry->tries),
    };

    return fa_db_one(unit->source.db, FA_SQL_SET_ASIDE_PUT, params, 7, NULL, NULL, err);
}

/* A task whose rows can be read gets an event. */
static void note(struct fa_unit *unit, const struct entry *entry)
{
    struct fa_json_builder builder;
    struct fa_json_writer *writer;
    struct fa_row *row = NULL;

    if (strcmp(entry->kind, FA_ASIDE_TASK) != 0 || entry->tries > 1 ||
        fa_unit_get(unit, strtoll(entry->key, NULL, 10), true, &row, NULL) != FAINA_OK)
        return;
    writer = fa_json_builder_begin(&builder);
    fa_json_begin_object(writer);
    fa_json_set_str(writer, "reason", entry->reason);
    fa_json_end_object(writer);
    fa_unit_note(unit, row, "set_aside", FAINA_ACTOR_SYSTEM, NULL,
                 fa_json_builder_end(&builder, &unit->arena));
}

enum faina_code fa_aside_write(struct fa_aside *aside, struct fa_unit *unit, bool with_events,
                               struct faina_error *err)
{
    struct writing writing = {.arena = &unit->arena};
    enum faina_code code = FAINA_OK;

    if (!fa_aside_is_pending(aside))
        return FAINA_OK;
    gather(aside, &writing, PENDING, WRITING);
    for (size_t i = 0; code == FAINA_OK && i < writing.count; i++) {
        struct entry *entry = &writing.items[i];

        if (strcmp(entry->kind, FA_ASIDE_TASK) == 0 && entry->name == NULL)
            code = name_task(aside, unit, entry, err);
        if (code == FAINA_OK)
            code = put(unit, entry, err);
        if (code == FAINA_OK && with_events)
            note(unit, entry);
        if (code == FAINA_OK && unit->source.db->has_failed)
            code = fa_error_set(err, FAINA_INTERNAL,
                                "the event of a task that is set aside can't be stored");
    }
    return code;
}

void fa_aside_settle(struct fa_aside *aside, bool is_committed)
{
    size_t count = 0;

    pthread_mutex_lock(&aside->mutex);
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct entry *entry = aside->buckets[i]; entry != NULL; entry = entry->next) {
            if (entry->state != WRITING)
                continue;
            entry->state = is_committed ? UNPUBLISHED : PENDING;
            count++;
        }
    }
    pthread_mutex_unlock(&aside->mutex);
    if (!is_committed)
        return;
    atomic_fetch_sub(&aside->pending, count);
    atomic_fetch_add(&aside->unpublished, count);
}

bool fa_aside_has_unpublished(struct fa_aside *aside)
{
    return atomic_load_explicit(&aside->unpublished, memory_order_relaxed) > 0;
}

size_t fa_aside_take_unpublished(struct fa_aside *aside, struct fa_arena *arena,
                                 struct fa_aside_item **out)
{
    struct writing done = {.arena = arena};

    gather(aside, &done, UNPUBLISHED, STORED);
    atomic_fetch_sub(&aside->unpublished, done.count);
    *out = fa_arena_zero(arena, done.count + 1, sizeof(**out));
    for (size_t i = 0; i < done.count; i++)
        (*out)[i] = (struct fa_aside_item){.kind = done.items[i].kind,
                                           .key = done.items[i].key,
                                           .name = done.items[i].name,
                                           .reason = done.items[i].reason,
                                           .tries = done.items[i].tries};
    return done.count;
}

/* Reading ------------------------------------------------------------------------------------- */

struct reading {
    struct fa_aside *aside;
    struct fa_arena *arena;
};

/* The mutex is held. */
static void sink_stored(void *ctx, size_t row, const struct fa_value *c)
{
    struct reading *reading = ctx;
    const char *kind = fa_value_dup(&c[0], reading->arena);
    const char *key = fa_value_dup(&c[1], reading->arena);
    struct entry *entry;

    (void)row;
    if (kind == NULL || key == NULL)
        return;
    entry = find(reading->aside, kind, key);
    if (entry == NULL)
        entry = add(reading->aside, kind, key);
    if (entry == NULL || entry->state != STORED)
        return;
    entry->until_us = fa_value_as_int(&c[2]);
    entry->tries = fa_value_as_int(&c[3]);
}

/* Drops stored entries before they are read again. The mutex is held. */
static void drop_stored(struct fa_aside *aside)
{
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct entry **at = &aside->buckets[i]; *at != NULL;) {
            struct entry *entry = *at;

            if (entry->state != STORED) {
                at = &entry->next;
                continue;
            }
            *at = entry->next;
            free_entry(entry);
            atomic_fetch_sub(&aside->count, 1);
        }
    }
}

static enum faina_code read_stored(struct fa_aside *aside, struct fa_unit *unit,
                                   struct faina_error *err)
{
    struct reading reading = {aside, &unit->arena};
    struct fa_value limit = fa_value_int(ENTRIES_MAX);
    enum faina_code code;

    pthread_mutex_lock(&aside->mutex);
    drop_stored(aside);
    code = fa_db_one(unit->source.db, FA_SQL_SET_ASIDE_KEYS, &limit, 1, sink_stored, &reading, err);
    pthread_mutex_unlock(&aside->mutex);
    return code;
}

enum faina_code fa_aside_refresh(struct fa_aside *aside, struct fa_unit *unit, int64_t *next_us,
                                 struct faina_error *err)
{
    struct fa_value now = fa_value_int(unit->now_us);
    struct fa_value settled = fa_value_int(unit->now_us - SETTLED_US);
    enum faina_code code = FAINA_OK;
    int64_t next = 0;

    if (unit->now_us >= aside->refresh_us || unit->now_us < aside->refresh_us - REFRESH_US) {
        aside->refresh_us = unit->now_us + REFRESH_US;
        code = fa_db_one(unit->source.db, FA_SQL_SET_ASIDE_FORGET, &settled, 1, NULL, NULL, err);
        if (code == FAINA_OK)
            code = read_stored(aside, unit, err);
    }
    if (code == FAINA_OK && atomic_load(&aside->count) > 0)
        code =
            fa_db_one(unit->source.db, FA_SQL_SET_ASIDE_NEXT, &now, 1, fa_db_sink_int, &next, err);
    if (code == FAINA_OK && next != 0 && next < *next_us)
        *next_us = next;
    return code;
}

enum faina_code fa_aside_retry_all(struct fa_aside *aside, struct fa_unit *unit,
                                   struct faina_error *err)
{
    struct fa_value now = fa_value_int(unit->now_us);
    enum faina_code code =
        fa_db_one(unit->source.db, FA_SQL_SET_ASIDE_RETRY, &now, 1, NULL, NULL, err);

    return code == FAINA_OK ? read_stored(aside, unit, err) : code;
}
