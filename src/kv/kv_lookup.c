/*
 * kv_lookup.c - reading: one task, its events, lists and counts.
 *
 * Tasks are read from the store. Which ones a list has comes from the index.
 */
#include "kv/kv_change.h"

#include "kv/kv_keys.h"
#include "kv/kv_permits.h"
#include "kv/kv_read_lists.h"
#include "model/cursor.h"
#include "model/limits.h"
#include "model/task_filter.h"
#include "service/access.h"
#include "service/refusal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define HOLDERS_MAX 100
#define PART 100 /* tasks that are read at once */

/* ------------------------------------------------------------------------------------------
 * One task
 */

static enum faina_code read_task(struct fa_kv_engine *engine, struct fa_op *op, const char *id,
                                 struct fa_kv_record *out)
{
    struct fa_kv_read read = {.key = fa_kv_task_key(id, op->arena)};
    struct fa_bytes text;
    enum faina_code code;

    fa_kv_read(engine->kv, &read, 1, op->arena, &op->error);
    if (read.code != FAINA_UNAVAILABLE &&
        read.revision < fa_kv_index_get(engine->index, id, op->arena, &text)) {
        read.is_fresh = true; /* this node has seen a newer one (V5) */
        fa_kv_read(engine->kv, &read, 1, op->arena, &op->error);
    }
    if (read.code == FAINA_NOT_FOUND)
        return fa_kv_missing(id, &op->error);
    if (read.code != FAINA_OK)
        return read.code;
    code = fa_kv_record_read(&engine->shape, id, read.value, read.revision, op->arena, out,
                             &op->error);
    if (code == FAINA_OK && (out->task.deleted_us != 0 ||
                             (fa_access_is_of_task(op->kind) && fa_access_is_limited(op->grant) &&
                              !fa_access_reaches(op->grant, out->task.ns))))
        code = fa_kv_missing(id, &op->error);
    return code;
}

/* The task op->id. */
static enum faina_code find(struct fa_kv_engine *engine, struct fa_op *op, struct fa_kv_record *out)
{
    char *id = fa_arena_take(op->arena, FAINA_ID_SIZE);
    struct fa_id parsed;

    if (!fa_id_parse(op->id, &parsed))
        return fa_kv_missing(op->id, &op->error);
    fa_id_format(parsed, id);
    return read_task(engine, op, id, out);
}

static void set_task(struct fa_op *op, const struct fa_kv_record *record)
{
    op->task = fa_arena_take(op->arena, sizeof(*op->task));
    *op->task = record->task;
    memcpy(op->task_id, record->task.id, sizeof(op->task_id));
}

static enum faina_code get(struct fa_kv_engine *engine, struct fa_op *op)
{
    struct fa_kv_record record;
    enum faina_code code = find(engine, op, &record);

    if (code == FAINA_OK)
        set_task(op, &record);
    return code;
}

static enum faina_code find_by_key(struct fa_kv_engine *engine, struct fa_op *op, const char *ns,
                                   const char *type, const char *key, struct fa_kv_record *out)
{
    const char *entry = fa_kv_idem_key(ns, type, key, op->arena);
    struct fa_kv_read read;
    struct fa_id id;
    enum faina_code code = fa_kv_get(engine->kv, entry, op->arena, &read, &op->error);

    if (code == FAINA_NOT_FOUND || (code == FAINA_OK && !fa_id_parse(read.value.ptr, &id)))
        return fa_kv_missing(key, &op->error);
    return code == FAINA_OK ? read_task(engine, op, read.value.ptr, out) : code;
}

static enum faina_code list_tasks(struct fa_kv_engine *engine, struct fa_op *op);

/* Of any type: the newest of the tasks with this key. */
static enum faina_code get_by_key_alone(struct fa_kv_engine *engine, struct fa_op *op,
                                        const char *ns)
{
    struct faina_query query = {.ns = ns, .idempotency_key = op->name.key, .limit = 1};
    struct fa_op list = {.kind = FA_OP_LIST, .query = &query, .arena = op->arena};
    enum faina_code code = list_tasks(engine, &list);

    if (code != FAINA_OK) {
        op->error = list.error;
        return code;
    }
    return fa_op_take_listed(op, &list, ns);
}

