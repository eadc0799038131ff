/* lookup.c - reading: one task, its events, teams and counts. */
#include "store/read/lookup.h"

#include "model/attempts.h"
#include "model/limits.h"
#include "model/states.h"
#include "model/task_rules.h"
#include "service/access.h"
#include "service/refusal.h"
#include "store/txn/audit_log.h"
#include "store/txn/event_log.h"
#include "store/txn/failures.h"
#include "store/queue/bulk_ops.h"
#include "store/read/pages.h"
#include "store/read/resources.h"
#include "store/upkeep/outbox.h"
#include "store/read/show.h"
#include "store/txn/json_text.h"
#include "store/txn/row_check.h"

#include <assert.h>
#include <stdlib.h>

enum faina_code fa_read_find(struct fa_source *source, const char *id, struct fa_arena *arena,
                             struct fa_row *out, struct faina_error *err)
{
    enum faina_code code;
    struct fa_id parsed;

    if (!fa_id_parse(id, &parsed))
        return fa_error_set(err, FAINA_TASK_NOT_FOUND, "there is no task %.64s", id);
    code = fa_row_load(source, parsed.key, arena, out, err);
    if (code == FAINA_TASK_NOT_FOUND ||
        (code == FAINA_OK && (out->id.tail != parsed.tail || out->deleted_us != 0)))
        return fa_error_set(err, FAINA_TASK_NOT_FOUND, "there is no task %s", id);
    return code;
}

static enum faina_code set_task(struct fa_source *source, struct fa_op *op, struct fa_row *row)
{
    op->task = fa_arena_take(op->arena, sizeof(*op->task));
    fa_id_format(row->id, op->task_id);
    return fa_row_to_task(source, row, op->arena, true, false, op->task, &op->error);
}

static enum faina_code get(struct fa_source *source, struct fa_op *op)
{
    struct fa_row row;
    enum faina_code code = fa_read_find(source, op->id, op->arena, &row, &op->error);

    return code == FAINA_OK ? set_task(source, op, &row) : code;
}

/* Ids ---------------------------------------------------------------------------------------- */

/* Of any type: the newest of the tasks with this key. */
static enum faina_code get_by_key_alone(struct fa_source *source, struct fa_op *op)
{
    const char *ns = op->name.ns ? op->name.ns : "default";
    struct faina_query query = {.ns = ns, .idempotency_key = op->name.key, .limit = 1};
    struct fa_op list = {.kind = FA_OP_LIST, .query = &query, .arena = op->arena};
    enum faina_code code = fa_read_list(source, &list);

    if (code != FAINA_OK) {
        op->error = list.error;
        return code;
    }
    return fa_op_take_listed(op, &list, ns);
}

static enum faina_code get_by_key(struct fa_source *source, struct fa_op *op)
{
    const char *ns = op->name.ns ? op->name.ns : "default";
    struct fa_keys found = {.arena = op->arena};
    struct fa_value hash;
    enum faina_code code;

    if (op->name.type == NULL)
        return get_by_key_alone(source, op);
    hash = fa_value_int(fa_key_hash(ns, op->name.type, op->name.key).hash);
    code = fa_db_one(source->db, FA_SQL_KEY_FIND, &hash, 1, fa_keys_sink, &found, &op->error);
    for (size_t i = 0; code == FAINA_OK && i < found.count; i++) {
        struct fa_row row;

        code = fa_row_load(source, found.keys[i], op->arena, &row, &op->error);
        if (code == FAINA_OK && row.key != NULL && strcmp(row.key, op->name.key) == 0 &&
            fa_name_is_same(row.lane->type, op->name.type) && strcmp(row.lane->ns, ns) == 0)
            return set_task(source, op, &row);
    }
    if (code == FAINA_OK)
        code = fa_error_set(&op->error, FAINA_TASK_NOT_FOUND,
                            "namespace %.100s has no task of type %.100s with the key %.200s", ns,
                            op->name.type, op->name.key);
    return code;
}

/* Events ------------------------------------------------------------------------------------- */

/* A page of events, newest first. Stored events are read from the table in parts; the task's own
 * events are merged with them by time, after stored ones of the same time. */
