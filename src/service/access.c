/*
 * access.c - see access.h.
 */
#include "service/access.h"

#include "base/json.h"
#include "service/token.h"

#include <assert.h>
#include <stdio.h>

#define READ FA_SCOPE_READ
#define SUBMIT FA_SCOPE_SUBMIT
#define WORK FA_SCOPE_WORK
#define ADMIN FA_SCOPE_ADMIN

#define NAMESPACES_SIZE_MAX ((size_t)16 * 1024 * 1024)

/* How the namespace that an operation concerns is found. */
enum where {
    NOWHERE,   /* it concerns none, or the answer leaves out what is not the caller's */
    NAMED,     /* the question names it: see place_of */
    OF_TASK,   /* that of the task op->id */
    OF_TEAM,   /* that of the team op->id */
    OF_WORKER, /* those that the worker belongs to */
    ALL,       /* all of them: a grant for some namespaces does not allow it */
};

/* X4. X(NAME, scopes that allow it, where). */
#define ACCESS_LIST(X)                                                                             \
    X(SUBMIT, SUBMIT, NAMED)                                                                       \
    X(CLAIM, WORK, OF_TASK)                                                                        \
    X(CLAIM_NEXT, WORK, NAMED)                                                                     \
    X(START, WORK, OF_TASK)                                                                        \
    X(PROGRESS, WORK, OF_TASK)                                                                     \
    X(HEARTBEAT, WORK, OF_TASK)                                                                    \
    X(NOTE, WORK, OF_TASK)                                                                         \
    X(AMEND, WORK, OF_TASK)                                                                        \
    X(COMPLETE, WORK, OF_TASK)                                                                     \
    X(FAIL, WORK, OF_TASK)                                                                         \
    X(BLOCK, WORK, OF_TASK)                                                                        \
    X(BACKGROUND, WORK, OF_TASK)                                                                   \
    X(RELEASE, WORK, OF_TASK)                                                                      \
    X(CANCEL, SUBMIT, OF_TASK)                                                                     \
    X(RETRY, SUBMIT, OF_TASK)                                                                      \
    X(DELETE, ADMIN, OF_TASK)                                                                      \
    X(PURGE, ADMIN, NAMED)                                                                         \
    X(PAUSE, ADMIN, NAMED)                                                                         \
    X(RESUME, ADMIN, NAMED)                                                                        \
    X(RESOURCE_SET, ADMIN, ALL)                                                                    \
    X(RESOURCE_REMOVE, ADMIN, ALL)                                                                 \
    X(TEAM_PUT, ADMIN, NAMED)                                                                      \
    X(TEAM_REMOVE, ADMIN, OF_TEAM)                                                                 \
    X(WORKER_PUT, WORK, OF_WORKER)                                                                 \
    X(WORKER_REMOVE, WORK, OF_WORKER)                                                              \
    X(TOKEN_PUT, ADMIN, ALL)                                                                       \
    X(TOKEN_REMOVE, ADMIN, ALL)                                                                    \
    X(EMIT, SUBMIT, NAMED)                                                                         \
    X(WORKFLOW_PUT, ADMIN, NAMED)                                                                  \
    X(WORKFLOW_ENABLE, ADMIN, NAMED)                                                               \
    X(WORKFLOW_REMOVE, ADMIN, NAMED)                                                               \
    X(CRON_PUT, ADMIN, NAMED)                                                                      \
    X(CRON_REMOVE, ADMIN, NAMED)                                                                   \
    X(CRON_RUN, SUBMIT, NAMED)                                                                     \
    X(GET, READ, OF_TASK)                                                                          \
    X(GET_BY_KEY, READ, NAMED)                                                                     \
    X(LIST, READ, NAMED)                                                                           \
    X(CHILDREN, READ, OF_TASK)                                                                     \
    X(EVENTS, READ, OF_TASK)                                                                       \
    X(EXPLAIN, READ, OF_TASK)                                                                      \
    X(FOLLOW, READ, NOWHERE)                                                                       \
    X(RESOURCE_LIST, READ, NOWHERE)                                                                \
    X(TEAM_LIST, READ, NAMED)                                                                      \
    X(WORKER_LIST, READ, OF_WORKER)                                                                \
    X(TOKEN_LIST, ADMIN, ALL)                                                                      \
    X(WORKFLOW_LIST, READ, NAMED)                                                                  \
    X(HAPPENED_LIST, READ, NAMED)                                                                  \
    X(JOIN_LIST, READ, NAMED)                                                                      \
    X(CRON_LIST, READ, NAMED)                                                                      \
    X(STATS, READ, NAMED)

struct rule {
    unsigned scopes;
    enum where where;
};

static const struct rule rows[] = {
#define ROW(name, scopes, where) {(scopes), (where)},
    ACCESS_LIST(ROW)
#undef ROW
};

enum row {
#define ROW(name, scopes, where) ROW_##name,
    ACCESS_LIST(ROW)
#undef ROW
};

