/*
 * lanes.c - lanes, resources and pauses in memory.
 *
 * Lanes are found by a hash table over (namespace, type, resources as JSON), resources by one over
 * their names. In a store with one writer, new ids are assigned here, from the greatest in the
 * store on.
 */
#include "store/lanes/lanes.h"

#include "base/clock.h"
#include "json/json.h"
#include "store/lanes/lanes_inner.h"
#include "store/txn/row.h"
#include "store/upkeep/set_aside.h"
#include "store/txn/row_check.h"

#include <assert.h>
#include <stdlib.h>

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return (hash ^ 0xff) * 0x100000001b3u; /* a separator that no UTF-8 has */
}

static uint64_t hash_lane(const char *ns, const char *type, const char *resources)
{
    uint64_t hash = hash_text(hash_text(hash_text(0xcbf29ce484222325u, ns), type), resources);

    return hash ^ (hash >> 32);
}

static void free_lane(struct fa_lane *lane)
{
    free(lane->resources_json);
    for (size_t i = 0; i < lane->resource_count; i++) {
        if (lane->resource_names[i] != lane->resources[i]->name)
            free((void *)(uintptr_t)lane->resource_names[i]);
    }
    free(lane->resources);
    free(lane->resource_names);
    free(lane->own_type);
    free(lane->ahead);
    free(lane->scan_starts);
    free(lane);
}

static bool is_resource(const void *item, const char *a, const char *b)
{
    (void)b;
    return fa_name_is_same(((const struct fa_resource *)item)->name, a);
}

static void init(struct fa_lanes *lanes, bool has_index)
{
    *lanes = (struct fa_lanes){.resource_names = {.is = is_resource}};
    lanes->awaited.us = INT64_MAX;
    fa_types_init(&lanes->types);
    fa_lane_index_init(&lanes->index, has_index);
}

static void clear(struct fa_lanes *lanes)
{
    fa_lanes_free_removed(lanes);
    fa_lane_index_finish(&lanes->index);
    for (size_t i = 0; i < lanes->count; i++)
        free_lane(lanes->lanes[i]);
    fa_types_finish(&lanes->types);
    for (size_t i = 0; i < lanes->resource_count; i++) {
        free(lanes->resources[i]->name);
        free(lanes->resources[i]);
    }
    fa_map_finish(&lanes->resource_names);
    fa_heap_finish(&lanes->due);
    free(lanes->lanes);
    free(lanes->ready);
    free(lanes->full_ns);
    free(lanes->by_name);
    for (size_t i = 0; i < lanes->by_id_size; i++)
        free(lanes->by_id[i]);
    free(lanes->by_id);
    free(lanes->resources);
}

struct fa_lanes *fa_lanes_create(void)
{
    struct fa_lanes *lanes = fa_alloc(sizeof(*lanes));

    init(lanes, false);
    return lanes;
}

void fa_lanes_report_to(struct fa_lanes *lanes, struct fa_aside *aside)
{
    lanes->aside = aside;
}

void fa_lanes_destroy(struct fa_lanes *lanes)
{
    if (lanes == NULL)
        return;
    clear(lanes);
    free(lanes);
}

static struct fa_lane **find_slot(struct fa_lanes *lanes, const char *ns, const char *type,
                                  const char *resources)
{
    size_t mask = lanes->by_name_size - 1;
    size_t at = hash_lane(ns, type, resources) & mask;

    for (;; at = (at + 1) & mask) {
        struct fa_lane *lane = lanes->by_name[at];

        if (lane == NULL || (strcmp(lane->type, type) == 0 && strcmp(lane->ns, ns) == 0 &&
                             strcmp(lane->resources_json, resources) == 0))
            return &lanes->by_name[at];
    }
}

/* In a shared store two lanes may have the same key. New tasks go to the first. */
static void put_name(struct fa_lanes *lanes, struct fa_lane *lane)
{
    struct fa_lane **slot = find_slot(lanes, lane->ns, lane->type, lane->resources_json);

    if (*slot == NULL)
        *slot = lane;
}

static void grow_names(struct fa_lanes *lanes)
{
    size_t size = lanes->by_name_size ? lanes->by_name_size * 2 : 64;

    free(lanes->by_name);
    lanes->by_name = fa_alloc_zero(size, sizeof(struct fa_lane *));
    lanes->by_name_size = size;
    for (size_t i = 0; i < lanes->count; i++)
        put_name(lanes, lanes->lanes[i]);
}