struct event_list {
    struct fa_arena *arena;
    int64_t task;
    struct fa_pager pager;
    struct faina_event *items;
    size_t count, size;
    struct faina_event own[FA_OWN_EVENTS_MAX]; /* newest first */
    size_t own_count, own_next;
    int64_t from_us; /* where the page begins ... */
    int64_t skip;    /* ... after so many events of just that time */
    int64_t last_us; /* the last row that was read */
    const char *last_what;
    bool is_damaged; /* a damaged event was left out */
    bool has_parts;  /* parts of logs are listed, too */
};

/* Its id; and as its state the words of its status, when it has none of its own. */
static void complete_event(struct faina_event *event, int64_t task)
{
    fa_event_id_format(task, event->at_us, event->what, event->id);
    if (event->state == NULL)
        event->state = fa_task_state(event->status);
}

bool fa_read_event(const struct fa_value *c, int64_t task, struct fa_arena *arena,
                   struct faina_event *out)
{
    static const struct fa_form form = {"event", "txSaXXJ",
                                        "at_us what status actor state worker detail"};

    if (fa_form_check(&form, c, arena) != NULL)
        return false;
    *out = (struct faina_event){
        .at_us = c[0].i,
        .what = fa_value_dup(&c[1], arena),
        .status = (enum faina_status)c[2].i,
        .actor = (enum faina_actor)c[3].i,
        .state = fa_value_dup(&c[4], arena),
        .worker_id = fa_value_dup(&c[5], arena),
        .detail = fa_value_dup(&c[6], arena),
    };
    complete_event(out, task);
    return true;
}

/* Whether an event of this time was on an earlier page. */
static bool is_before_page(struct event_list *list, int64_t at_us)
{
    if (at_us == list->from_us && list->skip > 0) {
        list->skip--;
        return true;
    }
    return at_us > list->from_us;
}

static struct faina_event *add_event(struct event_list *list)
{
    list->items =
        fa_arena_grow(list->arena, list->items, list->count, &list->size, sizeof(*list->items));
    return &list->items[list->count++];
}

/* Adds the task's own events that are newer than a time. */
static void add_own(struct event_list *list, int64_t than_us)
{
    while (list->own_next < list->own_count && list->own[list->own_next].at_us > than_us) {
        const struct faina_event *own = &list->own[list->own_next++];

        if (is_before_page(list, own->at_us))
            continue;
        if (!fa_pager_take(&list->pager, sizeof(*own) + (own->detail ? strlen(own->detail) : 0)))
            return;
        *add_event(list) = *own;
    }
}

/* Parts of logs are read by the operation LOG only. */
static bool is_hidden(const struct event_list *list, const struct fa_value *what)
{
    return !list->has_parts && what->kind == FA_TEXT &&
           fa_bytes_equal(what->text, fa_str(FA_LOG_PART));
}

static void sink_event(void *ctx, size_t n, const struct fa_value *c)
{
    struct event_list *list = ctx;
    size_t size = (c[1].kind == FA_TEXT ? c[1].text.len : 0) +
                  (c[6].kind == FA_TEXT ? c[6].text.len : 0) + sizeof(struct faina_event);
    int64_t at_us = fa_value_as_int(&c[0]);
    struct faina_event event;

    (void)n;
    list->pager.got++;
    list->last_us = at_us;
    list->last_what = fa_value_dup(&c[1], list->arena);
    add_own(list, at_us);
    if (is_before_page(list, at_us) || is_hidden(list, &c[1]))
        return;
    if (!fa_read_event(c, list->task, list->arena, &event))
        list->is_damaged = true;
    else if (fa_pager_take(&list->pager, size))
        *add_event(list) = event;
}

static const char *summary(const struct fa_row *row, struct fa_arena *arena)
{
    const struct faina_task task = {.type = row->lane->type,
                                    .priority = (int)-row->rank,
                                    .max_attempts = row->max_attempts,
                                    .idempotency_key = row->key};

    return fa_created_json(&task, arena);
}

size_t fa_read_own_events(const struct fa_row *row, struct fa_arena *arena,
                          struct faina_event out[FA_OWN_EVENTS_MAX])
{
    size_t count;