/* Names a row for every kind of operation that there is. */
static const unsigned char rows_of_kinds[FA_OP_COUNT] = {
#define ROW_OF(name, text, writes) [FA_OP_##name] = ROW_##name,
    FA_OP_LIST(ROW_OF)
#undef ROW_OF
};

static const struct rule *find_rule(unsigned what)
{
    static const struct rule others[FA_ACCESS_COUNT - FA_OP_COUNT] = {
        [FA_ACCESS_PUBLIC - FA_OP_COUNT] = {FA_SCOPE_NONE, NOWHERE},
        [FA_ACCESS_STATUS - FA_OP_COUNT] = {WORK, NOWHERE},
        [FA_ACCESS_RESULT - FA_OP_COUNT] = {READ, NOWHERE},
        [FA_ACCESS_STREAM - FA_OP_COUNT] = {READ, NOWHERE},
        [FA_ACCESS_MATCH - FA_OP_COUNT] = {READ, NOWHERE},
        [FA_ACCESS_INFO - FA_OP_COUNT] = {READ, NOWHERE},
        [FA_ACCESS_THOROUGH - FA_OP_COUNT] = {ADMIN, ALL},
        [FA_ACCESS_METRICS - FA_OP_COUNT] = {READ, ALL},
    };

    assert(what < FA_ACCESS_COUNT);
    return what < FA_OP_COUNT ? &rows[rows_of_kinds[what]] : &others[what - FA_OP_COUNT];
}

unsigned fa_access_scopes(unsigned what)
{
    return find_rule(what)->scopes;
}

/* ------------------------------------------------------------------------------------------
 * Namespaces
 */

bool fa_access_is_limited(const struct fa_grant *grant)
{
    return grant && grant->namespaces.items;
}

bool fa_access_reaches(const struct fa_grant *grant, const char *ns)
{
    return !fa_access_is_limited(grant) || fa_texts_have(&grant->namespaces, ns);
}

const char *fa_access_home(const struct fa_grant *grant)
{
    bool has_one = fa_access_is_limited(grant) && grant->namespaces.count == 1;

    return has_one ? grant->namespaces.items[0] : "default";
}

static const char *or_default(const char *ns)
{
    return ns ? ns : "default";
}

/* The namespace that a question names; "*": all. NAMED alone has one. */
static const char *place_of(const struct fa_op *op)
{
    switch ((int)op->kind) {
    case FA_OP_SUBMIT:
        return or_default(op->submit->ns);
    case FA_OP_PURGE:
        return op->purge->ns ? op->purge->ns : "*";
    case FA_OP_TEAM_PUT:
        return or_default(op->team->ns);
    case FA_OP_EMIT:
        return or_default(op->emit->ns);
    case FA_OP_WORKFLOW_PUT:
        return or_default(op->definition->ns);
    case FA_OP_WORKFLOW_ENABLE:
    case FA_OP_WORKFLOW_REMOVE:
    case FA_OP_WORKFLOW_LIST:
        return or_default(op->workflow.ns);
    case FA_OP_CRON_PUT:
        return or_default(op->cron->ns);
    case FA_OP_LIST:
        return or_default(op->query->ns);
    case FA_OP_HAPPENED_LIST:
        return or_default(op->happened_query->ns);
    case FA_OP_JOIN_LIST:
        return or_default(op->join.ns);
    case FA_OP_PAUSE:
    case FA_OP_RESUME:
    case FA_OP_GET_BY_KEY:
    case FA_OP_TEAM_LIST:
    case FA_OP_CRON_REMOVE:
    case FA_OP_CRON_RUN:
    case FA_OP_CRON_LIST:
    case FA_OP_STATS:
        return or_default(op->name.ns);
    default:
        assert(!"a kind whose question names a namespace, and no rule that finds it");
        return "*";
    }
}

static enum faina_code refuse_namespace(const char *ns, struct faina_error *err)
{
    if (strcmp(ns, "*") == 0)
        return fa_error_field(err, FAINA_FORBIDDEN, "namespace",
                              "the token is for some namespaces only: name one of them");
    return fa_error_field(err, FAINA_FORBIDDEN, "namespace",
                          "the token is not for the namespace \"%.100s\"", ns);
}

/* A claim names any number of namespaces; without one it is for all. */
static enum faina_code check_claim(const struct fa_op *op, struct faina_error *err)
{
    const struct faina_claim *claim = op->claim;

    if (!claim->namespaces)
        return refuse_namespace("*", err);
    for (size_t i = 0; i < claim->namespace_count; i++)
        if (!fa_access_reaches(op->grant, claim->namespaces[i]))
            return refuse_namespace(claim->namespaces[i], err);
    return FAINA_OK;
}

static enum faina_code check_place(const struct fa_op *op, struct faina_error *err)
{
    if (op->kind == FA_OP_CLAIM_NEXT)
        return check_claim(op, err);
    if (op->kind == FA_OP_TEAM_LIST && op->id)
        return FAINA_OK; /* by its id: the answer decides */
    return fa_access_reaches(op->grant, place_of(op)) ? FAINA_OK
                                                      : refuse_namespace(place_of(op), err);
}

