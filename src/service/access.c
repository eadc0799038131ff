/*
 * access.c - see access.h.
 */
#include "service/access.h"

#include "json/json.h"
#include "model/bulk.h"
#include "model/failure_group.h"
#include "model/history.h"
#include "model/id.h"
#include "model/limits.h"
#include "model/redaction.h"
#include "service/token.h"

#include <assert.h>
#include <stdio.h>

#define READ FA_SCOPE_READ
#define SUBMIT FA_SCOPE_SUBMIT
#define WORK FA_SCOPE_WORK
#define OPERATE FA_SCOPE_OPERATE
#define ADMIN FA_SCOPE_ADMIN
#define VIEW (FA_SCOPE_READ | FA_SCOPE_VIEW)

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

/* X4. X(NAME, scopes that allow it, scopes that allow it for what the token itself has submitted,
 * where, scopes that let its answer have payloads). */
#define ACCESS_LIST(X)                                                                             \
    X(SUBMIT, SUBMIT, 0, NAMED, READ | SUBMIT)                                                     \
    X(CLAIM, WORK, 0, OF_TASK, READ | WORK)                                                        \
    X(CLAIM_NEXT, WORK, 0, NAMED, READ | WORK)                                                     \
    X(START, WORK, 0, OF_TASK, READ | WORK)                                                        \
    X(PROGRESS, WORK, 0, OF_TASK, READ | WORK)                                                     \
    X(HEARTBEAT, WORK, 0, OF_TASK, READ | WORK)                                                    \
    X(NOTE, WORK, 0, OF_TASK, READ | WORK)                                                         \
    X(LOG_ADD, WORK, 0, OF_TASK, READ | WORK)                                                      \
    X(AMEND, WORK, 0, OF_TASK, READ | WORK)                                                        \
    X(COMPLETE, WORK, 0, OF_TASK, READ | WORK)                                                     \
    X(FAIL, WORK, 0, OF_TASK, READ | WORK)                                                         \
    X(SUBTASK, WORK, 0, OF_TASK, READ | WORK)                                                      \
    X(BLOCK, WORK, 0, OF_TASK, READ | WORK)                                                        \
    X(BACKGROUND, WORK, 0, OF_TASK, READ | WORK)                                                   \
    X(RELEASE, WORK, 0, OF_TASK, READ | WORK)                                                      \
    X(SNOOZE, WORK, 0, OF_TASK, READ | WORK)                                                       \
    X(REQUEUE, OPERATE, 0, OF_TASK, READ)                                                          \
    X(UPDATE, OPERATE, 0, OF_TASK, READ)                                                           \
    X(CANCEL, OPERATE, SUBMIT, OF_TASK, READ)                                                      \
    X(RETRY, OPERATE, 0, OF_TASK, READ)                                                            \
    X(DELETE, OPERATE, 0, OF_TASK, READ)                                                           \
    X(PURGE, OPERATE, 0, NAMED, READ)                                                              \
    X(PAUSE, OPERATE, 0, NAMED, READ)                                                              \
    X(RESUME, OPERATE, 0, NAMED, READ)                                                             \
    X(RESOURCE_SET, ADMIN, 0, ALL, READ)                                                           \
    X(RESOURCE_REMOVE, ADMIN, 0, ALL, READ)                                                        \
    X(TYPE_PUT, ADMIN, 0, NAMED, READ)                                                             \
    X(TYPE_REMOVE, ADMIN, 0, NAMED, READ)                                                          \
    X(TEAM_PUT, ADMIN, 0, NAMED, READ)                                                             \
    X(TEAM_REMOVE, ADMIN, 0, OF_TEAM, READ)                                                        \
    X(WORKER_PUT, WORK, 0, OF_WORKER, READ | WORK)                                                 \
    X(WORKER_REMOVE, WORK, 0, OF_WORKER, READ | WORK)                                              \
    X(TOKEN_PUT, ADMIN, 0, ALL, READ)                                                              \
    X(TOKEN_REMOVE, ADMIN, 0, ALL, READ)                                                           \
    X(EMIT, SUBMIT, 0, NAMED, READ)                                                                \
    X(WORKFLOW_PUT, ADMIN, 0, NAMED, READ)                                                         \
    X(WORKFLOW_ENABLE, ADMIN, 0, NAMED, READ)                                                      \
    X(WORKFLOW_REMOVE, ADMIN, 0, NAMED, READ)                                                      \
    X(CRON_PUT, ADMIN, 0, NAMED, READ)                                                             \
    X(CRON_REMOVE, ADMIN, 0, NAMED, READ)                                                          \
    X(CRON_RUN, OPERATE, 0, NAMED, READ)                                                           \
    X(GET, VIEW, 0, OF_TASK, READ)                                                                 \
    X(GET_BY_KEY, VIEW, 0, NAMED, READ)                                                            \
    X(FIND, VIEW, 0, NOWHERE, READ)                                                                \
    X(LIST, VIEW, 0, NAMED, READ)                                                                  \
    X(QUEUE, ADMIN, 0, ALL, READ)                                                                  \
    X(CHILDREN, VIEW, 0, OF_TASK, READ)                                                            \
    X(EVENTS, VIEW, 0, OF_TASK, READ)                                                              \
    X(EXPLAIN, VIEW, 0, OF_TASK, READ)                                                             \
    X(GRAPH, VIEW, 0, OF_TASK, READ)                                                               \
    X(LOG, READ, 0, OF_TASK, READ)                                                                 \
    X(FOLLOW, VIEW, 0, NOWHERE, READ)                                                              \
    X(RESOURCE_LIST, VIEW, 0, NOWHERE, READ)                                                       \
    X(TYPE_LIST, VIEW, 0, NAMED, READ)                                                             \
    X(TEAM_LIST, VIEW, 0, NAMED, READ)                                                             \
    X(WORKER_LIST, VIEW, 0, OF_WORKER, READ)                                                       \
    X(TOKEN_LIST, ADMIN, 0, ALL, READ)                                                             \
    X(WORKFLOW_LIST, VIEW, 0, NAMED, READ)                                                         \
    X(EMITTED_LIST, VIEW, 0, NAMED, READ)                                                          \
    X(JOIN_LIST, VIEW, 0, NAMED, READ)                                                             \
    X(CRON_LIST, VIEW, 0, NAMED, READ)                                                             \
    X(STATS, VIEW, 0, NAMED, READ)                                                                 \
    X(NAMESPACE_LIST, VIEW, 0, NOWHERE, READ)                                                      \
    X(BROKER_SET, ADMIN, 0, ALL, READ)                                                             \
    X(SETTINGS_SET, ADMIN, 0, ALL, READ)                                                           \
    X(SETTINGS_GET, VIEW, 0, NOWHERE, READ)                                                        \
    X(BROKER_GET, VIEW, 0, ALL, READ)                                                              \
    X(AUDIT_ADD, ADMIN, 0, ALL, READ)                                                              \
    X(AUDIT_LIST, VIEW, 0, ALL, READ)                                                              \
    X(BULK, OPERATE, 0, NAMED, READ)                                                               \
    X(BULK_CANCEL, OPERATE, 0, NOWHERE, READ)                                                      \
    X(BULK_COUNT, OPERATE, 0, NAMED, READ)                                                         \
    X(BULK_LIST, VIEW, 0, NOWHERE, READ)                                                           \
    X(FAILURES, VIEW, 0, NAMED, READ)                                                              \
    X(HISTORY, VIEW, 0, NAMED, READ)