struct fa_resource *fa_lanes_find_resource(struct fa_lanes *lanes, const char *name)
{
    return fa_map_get(&lanes->resource_names, name, NULL);
}

void fa_lanes_touch_resource(struct fa_lanes *lanes, struct fa_resource *resource)
{
    if (resource->is_touched)
        return;
    resource->is_touched = true;
    resource->next_touched = lanes->touched;
    lanes->touched = resource;
}

static struct fa_resource *add_resource(struct fa_lanes *lanes, const char *name)
{
    struct fa_resource *resource = fa_lanes_find_resource(lanes, name);

    if (resource != NULL)
        return resource;
    lanes->resources = fa_grow(lanes->resources, lanes->resource_count, &lanes->resource_size,
                               sizeof(*lanes->resources));
    resource = fa_alloc_zero(1, sizeof(*resource));
    resource->id = ++lanes->last_resource_id;
    resource->name = fa_name_copy(name);
    resource->max = resource->own.max = -1;
    lanes->has_unstored_resources = true;
    lanes->resources[lanes->resource_count++] = resource;
    fa_map_put(&lanes->resource_names, resource->name, NULL, resource);
    fa_lanes_resolve(lanes, resource);
    fa_lanes_touch_resource(lanes, resource);
    return resource;
}

static bool has_resource(const struct fa_lane *lane, const struct fa_resource *resource)
{
    for (size_t i = 0; i < lane->resource_count; i++) {
        if (lane->resources[i] == resource)
            return true;
    }
    return false;
}

/* Reads the resource names from the lane's JSON. */
static void link_resources(struct fa_lanes *lanes, struct fa_lane *lane)
{
    struct fa_arena scratch = {0};
    struct fa_json names = fa_json_value(fa_str(lane->resources_json + lane->has_groups)), value;
    struct fa_json_iter it = fa_json_iter(names);

    size_t count = fa_json_count(names);

    if (count == 0)
        return;
    lanes->has_resources = true;
    lane->resources = fa_alloc_zero(count, sizeof(struct fa_resource *));
    lane->resource_names = fa_alloc_zero(count, sizeof(char *));
    while (fa_json_next(&it, NULL, &value)) {
        const char *name = fa_json_text(value, &scratch);
        struct fa_resource *resource = add_resource(lanes, name);
        size_t i = lane->resource_count;

        if (has_resource(lane, resource))
            continue; /* an older version wrote two spellings of one name */
        lane->resources[i] = resource;
        lane->resource_names[i] =
            strcmp(name, resource->name) == 0 ? resource->name : fa_name_copy(name);
        lane->resource_count++;
        lanes->has_unstored_resources |= !resource->is_stored;
    }
    fa_arena_finish(&scratch);
}

static void touch(struct fa_lane *lane)
{
    if (lane->is_dirty)
        return;
    lane->is_dirty = true;
    lane->next_dirty = lane->lanes->dirty;
    lane->lanes->dirty = lane;
}

static void add_to_index(struct fa_lanes *lanes, struct fa_lane *lane)
{
    struct fa_type *first = fa_types_named(&lanes->types, lane->type);

    fa_lane_index_add(&lanes->index, lane, FA_AXIS_ALL);
    fa_lane_index_add(&lanes->index, lane, FA_AXIS_NAMESPACE);
    if (first->named_lane_count <= FA_TYPE_LANES_FEW)
        return;
    fa_lane_index_add(&lanes->index, lane, FA_AXIS_TYPE);
    if (first->named_lane_count > FA_TYPE_LANES_FEW + 1)
        return;
    for (struct fa_type *type = first; type != NULL; type = type->next_named) {
        for (struct fa_lane *other = type->lanes; other != NULL; other = other->next_of_type)
            fa_lane_index_add(&lanes->index, other, FA_AXIS_TYPE);
    }
}

static void put_id(struct fa_lanes *lanes, struct fa_lane *lane)
{
    size_t page = (size_t)lane->id / FA_ID_PAGE;

    while (page >= lanes->by_id_size) {
        size_t size = lanes->by_id_size ? lanes->by_id_size * 2 : 32;

        lanes->by_id = fa_realloc(lanes->by_id, size * sizeof(struct fa_lane **));
        memset(lanes->by_id + lanes->by_id_size, 0,
               (size - lanes->by_id_size) * sizeof(struct fa_lane **));
        lanes->by_id_size = size;
    }
    if (lanes->by_id[page] == NULL)
        lanes->by_id[page] = fa_alloc_zero(FA_ID_PAGE, sizeof(struct fa_lane *));
    lanes->by_id[page][lane->id % FA_ID_PAGE] = lane;
}