static enum faina_code get_by_key(struct fa_kv_engine *engine, struct fa_op *op)
{
    const char *ns = op->name.ns ? op->name.ns : "default";
    struct fa_kv_record record;
    enum faina_code code;

    if (op->name.type == NULL)
        return get_by_key_alone(engine, op, ns);
    code = find_by_key(engine, op, ns, op->name.type, op->name.key, &record);
    if (code == FAINA_TASK_NOT_FOUND)
        return fa_error_set(&op->error, code,
                            "namespace %.100s has no task of type %.100s with the key %.200s", ns,
                            op->name.type, op->name.key);
    if (code == FAINA_OK)
        set_task(op, &record);
    return code;
}

/* ------------------------------------------------------------------------------------------
 * Events
 */

static size_t event_size(const struct faina_event *event)
{
    return sizeof(*event) + (event->detail ? strlen(event->detail) : 0);
}

/* A cursor is the time of an event, which is unique within its task. */
static enum faina_code list_events(struct fa_kv_engine *engine, struct fa_op *op)
{
    size_t limit = op->page.limit > 0 ? (size_t)op->page.limit : FA_LIST_LIMIT_DEFAULT, size = 0;
    int64_t before = INT64_MAX, one = 1;
    struct fa_kv_record record;
    struct faina_events *events;
    enum faina_code code = find(engine, op, &record);

    if (code == FAINA_OK && op->part.cursor != NULL)
        code = fa_cursor_read_pair(op->part.cursor, &before, &one, &op->error);
    if (code == FAINA_OK && one != 1)
        code = fa_cursor_refuse(&op->error);
    if (code != FAINA_OK)
        return code;
    op->events = events = fa_arena_zero(op->arena, 1, sizeof(*events));
    events->items = fa_arena_zero(op->arena, record.event_count + 1, sizeof(*events->items));
    for (size_t i = record.event_count; i-- > 0;) {
        const struct faina_event *event = &record.events[i];

        if (event->at_us >= before)
            continue;
        size += event_size(event);
        if (events->count == limit ||
            (op->part.is_asked && events->count > 0 && size > FA_PAGE_SIZE_MAX)) {
            if (op->part.is_asked)
                op->next_cursor =
                    fa_cursor_write_pair(op->arena, events->items[events->count - 1].at_us, 1);
            break;
        }
        events->items[events->count++] = *event;
    }
    return FAINA_OK;
}

/* ------------------------------------------------------------------------------------------
 * Lists of tasks
 */

static bool is_or_any(const char *want, const char *have)
{
    return want == NULL || (have != NULL && strcmp(want, have) == 0);
}

static bool is_between(int64_t us, int64_t after_us, int64_t before_us)
{
    return (after_us == 0 || us >= after_us) && (before_us == 0 || us < before_us);
}

static bool uses(const struct faina_task *task, const char *resource)
{
    for (size_t i = 0; i < task->resource_count; i++)
        if (fa_name_is_same(task->resources[i], resource))
            return true;
    return false;
}

/* The conditions of list_filter.c that are not on a column. No task here is of a workflow. */
static bool has_more(const struct faina_query *query, const struct faina_task *task)
{
    int64_t due_us = task->run_at_us != 0 ? task->run_at_us : task->created_us;

    return query->origin == NULL && (query->resource == NULL || uses(task, query->resource)) &&
           (query->schedule == NULL ||
            fa_filter_is_of_schedule(task->idempotency_key, query->schedule)) &&
           (query->error_kind == NULL || fa_filter_is_error_kind(task->error, query->error_kind)) &&
           (query->failure_group == NULL ||
            fa_filter_is_of_failure_group(task->ns, task->type, task->error,
                                          query->failure_group)) &&
           ((query->ended_after_us == 0 && query->ended_before_us == 0) ||
            (fa_status_is_ended(task->status) &&
             is_between(task->completed_us, query->ended_after_us, query->ended_before_us))) &&
           (query->due_before_us == 0 ||
            (task->status == FAINA_PENDING && due_us < query->due_before_us)) &&
           fa_filter_has_metadata(query, task->metadata);
}

