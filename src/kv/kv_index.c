/*
 * kv_index.c - entries by id, lanes with a heap of ready tasks each, and one heap of deadlines.
 *
 * A lane is what can be claimed under the same conditions: a namespace, a type and a set of
 * resources. Lanes with ready tasks are in a list; a claim compares the first tasks of those that
 * it may take from. So a claim costs the number of tasks that it takes, times the number of such
 * lanes, and the logarithm of the number of waiting tasks.
 */
#include "kv/kv_index.h"

#include "base/hash.h"
#include "base/heap.h"
#include "base/map.h"
#include "model/limits.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define SORT_NEAR 256 /* a new entry this close to the end is moved to its place at once */

struct kind {
    char *ns, *type;
    int64_t by_status[FAINA_STATUS_COUNT];
};

struct lane {
    struct kind *kind;
    char *resources_key; /* the names, each followed by a line feed */
    const char **resources;
    size_t resource_count;
    uint64_t type_bit;
    struct fa_heap ready;
    struct lane *next, **link; /* the lanes with ready tasks; link is NULL when it has none */
};

struct entry {
    char id[FAINA_ID_SIZE];
    struct fa_id parsed;
    uint64_t revision;
    enum faina_status status;
    int priority;
    int64_t created_us, ended_us, at_us;
    struct lane *lane;
    char *worker;
    char *text;
    size_t text_len, size; /* of the text that is kept; of the record */
    uint32_t ready_slot, timer_slot;
    bool is_taken;
    struct entry *held_next, **held_link; /* claimed and running tasks */
};

struct fa_kv_index {
    pthread_mutex_t mutex;
    struct fa_map entries, kinds, lanes;
    struct kind **all_kinds;
    size_t kind_count, kind_size;
    struct lane **all_lanes;
    size_t lane_count, lane_size;
    struct lane *ready_lanes;
    struct fa_heap timers;
    struct entry *held;
    size_t cache_size;

    /* All entries by key; removed ones leave a hole. */
    struct place {
        int64_t key;
        struct entry *entry; /* NULL: removed */
    } * order;
    size_t order_count, order_size, holes;
    bool is_sorted;
};

static bool is_entry(const void *item, const char *a, const char *b)
{
    (void)b;
    return strcmp(((const struct entry *)item)->id, a) == 0;
}

static bool is_kind(const void *item, const char *a, const char *b)
{
    const struct kind *kind = item;

    return fa_name_is_same(kind->type, b) && strcmp(kind->ns, a) == 0;
}

/* `a` is the kind, by its address as text; see lane_of. */
static bool is_lane(const void *item, const char *a, const char *b)
{
    const struct lane *lane = item;
    char address[32];

    snprintf(address, sizeof(address), "%p", (void *)lane->kind);
    return strcmp(address, a) == 0 && strcmp(lane->resources_key, b) == 0;
}

struct fa_kv_index *fa_kv_index_create(void)
{
    struct fa_kv_index *index = fa_alloc_zero(1, sizeof(*index));

    pthread_mutex_init(&index->mutex, NULL);
    index->entries.is = is_entry;
    index->kinds.is = is_kind;
    index->lanes.is = is_lane;
    index->is_sorted = true;
    return index;
}

/* ------------------------------------------------------------------------------------------
 * Kinds and lanes
 */

static char *copy_text(const char *text)
{
    size_t len = strlen(text);
    char *copy = fa_alloc(len + 1);

    memcpy(copy, text, len + 1);
    return copy;
}

static struct kind *kind_of(struct fa_kv_index *index, const char *ns, const char *type)
{
    struct kind *kind = fa_map_get(&index->kinds, ns, type);

    if (kind != NULL)
        return kind;
    kind = fa_alloc_zero(1, sizeof(*kind));
    kind->ns = copy_text(ns);
    kind->type = copy_text(type);
    fa_map_put(&index->kinds, kind->ns, kind->type, kind);
    index->all_kinds =
        fa_grow(index->all_kinds, index->kind_count, &index->kind_size, sizeof(kind));
    index->all_kinds[index->kind_count++] = kind;
    return kind;
}