static struct fa_lane *add_lane(struct fa_lanes *lanes, int64_t id, const char *ns,
                                const char *type, const char *resources_json)
{
    struct fa_lane *lane = fa_alloc_zero(1, sizeof(*lane));

    lane->id = id;
    lane->lanes = lanes;
    lane->resources_json = fa_name_copy(resources_json);
    lane->has_groups = resources_json[0] == ' ';
    fa_types_add_lane(&lanes->types, lane, ns, type);
    link_resources(lanes, lane);
    add_to_index(lanes, lane);
    if ((lanes->count + 1) * 2 > lanes->by_name_size)
        grow_names(lanes);
    lanes->lanes = fa_grow(lanes->lanes, lanes->count, &lanes->size, sizeof(*lanes->lanes));
    lane->index = lanes->count;
    lanes->lanes[lanes->count++] = lane;
    put_id(lanes, lane);
    put_name(lanes, lane);
    if (id > lanes->last_lane_id)
        lanes->last_lane_id = id;
    return lane;
}

static int compare_names(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    int order = fa_name_compare(x, y);

    return order != 0 ? order : strcmp(x, y);
}

static void write_names(const char *const *names, size_t count, struct fa_buf *out)
{
    const char **sorted = fa_alloc(count * sizeof(char *));
    struct fa_json_writer writer;

    memcpy(sorted, names, count * sizeof(char *));
    qsort(sorted, count, sizeof(char *), compare_names);
    fa_json_writer_init(&writer, out, 0);
    fa_json_begin_array(&writer);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || !fa_name_is_same(sorted[i], sorted[i - 1]))
            fa_json_put_str(&writer, sorted[i]);
    }
    fa_json_end_array(&writer);
    free(sorted);
}

struct fa_lane *fa_lanes_by_id(struct fa_lanes *lanes, int64_t id)
{
    size_t page = (size_t)id / FA_ID_PAGE;

    if (id < 0 || page >= lanes->by_id_size || lanes->by_id[page] == NULL)
        return NULL;
    return lanes->by_id[page][id % FA_ID_PAGE];
}

/* Puts the lanes behind it in the table again, since it may have displaced them. */
static void remove_name(struct fa_lanes *lanes, const struct fa_lane *lane)
{
    size_t mask = lanes->by_name_size - 1;
    struct fa_lane **slot = find_slot(lanes, lane->ns, lane->type, lane->resources_json);

    if (*slot != lane)
        return; /* another lane has the same key */
    *slot = NULL;
    for (size_t at = (size_t)(slot - lanes->by_name + 1) & mask; lanes->by_name[at] != NULL;
         at = (at + 1) & mask) {
        struct fa_lane *moved = lanes->by_name[at];

        lanes->by_name[at] = NULL;
        put_name(lanes, moved);
    }
    for (struct fa_lane *other = lane->type_info->lanes; other != NULL;
         other = other->next_of_type) {
        if (other != lane && strcmp(other->resources_json, lane->resources_json) == 0)
            put_name(lanes, other);
    }
}

void fa_lanes_remove(struct fa_lanes *lanes, int64_t id)
{
    struct fa_lane *lane = fa_lanes_by_id(lanes, id), *last;

    if (lane == NULL || lane->is_dirty)
        return;
    remove_name(lanes, lane);
    if (lane->is_listed)
        fa_lanes_unlist_ready(lane);
    fa_lane_index_remove(&lanes->index, lane);
    fa_types_remove_lane(&lanes->types, lane);
    lanes->by_id[(size_t)id / FA_ID_PAGE][id % FA_ID_PAGE] = NULL;
    last = lanes->lanes[--lanes->count];
    last->index = lane->index;
    lanes->lanes[lane->index] = last;
    lane->next_of_type = lanes->forgotten;
    lanes->forgotten = lane;
}

void fa_lanes_free_removed(struct fa_lanes *lanes)
{
    while (lanes->forgotten != NULL) {
        struct fa_lane *next = lanes->forgotten->next_of_type;

        free_lane(lanes->forgotten);
        lanes->forgotten = next;
    }
}

struct fa_lane **fa_lanes_all(struct fa_lanes *lanes, size_t *count)
{
    *count = lanes->count;
    return lanes->lanes;
}