/* The whole filter: what the index knows may be old. */
static bool matches(const struct faina_query *query, const struct faina_task *task)
{
    bool is_all = query->ns != NULL && strcmp(query->ns, "*") == 0;

    return task->deleted_us == 0 && query->team_id == NULL && query->parent_id == NULL &&
           query->group == NULL && (query->statuses == 0 || query->statuses >> task->status & 1) &&
           (is_all || strcmp(query->ns ? query->ns : "default", task->ns) == 0) &&
           (query->type == NULL || fa_name_is_same(query->type, task->type)) &&
           is_or_any(query->name, task->name) && is_or_any(query->created_by, task->created_by) &&
           is_or_any(query->idempotency_key, task->idempotency_key) &&
           (query->created_after_us == 0 || task->created_us >= query->created_after_us) &&
           (query->created_before_us == 0 || task->created_us < query->created_before_us) &&
           (query->updated_after_us == 0 || task->updated_us >= query->updated_after_us) &&
           (query->updated_before_us == 0 || task->updated_us < query->updated_before_us) &&
           is_or_any(query->worker_id, task->worker_id) && has_more(query, task);
}

static size_t task_size(const struct faina_task *task)
{
    const char *const parts[] = {task->input, task->output, task->metadata, task->spec};
    size_t size = 0;

    for (size_t i = 0; i < FA_COUNT(parts); i++)
        size += parts[i] ? strlen(parts[i]) : 0;
    return size;
}

struct page {
    struct fa_op *op;
    size_t limit, size;
    bool is_full;
};

static void add_task(struct page *page, const struct faina_task *task)
{
    struct faina_tasks *tasks = page->op->tasks;
    bool is_brief = page->op->query->brief;
    size_t size = is_brief ? 0 : task_size(task);
    struct faina_task *item;

    if (!matches(page->op->query, task))
        return;
    page->is_full =
        tasks->count >= page->limit || (tasks->count > 0 && page->size + size > FA_PAGE_SIZE_MAX);
    if (page->is_full)
        return;
    page->size += size;
    item = &tasks->items[tasks->count++];
    *item = *task;
    if (is_brief)
        item->input = item->output = item->metadata = item->spec = NULL;
}

/* Reads tasks by id, and adds those that match. Damaged ones are left out. */
static enum faina_code add_all(struct fa_kv_engine *engine, struct page *page, const char **ids,
                               size_t count)
{
    struct fa_op *op = page->op;
    struct fa_kv_read *reads = fa_alloc_zero(count + 1, sizeof(*reads));
    enum faina_code code = FAINA_OK;

    for (size_t i = 0; i < count; i++)
        reads[i] = (struct fa_kv_read){.key = fa_kv_task_key(ids[i], op->arena), .is_fresh = true};
    fa_kv_read(engine->kv, reads, count, op->arena, &op->error);
    for (size_t i = 0; i < count && code == FAINA_OK && !page->is_full; i++) {
        struct fa_kv_record record;

        if (reads[i].code == FAINA_UNAVAILABLE)
            code = reads[i].code;
        else if (reads[i].code == FAINA_OK &&
                 fa_kv_record_read(&engine->shape, ids[i], reads[i].value, reads[i].revision,
                                   op->arena, &record, NULL) == FAINA_OK)
            add_task(page, &record.task);
    }
    free(reads);
    return code;
}

static int64_t key_of(const char *id)
{
    struct fa_id parsed = {0};
    bool is_id = fa_id_parse(id, &parsed);

    assert(is_id);
    (void)is_id;
    return parsed.key;
}

static enum faina_code read_cursor(const char *cursor, int64_t *out, struct faina_error *err)
{
    unsigned long long key;

    *out = INT64_MAX;
    if (cursor == NULL)
        return FAINA_OK;
    if (strlen(cursor) != 16 || strspn(cursor, "0123456789abcdef") != 16)
        return fa_cursor_refuse(err);
    key = strtoull(cursor, NULL, 16);
    if (key > INT64_MAX)
        return fa_cursor_refuse(err);
    *out = (int64_t)key;
    return FAINA_OK;
}