    out[0] = (struct faina_event){.at_us = row->created_us,
                                  .what = "created",
                                  .status = row->flags & FA_FLAG_CREATED_BLOCKED ? FAINA_BLOCKED
                                                                                 : FAINA_PENDING,
                                  .actor = FAINA_ACTOR_API,
                                  .state = "Queued",
                                  .detail = summary(row, arena)};
    count = 1 + fa_row_implicit_events(row, out + 1);
    for (size_t i = 0; i < count; i++)
        complete_event(&out[i], row->id.key);
    return count;
}

/* Reports damaged events. The task itself is not damaged. */
static void report_events(struct fa_source *source, const struct fa_row *row)
{
    struct fa_arena scratch = {0};
    const char *id = fa_row_id_text(row, &scratch);

    fa_aside_report(source->aside, FA_ASIDE_ROW, fa_arena_printf(&scratch, "event %s", id), NULL,
                    "a row of table event of this task is damaged", fa_db_now(source->db));
    fa_arena_finish(&scratch);
}

static int newest_first(const void *a, const void *b)
{
    int64_t x = ((const struct faina_event *)a)->at_us, y = ((const struct faina_event *)b)->at_us;

    return x < y ? 1 : x > y ? -1 : 0;
}

/* A cursor is a time, and how many events of that time were on the pages before. */
static enum faina_code read_event_cursor(const char *cursor, struct event_list *list,
                                         struct faina_error *err)
{
    enum faina_code code;

    list->from_us = INT64_MAX;
    if (cursor == NULL)
        return FAINA_OK;
    code = fa_cursor_read_pair(cursor, &list->from_us, &list->skip, err);
    return code == FAINA_OK && list->skip == 0 ? fa_cursor_refuse(err) : code;
}

/* `skip` is the count in the page's own cursor. */
static const char *write_event_cursor(const struct event_list *list, int64_t skip)
{
    int64_t at_us = list->items[list->count - 1].at_us, same = 0;

    for (size_t i = list->count; i > 0 && list->items[i - 1].at_us == at_us; i--)
        same++;
    if (at_us == list->from_us)
        same += skip;
    return fa_cursor_write_pair(list->arena, at_us, same);
}

static enum faina_code read_events(struct fa_source *source, int64_t task, struct event_list *list,
                                   struct faina_error *err)
{
    struct fa_value params[4] = {fa_value_int(task)};
    enum faina_code code = FAINA_OK;

    /* Includes all events of the first time: the empty name sorts before all others. */
    list->last_us = list->from_us == INT64_MAX ? INT64_MAX : list->from_us + 1;
    list->last_what = "";
    do {
        params[1] = fa_value_int(list->last_us);
        params[2] = fa_value_text(list->last_what);
        params[3] = fa_pager_next(&list->pager);
        code = fa_db_one(source->db, FA_SQL_EVENT_PAGE, params, 4, sink_event, list, err);
    } while (code == FAINA_OK && fa_pager_goes_on(&list->pager));
    if (code == FAINA_OK && !list->pager.has_more)
        add_own(list, INT64_MIN);
    return code;
}

static enum faina_code list_events(struct fa_source *source, struct fa_op *op)
{
    size_t limit = op->page.limit > 0 ? (size_t)op->page.limit : FA_LIST_LIMIT_DEFAULT;
    struct event_list list = {.arena = op->arena, .pager = fa_pager_of_limit(limit)};
    struct fa_row row;
    enum faina_code code = fa_read_find(source, op->id, op->arena, &row, &op->error);
    int64_t skip;

    if (code == FAINA_OK)
        code = read_event_cursor(op->part.cursor, &list, &op->error);
    if (code != FAINA_OK)
        return code;
    if (!op->part.is_asked)
        list.pager.size_max = SIZE_MAX;
    list.has_parts = op->page.parts;
    skip = list.skip;
    list.task = row.id.key;
    list.own_count = fa_read_own_events(&row, op->arena, list.own);
    qsort(list.own, list.own_count, sizeof(*list.own), newest_first);
    code = read_events(source, row.id.key, &list, &op->error);
    if (code != FAINA_OK)
        return code;
    if (list.is_damaged)
        report_events(source, &row);
    if (list.pager.has_more && op->part.is_asked)
        op->next_cursor = write_event_cursor(&list, skip);
    op->events = fa_arena_zero(op->arena, 1, sizeof(*op->events));
    op->events->items = list.items;
    op->events->count = list.count;
    return FAINA_OK;
}