void fa_lanes_set_paused(struct fa_lanes *lanes, const char *ns, const char *type, bool paused)
{
    struct fa_type *known = fa_types_pause(&lanes->types, ns, type, paused);

    for (struct fa_lane *lane = known ? known->lanes : NULL; lane != NULL;
         lane = lane->next_of_type)
        fa_lane_index_update(lane);
}

void fa_lane_count(struct fa_lane *lane, int from, int to)
{
    if (from >= 0)
        lane->tally[from]--;
    if (to >= 0)
        lane->tally[to]++;
    touch(lane);
}

/* Loading ---------------------------------------------------------------------------------- */

#define LANE_ID_MAX INT32_MAX /* a greater id is damaged */

struct load {
    struct fa_lanes *lanes;
    struct fa_db *db;
    struct fa_arena scratch;
    const char *damage; /* of the last row left out (L6); in `scratch` */
    bool has_rates;     /* some row has a rate */
};

static void leave_out(struct load *load, const char *table, const struct fa_value *id,
                      const char *damage)
{
    load->damage = fa_aside_report_row(load->lanes->aside, table, id, damage, &load->scratch,
                                       fa_db_now(load->db));
}

static void load_resource(void *ctx, size_t row, const struct fa_value *columns)
{
    static const struct fa_form form = {"resource", "lxNN.NNNNT",
                                        "id name max_concurrency is_set in_use rate_count "
                                        "rate_per_ms rate_burst rate_spent rate_us"};
    struct load *load = ctx;
    struct fa_resource *resource;
    const char *damage = fa_form_check(&form, columns, &load->scratch);
    const char *name = fa_value_dup(&columns[1], &load->scratch);

    (void)row;
    if (damage != NULL)
        leave_out(load, "resource", &columns[0], damage);
    if (name == NULL || columns[0].kind != FA_INT)
        return;
    /* A damaged resource keeps its name and has no limit. */
    resource = add_resource(load->lanes, name);
    resource->id = columns[0].i;
    if (!resource->is_changed) {
        struct fa_own_limits limits = fa_limits_of(&columns[2], &columns[5]);

        fa_lanes_set_own(load->lanes, resource, &limits, fa_value_as_int(&columns[3]) != 0);
    }
    if (!resource->has_spent)
        resource->bucket = fa_bucket_of(&columns[5]);
    load->has_rates |= resource->own.rate.count > 0;
    resource->in_use = fa_value_as_int(&columns[4]);
    resource->is_stored = true;
    if (resource->id <= LANE_ID_MAX && resource->id > load->lanes->last_resource_id)
        load->lanes->last_resource_id = resource->id;
}

static void load_pause(void *ctx, size_t row, const struct fa_value *columns)
{
    struct load *load = ctx;

    (void)row;
    if (columns[0].kind != FA_TEXT || columns[1].kind != FA_TEXT) {
        leave_out(load, "paused", &columns[1], "its key is no text");
        return;
    }
    fa_lanes_set_paused(load->lanes, fa_value_dup(&columns[0], &load->scratch),
                        fa_value_dup(&columns[1], &load->scratch), true);
}

static void load_lane(void *ctx, size_t row, const struct fa_value *columns)
{
    static const struct fa_form form = {"lane", "lxxx", "id namespace type resources"};
    struct load *load = ctx;
    const char *damage = fa_form_check(&form, columns, &load->scratch);

    (void)row;
    if (damage == NULL && columns[0].i > LANE_ID_MAX)
        damage = "its id is out of range";
    if (damage == NULL && !fa_is_names(columns[3].text))
        damage = "column resources is no JSON array of names";
    if (columns[0].kind == FA_INT && columns[0].i <= LANE_ID_MAX &&
        columns[0].i > load->lanes->last_lane_id)
        load->lanes->last_lane_id = columns[0].i; /* the id of a damaged row is in use, too */
    if (damage != NULL) {
        leave_out(load, "lane", &columns[0], damage);
        return;
    }
    if (fa_lanes_by_id(load->lanes, columns[0].i) != NULL)
        return;
    add_lane(load->lanes, columns[0].i, fa_value_dup(&columns[1], &load->scratch),
             fa_value_dup(&columns[2], &load->scratch), fa_value_dup(&columns[3], &load->scratch))
        ->is_stored = true;
}

#define MAKE_TRIES_MAX 100