/* A key is found by its entry, when the type is known. */
static enum faina_code list_by_key(struct fa_kv_engine *engine, struct page *page, int64_t before)
{
    struct fa_op *op = page->op;
    const struct faina_query *query = op->query;
    struct fa_kv_record record;
    enum faina_code code = find_by_key(engine, op, query->ns ? query->ns : "default", query->type,
                                       query->idempotency_key, &record);

    if (code == FAINA_TASK_NOT_FOUND) {
        fa_error_clear(&op->error);
        return FAINA_OK;
    }
    if (code == FAINA_OK && key_of(record.task.id) < before)
        add_task(page, &record.task);
    return code;
}

static enum faina_code list_tasks(struct fa_kv_engine *engine, struct fa_op *op)
{
    const struct faina_query *query = op->query;
    struct page page = {.op = op,
                        .limit = query->limit > 0 ? (size_t)query->limit : FA_LIST_LIMIT_DEFAULT};
    bool is_all = query->ns != NULL && strcmp(query->ns, "*") == 0;
    enum faina_code code;
    int64_t before;

    if (query->sort != FAINA_SORT_CREATED || query->ascending)
        return fa_error_field(&op->error, FAINA_NOT_SUPPORTED, "sort",
                              "an engine on NATS lists tasks by createdAt, newest first, only; "
                              "SQLite and PostgreSQL have other orders");
    code = read_cursor(query->cursor, &before, &op->error);
    if (code == FAINA_OK)
        code = fa_kv_engine_await(engine, &op->error);
    if (code != FAINA_OK)
        return code;
    op->tasks = fa_arena_zero(op->arena, 1, sizeof(*op->tasks));
    op->tasks->items = fa_arena_zero(op->arena, page.limit + 1, sizeof(struct faina_task));
    if (query->team_id != NULL || query->parent_id != NULL)
        return FAINA_OK; /* no task here has one */
    if (query->idempotency_key != NULL && query->type != NULL && !is_all)
        return list_by_key(engine, &page, before);
    while (code == FAINA_OK && !page.is_full) {
        const char **ids;
        size_t count = fa_kv_index_list(engine->index, query, before, PART, op->arena, &ids);

        code = add_all(engine, &page, ids, count);
        if (count > 0)
            before = key_of(ids[count - 1]);
        if (count < PART)
            break;
    }
    if (code == FAINA_OK && page.is_full)
        op->tasks->next_cursor =
            fa_arena_printf(op->arena, "%016llx",
                            (unsigned long long)key_of(op->tasks->items[op->tasks->count - 1].id));
    return code;
}

/* ------------------------------------------------------------------------------------------
 * Lists by name
 */

enum faina_code fa_kv_page(struct fa_op *op, const void *items, size_t size, size_t count,
                           const char *(*name_of)(const void *item), size_t *from,
                           size_t *page_count)
{
    size_t limit = op->part.is_asked && op->part.limit > 0 ? (size_t)op->part.limit : SIZE_MAX;
    const char *after;
    enum faina_code code = fa_cursor_read(op->part.cursor, op->arena, &after, 1, &op->error);

    if (code != FAINA_OK)
        return code;
    *from = 0;
    while (*from < count && strcmp(name_of((const char *)items + *from * size), after) <= 0 &&
           op->part.cursor != NULL)
        ++*from;
    *page_count = count - *from < limit ? count - *from : limit;
    if (*from + *page_count < count) {
        after = name_of((const char *)items + (*from + *page_count - 1) * size);
        op->next_cursor = fa_cursor_write(op->arena, &after, 1);
    }
    return FAINA_OK;
}

static const char *resource_name(const void *item)
{
    return ((const struct faina_resource *)item)->name;
}

static const char *worker_name(const void *item)
{
    return ((const struct faina_worker *)item)->id;
}

static const char *token_name(const void *item)
{
    return ((const struct fa_token *)item)->id;
}

static int by_resource(const void *a, const void *b)
{
    return strcmp(resource_name(a), resource_name(b));
}

static int by_worker(const void *a, const void *b)
{
    return strcmp(worker_name(a), worker_name(b));
}

static int by_token(const void *a, const void *b)
{
    return strcmp(token_name(a), token_name(b));
}