static struct lane *lane_of(struct fa_kv_index *index, const struct faina_task *task)
{
    struct kind *kind = kind_of(index, task->ns, task->type);
    struct fa_buf names;
    char address[32];
    struct lane *lane;

    snprintf(address, sizeof(address), "%p", (void *)kind);
    fa_buf_init(&names, SIZE_MAX / 2);
    fa_buf_add(&names, "", 0);
    for (size_t i = 0; i < task->resource_count; i++)
        fa_buf_printf(&names, "%s\n", task->resources[i]);
    lane = fa_map_get(&index->lanes, address, names.len > 0 ? names.ptr : "");
    if (lane == NULL) {
        lane = fa_alloc_zero(1, sizeof(*lane));
        lane->kind = kind;
        lane->resources_key = copy_text(names.len > 0 ? names.ptr : "");
        lane->resources = fa_alloc_zero(task->resource_count + 1, sizeof(char *));
        for (size_t i = 0; i < task->resource_count; i++)
            lane->resources[lane->resource_count++] = copy_text(task->resources[i]);
        lane->type_bit = fa_hash_bit(task->type);
        fa_map_put(&index->lanes, address, lane->resources_key, lane);
        index->all_lanes =
            fa_grow(index->all_lanes, index->lane_count, &index->lane_size, sizeof(lane));
        index->all_lanes[index->lane_count++] = lane;
    }
    fa_buf_finish(&names);
    return lane;
}

static void link_lane(struct fa_kv_index *index, struct lane *lane)
{
    if (lane->link != NULL)
        return;
    lane->next = index->ready_lanes;
    lane->link = &index->ready_lanes;
    if (lane->next != NULL)
        lane->next->link = &lane->next;
    index->ready_lanes = lane;
}

static void unlink_lane(struct lane *lane)
{
    if (lane->link == NULL || lane->ready.count > 0)
        return;
    *lane->link = lane->next;
    if (lane->next != NULL)
        lane->next->link = lane->link;
    lane->link = NULL;
}

/* ------------------------------------------------------------------------------------------
 * Entries
 */

static void unlink_held(struct entry *entry)
{
    if (entry->held_link == NULL)
        return;
    *entry->held_link = entry->held_next;
    if (entry->held_next != NULL)
        entry->held_next->held_link = entry->held_link;
    entry->held_link = NULL;
}

static void link_held(struct fa_kv_index *index, struct entry *entry)
{
    entry->held_next = index->held;
    entry->held_link = &index->held;
    if (entry->held_next != NULL)
        entry->held_next->held_link = &entry->held_next;
    index->held = entry;
}

static void drop_text(struct fa_kv_index *index, struct entry *entry)
{
    if (entry->text == NULL)
        return;
    index->cache_size -= entry->text_len;
    free(entry->text);
    entry->text = NULL;
}

/* Takes the entry out of everything but the table. */
static void detach(struct fa_kv_index *index, struct entry *entry)
{
    fa_heap_remove(&index->timers, &entry->timer_slot);
    if (entry->lane != NULL) {
        fa_heap_remove(&entry->lane->ready, &entry->ready_slot);
        unlink_lane(entry->lane);
        entry->lane->kind->by_status[entry->status]--;
    }
    unlink_held(entry);
    drop_text(index, entry);
    free(entry->worker);
    entry->worker = NULL;
}

static void add_ready(struct fa_kv_index *index, struct entry *entry,
                      struct fa_kv_notification *notification)
{
    entry->is_taken = false;
    fa_heap_put(&entry->lane->ready, &entry->ready_slot,
                (struct fa_position){-(int64_t)entry->priority, entry->parsed.key});
    link_lane(index, entry->lane);
    if (notification != NULL)
        notification->ready_types |= entry->lane->type_bit;
}