/* Inserts the resource's row unless it exists, and reads it. */
static enum faina_code make_resource(struct fa_db *db, const char *name, struct load *load,
                                     struct fa_resource **out, struct faina_error *err)
{
    struct fa_value param = fa_value_text(name);
    enum faina_code code = FAINA_OK;

    *out = fa_lanes_find_resource(load->lanes, name);
    for (int i = 0; code == FAINA_OK && (*out == NULL || !(*out)->is_stored); i++) {
        if (i == MAKE_TRIES_MAX)
            return fa_error_set(err, FAINA_INTERNAL, "the resource %.100s can't be made", name);
        code = fa_db_one(db, FA_SQL_RESOURCE_MAKE, &param, 1, NULL, NULL, err);
        if (code == FAINA_OK)
            code = fa_db_one(db, FA_SQL_RESOURCE_ALL, &param, 1, load_resource, load, err);
        *out = fa_lanes_find_resource(load->lanes, name);
    }
    return code;
}

/* Loads a resource that is not in the cache yet. The others keep their use: it includes permits
 * that the open transaction has taken and not written. */
static void load_new_resource(void *ctx, size_t row, const struct fa_value *columns)
{
    struct load *load = ctx;
    char *name = fa_value_dup(&columns[1], &load->scratch);
    const struct fa_resource *known = name ? fa_lanes_find_resource(load->lanes, name) : NULL;

    if (known == NULL || !known->is_stored)
        load_resource(ctx, row, columns);
}

/* A lane of another node may name resources that are not in the cache. The resources of a lane that
 * was created in SQL may have no rows yet: a writer inserts them, a reader doesn't need them. */
static enum faina_code load_new_resources(struct fa_lanes *lanes, struct fa_db *db,
                                          struct load *load, struct faina_error *err)
{
    struct fa_value any = {.kind = FA_NULL};
    enum faina_code code;

    if (!fa_db_has(db, FA_DB_MANY_WRITERS) || !lanes->has_unstored_resources)
        return FAINA_OK;
    lanes->has_unstored_resources = false;
    code = fa_db_one(db, FA_SQL_RESOURCE_ALL, &any, 1, load_new_resource, load, err);
    for (size_t i = 0; code == FAINA_OK && db->is_writing && i < lanes->resource_count; i++) {
        struct fa_resource *resource = lanes->resources[i];

        code = make_resource(db, resource->name, load, &resource, err);
    }
    return code;
}

enum faina_code fa_lanes_read(struct fa_lanes *lanes, struct fa_db *db, int64_t id,
                              struct fa_lane **out, struct faina_error *err)
{
    struct fa_lane *lane = fa_lanes_by_id(lanes, id);
    struct load load = {.lanes = lanes, .db = db};
    enum faina_code code = FAINA_OK;
    struct fa_value param = fa_value_int(id);

    if (lane == NULL) {
        code = fa_db_one(db, FA_SQL_LANE_GET, &param, 1, load_lane, &load, err);
        if (code == FAINA_OK)
            code = load_new_resources(lanes, db, &load, err);
        lane = fa_lanes_by_id(lanes, id);
    }
    if (code == FAINA_OK && lane == NULL)
        code = load.damage != NULL
                   ? fa_error_set(err, FAINA_INTERNAL, "%s", load.damage)
                   : fa_error_set(err, FAINA_INTERNAL, "table lane has no row %lld", (long long)id);
    fa_arena_finish(&load.scratch);
    if (code == FAINA_OK)
        *out = lane;
    return code;
}

static void load_ready(void *ctx, size_t row, const struct fa_value *columns)
{
    struct load *load = ctx;
    struct fa_lane *lane = fa_lanes_by_id(load->lanes, fa_value_as_int(&columns[0]));

    (void)row;
    if (lane != NULL)
        fa_lane_note_arrival(lane, fa_value_as_int(&columns[1]), fa_value_as_int(&columns[2]));
}

enum faina_code fa_lanes_load(struct fa_lanes *lanes, struct fa_db *db, struct faina_error *err)
{
    struct load load = {.lanes = lanes, .db = db};
    struct fa_value any = {.kind = FA_NULL};
    int64_t last_id = lanes->last_lane_id, types_max = lanes->types_max;
    struct fa_aside *aside = lanes->aside;
    enum faina_code code;

