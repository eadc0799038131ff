/* look.c - reading: one task, its events, resources, teams and counts. */
#include "sql/look.h"

#include "base/json.h"
#include "model/limits.h"
#include "model/states.h"
#include "service/access.h"
#include "sql/journal.h"
#include "sql/ops.h"
#include "sql/pages.h"
#include "sql/show.h"
#include "sql/sound.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define HOLDERS_MAX 100

enum faina_code fa_look_find(struct fa_source *source, const char *id, struct fa_arena *arena,
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

static enum faina_code answer(struct fa_source *source, struct fa_op *op, struct fa_row *row)
{
    op->task = fa_arena_take(op->arena, sizeof(*op->task));
    fa_id_format(row->id, op->task_id);
    return fa_row_to_task(source, row, op->arena, true, false, op->task, &op->error);
}

static enum faina_code look_get(struct fa_source *source, struct fa_op *op)
{
    struct fa_row row;
    enum faina_code code = fa_look_find(source, op->id, op->arena, &row, &op->error);

    return code == FAINA_OK ? answer(source, op, &row) : code;
}

/* Ids ---------------------------------------------------------------------------------------- */

static enum faina_code look_get_by_key(struct fa_source *source, struct fa_op *op)
{
    const char *ns = op->name.ns ? op->name.ns : "default";
    struct fa_value hash = fa_value_int(fa_key_hash(ns, op->name.type, op->name.key).hash);
    struct fa_keys found = {.arena = op->arena};
    enum faina_code code =
        fa_db_one(source->db, FA_SQL_KEY_FIND, &hash, 1, fa_keys_sink, &found, &op->error);

    for (size_t i = 0; code == FAINA_OK && i < found.count; i++) {
        struct fa_row row;

        code = fa_row_load(source, found.keys[i], op->arena, &row, &op->error);
        if (code == FAINA_OK && row.key != NULL && strcmp(row.key, op->name.key) == 0 &&
            strcmp(row.lane->type, op->name.type) == 0 && strcmp(row.lane->ns, ns) == 0)
            return answer(source, op, &row);
    }
    if (code == FAINA_OK)
        code = fa_error_set(&op->error, FAINA_TASK_NOT_FOUND,
                            "namespace %.100s has no task of type %.100s with the key %.200s", ns,
                            op->name.type, op->name.key);
    return code;
}

/* Events ------------------------------------------------------------------------------------- */

/* A page of events, newest first. Stored ones come from the table, in parts; the task's own are
 * merged with them by time, and follow stored ones of the same time. */
struct event_list {
    struct fa_arena *arena;
    struct fa_pager pager;
    struct faina_event *items;
    size_t count, size;
    struct faina_event own[FA_OWN_EVENTS_MAX]; /* newest first */
    size_t own_count, own_next;
    int64_t from_us; /* where the page begins ... */
    int64_t skip;    /* ... after so many events of just that time */
    int64_t last_us; /* the last row that was read */
    const char *last_what;
    bool is_damaged; /* an event was left out that could not be read */
};

bool fa_look_event(const struct fa_value *c, struct fa_arena *arena, struct faina_event *out)
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
    return true;
}

/* Whether the page begins after an event of this time. */
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
    if (is_before_page(list, at_us))
        return;
    if (!fa_look_event(c, list->arena, &event))
        list->is_damaged = true;
    else if (fa_pager_take(&list->pager, size))
        *add_event(list) = event;
}

/* What was asked for, in short. */
static const char *summary(const struct fa_row *row, struct fa_arena *arena)
{
    struct fa_json_writer writer;
    const char *text;
    struct fa_buf buf;

    fa_buf_init(&buf, 8192);
    fa_json_writer_init(&writer, &buf, 0);
    fa_json_begin_object(&writer);
    fa_json_key(&writer, "type");
    fa_json_put_str(&writer, row->lane->type);
    fa_json_key(&writer, "priority");
    fa_json_put_int(&writer, -row->rank);
    fa_json_key(&writer, "maxAttempts");
    fa_json_put_int(&writer, row->max_attempts);
    if (row->key) {
        fa_json_key(&writer, "idempotencyKey");
        fa_json_put_str(&writer, row->key);
    }
    fa_json_end_object(&writer);
    text = fa_arena_strdup(arena, buf.ptr);
    fa_buf_finish(&buf);
    return text;
}