static void add_ended(struct fa_kv_notification *notification, struct fa_id id)
{
    if (notification == NULL)
        return;
    notification->ended =
        fa_arena_grow(notification->arena, notification->ended, notification->ended_count,
                      &notification->ended_size, sizeof(*notification->ended));
    notification->ended[notification->ended_count++] = id;
}

static int by_key(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    return x->key < y->key ? -1 : x->key > y->key;
}

/* Removes the holes and sorts. */
static void sort_places(struct fa_kv_index *index)
{
    size_t kept = 0;

    if (index->is_sorted && index->holes * 2 <= index->order_count)
        return;
    for (size_t i = 0; i < index->order_count; i++)
        if (index->order[i].entry != NULL)
            index->order[kept++] = index->order[i];
    index->order_count = kept;
    index->holes = 0;
    if (!index->is_sorted && kept > 1)
        qsort(index->order, kept, sizeof(*index->order), by_key);
    index->is_sorted = true;
}

static void add_place(struct fa_kv_index *index, struct entry *entry)
{
    size_t at = index->order_count;

    index->order =
        fa_grow(index->order, index->order_count, &index->order_size, sizeof(*index->order));
    while (at > 0 && index->order_count - at < SORT_NEAR &&
           index->order[at - 1].key > entry->parsed.key) {
        index->order[at] = index->order[at - 1];
        at--;
    }
    index->is_sorted &= at == 0 || index->order[at - 1].key <= entry->parsed.key;
    index->order[at] = (struct place){entry->parsed.key, entry};
    index->order_count++;
}