    clear(lanes);
    init(lanes, !fa_db_has(db, FA_DB_MANY_WRITERS));
    lanes->aside = aside;
    lanes->types_max = types_max;
    lanes->last_lane_id = last_id; /* readers may have cached deleted lanes by their ids */
    if (fa_db_has(db, FA_DB_MANY_WRITERS))
        return FAINA_OK; /* lanes are read when they are needed */
    code = fa_db_one(db, FA_SQL_RESOURCE_ALL, &any, 1, load_resource, &load, err);
    if (code == FAINA_OK)
        code = fa_db_one(db, FA_SQL_PAUSED_ALL, NULL, 0, load_pause, &load, err);
    if (code == FAINA_OK)
        code = fa_db_one(db, FA_SQL_LANE_ALL, NULL, 0, load_lane, &load, err);
    if (code == FAINA_OK)
        code = load_new_resources(lanes, db, &load, err);
    if (code == FAINA_OK)
        code = fa_db_one(db, FA_SQL_READY_HEADS, NULL, 0, load_ready, &load, err);
    if (load.has_rates) { /* the claims that waited for tokens claim again, and wait again */
        lanes->awaited.us = 0;
        lanes->awaited.types = UINT64_MAX;
    }
    fa_arena_finish(&load.scratch);
    return code;
}

/* Shared stores ------------------------------------------------------------------------------ */

#define LANES_FEW 16 /* so many queues are read without asking first which are empty ... */
#define LANES_FEW_BLOATED 1000 /* ... and so many if asking means to read dead rows */
#define MANY_US 1000000        /* is_many is checked again after this */
#define LANE_ID_SLACK 50       /* lanes with smaller ids may be committed later */

bool fa_lanes_are_few(const struct fa_lanes *lanes, bool is_bloated)
{
    return lanes->count > 0 && lanes->count <= (is_bloated ? LANES_FEW_BLOATED : LANES_FEW);
}

#define CACHE_MAX 100000

bool fa_lanes_are_too_many(const struct fa_lanes *lanes)
{
    return lanes->count > CACHE_MAX;
}

bool fa_lanes_have_limits(const struct fa_lanes *lanes)
{
    return lanes->has_limits;
}

bool fa_lanes_need_limits(const struct fa_lanes *lanes)
{
    return lanes->has_resources && !lanes->has_limits;
}

/* A new lane may be the first one that names a resource. */
static enum faina_code load_limits(struct load *load, struct faina_error *err)
{
    struct fa_value any = {.kind = FA_NULL};

    if (!fa_lanes_need_limits(load->lanes))
        return FAINA_OK;
    load->lanes->has_limits = true;
    return fa_db_one(load->db, FA_SQL_RESOURCE_ALL, &any, 1, load_resource, load, err);
}

/* Lanes that a statement has returned, with a position in the ready queue of each. */
struct ready_list {
    struct load *load;
    struct {
        struct fa_lane *lane;
        struct fa_position position;
    } * items; /* in load->scratch */
    size_t count, size;
    bool has_positions;
};

static void sink_ready(void *ctx, size_t row, const struct fa_value *columns)
{
    struct ready_list *list = ctx;
    struct fa_lane *lane;

    load_lane(list->load, row, columns);
    lane = fa_lanes_by_id(list->load->lanes, fa_value_as_int(&columns[0]));
    if (lane == NULL)
        return;
    list->items = fa_arena_grow(&list->load->scratch, list->items, list->count, &list->size,
                                sizeof(*list->items));
    list->items[list->count].lane = lane;
    list->items[list->count++].position =
        list->has_positions
            ? (struct fa_position){fa_value_as_int(&columns[4]), fa_value_as_int(&columns[5])}
            : (struct fa_position){0};
}

enum faina_code fa_lanes_query_ready(struct fa_lanes *lanes, struct fa_db *db, enum fa_sql sql,
                                     const struct fa_value *params, size_t param_count,
                                     fa_lanes_ready_fn *add, void *ctx, struct faina_error *err)
{
    struct load load = {.lanes = lanes, .db = db};
    struct ready_list list = {.load = &load, .has_positions = sql == FA_SQL_READY_BEST};
    enum faina_code code = fa_db_one(db, sql, params, param_count, sink_ready, &list, err);

    if (code == FAINA_OK)
        code = load_new_resources(lanes, db, &load, err);
    if (code == FAINA_OK)
        code = load_limits(&load, err);
    for (size_t i = 0; code == FAINA_OK && i < list.count; i++) {
        fa_lane_mark_ready(list.items[i].lane);
        add(ctx, list.items[i].lane, list.items[i].position);
    }
    fa_arena_finish(&load.scratch);
    return code;
}