size_t fa_look_own_events(const struct fa_row *row, struct fa_arena *arena,
                          struct faina_event out[FA_OWN_EVENTS_MAX])
{
    enum faina_actor by = row->worker ? FAINA_ACTOR_WORKER : FAINA_ACTOR_API;
    size_t n = 0;

    out[n++] = (struct faina_event){.at_us = row->created_us,
                                    .what = "created",
                                    .status = row->flags & FA_FLAG_BORN_BLOCKED ? FAINA_BLOCKED
                                                                                : FAINA_PENDING,
                                    .actor = FAINA_ACTOR_API,
                                    .state = "Queued",
                                    .detail = summary(row, arena)};
    if (row->flags & FA_FLAG_CLAIM_EVENT)
        out[n++] = (struct faina_event){.at_us = row->claimed_us,
                                        .what = "claimed",
                                        .status = FAINA_CLAIMED,
                                        .actor = FAINA_ACTOR_WORKER,
                                        .worker_id = row->worker};
    if (row->flags & FA_FLAG_START_EVENT)
        out[n++] = (struct faina_event){.at_us = row->started_us,
                                        .what = "started",
                                        .status = FAINA_RUNNING,
                                        .actor = by,
                                        .worker_id = row->worker};
    if (fa_status_is_ended(row->status))
        out[n++] = fa_row_end_event(row);
    return n;
}

/* The task itself is sound: only its events are named. */
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
    long long at_us, skip;
    char end;

    list->from_us = INT64_MAX;
    if (cursor == NULL)
        return FAINA_OK;
    if (sscanf(cursor, "%lld.%lld%c", &at_us, &skip, &end) != 2 || at_us < 0 || skip < 1)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "cursor",
                              "the cursor is not one that a list has given");
    list->from_us = at_us;
    list->skip = skip;
    return FAINA_OK;
}

/* `skip` is what the page's own cursor had. */
static const char *write_event_cursor(const struct event_list *list, int64_t skip)
{
    int64_t at_us = list->items[list->count - 1].at_us, same = 0;

    for (size_t i = list->count; i > 0 && list->items[i - 1].at_us == at_us; i--)
        same++;
    if (at_us == list->from_us)
        same += skip;
    return fa_arena_printf(list->arena, "%lld.%lld", (long long)at_us, (long long)same);
}

static enum faina_code read_events(struct fa_source *source, int64_t task, struct event_list *list,
                                   struct faina_error *err)
{
    struct fa_value params[4] = {fa_value_int(task)};
    enum faina_code code = FAINA_OK;

    /* All of the first time: nothing comes before the empty name. */
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

static enum faina_code look_events(struct fa_source *source, struct fa_op *op)
{
    size_t limit = op->page.limit > 0 ? (size_t)op->page.limit : FA_LIST_LIMIT_DEFAULT;
    struct event_list list = {.arena = op->arena, .pager = fa_pager_of_limit(limit)};
    struct fa_row row;
    enum faina_code code = fa_look_find(source, op->id, op->arena, &row, &op->error);
    int64_t skip;

    if (code == FAINA_OK)
        code = read_event_cursor(op->part.cursor, &list, &op->error);
    if (code != FAINA_OK)
        return code;
    if (!op->part.is_asked)
        list.pager.size_max = SIZE_MAX;
    skip = list.skip;
    list.own_count = fa_look_own_events(&row, op->arena, list.own);
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

/* Resources ---------------------------------------------------------------------------------- */

struct id_list {
    struct fa_arena *arena;
    const char **ids;
    size_t count;
};

static void sink_holder(void *ctx, size_t n, const struct fa_value *columns)
{
    struct id_list *list = ctx;
    char *text = fa_arena_take(list->arena, FAINA_ID_SIZE);

    (void)n;
    fa_id_format((struct fa_id){columns[0].i, columns[1].i}, text);
    list->ids[list->count++] = text;
}

enum faina_code fa_look_holders(struct fa_source *source, int64_t resource, int64_t limit,
                                struct fa_arena *arena, const char *const **out, size_t *count,
                                struct faina_error *err)
{
    struct id_list list = {.arena = arena};
    enum faina_code code;

