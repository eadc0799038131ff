/* kv_named.c - see kv_named.h. */
#include "kv/kv_named.h"

#include "base/map.h"
#include "json/json.h"
#include "kv/kv_keys.h"

#include <pthread.h>
#include <stdlib.h>

struct item {
    char *key, *value;
    size_t len;
    uint64_t revision;
    int64_t at_us;
    bool is_deleted;
    char *name, *more;   /* of a resource or worker; of a pause: its namespace and type */
    int64_t max, in_use; /* of a resource; max -1: no limit */
    int64_t reserved;
};

struct fa_kv_named {
    pthread_mutex_t mutex;
    struct fa_map by_key, resources, pauses;
    struct item **items;
    size_t count, size;
};

static bool is_item(const void *item, const char *a, const char *b)
{
    (void)b;
    return strcmp(((const struct item *)item)->key, a) == 0;
}

static bool is_resource(const void *item, const char *a, const char *b)
{
    (void)b;
    return fa_name_is_same(((const struct item *)item)->name, a);
}

static bool is_pause(const void *item, const char *a, const char *b)
{
    const struct item *pause = item;

    return strcmp(pause->name, a) == 0 && fa_name_is_same(pause->more, b);
}

struct fa_kv_named *fa_kv_named_create(void)
{
    struct fa_kv_named *named = fa_alloc_zero(1, sizeof(*named));

    pthread_mutex_init(&named->mutex, NULL);
    named->by_key.is = is_item;
    named->resources.is = is_resource;
    named->pauses.is = is_pause;
    return named;
}