/* The first place whose key is not below this one. */
static size_t find_place(const struct fa_kv_index *index, int64_t key)
{
    size_t low = 0, high = index->order_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (index->order[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void remove_place(struct fa_kv_index *index, const struct entry *entry)
{
    sort_places(index);
    for (size_t at = find_place(index, entry->parsed.key);
         at < index->order_count && index->order[at].key == entry->parsed.key; at++) {
        if (index->order[at].entry != entry)
            continue;
        index->order[at].entry = NULL;
        index->holes++;
        return;
    }
}

static bool keeps_text(const struct fa_kv_index *index, const struct entry *entry, size_t len)
{
    return !fa_status_is_ended(entry->status) && index->cache_size + len <= FA_KV_CACHE_SIZE;
}

static void fill(struct fa_kv_index *index, struct entry *entry, const struct fa_kv_record *record,
                 struct fa_bytes text)
{
    const struct faina_task *task = &record->task;

    entry->revision = record->revision;
    entry->size = text.len;
    entry->status = task->status;
    entry->priority = task->priority;
    entry->created_us = task->created_us;
    entry->ended_us = task->completed_us;
    entry->at_us = record->at_us;
    entry->lane = lane_of(index, task);
    entry->lane->kind->by_status[entry->status]++;
    if (task->worker_id != NULL)
        entry->worker = copy_text(task->worker_id);
    if (fa_status_is_held(entry->status))
        link_held(index, entry);
    if (text.ptr != NULL && keeps_text(index, entry, text.len)) {
        entry->text = fa_alloc(text.len + 1);
        memcpy(entry->text, text.ptr, text.len);
        entry->text[text.len] = '\0';
        entry->text_len = text.len;
        index->cache_size += text.len;
    }
}

static void schedule(struct fa_kv_index *index, struct entry *entry, int64_t now_us,
                     struct fa_kv_notification *notification)
{
    int64_t slack_us = fa_status_is_held(entry->status) ? FA_KV_CLOCK_SLACK_US : 0;

    if (entry->status == FAINA_PENDING && entry->at_us <= now_us)
        add_ready(index, entry, notification);
    else if (entry->at_us != 0 && !fa_status_is_ended(entry->status))
        fa_heap_put(&index->timers, &entry->timer_slot,
                    (struct fa_position){entry->at_us + slack_us, entry->parsed.key});
}

void fa_kv_index_put(struct fa_kv_index *index, const struct fa_kv_record *record,
                     struct fa_bytes text, int64_t now_us, struct fa_kv_notification *notification)
{
    const struct faina_task *task = &record->task;
    bool had_worker = false, had_ended = false;
    struct entry *entry;

    pthread_mutex_lock(&index->mutex);
    entry = fa_map_get(&index->entries, task->id, NULL);
    if (entry != NULL && entry->revision >= record->revision) { /* I1 */
        pthread_mutex_unlock(&index->mutex);
        return;
    }
    if (entry == NULL) {
        entry = fa_alloc_zero(1, sizeof(*entry));
        memcpy(entry->id, task->id, sizeof(entry->id));
        if (!fa_id_parse(task->id, &entry->parsed))
            assert(!"an id that was checked");
        fa_map_put(&index->entries, entry->id, NULL, entry);
        add_place(index, entry);
    } else {
        had_worker = fa_status_is_held(entry->status);
        had_ended = fa_status_is_ended(entry->status);
        detach(index, entry);
    }
    entry->is_taken = false;
    fill(index, entry, record, text);
    schedule(index, entry, now_us, notification);
    if ((fa_status_is_ended(entry->status) && !had_ended) ||
        (had_worker && !fa_status_is_held(entry->status)))
        add_ended(notification, entry->parsed);
    pthread_mutex_unlock(&index->mutex);
}

static void forget(struct fa_kv_index *index, struct entry *entry)
{
    detach(index, entry);
    fa_map_remove(&index->entries, entry->id, NULL, entry);
    free(entry);
}

void fa_kv_index_remove(struct fa_kv_index *index, const char *id, uint64_t revision,
                        struct fa_kv_notification *notification)
{
    struct entry *entry;

    pthread_mutex_lock(&index->mutex);
    entry = fa_map_get(&index->entries, id, NULL);
    if (entry != NULL && entry->revision < revision) {
        add_ended(notification, entry->parsed);
        remove_place(index, entry);
        forget(index, entry);
    }
    pthread_mutex_unlock(&index->mutex);
}

void fa_kv_index_reset(struct fa_kv_index *index)
{
    pthread_mutex_lock(&index->mutex);
    for (size_t i = 0; i < index->order_count; i++)
        if (index->order[i].entry != NULL)
            forget(index, index->order[i].entry);
    index->order_count = index->holes = 0;
    index->is_sorted = true;
    pthread_mutex_unlock(&index->mutex);
}

void fa_kv_index_destroy(struct fa_kv_index *index)
{
    if (index == NULL)
        return;
    fa_kv_index_reset(index);
    for (size_t i = 0; i < index->lane_count; i++) {
        struct lane *lane = index->all_lanes[i];

        for (size_t k = 0; k < lane->resource_count; k++)
            free((void *)(uintptr_t)lane->resources[k]);
        free(lane->resources);
        free(lane->resources_key);
        fa_heap_finish(&lane->ready);
        free(lane);
    }
    for (size_t i = 0; i < index->kind_count; i++) {
        free(index->all_kinds[i]->ns);
        free(index->all_kinds[i]->type);
        free(index->all_kinds[i]);
    }
    free(index->all_lanes);
    free(index->all_kinds);
    free(index->order);
    fa_heap_finish(&index->timers);
    fa_map_finish(&index->entries);
    fa_map_finish(&index->kinds);
    fa_map_finish(&index->lanes);
    pthread_mutex_destroy(&index->mutex);
    free(index);
}

uint64_t fa_kv_index_get(struct fa_kv_index *index, const char *id, struct fa_arena *arena,
                         struct fa_bytes *text)
{
    const struct entry *entry;
    uint64_t revision = 0;

    *text = (struct fa_bytes){NULL, 0};
    pthread_mutex_lock(&index->mutex);
    entry = fa_map_get(&index->entries, id, NULL);
    if (entry != NULL) {
        revision = entry->revision;
        if (entry->text != NULL)
            *text = (struct fa_bytes){fa_arena_copy(arena, entry->text, entry->text_len),
                                      entry->text_len};
    }
    pthread_mutex_unlock(&index->mutex);
    return revision;
}

bool fa_kv_index_brief(struct fa_kv_index *index, const char *id, struct fa_kv_brief *out)
{
    const struct entry *entry;

    pthread_mutex_lock(&index->mutex);
    entry = fa_map_get(&index->entries, id, NULL);
    if (entry != NULL) {
        memcpy(out->id, entry->id, sizeof(out->id));
        out->status = entry->status;
        out->revision = entry->revision;
    }
    pthread_mutex_unlock(&index->mutex);
    return entry != NULL;
}

/* ------------------------------------------------------------------------------------------
 * Claiming
 */

static bool is_in(const char *name, const char *const *list, size_t count)
{
    return list == NULL || fa_names_have(&(struct fa_texts){list, count}, name);
}

static bool is_wanted(const struct faina_claim *claim, const struct lane *lane,
                      const struct fa_kv_room *room)
{
    const char *const *types = claim->type_count > 0 ? claim->types : NULL;

    if (!is_in(lane->kind->type, types, claim->type_count) ||
        (claim->namespaces != NULL &&
         !fa_texts_have(&(struct fa_texts){claim->namespaces, claim->namespace_count},
                        lane->kind->ns)) ||
        room->is_paused(room->ctx, lane->kind->ns, lane->kind->type))
        return false;
    for (size_t i = 0; i < lane->resource_count; i++)
        if (!is_in(lane->resources[i], claim->services, claim->service_count))
            return false;
    return true;
}

/* The lanes that the claim may take from. */
static struct lane **find_lanes(struct fa_kv_index *index, const struct faina_claim *claim,
                                const struct fa_kv_room *room, struct fa_arena *arena,
                                size_t *count)
{
    struct lane **lanes = NULL;
    size_t size = 0;

    *count = 0;
    for (struct lane *lane = index->ready_lanes; lane != NULL; lane = lane->next) {
        if (!is_wanted(claim, lane, room))
            continue;
        lanes = fa_arena_grow(arena, lanes, *count, &size, sizeof(struct lane *));
        lanes[(*count)++] = lane;
    }
    return lanes;
}

/* The lane whose first task is the best; its place in the list. */
static size_t find_best(struct lane **lanes, size_t count)
{
    size_t best = 0;

    for (size_t i = 1; i < count; i++)
        if (fa_position_is_before(lanes[i]->ready.entries[0].position,
                                  lanes[best]->ready.entries[0].position))
            best = i;
    return best;
}

size_t fa_kv_index_take(struct fa_kv_index *index, const struct faina_claim *claim,
                        const struct fa_kv_room *room, size_t limit, struct fa_arena *arena,
                        struct fa_kv_candidate *out)
{
    struct lane **lanes;
    size_t count, taken = 0, size = 0;

    pthread_mutex_lock(&index->mutex);
    lanes = find_lanes(index, claim, room, arena, &count);
    while (taken < limit && count > 0) {
        size_t best = find_best(lanes, count);
        struct lane *lane = lanes[best];
        struct entry *entry = FA_CONTAINER_OF(fa_heap_top(&lane->ready), struct entry, ready_slot);

        if (taken > 0 && size + entry->size > FA_PAGE_SIZE_MAX)
            break;
        if (!room->take(room->ctx, lane->resources, lane->resource_count)) {
            lanes[best] = lanes[--count];
            continue;
        }
        fa_heap_remove(&lane->ready, &entry->ready_slot);
        entry->is_taken = true;
        size += entry->size;
        out[taken] = (struct fa_kv_candidate){.revision = entry->revision,
                                              .resources = lane->resources,
                                              .resource_count = lane->resource_count};
        memcpy(out[taken].id, entry->id, sizeof(entry->id));
        if (entry->text != NULL)
            out[taken].text = (struct fa_bytes){fa_arena_copy(arena, entry->text, entry->text_len),
                                                entry->text_len};
        taken++;
        if (lane->ready.count == 0) {
            unlink_lane(lane);
            lanes[best] = lanes[--count];
        }
    }
    pthread_mutex_unlock(&index->mutex);
    return taken;
}

void fa_kv_index_release(struct fa_kv_index *index, const char *id)
{
    struct entry *entry;

    pthread_mutex_lock(&index->mutex);
    entry = fa_map_get(&index->entries, id, NULL);
    if (entry != NULL && entry->is_taken)
        add_ready(index, entry, NULL);
    pthread_mutex_unlock(&index->mutex);
}

/* ------------------------------------------------------------------------------------------
 * Time
 */

static void add_id(const char ***ids, size_t *count, size_t *size, struct fa_arena *arena,
                   const char *id)
{
    *ids = fa_arena_grow(arena, *ids, *count, size, sizeof(char *));
    (*ids)[(*count)++] = fa_arena_strdup(arena, id);
}

size_t fa_kv_index_due(struct fa_kv_index *index, int64_t now_us, int64_t again_us, size_t limit,
                       struct fa_arena *arena, const char ***ids, int64_t *next_us,
                       struct fa_kv_notification *notification)
{
    size_t count = 0, size = 0;

    *ids = NULL;
    *next_us = INT64_MAX;
    pthread_mutex_lock(&index->mutex);
    while (index->timers.count > 0 && count < limit) {
        struct entry *entry =
            FA_CONTAINER_OF(fa_heap_top(&index->timers), struct entry, timer_slot);

        if (index->timers.entries[0].position.rank > now_us)
            break;
        fa_heap_remove(&index->timers, &entry->timer_slot);
        if (entry->status == FAINA_PENDING) {
            add_ready(index, entry, notification);
            continue;
        }
        add_id(ids, &count, &size, arena, entry->id);
        fa_heap_put(&index->timers, &entry->timer_slot,
                    (struct fa_position){now_us + again_us, entry->parsed.key});
    }
    if (index->timers.count > 0)
        *next_us = index->timers.entries[0].position.rank;
    pthread_mutex_unlock(&index->mutex);
    return count;
}

/* ------------------------------------------------------------------------------------------
 * Reading
 */

static bool is_namespace(const char *want, const char *ns)
{
    if (want != NULL && strcmp(want, "*") == 0)
        return true;
    return strcmp(want != NULL ? want : "default", ns) == 0;
}

static bool is_listed(const struct faina_query *query, const struct entry *entry)
{
    return (query->statuses == 0 || query->statuses >> entry->status & 1) &&
           is_namespace(query->ns, entry->lane->kind->ns) &&
           (query->type == NULL || fa_name_is_same(query->type, entry->lane->kind->type)) &&
           (query->created_after_us == 0 || entry->created_us >= query->created_after_us) &&
           (query->created_before_us == 0 || entry->created_us < query->created_before_us);
}

size_t fa_kv_index_list(struct fa_kv_index *index, const struct faina_query *query, int64_t before,
                        size_t limit, struct fa_arena *arena, const char ***ids)
{
    size_t count = 0, size = 0;

    *ids = NULL;
    pthread_mutex_lock(&index->mutex);
    sort_places(index);
    for (size_t at = find_place(index, before); at > 0 && count < limit; at--) {
        const struct entry *entry = index->order[at - 1].entry;

        if (entry != NULL && is_listed(query, entry))
            add_id(ids, &count, &size, arena, entry->id);
    }
    pthread_mutex_unlock(&index->mutex);
    return count;
}

size_t fa_kv_index_ended(struct fa_kv_index *index, const struct faina_purge *purge, size_t limit,
                         struct fa_arena *arena, const char ***ids)
{
    unsigned statuses = purge->statuses != 0 ? purge->statuses : ~0u;
    size_t count = 0, size = 0;

    *ids = NULL;
    pthread_mutex_lock(&index->mutex);
    sort_places(index);
    for (size_t at = 0; at < index->order_count && count < limit; at++) {
        const struct entry *entry = index->order[at].entry;

        if (entry == NULL || !fa_status_is_ended(entry->status) ||
            !(statuses >> entry->status & 1) ||
            (purge->ns != NULL && strcmp(purge->ns, entry->lane->kind->ns) != 0) ||
            (purge->type != NULL && !fa_name_is_same(purge->type, entry->lane->kind->type)) ||
            (purge->ended_before_us > 0 && entry->ended_us >= purge->ended_before_us))
            continue;
        add_id(ids, &count, &size, arena, entry->id);
    }
    pthread_mutex_unlock(&index->mutex);
    return count;
}

size_t fa_kv_index_held(struct fa_kv_index *index, const char *worker, bool only_claimed,
                        struct fa_arena *arena, const char ***ids)
{
    size_t count = 0, size = 0;

    *ids = NULL;
    pthread_mutex_lock(&index->mutex);
    for (const struct entry *entry = index->held; entry != NULL; entry = entry->held_next) {
        if (entry->worker != NULL && strcmp(entry->worker, worker) == 0 &&
            (!only_claimed || entry->status == FAINA_CLAIMED))
            add_id(ids, &count, &size, arena, entry->id);
    }
    pthread_mutex_unlock(&index->mutex);
    return count;
}

int64_t fa_kv_index_held_count(struct fa_kv_index *index, const char *worker)
{
    int64_t count = 0;

    pthread_mutex_lock(&index->mutex);
    for (const struct entry *entry = index->held; entry != NULL; entry = entry->held_next)
        count += entry->worker != NULL && strcmp(entry->worker, worker) == 0;
    pthread_mutex_unlock(&index->mutex);
    return count;
}

static int by_name(const void *a, const void *b)
{
    const struct faina_count *x = a, *y = b;
    int order = strcmp(x->ns, y->ns);

    return order != 0 ? order : fa_name_compare(x->type, y->type);
}

/* The oldest ready task of each listed type: the lowest key of its lanes. */
static void set_oldest(const struct fa_kv_index *index, struct faina_count *counts, size_t count)
{
    for (const struct lane *lane = index->ready_lanes; lane != NULL; lane = lane->next) {
        struct faina_count key = {.ns = lane->kind->ns, .type = lane->kind->type};
        struct faina_count *found =
            count > 0 ? bsearch(&key, counts, count, sizeof(*counts), by_name) : NULL;

        if (found == NULL)
            continue;
        for (size_t i = 0; i < lane->ready.count; i++) {
            int64_t at_us = fa_id_key_us(lane->ready.entries[i].position.key);

            if (found->oldest_ready_us == 0 || at_us < found->oldest_ready_us)
                found->oldest_ready_us = at_us;
        }
    }
}

size_t fa_kv_index_counts(struct fa_kv_index *index, const char *ns, const char *type,
                          struct fa_arena *arena, struct faina_count **out)
{
    size_t count = 0, size = 0;

    *out = NULL;
    pthread_mutex_lock(&index->mutex);
    for (size_t i = 0; i < index->kind_count; i++) {
        const struct kind *kind = index->all_kinds[i];
        int64_t total = 0;

        if (!is_namespace(ns, kind->ns) || (type != NULL && !fa_name_is_same(type, kind->type)))
            continue;
        for (int status = 0; status < FAINA_STATUS_COUNT; status++)
            total += kind->by_status[status];
        if (total == 0)
            continue;
        *out = fa_arena_grow(arena, *out, count, &size, sizeof(**out));
        (*out)[count] = (struct faina_count){.ns = fa_arena_strdup(arena, kind->ns),
                                             .type = fa_arena_strdup(arena, kind->type)};
        memcpy((*out)[count++].by_status, kind->by_status, sizeof(kind->by_status));
    }
    if (count > 1)
        qsort(*out, count, sizeof(**out), by_name);
    set_oldest(index, *out, count);
    pthread_mutex_unlock(&index->mutex);
    return count;
}