static int by_heartbeat(const void *a, const void *b)
{
    const struct faina_worker *x = a, *y = b;

    if (x->last_heartbeat_us != y->last_heartbeat_us)
        return x->last_heartbeat_us < y->last_heartbeat_us ? 1 : -1;
    return strcmp(x->id, y->id);
}

static void add_resource(struct faina_resource *out, const struct fa_kv_resource *resource,
                         struct fa_arena *arena)
{
    const char **ids = fa_arena_zero(arena, HOLDERS_MAX + 1, sizeof(char *));
    size_t count = 0;

    for (size_t i = 0; i < resource->count && count < HOLDERS_MAX; i++)
        ids[count++] = resource->holders[i].id;
    *out = (struct faina_resource){.name = resource->name,
                                   .max_concurrency = resource->max,
                                   .in_use = (int64_t)resource->count,
                                   .holders = ids,
                                   .holder_count = count};
}

static enum faina_code list_resources(struct fa_kv_engine *engine, struct fa_op *op)
{
    struct fa_kv_named_value *values;
    struct faina_resource *items;
    struct fa_kv_resource resource;
    size_t count = 0, from = 0, kept = 0;
    enum faina_code code = fa_kv_engine_await(engine, &op->error);

    if (code != FAINA_OK)
        return code;
    op->resources = fa_arena_zero(op->arena, 1, sizeof(*op->resources));
    if (op->resource.name != NULL) {
        items = fa_arena_zero(op->arena, 1, sizeof(*items));
        code =
            fa_kv_resource_read(engine, op->resource.name, true, op->arena, &resource, &op->error);
        if (code == FAINA_OK && !resource.is_set && resource.count == 0)
            code = fa_error_set(&op->error, FAINA_NOT_FOUND, "there is no resource %.255s",
                                op->resource.name);
        if (code == FAINA_OK)
            add_resource(items, &resource, op->arena);
        *op->resources = (struct faina_resources){1, items};
        return code;
    }
    count = fa_kv_named_list(engine->named, FA_KV_RESOURCES, op->arena, &values);
    items = fa_arena_zero(op->arena, count + 1, sizeof(*items));
    for (size_t i = 0; i < count; i++)
        if (fa_kv_resource_parse(values[i].value, op->arena, &resource) &&
            (resource.is_set || resource.count > 0))
            add_resource(&items[kept++], &resource, op->arena);
    if (kept > 1)
        qsort(items, kept, sizeof(*items), by_resource);
    code = fa_kv_page(op, items, sizeof(*items), kept, resource_name, &from, &count);
    *op->resources = (struct faina_resources){count, items + from};
    return code;
}

static enum faina_code list_workers(struct fa_kv_engine *engine, struct fa_op *op)
{
    int64_t since = fa_kv_now(engine) - FA_WORKER_DEAD_MS * 1000;
    struct fa_kv_named_value *values;
    struct faina_worker *items;
    size_t count, from = 0, kept = 0;
    enum faina_code code = fa_kv_engine_await(engine, &op->error);

    if (code != FAINA_OK)
        return code;
    count = fa_kv_named_list(engine->named, FA_KV_WORKERS, op->arena, &values);
    items = fa_arena_zero(op->arena, count + 1, sizeof(*items));
    for (size_t i = 0; i < count; i++) {
        struct faina_worker *worker = &items[kept];
        const char *owner;

        if (!fa_kv_worker_parse(values[i].value, op->arena, worker, &owner) ||
            worker->last_heartbeat_us <= since || !fa_access_owns(op->grant, owner) ||
            (op->id != NULL && strcmp(worker->id, op->id) != 0))
            continue;
        worker->held = fa_kv_index_held_count(engine->index, worker->id);
        kept++;
    }
    if (op->id != NULL && kept == 0)
        return fa_error_set(&op->error, FAINA_NOT_FOUND, "there is no worker %.255s", op->id);
    if (kept > 1)
        qsort(items, kept, sizeof(*items), by_worker);
    code = fa_kv_page(op, items, sizeof(*items), kept, worker_name, &from, &count);
    if (code != FAINA_OK)
        return code;
    if (count > 1)
        qsort(items + from, count, sizeof(*items), by_heartbeat);
    op->workers = fa_arena_zero(op->arena, 1, sizeof(*op->workers));
    *op->workers = (struct faina_workers){count, items + from};
    return FAINA_OK;
}