    list.ids = fa_arena_take(arena, (size_t)limit * sizeof(char *));
    code = fa_db_one(source->db, FA_SQL_HOLD_LIST,
                     (struct fa_value[]){fa_value_int(resource), fa_value_int(limit)}, 2,
                     sink_holder, &list, err);
    *out = list.ids;
    *count = list.count;
    return code;
}

struct resource_list {
    struct fa_arena *arena;
    struct fa_pager pager;
    struct faina_resource *items;
    int64_t *ids;
    size_t count, size, id_size;
};

static void sink_resource(void *ctx, size_t n, const struct fa_value *c)
{
    struct resource_list *list = ctx;

    (void)n;
    if (!fa_value_as_int(&c[3]) && fa_value_as_int(&c[4]) == 0)
        return; /* only ever named by a task, and not in use: nothing to show */
    if (!fa_pager_take_row(&list->pager, c, 5))
        return;
    list->items =
        fa_arena_grow(list->arena, list->items, list->count, &list->size, sizeof(*list->items));
    list->ids =
        fa_arena_grow(list->arena, list->ids, list->count, &list->id_size, sizeof(*list->ids));
    list->ids[list->count] = c[0].i;
    list->items[list->count++] = (struct faina_resource){
        .name = fa_value_dup(&c[1], list->arena),
        .max_concurrency = c[2].kind == FA_INT ? c[2].i : -1,
        .in_use = fa_value_as_int(&c[4]),
    };
}

static enum faina_code read_resources(struct fa_source *source, struct fa_op *op,
                                      struct resource_list *list)
{
    const char *after;
    enum faina_code code = fa_cursor_read(op->part.cursor, op->arena, &after, 1, &op->error);

    while (code == FAINA_OK) {
        struct fa_value params[] = {fa_value_text(after), fa_pager_next(&list->pager)};

        code =
            fa_db_one(source->db, FA_SQL_RESOURCE_PAGE, params, 2, sink_resource, list, &op->error);
        if (code != FAINA_OK || list->count == 0)
            break;
        after = list->items[list->count - 1].name;
        if (!fa_pager_goes_on(&list->pager))
            break;
    }
    if (code == FAINA_OK && list->pager.has_more)
        op->next_cursor = fa_cursor_write(op->arena, &after, 1);
    return code;
}

static enum faina_code look_resources(struct fa_source *source, struct fa_op *op)
{
    struct resource_list list = {.arena = op->arena, .pager = fa_pager_of_part(&op->part)};
    struct fa_value name = fa_value_text(op->resource.name);
    enum faina_code code = op->resource.name ? fa_db_one(source->db, FA_SQL_RESOURCE_ALL, &name, 1,
                                                         sink_resource, &list, &op->error)
                                             : read_resources(source, op, &list);