/* Teams -------------------------------------------------------------------------------------- */

struct team_list {
    struct fa_source *source;
    struct fa_arena *arena;
    struct fa_pager pager;
    struct faina_team *items;
    size_t count, size;
};

static void sink_team(void *ctx, size_t n, const struct fa_value *c)
{
    static const struct fa_form form = {"team", "xxxJtt",
                                        "id namespace name spec created_us updated_us"};
    struct team_list *list = ctx;
    struct faina_team *team;

    (void)n;
    if (!fa_source_check(list->source, &form, c, &c[0], list->arena)) {
        (void)fa_pager_skip_row(&list->pager, c, 6);
        return;
    }
    if (!fa_pager_take_row(&list->pager, c, 6))
        return;
    list->items =
        fa_arena_grow(list->arena, list->items, list->count, &list->size, sizeof(*list->items));
    team = &list->items[list->count++];
    *team = (struct faina_team){0};
    if (c[0].text.len < sizeof(team->id))
        memcpy(team->id, c[0].text.ptr, c[0].text.len);
    team->ns = fa_value_dup(&c[1], list->arena);
    team->name = fa_value_dup(&c[2], list->arena);
    team->spec = fa_value_dup(&c[3], list->arena);
    team->created_us = c[4].i;
    team->updated_us = c[5].i;
}

/* NULL is the default namespace; "*" is all of them: null in the statement. */
static struct fa_value namespace_param(const char *ns)
{
    if (ns == NULL)
        return fa_value_text("default");
    return strcmp(ns, "*") == 0 ? (struct fa_value){.kind = FA_NULL} : fa_value_text(ns);
}

static enum faina_code read_teams(struct fa_source *source, struct fa_op *op,
                                  struct team_list *list)
{
    struct fa_list_query query = {.sql = FA_SQL_TEAM_LIST,
                                  .params = {namespace_param(op->name.ns)},
                                  .param_count = 4,
                                  .after_at = 1,
                                  .limit_at = 3,
                                  .key_at = 1,
                                  .key_count = 2,
                                  .sink = sink_team,
                                  .sink_ctx = list};

    return fa_pager_read(&list->pager, source->db, &query, op->part.cursor, op->arena,
                         &op->next_cursor, &op->error);
}

static enum faina_code list_teams(struct fa_source *source, struct fa_op *op)
{
    struct team_list list = {
        .source = source, .arena = op->arena, .pager = fa_pager_of_part(&op->part)};
    char text[FAINA_ID_SIZE];
    struct fa_value id = fa_value_text(op->id && fa_uuid_parse(op->id, text) ? text : op->id);
    enum faina_code code =
        op->id ? fa_db_one(source->db, FA_SQL_TEAM_GET, &id, 1, sink_team, &list, &op->error)
               : read_teams(source, op, &list);

    if (code == FAINA_OK && op->id != NULL && list.count == 0)
        code = fa_error_set(&op->error, FAINA_NOT_FOUND, "there is no team %.64s", op->id);
    if (code != FAINA_OK)
        return code;
    op->teams = fa_arena_zero(op->arena, 1, sizeof(*op->teams));
    op->teams->items = list.items;
    op->teams->count = list.count;
    return FAINA_OK;
}

struct namespace_list {
    struct fa_arena *arena;
    struct fa_namespaces *list;
    size_t size;
    struct fa_pager pager;
};

static void sink_namespace(void *ctx, size_t n, const struct fa_value *c)
{
    struct namespace_list *out = ctx;
    struct fa_namespaces *list = out->list;

    (void)n;
    if (!fa_pager_take_row(&out->pager, c, 1))
        return;
    list->items =
        fa_arena_grow(out->arena, list->items, list->count, &out->size, sizeof(*list->items));
    list->items[list->count++].name = fa_value_dup(&c[0], out->arena);
}