static enum faina_code list_tokens(struct fa_kv_engine *engine, struct fa_op *op)
{
    struct fa_kv_named_value *values;
    struct fa_token *items;
    size_t count, from = 0, kept = 0;
    enum faina_code code = fa_kv_engine_await(engine, &op->error);

    if (code != FAINA_OK)
        return code;
    count = fa_kv_named_list(engine->named, FA_KV_TOKENS, op->arena, &values);
    items = fa_arena_zero(op->arena, count + 1, sizeof(*items));
    for (size_t i = 0; i < count; i++)
        if (fa_kv_token_parse(values[i].value, op->arena, &items[kept]))
            kept++;
        else /* listed, since a server without tokens may be open; allows nothing */
            items[kept++] = (struct fa_token){
                .name = "(damaged)", .hash = "", .namespaces = "[]", .expires_us = 1};
    if (kept > 1)
        qsort(items, kept, sizeof(*items), by_token);
    code = fa_kv_page(op, items, sizeof(*items), kept, token_name, &from, &count);
    op->tokens = fa_arena_zero(op->arena, 1, sizeof(*op->tokens));
    *op->tokens = (struct fa_tokens){count, items + from};
    return code;
}

/* ------------------------------------------------------------------------------------------
 * Counts
 */

static int64_t active_of(const struct faina_count *count)
{
    int64_t active = 0;

    for (int i = 0; i < FAINA_STATUS_COUNT; i++)
        active += fa_status_is_ended((enum faina_status)i) ? 0 : count->by_status[i];
    return active;
}

static int busiest_first(const void *a, const void *b)
{
    int64_t x = active_of(a), y = active_of(b);

    return x < y ? 1 : x > y ? -1 : 0;
}

static int by_name(const void *a, const void *b)
{
    const struct faina_count *x = a, *y = b;
    int order = strcmp(x->ns, y->ns);

    return order != 0 ? order : fa_name_compare(x->type, y->type);
}

/* Types without tasks that are paused are listed too. */
static size_t add_paused(struct fa_kv_engine *engine, struct fa_op *op, const char *ns,
                         struct faina_count **counts, size_t count)
{
    struct fa_kv_named_value *values;
    size_t paused = fa_kv_named_list(engine->named, FA_KV_PAUSES, op->arena, &values);
    struct faina_count *all = fa_arena_zero(op->arena, count + paused + 1, sizeof(*all));
    size_t all_count = count;

    if (count > 0)
        memcpy(all, *counts, count * sizeof(*all));
    for (size_t i = 0; i < count; i++)
        all[i].is_paused = fa_kv_named_is_paused(engine->named, all[i].ns, all[i].type);
    for (size_t i = 0; i < paused; i++) {
        struct faina_count item = {.is_paused = true};
        struct fa_json object;

        if (fa_json_check(values[i].value, 8, "", FAINA_INTERNAL, NULL) != FAINA_OK)
            continue;
        object = fa_json_value(values[i].value);
        item.ns = fa_json_member_text(object, "namespace", op->arena);
        item.type = fa_json_member_text(object, "type", op->arena);
        if (item.ns == NULL || item.type == NULL ||
            (strcmp(ns, "*") != 0 && strcmp(ns, item.ns) != 0) ||
            (op->name.type != NULL && !fa_name_is_same(op->name.type, item.type)) ||
            (count > 0 && bsearch(&item, all, count, sizeof(*all), by_name) != NULL))
            continue;
        all[all_count++] = item;
    }
    if (all_count > 1)
        qsort(all, all_count, sizeof(*all), by_name);
    *counts = all;
    return all_count;
}

static enum faina_code page_counts(struct fa_op *op, struct faina_count *counts, size_t count)
{
    size_t limit = op->part.limit > 0 ? (size_t)op->part.limit : SIZE_MAX, from = 0;
    const char *after[2];
    enum faina_code code = fa_cursor_read(op->part.cursor, op->arena, after, 2, &op->error);
    struct faina_count last = {.ns = after[0], .type = after[1]};