struct rule {
    unsigned scopes, own;
    enum where where;
    unsigned payload;
};

static const struct rule rows[] = {
#define ROW(name, scopes, own, where, payload) {(scopes), (own), (where), (payload)},
    ACCESS_LIST(ROW)
#undef ROW
};

enum row {
#define ROW(name, scopes, own, where, payload) ROW_##name,
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
        [FA_ACCESS_PUBLIC - FA_OP_COUNT] = {FA_SCOPE_NONE, 0, NOWHERE, READ},
        [FA_ACCESS_STATUS - FA_OP_COUNT] = {WORK | OPERATE, SUBMIT, NOWHERE, READ},
        [FA_ACCESS_RESULT - FA_OP_COUNT] = {READ, 0, NOWHERE, READ},
        [FA_ACCESS_STREAM - FA_OP_COUNT] = {VIEW, 0, NOWHERE, READ},
        [FA_ACCESS_MATCH - FA_OP_COUNT] = {VIEW, 0, NOWHERE, READ},
        [FA_ACCESS_REPLAY - FA_OP_COUNT] = {READ, 0, NOWHERE, READ},
        [FA_ACCESS_INFO - FA_OP_COUNT] = {VIEW, 0, NOWHERE, READ},
        [FA_ACCESS_SESSION - FA_OP_COUNT] = {FA_SCOPE_ALL, 0, NOWHERE, READ},
        [FA_ACCESS_THOROUGH - FA_OP_COUNT] = {ADMIN, 0, ALL, READ},
        [FA_ACCESS_METRICS - FA_OP_COUNT] = {VIEW, 0, ALL, READ},
        [FA_ACCESS_BACKUP - FA_OP_COUNT] = {ADMIN, 0, ALL, READ},
    };

    assert(what < FA_ACCESS_COUNT);
    return what < FA_OP_COUNT ? &rows[rows_of_kinds[what]] : &others[what - FA_OP_COUNT];
}