static enum faina_code list_namespaces(struct fa_source *source, struct fa_op *op)
{
    struct namespace_list out = {.arena = op->arena, .pager = fa_pager_of_part(&op->part)};
    struct fa_list_query query = {.sql = FA_SQL_NAMESPACE_LIST,
                                  .param_count = 2,
                                  .after_at = 0,
                                  .limit_at = 1,
                                  .key_at = 0,
                                  .key_count = 1,
                                  .sink = sink_namespace,
                                  .sink_ctx = &out};

    op->namespaces = out.list = fa_arena_zero(op->arena, 1, sizeof(*out.list));
    return fa_pager_read(&out.pager, source->db, &query, op->part.cursor, op->arena,
                         &op->next_cursor, &op->error);
}

/* Tasks of namespaces without access are reported as missing (access.h, X2 and X3). */
static enum faina_code permit(struct fa_source *source, struct fa_op *op)
{
    struct fa_row row;
    enum faina_code code;

    if (!fa_access_is_limited(op->grant) || !fa_access_is_of_task(op->kind))
        return FAINA_OK;
    code = fa_read_find(source, op->id, op->arena, &row, &op->error);
    if (code == FAINA_OK && !fa_access_reaches(op->grant, row.lane->ns))
        code = fa_error_set(&op->error, FAINA_TASK_NOT_FOUND, "there is no task %s", op->id);
    return code;
}

enum faina_code fa_read_op(struct fa_source *source, struct fa_op *op, int64_t now_us)
{
    static enum faina_code (*const reads[FA_OP_COUNT])(struct fa_source * source,
                                                       struct fa_op * op) = {
        [FA_OP_GET] = get,
        [FA_OP_GET_BY_KEY] = get_by_key,
        [FA_OP_FIND] = fa_read_part_of_id,
        [FA_OP_LIST] = fa_read_list,
        [FA_OP_QUEUE] = fa_read_queue,
        [FA_OP_CHILDREN] = fa_read_children,
        [FA_OP_EVENTS] = list_events,
        [FA_OP_FOLLOW] = fa_read_follow,
        [FA_OP_RESOURCE_LIST] = fa_read_resources,
        [FA_OP_TYPE_LIST] = fa_read_types,
        [FA_OP_TEAM_LIST] = list_teams,
        [FA_OP_TOKEN_LIST] = fa_read_tokens,
        [FA_OP_WORKFLOW_LIST] = fa_read_workflows,
        [FA_OP_EMITTED_LIST] = fa_read_emitted,
        [FA_OP_JOIN_LIST] = fa_read_joins,
        [FA_OP_CRON_LIST] = fa_read_crons,
        [FA_OP_STATS] = fa_read_stats,
        [FA_OP_NAMESPACE_LIST] = list_namespaces,
        [FA_OP_BROKER_GET] = fa_read_broker,
        [FA_OP_SETTINGS_GET] = fa_read_settings,
        [FA_OP_HISTORY] = fa_read_history,
        [FA_OP_FAILURES] = fa_read_failures,
        [FA_OP_AUDIT_LIST] = fa_read_audit,
        [FA_OP_BULK_COUNT] = fa_read_bulk_count,
        [FA_OP_BULK_LIST] = fa_read_bulks,
    };
    enum faina_code code = permit(source, op);

    assert(!fa_op_writes(op->kind));
    if (code != FAINA_OK)
        return code;
    if (op->kind == FA_OP_EXPLAIN)
        return fa_read_explain(source, op, now_us);
    if (op->kind == FA_OP_LOG)
        return fa_read_log(source, op, now_us);
    if (op->kind == FA_OP_GRAPH)
        return fa_read_graph(source, op, now_us);
    if (op->kind == FA_OP_WORKER_LIST)
        return fa_read_workers(source, op, now_us);
    if (reads[op->kind] == NULL)
        return fa_error_set(&op->error, FAINA_INTERNAL, "%s is not a read", fa_op_name(op->kind));
    return reads[op->kind](source, op);
}