    if (code != FAINA_OK)
        return code;
    while (op->part.cursor != NULL && from < count && by_name(&counts[from], &last) <= 0)
        from++;
    op->stats->types = counts + from;
    op->stats->count = count - from < limit ? count - from : limit;
    if (from + op->stats->count < count) {
        const struct faina_count *end = &counts[from + op->stats->count - 1];

        after[0] = end->ns;
        after[1] = end->type;
        op->next_cursor = fa_cursor_write(op->arena, after, 2);
    }
    return FAINA_OK;
}

static enum faina_code read_stats(struct fa_kv_engine *engine, struct fa_op *op)
{
    const char *ns = op->name.ns ? op->name.ns : "default";
    enum faina_code code = fa_kv_engine_await(engine, &op->error);
    struct faina_count *counts;
    struct faina_stats *stats;
    size_t count;

    if (code != FAINA_OK)
        return code;
    op->stats = stats = fa_arena_zero(op->arena, 1, sizeof(*stats));
    count = fa_kv_index_counts(engine->index, ns, op->name.type, op->arena, &counts);
    count = add_paused(engine, op, ns, &counts, count);
    if (op->part.is_asked)
        return page_counts(op, counts, count);
    for (size_t i = 0; i < count; i++)
        for (int status = 0; status < FAINA_STATUS_COUNT; status++)
            stats->by_status[status] += counts[i].by_status[status];
    if (count > FA_STATS_TYPES_MAX) {
        qsort(counts, count, sizeof(*counts), busiest_first);
        count = FA_STATS_TYPES_MAX;
        stats->has_more = true;
        qsort(counts, count, sizeof(*counts), by_name);
    }
    stats->types = counts;
    stats->count = count;
    return FAINA_OK;
}

static const char *namespace_name(const void *item)
{
    return ((const struct fa_namespace_item *)item)->name;
}

static enum faina_code list_namespaces(struct fa_kv_engine *engine, struct fa_op *op)
{
    enum faina_code code = fa_kv_engine_await(engine, &op->error);
    struct fa_namespace_item *items;
    size_t count, kept = 0, from = 0;
    struct faina_count *counts;

    if (code != FAINA_OK)
        return code;
    count = fa_kv_index_counts(engine->index, "*", NULL, op->arena, &counts);
    items = fa_arena_zero(op->arena, count + 1, sizeof(*items));
    for (size_t i = 0; i < count; i++) /* by name */
        if (kept == 0 || strcmp(items[kept - 1].name, counts[i].ns) != 0)
            items[kept++].name = counts[i].ns;
    code = fa_kv_page(op, items, sizeof(*items), kept, namespace_name, &from, &count);
    op->namespaces = fa_arena_zero(op->arena, 1, sizeof(*op->namespaces));
    *op->namespaces = (struct fa_namespaces){count, items + from};
    return code;
}

static enum faina_code explain(struct fa_kv_engine *engine, struct fa_op *op)
{
    struct fa_kv_record record;
    enum faina_code code = find(engine, op, &record);

    if (code == FAINA_OK)
        code = fa_kv_engine_await(engine, &op->error);
    return code == FAINA_OK ? fa_kv_explain(engine, op, &record.task) : code;
}

void fa_kv_read_op(struct fa_kv_engine *engine, struct fa_op *op)
{
    static enum faina_code (*const reads[FA_OP_COUNT])(struct fa_kv_engine * engine,
                                                       struct fa_op * op) = {
        [FA_OP_GET] = get,
        [FA_OP_GET_BY_KEY] = get_by_key,
        [FA_OP_FIND] = fa_kv_find,
        [FA_OP_LIST] = list_tasks,
        [FA_OP_EVENTS] = list_events,
        [FA_OP_EXPLAIN] = explain,
        [FA_OP_RESOURCE_LIST] = list_resources,
        [FA_OP_WORKER_LIST] = list_workers,
        [FA_OP_TOKEN_LIST] = list_tokens,
        [FA_OP_STATS] = read_stats,
        [FA_OP_NAMESPACE_LIST] = list_namespaces,
    };

    op->code = reads[op->kind] != NULL ? reads[op->kind](engine, op) : fa_kv_refuse_op(op);
}