    for (size_t i = 0; code == FAINA_OK && i < list.count; i++)
        code = fa_look_holders(source, list.ids[i], HOLDERS_MAX, op->arena, &list.items[i].holders,
                               &list.items[i].holder_count, &op->error);
    if (code == FAINA_OK && op->resource.name != NULL && list.count == 0)
        code = fa_error_set(&op->error, FAINA_NOT_FOUND, "there is no resource %.255s",
                            op->resource.name);
    if (code != FAINA_OK)
        return code;
    op->resources = fa_arena_zero(op->arena, 1, sizeof(*op->resources));
    op->resources->items = list.items;
    op->resources->count = list.count;
    return FAINA_OK;
}

/* Teams -------------------------------------------------------------------------------------- */

struct team_list {
    struct fa_source *source;
    struct fa_arena *arena;
    struct fa_pager pager;
    const char *last[2]; /* namespace and name of the last row that was read */
    struct faina_team *items;
    size_t count, size;
};

static void note_team(struct team_list *list, const struct fa_value *c)
{
    list->last[0] = fa_value_dup(&c[1], list->arena);
    list->last[1] = fa_value_dup(&c[2], list->arena);
}

static void sink_team(void *ctx, size_t n, const struct fa_value *c)
{
    static const struct fa_form form = {"team", "xxxJtt",
                                        "id namespace name spec created_us updated_us"};
    struct team_list *list = ctx;
    struct faina_team *team;

    (void)n;
    if (!fa_source_check(list->source, &form, c, &c[0], list->arena)) {
        if (fa_pager_skip_row(&list->pager, c, 6))
            note_team(list, c);
        return;
    }
    if (!fa_pager_take_row(&list->pager, c, 6))
        return;
    note_team(list, c);
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

/* NULL asks for the default namespace, "*" for all: null in the statement. */
static struct fa_value namespace_param(const char *ns)
{
    if (ns == NULL)
        return fa_value_text("default");
    return strcmp(ns, "*") == 0 ? (struct fa_value){.kind = FA_NULL} : fa_value_text(ns);
}

static enum faina_code read_teams(struct fa_source *source, struct fa_op *op,
                                  struct team_list *list)
{
    const char *after[2];
    enum faina_code code = fa_cursor_read(op->part.cursor, op->arena, after, 2, &op->error);

    while (code == FAINA_OK) {
        struct fa_value params[] = {namespace_param(op->name.ns), fa_value_text(after[0]),
                                    fa_value_text(after[1]), fa_pager_next(&list->pager)};

        code = fa_db_one(source->db, FA_SQL_TEAM_LIST, params, 4, sink_team, list, &op->error);
        if (code != FAINA_OK || list->last[0] == NULL || list->last[1] == NULL)
            break;
        after[0] = list->last[0];
        after[1] = list->last[1];
        if (!fa_pager_goes_on(&list->pager))
            break;
    }
    if (code == FAINA_OK && list->pager.has_more)
        op->next_cursor = fa_cursor_write(op->arena, after, 2);
    return code;
}

static enum faina_code look_teams(struct fa_source *source, struct fa_op *op)
{
    struct team_list list = {
        .source = source, .arena = op->arena, .pager = fa_pager_of_part(&op->part)};
    struct fa_value id = fa_value_text(op->id);
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

/* A task of other namespaces than the caller's is not there (access.h, X2 and X3). */
static enum faina_code permit(struct fa_source *source, struct fa_op *op)
{
    struct fa_row row;
    enum faina_code code;

    if (!fa_access_is_limited(op->grant) || !fa_access_is_of_task(op->kind))
        return FAINA_OK;
    code = fa_look_find(source, op->id, op->arena, &row, &op->error);
    if (code == FAINA_OK && !fa_access_reaches(op->grant, row.lane->ns))
        code = fa_error_set(&op->error, FAINA_TASK_NOT_FOUND, "there is no task %s", op->id);
    return code;
}

enum faina_code fa_look(struct fa_source *source, struct fa_op *op, int64_t now_us)
{
    enum faina_code code = permit(source, op);

    assert(!fa_op_writes(op->kind));
    if (code != FAINA_OK)
        return code;
    switch ((int)op->kind) {
    case FA_OP_GET:
        return look_get(source, op);
    case FA_OP_GET_BY_KEY:
        return look_get_by_key(source, op);
    case FA_OP_LIST:
        return fa_look_list(source, op);
    case FA_OP_CHILDREN:
        return fa_look_children(source, op);
    case FA_OP_EVENTS:
        return look_events(source, op);
    case FA_OP_FOLLOW:
        return fa_look_follow(source, op);
    case FA_OP_EXPLAIN:
        return fa_look_explain(source, op, now_us);
    case FA_OP_RESOURCE_LIST:
        return look_resources(source, op);
    case FA_OP_TEAM_LIST:
        return look_teams(source, op);
    case FA_OP_WORKER_LIST:
        return fa_look_workers(source, op, now_us);
    case FA_OP_TOKEN_LIST:
        return fa_look_tokens(source, op);
    case FA_OP_WORKFLOW_LIST:
        return fa_look_workflows(source, op);
    case FA_OP_HAPPENED_LIST:
        return fa_look_happened(source, op);
    case FA_OP_JOIN_LIST:
        return fa_look_joins(source, op);
    case FA_OP_CRON_LIST:
        return fa_look_crons(source, op);
    case FA_OP_STATS:
        return fa_look_stats(source, op);
    default:
        return fa_error_set(&op->error, FAINA_INTERNAL, "%s is not a read", fa_op_name(op->kind));
    }
}