/* Sets is_many if the index exists by which claims find the best lanes; otherwise lists all lanes
 * with ready tasks. */
static enum faina_code check_many(struct fa_lanes *lanes, struct fa_db *db,
                                  struct ready_list *ready, struct faina_error *err)
{
    struct fa_value all = fa_value_int(INT64_MAX);
    int64_t has_index = 0;
    enum faina_code code =
        fa_db_one(db, FA_SQL_READY_INDEX, NULL, 0, fa_db_sink_int, &has_index, err);

    lanes->is_many = has_index != 0;
    lanes->many_until_us = fa_clock_mono_us() + MANY_US;
    if (code != FAINA_OK || lanes->is_many)
        return code;
    ready->count = 0;
    code = fa_db_one(db, FA_SQL_READY_LANES, &all, 1, sink_ready, ready, err);
    return code == FAINA_OK ? load_new_resources(lanes, db, ready->load, err) : code;
}

enum faina_code fa_lanes_refresh(struct fa_lanes *lanes, struct fa_db *db, bool is_bloated,
                                 const struct fa_db_call *scans, size_t scan_count,
                                 struct faina_error *err)
{
    bool is_few = fa_lanes_are_few(lanes, is_bloated);
    struct load load = {.lanes = lanes, .db = db};
    struct ready_list ready = {.load = &load};
    struct fa_value any = {.kind = FA_NULL}, most = fa_value_int(FA_LANES_MANY + 1);
    struct fa_value after = fa_value_int(lanes->last_lane_id - LANE_ID_SLACK);
    struct fa_db_call calls[FA_LANES_SCANS_MAX + 3];
    size_t count = 0;
    enum faina_code code;

    assert(scan_count <= FA_LANES_SCANS_MAX);
    fa_types_resume_all(&lanes->types);
    fa_lanes_unmark_ready(lanes);
    for (; count < scan_count; count++)
        calls[count] = scans[count];
    calls[count++] = fa_db_call_one(FA_SQL_PAUSED_ALL, NULL, 0, load_pause, &load);
    lanes->has_limits = scan_count == 0 || lanes->has_resources;
    if (lanes->has_limits)
        calls[count++] = fa_db_call_one(FA_SQL_RESOURCE_ALL, &any, 1, load_resource, &load);
    if (is_few)
        calls[count++] = fa_db_call_one(FA_SQL_LANE_AFTER, &after, 1, load_lane, &load);
    else if (!lanes->is_many || fa_clock_mono_us() >= lanes->many_until_us)
        calls[count++] = fa_db_call_one(FA_SQL_READY_LANES, &most, 1, sink_ready, &ready);
    lanes->is_many = !is_few && lanes->is_many && fa_clock_mono_us() < lanes->many_until_us;
    code = fa_db_run_all(db, calls, count, err);
    if (code == FAINA_OK)
        code = load_new_resources(lanes, db, &load, err);
    if (code == FAINA_OK && ready.count > FA_LANES_MANY)
        code = check_many(lanes, db, &ready, err);
    for (size_t i = 0; code == FAINA_OK && !lanes->is_many && i < ready.count; i++)
        fa_lane_mark_ready(ready.items[i].lane);
    if (code == FAINA_OK)
        code = load_limits(&load, err);
    for (size_t i = 0; is_few && i < lanes->count; i++)
        fa_lane_mark_ready(lanes->lanes[i]);
    fa_arena_finish(&load.scratch);
    return code;
}

/* Loads limits of a resource that had none, or of a new name with "*". Its use is counted when it
 * is locked. */
static void load_new_limit(void *ctx, size_t row, const struct fa_value *columns)
{
    struct load *load = ctx;
    char *name = fa_value_dup(&columns[1], &load->scratch);
    struct fa_resource *known = name ? fa_lanes_find_resource(load->lanes, name) : NULL;
    struct fa_own_limits limits = fa_limits_of(&columns[2], &columns[5]);

    if (known == NULL && name != NULL && fa_resource_is_prefix(name))
        load_resource(ctx, row, columns);
    else if (known != NULL && !known->is_changed && !fa_resource_is_limited(known))
        fa_lanes_set_own(load->lanes, known, &limits, fa_value_as_int(&columns[3]) != 0);
}

enum faina_code fa_lanes_scan(struct fa_lanes *lanes, struct fa_db *db,
                              const struct fa_db_call *scans, size_t scan_count, bool with_limits,
                              struct faina_error *err)
{
    struct load load = {.lanes = lanes, .db = db};
    struct fa_value any = {.kind = FA_NULL};
    struct fa_db_call calls[FA_LANES_SCANS_MAX + 2];
    size_t count = 0;
    enum faina_code code;