unsigned fa_access_scopes(unsigned what)
{
    return find_rule(what)->scopes;
}

unsigned fa_access_own_scopes(unsigned what)
{
    return find_rule(what)->own;
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

const char *fa_access_default_ns(const struct fa_grant *grant)
{
    bool has_one = fa_access_is_limited(grant) && grant->namespaces.count == 1;

    return has_one ? grant->namespaces.items[0] : "default";
}

static const char *or_default(const char *ns)
{
    return ns ? ns : "default";
}

/* The namespace that a request names; "*": all. Only rows with NAMED have one. */
static const char *place_of(const struct fa_op *op)
{
    switch ((int)op->kind) {
    case FA_OP_SUBMIT:
        return or_default(op->submit->ns);
    case FA_OP_PURGE:
        return op->purge->ns ? op->purge->ns : "*";
    case FA_OP_TYPE_PUT:
        return or_default(op->type_policy->ns);
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
    case FA_OP_BULK:
    case FA_OP_BULK_COUNT:
        return or_default(op->bulk.request->query.ns);
    case FA_OP_EMITTED_LIST:
        return or_default(op->emitted_query->ns);
    case FA_OP_JOIN_LIST:
        return or_default(op->join.ns);
    case FA_OP_FAILURES:
        return or_default(op->failure_query->ns);
    case FA_OP_HISTORY:
        return or_default(op->history_query->ns);
    case FA_OP_PAUSE:
    case FA_OP_RESUME:
    case FA_OP_GET_BY_KEY:
    case FA_OP_TYPE_REMOVE:
    case FA_OP_TYPE_LIST:
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
    if (!(grant->scopes & (rule->scopes | rule->own | ADMIN)))
        return refuse_scope(rule->scopes | rule->own, err);
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

bool fa_access_needs_own(const struct fa_op *op)
{
    const struct rule *rule = find_rule(op->kind);

    return op->grant && rule->own != 0 && !(op->grant->scopes & (rule->scopes | ADMIN));
}

int64_t fa_access_submitter(const struct fa_grant *grant)
{
    struct fa_id id;

    if (!grant || !grant->has_token || grant->scopes & (OPERATE | ADMIN) ||
        !fa_id_parse(grant->token_id, &id))
        return 0;
    return id.key;
}

bool fa_access_is_managing(enum fa_op_kind kind)
{
    return fa_op_writes(kind) && find_rule(kind)->scopes & (OPERATE | ADMIN);
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

static void drop_other_namespaces(const struct fa_grant *grant, struct fa_followed *log)
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

static void drop_namespaces(const struct fa_grant *grant, struct fa_namespaces *list)
{
    size_t kept = 0;

    for (size_t i = 0; i < list->count; i++)
        if (fa_access_reaches(grant, list->items[i].name))
            list->items[kept++] = list->items[i];
    list->count = kept;
}

static void limit_answer(struct fa_op *op)
{
    if (op->kind == FA_OP_FOLLOW)
        drop_other_namespaces(op->grant, op->followed);
    else if (op->kind == FA_OP_NAMESPACE_LIST)
        drop_namespaces(op->grant, op->namespaces);
    else if (op->kind == FA_OP_TEAM_LIST)
        hide_team(op);
    else if (op->kind == FA_OP_RESOURCE_LIST)
        for (size_t i = 0; i < op->resources->count; i++)
            op->resources->items[i].holder_count = 0; /* may be tasks of other namespaces */
}

/* ------------------------------------------------------------------------------------------
 * Payloads
 */

/* A JSON object without some of its members, which are null then; NULL: it is none. */
static const char *without(const char *json, const char *const *names, struct fa_arena *arena)
{
    struct fa_json object, value;
    struct fa_json_iter it;
    struct fa_json_writer w;
    struct fa_bytes name;
    const char *text;
    struct fa_buf buf;

    if (!json || fa_json_check(fa_str(json), FA_JSON_DEPTH_MAX + 1, "", FAINA_INTERNAL, NULL))
        return NULL;
    object = fa_json_value(fa_str(json));
    if (object.type != FA_JSON_OBJECT)
        return NULL;
    fa_buf_init(&buf, SIZE_MAX / 2);
    fa_json_writer_init(&w, &buf, 0);
    fa_json_begin_object(&w);
    for (it = fa_json_iter(object); fa_json_next(&it, &name, &value);) {
        const char *const *at = names;

        while (*at && !fa_bytes_equal(name, fa_str(*at)))
            at++;
        fa_json_key(&w, fa_arena_copy(arena, name.ptr, name.len));
        fa_json_put_raw(&w, *at ? "null" : fa_arena_copy(arena, value.raw.ptr, value.raw.len));
    }
    fa_json_end_object(&w);
    text = fa_arena_copy(arena, buf.ptr, buf.len);
    fa_buf_finish(&buf);
    return text;
}

static void redact_task(struct faina_task *task, struct fa_arena *arena)
{
    static const char *const names[] = {"detail", NULL};

    task->input = task->output = task->metadata = task->spec = NULL;
    task->error = without(task->error, names, arena);
    task->redacted = true;
}

static void redact_tasks(struct faina_tasks *tasks, struct fa_arena *arena)
{
    for (size_t i = 0; i < tasks->count; i++)
        redact_task(&tasks->items[i], arena);
}

static void redact_cron(struct fa_cron_job *job, struct fa_arena *arena)
{
    static const char *const names[] = {"input", "metadata", "spec", NULL};

    job->task = without(job->task, names, arena);
    job->redacted = true;
}

static void redact_events(struct faina_events *events)
{
    for (size_t i = 0; i < events->count; i++) {
        events->items[i].detail = NULL;
        events->items[i].redacted = true;
    }
}

static void redact_workflows(struct fa_stored_workflows *workflows)
{
    for (size_t i = 0; i < workflows->count; i++) {
        workflows->items[i].definition = NULL;
        workflows->items[i].redacted = true;
    }
}

static void redact_emitted_events(struct fa_emitted_events *emitted_events)
{
    for (size_t i = 0; i < emitted_events->count; i++) {
        emitted_events->items[i].data = NULL;
        emitted_events->items[i].redacted = true;
    }
}

/* The filter of an operation may have values of metadata, and `set` has new ones. */
static void redact_bulk(struct fa_bulk *bulk)
{
    bulk->filter = bulk->set = NULL;
}

static void redact_bulks(struct fa_op *op)
{
    if (op->kind != FA_OP_BULK_LIST)
        redact_bulk(op->bulk_answer);
    for (size_t i = 0; op->kind == FA_OP_BULK_LIST && i < op->bulks->count; i++)
        redact_bulk(&op->bulks->items[i]);
}

/* Takes values out of one payload; *has_any when there were some. */
static void hide(const struct fa_op *op, const char **payload, bool *has_any)
{
    const char *shown = fa_redaction_apply(&op->grant->redact, *payload, op->arena);

    *has_any |= shown != *payload;
    *payload = shown;
}

static void hide_in_task(const struct fa_op *op, struct faina_task *task)
{
    hide(op, &task->input, &task->redacted);
    hide(op, &task->output, &task->redacted);
    hide(op, &task->error, &task->redacted);
    hide(op, &task->metadata, &task->redacted);
    hide(op, &task->spec, &task->redacted);
}

static void hide_in_tasks(const struct fa_op *op, struct faina_tasks *tasks)
{
    for (size_t i = 0; i < tasks->count; i++)
        hide_in_task(op, &tasks->items[i]);
}

/* Takes the values at the paths of the setting out of an answer. */
static void hide_values(struct fa_op *op)
{
    switch ((int)op->kind) {
    case FA_OP_LIST:
    case FA_OP_CHILDREN:
        hide_in_tasks(op, op->tasks);
        break;
    case FA_OP_EXPLAIN:
        hide_in_task(op, &op->explanation->task);
        break;
    case FA_OP_EVENTS:
        for (size_t i = 0; i < op->events->count; i++)
            hide(op, &op->events->items[i].detail, &op->events->items[i].redacted);
        break;
    case FA_OP_EMITTED_LIST:
        for (size_t i = 0; i < op->emitted_events->count; i++)
            hide(op, &op->emitted_events->items[i].data, &op->emitted_events->items[i].redacted);
        break;
    case FA_OP_CRON_LIST:
        for (size_t i = 0; i < op->crons->count; i++)
            hide(op, &op->crons->items[i].task, &op->crons->items[i].redacted);
        break;
    case FA_OP_GET:
    case FA_OP_GET_BY_KEY:
        hide_in_task(op, op->task);
        break;
    case FA_OP_BULK:
    case FA_OP_BULK_CANCEL:
    case FA_OP_BULK_LIST:
        redact_bulks(op);
        break;
    default: /* a change of one task answers with it when op->wants_task is set */
        if (op->wants_task && op->task)
            hide_in_task(op, op->task);
        break;
    }
}

static void redact(struct fa_op *op)
{
    switch ((int)op->kind) {
    case FA_OP_BULK:
    case FA_OP_BULK_CANCEL:
    case FA_OP_BULK_LIST:
        redact_bulks(op);
        break;
    case FA_OP_LIST:
    case FA_OP_CHILDREN:
    case FA_OP_CLAIM_NEXT:
        redact_tasks(op->tasks, op->arena);
        break;
    case FA_OP_EXPLAIN:
        redact_task(&op->explanation->task, op->arena);
        break;
    case FA_OP_EVENTS:
        redact_events(op->events);
        break;
    case FA_OP_EMITTED_LIST:
        redact_emitted_events(op->emitted_events);
        break;
    case FA_OP_WORKFLOW_LIST:
        redact_workflows(op->workflows);
        break;
    case FA_OP_CRON_LIST:
        for (size_t i = 0; i < op->crons->count; i++)
            redact_cron(&op->crons->items[i], op->arena);
        break;
    case FA_OP_GET:
    case FA_OP_GET_BY_KEY:
        redact_task(op->task, op->arena);
        break;
    default: /* a change of one task answers with it when op->wants_task is set */
        if (op->wants_task && op->task)
            redact_task(op->task, op->arena);
        break;
    }
}

/* The scopes, besides admin, that let an answer have payloads. A submit whose key is in use answers
 * with a task that another caller may have submitted. */
static unsigned payload_scopes(const struct fa_op *op)
{
    return op->kind == FA_OP_SUBMIT && op->existing ? READ : find_rule(op->kind)->payload;
}

void fa_access_finish(struct fa_op *op)
{
    if (op->code == FAINA_OK && fa_access_is_limited(op->grant))
        limit_answer(op);
    if (op->code != FAINA_OK || op->grant == NULL)
        return;
    if (!(op->grant->scopes & (payload_scopes(op) | ADMIN)))
        redact(op);
    else if (op->grant->redact.count > 0 && payload_scopes(op) == READ)
        hide_values(op);
}