static char *copy_text(const char *text, size_t len)
{
    char *copy = fa_alloc(len + 1);

    if (len > 0)
        memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

static bool has_prefix(const struct item *item, const char *prefix)
{
    return strncmp(item->key, prefix, strlen(prefix)) == 0;
}

/* Takes it out of the tables by name. */
static void unname(struct fa_kv_named *named, struct item *item)
{
    if (item->name == NULL)
        return;
    if (has_prefix(item, FA_KV_RESOURCES))
        fa_map_remove(&named->resources, item->name, NULL, item);
    else if (has_prefix(item, FA_KV_PAUSES))
        fa_map_remove(&named->pauses, item->name, item->more, item);
    free(item->name);
    free(item->more);
    item->name = item->more = NULL;
}

static void name(struct fa_kv_named *named, struct item *item)
{
    struct fa_arena scratch = {0};
    struct fa_bytes text = {item->value, item->len};
    struct fa_json object, member;
    const char *first, *second;

    if (item->is_deleted || fa_json_check(text, 8, "", FAINA_INTERNAL, NULL) != FAINA_OK)
        return;
    object = fa_json_value(text);
    if (has_prefix(item, FA_KV_RESOURCES)) {
        first = fa_json_member_text(object, "name", &scratch);
        item->max = -1;
        item->in_use = 0;
        if (fa_json_member(object, "maxConcurrency", &member) && member.type == FA_JSON_NUMBER)
            item->max = fa_json_member_int(object, "maxConcurrency");
        if (fa_json_member(object, "holders", &member) && member.type == FA_JSON_ARRAY)
            item->in_use = (int64_t)fa_json_count(member);
        if (first != NULL) {
            item->name = copy_text(first, strlen(first));
            fa_map_put(&named->resources, item->name, NULL, item);
        }
    } else if (has_prefix(item, FA_KV_PAUSES)) {
        first = fa_json_member_text(object, "namespace", &scratch);
        second = fa_json_member_text(object, "type", &scratch);
        if (first != NULL && second != NULL) {
            item->name = copy_text(first, strlen(first));
            item->more = copy_text(second, strlen(second));
            fa_map_put(&named->pauses, item->name, item->more, item);
        }
    }
    fa_arena_finish(&scratch);
}

void fa_kv_named_put(struct fa_kv_named *named, const struct fa_kv_entry *entry)
{
    struct item *item;

    pthread_mutex_lock(&named->mutex);
    item = fa_map_get(&named->by_key, entry->key, NULL);
    if (item == NULL) {
        item = fa_alloc_zero(1, sizeof(*item));
        item->key = copy_text(entry->key, strlen(entry->key));
        fa_map_put(&named->by_key, item->key, NULL, item);
        named->items = fa_grow(named->items, named->count, &named->size, sizeof(item));
        named->items[named->count++] = item;
    }
    if (item->revision < entry->revision) {
        unname(named, item);
        free(item->value);
        item->value = copy_text(entry->value.ptr, entry->value.len);
        item->len = entry->value.len;
        item->revision = entry->revision;
        item->at_us = entry->at_us;
        item->is_deleted = entry->is_deleted;
        name(named, item);
    }
    pthread_mutex_unlock(&named->mutex);
}

void fa_kv_named_reset(struct fa_kv_named *named)
{
    pthread_mutex_lock(&named->mutex);
    for (size_t i = 0; i < named->count; i++) {
        struct item *item = named->items[i];

        unname(named, item);
        fa_map_remove(&named->by_key, item->key, NULL, item);
        free(item->key);
        free(item->value);
        free(item);
    }
    named->count = 0;
    pthread_mutex_unlock(&named->mutex);
}

void fa_kv_named_destroy(struct fa_kv_named *named)
{
    if (named == NULL)
        return;
    fa_kv_named_reset(named);
    free(named->items);
    fa_map_finish(&named->by_key);
    fa_map_finish(&named->resources);
    fa_map_finish(&named->pauses);
    pthread_mutex_destroy(&named->mutex);
    free(named);
}

static struct fa_kv_named_value value_of(const struct item *item, struct fa_arena *arena)
{
    struct fa_kv_named_value value = {
        .key = fa_arena_strdup(arena, item->key), .revision = item->revision, .at_us = item->at_us};

    if (!item->is_deleted)
        value.value = (struct fa_bytes){fa_arena_copy(arena, item->value, item->len), item->len};
    return value;
}

void fa_kv_named_get(struct fa_kv_named *named, const char *key, struct fa_arena *arena,
                     struct fa_kv_named_value *out)
{
    const struct item *item;

    *out = (struct fa_kv_named_value){.key = key};
    pthread_mutex_lock(&named->mutex);
    item = fa_map_get(&named->by_key, key, NULL);
    if (item != NULL)
        *out = value_of(item, arena);
    pthread_mutex_unlock(&named->mutex);
}

size_t fa_kv_named_list(struct fa_kv_named *named, const char *prefix, struct fa_arena *arena,
                        struct fa_kv_named_value **out)
{
    size_t count = 0, size = 0;

    *out = NULL;
    pthread_mutex_lock(&named->mutex);
    for (size_t i = 0; i < named->count; i++) {
        if (named->items[i]->is_deleted || !has_prefix(named->items[i], prefix))
            continue;
        *out = fa_arena_grow(arena, *out, count, &size, sizeof(**out));
        (*out)[count++] = value_of(named->items[i], arena);
    }
    pthread_mutex_unlock(&named->mutex);
    return count;
}

bool fa_kv_named_is_paused(struct fa_kv_named *named, const char *ns, const char *type)
{
    bool is_paused;

    pthread_mutex_lock(&named->mutex);
    is_paused = fa_map_get(&named->pauses, ns, type) != NULL;
    pthread_mutex_unlock(&named->mutex);
    return is_paused;
}

bool fa_kv_named_reserve(struct fa_kv_named *named, const char *const *resources, size_t count)
{
    bool has_room = true;

    if (count == 0)
        return true;
    pthread_mutex_lock(&named->mutex);
    for (size_t i = 0; has_room && i < count; i++) {
        const struct item *item = fa_map_get(&named->resources, resources[i], NULL);

        has_room = item == NULL || item->max < 0 || item->in_use + item->reserved < item->max;
    }
    for (size_t i = 0; has_room && i < count; i++) {
        struct item *item = fa_map_get(&named->resources, resources[i], NULL);

        if (item != NULL)
            item->reserved++;
    }
    pthread_mutex_unlock(&named->mutex);
    return has_room;
}

void fa_kv_named_unreserve(struct fa_kv_named *named, const char *const *resources, size_t count)
{
    if (count == 0)
        return;
    pthread_mutex_lock(&named->mutex);
    for (size_t i = 0; i < count; i++) {
        struct item *item = fa_map_get(&named->resources, resources[i], NULL);

        if (item != NULL && item->reserved > 0)
            item->reserved--;
    }
    pthread_mutex_unlock(&named->mutex);
}