    if (!fa_db_has(db, FA_DB_MANY_WRITERS))
        return fa_db_run_all(db, scans, scan_count, err);
    assert(scan_count <= FA_LANES_SCANS_MAX);
    for (; count < scan_count; count++)
        calls[count] = scans[count];
    calls[count++] = fa_db_call_one(FA_SQL_PAUSED_ALL, NULL, 0, load_pause, &load);
    if (with_limits)
        calls[count++] = fa_db_call_one(FA_SQL_RESOURCE_ALL, &any, 1, load_new_limit, &load);
    code = fa_db_run_all(db, calls, count, err);
    fa_arena_finish(&load.scratch);
    return code;
}

/* Creating lanes and resources ----------------------------------------------------------------- */

enum faina_code fa_lanes_resource(struct fa_lanes *lanes, struct fa_db *db, const char *name,
                                  struct fa_resource **out, struct faina_error *err)
{
    struct load load = {.lanes = lanes, .db = db};
    enum faina_code code;

    if (!fa_db_has(db, FA_DB_MANY_WRITERS)) {
        *out = add_resource(lanes, name);
        return FAINA_OK;
    }
    code = make_resource(db, name, &load, out, err);
    fa_arena_finish(&load.scratch);
    return code;
}

static enum faina_code make_lane(struct fa_lanes *lanes, struct fa_db *db, const char *ns,
                                 const char *type, const char *resources, const char *const *names,
                                 size_t name_count, struct fa_lane **out, struct faina_error *err)
{
    struct fa_value params[4] = {fa_value_text(ns), fa_value_text(type), fa_value_text(resources),
                                 fa_value_int(0)};
    struct load load = {.lanes = lanes, .db = db};
    struct fa_resource *resource;
    enum faina_code room = fa_lanes_check_room(lanes, db, ns, type, err), code = FAINA_OK;

    if (room != FAINA_OK && room != FAINA_INVALID_TASK)
        return room;
    params[3] = fa_value_int(room == FAINA_OK);
    for (size_t i = 0; code == FAINA_OK && room == FAINA_OK && i < name_count; i++)
        code = fa_lanes_resource(lanes, db, names[i], &resource, err);
    for (int i = 0; code == FAINA_OK && *out == NULL && i < MAKE_TRIES_MAX; i++) {
        code = fa_db_one(db, FA_SQL_LANE_MAKE, params, 4, load_lane, &load, err);
        if (lanes->by_name_size > 0)
            *out = *find_slot(lanes, ns, type, resources);
        if (code == FAINA_OK && *out == NULL && room != FAINA_OK)
            code = room; /* it doesn't exist and can't be created */
    }
    if (code == FAINA_OK)
        code = load_new_resources(lanes, db, &load, err);
    fa_arena_finish(&load.scratch);
    if (code == FAINA_OK && *out == NULL)
        code = fa_error_set(err, FAINA_INTERNAL, "a lane for type %.100s can't be made", type);
    return code;
}

enum faina_code fa_lanes_get(struct fa_lanes *lanes, struct fa_db *db, const char *ns,
                             const char *type, const char *const *names, size_t name_count,
                             bool has_groups, struct fa_lane **out, struct faina_error *err)
{
    struct fa_buf json;
    const char *resources = has_groups ? " []" : "[]";
    enum faina_code code = FAINA_OK;

    *out = NULL;
    fa_buf_init(&json, 64 * 1024);
    if (name_count > 0) {
        if (has_groups)
            fa_buf_add_char(&json, ' ');
        write_names(names, name_count, &json);
        resources = json.ptr;
    }
    if (lanes->by_name_size > 0)
        *out = *find_slot(lanes, ns, type, resources);
    if (*out == NULL && !fa_db_has(db, FA_DB_MANY_WRITERS))
        code = fa_lanes_check_room(lanes, db, ns, type, err);
    if (*out == NULL && fa_db_has(db, FA_DB_MANY_WRITERS)) {
        code = make_lane(lanes, db, ns, type, resources, names, name_count, out, err);
    } else if (code == FAINA_OK && *out == NULL) {
        *out = add_lane(lanes, lanes->last_lane_id + 1, ns, type, resources);
        touch(*out);
    }
    fa_buf_finish(&json);
    return code;
}
