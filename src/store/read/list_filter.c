/*
 * list_filter.c - whether a task matches a filter, and what follows from the filter for the scans.
 *
 * Namespace, type and resource select lanes, so that most other tasks are left out without reading
 * them. Times bound the keys of the tasks.
 */
#include "store/read/list_inner.h"

#include "json/json.h"
#include "model/states.h"
#include "model/task_filter.h"
#include "store/read/show.h"

#define IDS_AHEAD_US 10000000 /* how far ids may be ahead of the time of the submit */

/* Lanes -------------------------------------------------------------------------------------- */

static bool is_namespace(const char *want, struct fa_bytes ns)
{
    if (want != NULL && strcmp(want, "*") == 0)
        return true;
    return fa_bytes_equal(ns, fa_str(want ? want : "default"));
}

/* Whether a lane's JSON array of resources has one. */
static bool has_resource(const struct fa_value *resources, const char *want, struct fa_arena *arena)
{
    const char *text = fa_value_dup(resources, arena);
    const char *const *names;
    size_t count;

    if (text == NULL || fa_json_check(fa_str(text), 2, "resources", FAINA_INTERNAL, NULL) != 0 ||
        !fa_json_texts(fa_json_value(fa_str(text)), arena, &names, &count))
        return false;
    for (size_t i = 0; i < count; i++)
        if (fa_name_is_same(names[i], want))
            return true;
    return false;
}

struct lane_list {
    struct fa_list_filter *filter;
    struct fa_arena *arena;
};

static void sink_lane(void *ctx, size_t n, const struct fa_value *c)
{
    struct lane_list *list = ctx;
    struct fa_list_filter *filter = list->filter;
    const struct faina_query *query = filter->query;

    (void)n;
    if (!is_namespace(query->ns, c[1].text) || c[2].kind != FA_TEXT)
        return;
    if (query->type != NULL && !fa_name_is_same(c[2].text.ptr, query->type))
        return;
    if (query->resource != NULL && !has_resource(&c[3], query->resource, list->arena))
        return;
    fa_keys_add(&filter->lanes, c[0].i);
    if (query->idempotency_key != NULL) {
        const char *ns = fa_value_dup(&c[1], list->arena);
        const char *type = fa_value_dup(&c[2], list->arena);

        fa_keys_add(&filter->hashes, fa_key_hash(ns, type, query->idempotency_key).hash);
    }
}

static enum faina_code find_lanes(struct fa_source *source, struct lane_list *list,
                                  struct faina_error *err)
{
    const struct faina_query *query = list->filter->query;
    struct fa_value params[2] = {fa_value_text(query->ns ? query->ns : "default"),
                                 fa_value_text(query->type)};

    if (query->ns != NULL && strcmp(query->ns, "*") == 0)
        return fa_db_one(source->db, FA_SQL_LANE_ALL, NULL, 0, sink_lane, list, err);
    if (query->type == NULL)
        return fa_db_one(source->db, FA_SQL_LANE_OF_NAMESPACE, params, 1, sink_lane, list, err);
    return fa_db_one(source->db, FA_SQL_LANE_OF_TYPE, params, 2, sink_lane, list, err);
}

/* Bounds ------------------------------------------------------------------------------------- */

/* A task's submit is not after its last change, its end, and the time at which it is due. */
static void bound_keys(struct fa_list_filter *filter)
{
    const struct faina_query *query = filter->query;
    const int64_t before[] = {query->created_before_us, query->updated_before_us,
                              query->ended_before_us, query->due_before_us};

    filter->low = query->created_after_us > 0 ? fa_id_key_at(query->created_after_us) - 1 : 0;
    filter->high = INT64_MAX;
    for (size_t i = 0; i < FA_COUNT(before); i++) {
        int64_t high = before[i] > 0 ? fa_id_key_at(before[i] + IDS_AHEAD_US) : INT64_MAX;

        if (high < filter->high)
            filter->high = high;
    }
}

static unsigned possible_statuses(const struct faina_query *query)
{
    unsigned statuses = query->statuses != 0 ? query->statuses : FA_LIST_ALL_STATUSES;

    if (query->worker_id != NULL)
        statuses &= FA_LIST_HELD_STATUSES;
    if (query->due_before_us > 0)
        statuses &= 1u << FAINA_PENDING;
    if (query->ended_after_us > 0 || query->ended_before_us > 0)
        statuses &= ~FA_LIST_LIVE_STATUSES;
    return statuses;
}

enum faina_code fa_list_filter_open(struct fa_source *source, const struct faina_query *query,
                                    struct fa_arena *arena, struct fa_list_filter *out,
                                    struct faina_error *err)
{
    bool is_all = query->ns != NULL && strcmp(query->ns, "*") == 0;
    struct lane_list list = {.filter = out, .arena = arena};
    struct fa_id parent = {0};
    enum faina_code code = FAINA_OK;

    *out = (struct fa_list_filter){.query = query,
                                   .statuses = possible_statuses(query),
                                   .has_lanes = !is_all || query->type != NULL ||
                                                query->resource != NULL ||
                                                query->idempotency_key != NULL,
                                   .lanes = {.arena = arena},
                                   .hashes = {.arena = arena}};
    bound_keys(out);
    if (query->parent_id != NULL && !fa_id_parse(query->parent_id, &parent))
        out->statuses = 0; /* no task has that parent */
    out->parent = parent.key;
    if (out->has_lanes && out->statuses != 0)
        code = find_lanes(source, &list, err);
    fa_keys_sort(out->lanes.keys, out->lanes.count);
    return code;
}