/* ------------------------------------------------------------------------------------------
 * Before
 */

static enum faina_code refuse_scope(unsigned scopes, struct faina_error *err)
{
    char names[128] = ""; /* has room for all of them */
    size_t len = 0;

    for (size_t i = 0; fa_scope_name(i); i++)
        if (scopes & 1u << i)
            len += (size_t)snprintf(names + len, sizeof(names) - len, "%s\"%s\"", len ? " or " : "",
                                    fa_scope_name(i));
    return fa_error_set(err, FAINA_FORBIDDEN, "the token does not have the scope %s", names);
}

enum faina_code fa_access_enter(unsigned what, const struct fa_grant *grant,
                                struct faina_error *err)
{
    const struct rule *rule = find_rule(what);

    if (!grant || rule->scopes == FA_SCOPE_NONE)
        return FAINA_OK;
    if (!(grant->scopes & (rule->scopes | ADMIN)))
        return refuse_scope(rule->scopes, err);
    if (rule->where == ALL && fa_access_is_limited(grant))
        return fa_error_set(err, FAINA_FORBIDDEN,
                            "this concerns all namespaces, and the token is for some only");
    return FAINA_OK;
}

enum faina_code fa_access_check(const struct fa_op *op, struct faina_error *err)
{
    enum faina_code code = fa_access_enter(op->kind, op->grant, err);

    if (code != FAINA_OK || !op->grant)
        return code;
    if (op->for_holder && !(op->grant->scopes & ADMIN))
        return refuse_scope(ADMIN, err);
    if (fa_access_is_limited(op->grant) && find_rule(op->kind)->where == NAMED)
        return check_place(op, err);
    return FAINA_OK;
}

bool fa_access_is_of_task(enum fa_op_kind kind)
{
    return find_rule(kind)->where == OF_TASK;
}

/* ------------------------------------------------------------------------------------------
 * Workers
 */

const char *fa_access_worker(const struct fa_op *op)
{
    if (op->kind == FA_OP_CLAIM_NEXT)
        return op->claim->worker_id;
    return op->for_holder ? NULL : op->by.worker_id;
}

bool fa_access_owns(const struct fa_grant *grant, const char *namespaces)
{
    struct fa_arena scratch = {0};
    const char *const *names;
    bool is_within;
    size_t count;

    if (!fa_access_is_limited(grant))
        return true;
    if (!namespaces ||
        fa_json_check(fa_str(namespaces), 2, "namespaces", FAINA_INTERNAL, NULL) != FAINA_OK)
        return false;
    is_within = fa_json_texts(fa_json_value(fa_str(namespaces)), &scratch, &names, &count);
    for (size_t i = 0; is_within && i < count; i++)
        is_within = fa_texts_have(&grant->namespaces, names[i]);
    fa_arena_finish(&scratch);
    return is_within;
}

const char *fa_access_namespaces(const struct fa_grant *grant, struct fa_arena *arena)
{
    struct fa_json_writer w;
    struct fa_buf text;
    const char *json;

    if (!fa_access_is_limited(grant))
        return NULL;
    fa_buf_init(&text, NAMESPACES_SIZE_MAX);
    fa_json_writer_init(&w, &text, 0);
    fa_json_begin_array(&w);
    for (size_t i = 0; i < grant->namespaces.count; i++)
        fa_json_put_str(&w, grant->namespaces.items[i]);
    fa_json_end_array(&w);
    json = fa_arena_copy(arena, text.ptr, text.len);
    fa_buf_finish(&text);
    return json;
}

/* ------------------------------------------------------------------------------------------
 * After
 */

static void keep_reached(const struct fa_grant *grant, struct fa_followed *log)
{
    size_t kept = 0;

    for (size_t i = 0; i < log->count; i++)
        if (fa_access_reaches(grant, log->items[i].ns))
            log->items[kept++] = log->items[i];
    log->count = kept;
}

static void hide_team(struct fa_op *op)
{
    if (!op->id || op->teams->count == 0 || fa_access_reaches(op->grant, op->teams->items[0].ns))
        return;
    op->code = fa_error_set(&op->error, FAINA_NOT_FOUND, "there is no team %.64s", op->id);
}

void fa_access_finish(struct fa_op *op)
{
    if (op->code != FAINA_OK || !fa_access_is_limited(op->grant))
        return;
    if (op->kind == FA_OP_FOLLOW)
        keep_reached(op->grant, op->followed);
    else if (op->kind == FA_OP_TEAM_LIST)
        hide_team(op);
    else if (op->kind == FA_OP_RESOURCE_LIST)
        for (size_t i = 0; i < op->resources->count; i++)
            op->resources->items[i].holder_count = 0; /* may be tasks of other namespaces */
}
