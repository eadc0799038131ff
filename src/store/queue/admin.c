/* admin.c - pauses, resources and teams. */
#include "store/queue/ops.h"

#include "model/limits.h"
#include "service/access.h"

/* Pauses ----------------------------------------------------------------------------------- */

static enum faina_code set_paused(struct fa_unit *unit, struct fa_op *op, bool is_paused)
{
    const char *ns = op->name.ns ? op->name.ns : "default";
    struct fa_value params[2] = {fa_value_text(ns), fa_value_text(op->name.type)};
    enum faina_code code;

    code = fa_db_one(unit->source.db, is_paused ? FA_SQL_PAUSED_INSERT : FA_SQL_PAUSED_DELETE,
                     params, 2, NULL, NULL, &op->error);
    if (code != FAINA_OK)
        return code;
    fa_lanes_set_paused(unit->source.lanes, ns, op->name.type, is_paused);
    unit->has_ready |= !is_paused;
    return FAINA_OK;
}

enum faina_code fa_do_pause(struct fa_unit *unit, struct fa_op *op)
{
    return set_paused(unit, op, true);
}

enum faina_code fa_do_resume(struct fa_unit *unit, struct fa_op *op)
{
    return set_paused(unit, op, false);
}

/* The audit -------------------------------------------------------------------------------- */

/* The entry is noted as that of every operation (txn/audit_log.h). */
enum faina_code fa_do_audit_add(struct fa_unit *unit, struct fa_op *op)
{
    (void)unit;
    (void)op;
    return FAINA_OK;
}

/* Resources -------------------------------------------------------------------------------- */

enum faina_code fa_do_resource_set(struct fa_unit *unit, struct fa_op *op)
{
    struct fa_own_limits limits = {op->resource.max_concurrency, op->resource.rate};
    struct fa_resource *resource;
    enum faina_code code = fa_unit_share(unit, &op->error);

    if (code == FAINA_OK && limits.rate.count != 0)
        code = fa_rate_check(&limits.rate, &op->error);
    if (code == FAINA_OK)
        code = fa_lanes_resource(unit->source.lanes, unit->source.db, op->resource.name, &resource,
                                 &op->error);
    if (code != FAINA_OK)
        return code;
    fa_lanes_set_limit(unit->source.lanes, resource, &limits, true);
    unit->has_ready = true;
    return FAINA_OK;
}

enum faina_code fa_do_resource_remove(struct fa_unit *unit, struct fa_op *op)
{
    struct fa_resource *resource;
    enum faina_code code = fa_unit_share(unit, &op->error);

    if (code != FAINA_OK)
        return code;
    resource = fa_lanes_find_resource(unit->source.lanes, op->resource.name);
    if (resource == NULL || !resource->is_set)
        return fa_error_set(&op->error, FAINA_NOT_FOUND, "there is no resource %.255s",
                            op->resource.name);
    fa_lanes_set_limit(unit->source.lanes, resource, &(struct fa_own_limits){.max = -1}, false);
    unit->has_ready = true;
    return FAINA_OK;
}

/* Teams ------------------------------------------------------------------------------------ */

struct team_sink {
    struct fa_arena *arena;
    struct faina_team *team; /* NULL until found */
};

static void sink_team(void *ctx, size_t n, const struct fa_value *c)
{
    struct team_sink *sink = ctx;
    struct faina_team *team = fa_arena_zero(sink->arena, 1, sizeof(*team));

    (void)n;
    if (c[0].text.len < sizeof(team->id))
        memcpy(team->id, c[0].text.ptr, c[0].text.len);
    team->ns = fa_value_dup(&c[1], sink->arena);
    team->name = fa_value_dup(&c[2], sink->arena);
    team->spec = fa_value_dup(&c[3], sink->arena);
    team->created_us = c[4].i;
    team->updated_us = c[5].i;
    sink->team = team;
}

/* Ids of teams are compared and stored in lower case. */
static const char *team_id(struct fa_unit *unit, const char *id)
{
    char text[FAINA_ID_SIZE];

    return fa_uuid_parse(id, text) ? fa_unit_text(unit, text) : id;
}

/* *out is NULL when there is none. */
static enum faina_code find_team(struct fa_unit *unit, struct fa_op *op, const char *id,
                                 struct faina_team **out)
{
    struct team_sink sink = {.arena = op->arena};
    struct fa_value param = fa_value_text(id);
    enum faina_code code =
        fa_db_one(unit->source.db, FA_SQL_TEAM_GET, &param, 1, sink_team, &sink, &op->error);

    *out = sink.team;
    return code;
}

struct name_sink {
    char id[FAINA_ID_SIZE];
};

static void sink_name(void *ctx, size_t n, const struct fa_value *columns)
{
    struct name_sink *sink = ctx;

    (void)n;
    if (columns[0].text.len < sizeof(sink->id))
        memcpy(sink->id, columns[0].text.ptr, columns[0].text.len);
}