bool fa_list_filter_has_lane(const struct fa_list_filter *filter, int64_t lane)
{
    const struct fa_keys *lanes = &filter->lanes;

    if (!filter->has_lanes)
        return true;
    for (size_t low = 0, high = lanes->count; low < high;) {
        size_t middle = (low + high) / 2;

        if (lanes->keys[middle] == lane)
            return true;
        if (lanes->keys[middle] > lane) /* the greatest first */
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

/* The task ----------------------------------------------------------------------------------- */

static bool is_or_any(const char *want, const char *have)
{
    return want == NULL || (have != NULL && strcmp(want, have) == 0);
}

static bool is_between(int64_t us, int64_t after_us, int64_t before_us)
{
    return (after_us == 0 || us >= after_us) && (before_us == 0 || us < before_us);
}

/* When a pending task is due. */
static int64_t due_us(const struct fa_row *row)
{
    if (row->at_us != 0 || row->due_us != 0)
        return row->at_us ? row->at_us : row->due_us;
    return row->run_at_us ? row->run_at_us : row->created_us;
}

static bool uses(const struct fa_row *row, const char *resource)
{
    for (size_t i = 0; i < row->lane->resource_count; i++)
        if (fa_name_is_same(row->lane->resource_names[i], resource))
            return true;
    return false;
}

static bool has_times(const struct faina_query *query, const struct fa_row *row)
{
    bool has_ended = fa_status_is_ended(row->status);

    return is_between(row->created_us, query->created_after_us, query->created_before_us) &&
           is_between(row->updated_us, query->updated_after_us, query->updated_before_us) &&
           ((query->ended_after_us == 0 && query->ended_before_us == 0) ||
            (has_ended &&
             is_between(row->completed_us, query->ended_after_us, query->ended_before_us))) &&
           (query->due_before_us == 0 ||
            (row->status == FAINA_PENDING && due_us(row) < query->due_before_us));
}

static bool has_columns(const struct fa_list_filter *filter, const struct fa_row *row)
{
    const struct faina_query *query = filter->query;

    return row->deleted_us == 0 && filter->statuses >> row->status & 1 &&
           is_namespace(query->ns, fa_str(row->lane->ns)) &&
           (query->type == NULL || fa_name_is_same(query->type, row->lane->type)) &&
           is_or_any(query->name, row->name ? row->name : row->lane->type) &&
           (query->team_id == NULL ||
            (row->team != NULL && strcasecmp(query->team_id, row->team) == 0)) &&
           is_or_any(query->created_by, row->created_by) && is_or_any(query->group, row->group) &&
           is_or_any(query->idempotency_key, row->key) &&
           (query->parent_id == NULL || row->parent == filter->parent) &&
           (query->worker_id == NULL ||
            (fa_status_is_held(row->status) && is_or_any(query->worker_id, row->worker))) &&
           (query->resource == NULL || uses(row, query->resource)) &&
           (query->schedule == NULL || fa_filter_is_of_schedule(row->key, query->schedule)) &&
           (query->error_kind == NULL || fa_filter_is_error_kind(row->error, query->error_kind)) &&
           (query->failure_group == NULL ||
            fa_filter_is_of_failure_group(row->lane->ns, row->lane->type, row->error,
                                          query->failure_group)) &&
           has_times(query, row);
}

static enum faina_code match_origin(struct fa_source *source, const struct fa_row *row,
                                    const char *workflow, struct fa_arena *arena, bool *out,
                                    struct faina_error *err)
{
    const struct faina_origin *origin = NULL;
    int64_t depth;
    enum faina_code code = fa_row_origin(source, row, arena, &origin, &depth, err);

    *out = code == FAINA_OK && origin != NULL && is_or_any(workflow, origin->workflow);
    return code;
}

struct text {
    struct fa_arena *arena;
    const char *text;
};

static void sink_text(void *ctx, size_t n, const struct fa_value *c)
{
    struct text *text = ctx;

    (void)n;
    text->text = fa_value_dup(&c[0], text->arena);
}

/* Metadata is read alone: inputs may be large. */
static enum faina_code match_metadata(struct fa_source *source, const struct faina_query *query,
                                      const struct fa_row *row, struct fa_arena *arena, bool *out,
                                      struct faina_error *err)
{
    struct fa_value key = fa_value_int(row->id.key);
    struct text metadata = {.arena = arena, .text = row->metadata};
    enum faina_code code = FAINA_OK;

    if (metadata.text == NULL && row->has_payload)
        metadata.text = row->first_metadata;
    else if (metadata.text == NULL)
        code = fa_db_one(source->db, FA_SQL_TASK_METADATA, &key, 1, sink_text, &metadata, err);
    *out = code == FAINA_OK && fa_filter_has_metadata(query, metadata.text);
    return code;
}

enum faina_code fa_list_filter_match(struct fa_source *source, const struct fa_list_filter *filter,
                                     const struct fa_row *row, struct fa_arena *arena, bool *out,
                                     struct faina_error *err)
{
    const struct faina_query *query = filter->query;
    enum faina_code code = FAINA_OK;

    *out = has_columns(filter, row);
    if (*out && query->origin != NULL)
        code = match_origin(source, row, query->origin, arena, out, err);
    if (code == FAINA_OK && *out && query->metadata_count > 0)
        code = match_metadata(source, query, row, arena, out, err);
    return code;
}