static enum faina_code check_team_name(struct fa_unit *unit, struct fa_op *op,
                                       const struct faina_team *team)
{
    struct fa_value params[2] = {fa_value_text(team->ns), fa_value_text(team->name)};
    struct name_sink sink = {{0}};
    enum faina_code code =
        fa_db_one(unit->source.db, FA_SQL_TEAM_BY_NAME, params, 2, sink_name, &sink, &op->error);

    if (code == FAINA_OK && sink.id[0] != '\0' && strcmp(sink.id, team->id) != 0)
        code = fa_error_field(&op->error, FAINA_CONFLICT, "name",
                              "namespace %.100s already has a team named %.255s", team->ns,
                              team->name);
    return code;
}

/* A removed team may have had the id, and its tasks still name it. */
static enum faina_code detach_tasks(struct fa_unit *unit, struct fa_op *op, const char *id)
{
    struct fa_value params[2] = {fa_value_text(id), fa_value_int(FA_TEAM_TASKS_MAX)};
    bool has_more = false;
    enum faina_code code = fa_unit_flush(unit, &op->error); /* includes tasks of this batch */

    if (code == FAINA_OK)
        code = fa_db_one(unit->source.db, FA_SQL_TEAM_HAS_MORE, params, 2, fa_sink_found, &has_more,
                         &op->error);
    if (code != FAINA_OK)
        return code;
    if (has_more)
        return fa_error_field(&op->error, FAINA_CONFLICT, "id",
                              "a removed team had this id, and more than %d tasks still name it: "
                              "choose another id, or purge them",
                              FA_TEAM_TASKS_MAX);
    return fa_db_one(unit->source.db, FA_SQL_TEAM_DETACH, params, 1, NULL, NULL, &op->error);
}

static struct faina_team *make_team(struct fa_unit *unit, struct fa_op *op, const char *id)
{
    struct faina_team *team = fa_arena_zero(op->arena, 1, sizeof(*team));

    if (id != NULL)
        memcpy(team->id, id, sizeof(team->id));
    else
        fa_id_format(fa_id_free(unit->ids, unit->now_us), team->id);
    team->ns = fa_arena_strdup(op->arena, op->team->ns ? op->team->ns : "default");
    team->created_us = unit->now_us;
    return team;
}

static enum faina_code check_team_place(struct fa_op *op, const struct faina_team *stored)
{
    if (!fa_access_reaches(op->grant, stored->ns))
        return fa_error_set(&op->error, FAINA_NOT_FOUND,
                            "there is no team %.64s for this token: the id belongs to others",
                            stored->id);
    if (op->team->ns != NULL && strcmp(op->team->ns, stored->ns) != 0)
        return fa_error_field(&op->error, FAINA_INVALID_REQUEST, "namespace",
                              "a team can't be moved to another namespace");
    return FAINA_OK;
}

enum faina_code fa_do_team_put(struct fa_unit *unit, struct fa_op *op)
{
    const char *id = op->team->id[0] != '\0' ? team_id(unit, op->team->id) : NULL;
    struct faina_team *team = NULL;
    enum faina_code code = id != NULL ? find_team(unit, op, id, &team) : FAINA_OK;

    op->existing = team != NULL;
    if (code == FAINA_OK && op->existing)
        code = check_team_place(op, team);
    if (code != FAINA_OK)
        return code;
    if (!op->existing)
        team = make_team(unit, op, id);
    team->name = fa_arena_strdup(op->arena, op->team->name);
    team->spec = fa_arena_strdup(op->arena, op->team->spec);
    team->updated_us = unit->now_us;
    code = check_team_name(unit, op, team);
    if (code == FAINA_OK && !op->existing && id != NULL)
        code = detach_tasks(unit, op, id);
    if (code == FAINA_OK)
        code = fa_db_one(unit->source.db, FA_SQL_TEAM_PUT,
                         (struct fa_value[]){fa_value_text(team->id), fa_value_text(team->ns),
                                             fa_value_text(team->name), fa_value_text(team->spec),
                                             fa_value_int(team->created_us),
                                             fa_value_int(team->updated_us)},
                         6, NULL, NULL, &op->error);
    if (code == FAINA_OK)
        op->team_answer = team;
    return code;
}

enum faina_code fa_do_team_remove(struct fa_unit *unit, struct fa_op *op)
{
    struct fa_value param = fa_value_text(team_id(unit, op->id));
    struct faina_team *team;
    enum faina_code code = find_team(unit, op, team_id(unit, op->id), &team);

    if (code == FAINA_OK && (team == NULL || !fa_access_reaches(op->grant, team->ns)))
        code = fa_error_set(&op->error, FAINA_NOT_FOUND, "there is no team %.64s", op->id);
    if (code != FAINA_OK)
        return code;
    return fa_db_one(unit->source.db, FA_SQL_TEAM_DELETE, &param, 1, NULL, NULL, &op->error);
}
