/* kv_admin.c - pauses, limits of resources, tokens; and what this engine doesn't have. */
#include "kv/kv_engine.h"

#include "json/json.h"
#include "kv/kv_keys.h"
#include "kv/kv_permits.h"
#include "kv/kv_read_lists.h"
#include "model/rate.h"
#include "model/states.h"

#include <stdlib.h>

#define TRIES 20

enum faina_code fa_kv_refuse_op(struct fa_op *op)
{
    static const char *const features[FA_OP_COUNT] = {
        [FA_OP_SUBTASK] = "subtasks",
        [FA_OP_BLOCK] = "subtasks",
        [FA_OP_CHILDREN] = "subtasks",
        [FA_OP_TYPE_PUT] = "policies of types",
        [FA_OP_TYPE_REMOVE] = "policies of types",
        [FA_OP_TYPE_LIST] = "policies of types",
        [FA_OP_TEAM_PUT] = "teams",
        [FA_OP_TEAM_REMOVE] = "teams",
        [FA_OP_TEAM_LIST] = "teams",
        [FA_OP_EMIT] = "workflows and events",
        [FA_OP_WORKFLOW_PUT] = "workflows",
        [FA_OP_WORKFLOW_ENABLE] = "workflows",
        [FA_OP_WORKFLOW_REMOVE] = "workflows",
        [FA_OP_WORKFLOW_LIST] = "workflows",
        [FA_OP_EMITTED_LIST] = "workflows and events",
        [FA_OP_JOIN_LIST] = "workflows",
        [FA_OP_CRON_PUT] = "schedules",
        [FA_OP_CRON_REMOVE] = "schedules",
        [FA_OP_CRON_RUN] = "schedules",
        [FA_OP_CRON_LIST] = "schedules",
        [FA_OP_BROKER_SET] = "messages for a broker",
        [FA_OP_BROKER_GET] = "messages for a broker",
        [FA_OP_SETTINGS_SET] = "settings",
        [FA_OP_SETTINGS_GET] = "settings",
        [FA_OP_LOG_ADD] = "logs of attempts that run",
        [FA_OP_LOG] = "logs of attempts that run",
        [FA_OP_GRAPH] = "graphs of tasks",
        [FA_OP_REQUEUE] = "queues that another protocol can read",
        [FA_OP_QUEUE] = "queues that another protocol can read",
        [FA_OP_FOLLOW] = "streams of all events",
        [FA_OP_HISTORY] = "counts over time",
        [FA_OP_FAILURES] = "groups of failures",
        [FA_OP_AUDIT_ADD] = "entries of an audit",
        [FA_OP_AUDIT_LIST] = "entries of an audit",
        [FA_OP_BULK] = "operations on many tasks",
        [FA_OP_BULK_CANCEL] = "operations on many tasks",
        [FA_OP_BULK_COUNT] = "operations on many tasks",
        [FA_OP_BULK_LIST] = "operations on many tasks",
    };
    const char *feature = features[op->kind] ? features[op->kind] : fa_op_name(op->kind);

    return fa_error_set(&op->error, FAINA_NOT_SUPPORTED,
                        "an engine on NATS has no %s; SQLite and PostgreSQL have them", feature);
}

/* ------------------------------------------------------------------------------------------
 * Pauses
 */

static void put_entry(struct fa_kv_engine *engine, const char *key, struct fa_bytes value,
                      uint64_t revision)
{
    fa_kv_named_put(engine->named, &(struct fa_kv_entry){.key = key,
                                                         .value = value,
                                                         .revision = revision,
                                                         .at_us = fa_kv_now(engine),
                                                         .is_deleted = value.ptr == NULL});
}

/* Writes the value of a key, whatever it had; `value` with a NULL pointer removes it. */
static enum faina_code set_key(struct fa_kv_engine *engine, const char *key, struct fa_bytes value,
                               bool *was_there, struct faina_error *err)
{
    struct fa_arena scratch = {0};
    enum faina_code code = FAINA_CONFLICT;

    for (int tries = 0; code == FAINA_CONFLICT && tries < TRIES; tries++) {
        struct fa_kv_write write = {.key = key, .value = value, .is_delete = value.ptr == NULL};
        struct fa_kv_read read;

        if (tries > 2)
            fa_kv_engine_pause(engine, tries - 2);
        code = fa_kv_get(engine->kv, key, &scratch, &read, err);
        if (code != FAINA_OK && code != FAINA_NOT_FOUND)
            break;
        *was_there = code == FAINA_OK;
        if (!*was_there && write.is_delete) {
            code = FAINA_OK;
            break;
        }
        write.expected = read.revision;
        fa_kv_write(engine->kv, &write, 1, err);
        code = write.code;
        if (code == FAINA_OK)
            put_entry(engine, key, value, write.revision);
    }
    if (code == FAINA_CONFLICT)
        fa_error_set(err, code, "it was changed by others %d times in a row; try again", TRIES);
    fa_arena_finish(&scratch);
    return code;
}

static enum faina_code set_paused(struct fa_kv_engine *engine, struct fa_op *op)
{
    const char *ns = op->name.ns ? op->name.ns : "default";
    const char *key = fa_kv_name_key(FA_KV_PAUSES, op->name.type, ns, op->arena);
    struct fa_bytes value = {NULL, 0};
    enum faina_code code;
    bool was_there;
    struct fa_buf buf;

    fa_buf_init(&buf, SIZE_MAX / 2);
    if (op->kind == FA_OP_PAUSE) {
        struct fa_json_writer w;

        fa_json_writer_init(&w, &buf, 0);
        fa_json_begin_object(&w);
        fa_json_set_str(&w, "namespace", ns);
        fa_json_set_str(&w, "type", op->name.type);
        fa_json_end_object(&w);
        value = (struct fa_bytes){buf.ptr, buf.len};
    }
    code = set_key(engine, key, value, &was_there, &op->error);
    fa_buf_finish(&buf);
    if (code == FAINA_OK && op->kind == FA_OP_RESUME) {
        fa_waiting_claims_notify(engine->claims, FA_TYPES_ALL);
        fa_waiters_notify_ready(engine->waiters, FA_TYPES_ALL);
    }
    return code;
}

/* ------------------------------------------------------------------------------------------
 * Limits
 */

/* Rates, and limits by the beginning of a name, need a row that all claims lock. */
static enum faina_code check_limits(struct fa_op *op)
{
    if (op->kind != FA_OP_RESOURCE_SET)
        return FAINA_OK;
    if (op->resource.rate.count > 0)
        return fa_error_field(&op->error, FAINA_NOT_SUPPORTED, "rate",
                              "an engine on NATS has no rates of resources; SQLite and "
                              "PostgreSQL have them");
    if (fa_resource_is_prefix(op->resource.name))
        return fa_error_set(&op->error, FAINA_NOT_SUPPORTED,
                            "an engine on NATS has no limits for names that end in *; SQLite and "
                            "PostgreSQL have them");
    return FAINA_OK;
}

static enum faina_code set_limit(struct fa_kv_engine *engine, struct fa_op *op)
{
    enum faina_code code = check_limits(op);

    if (code != FAINA_OK)
        return code;
    code = FAINA_CONFLICT;
    for (int tries = 0; code == FAINA_CONFLICT && tries < TRIES; tries++) {
        struct fa_kv_resource resource;

        if (tries > 2)
            fa_kv_engine_pause(engine, tries - 2);
        code =
            fa_kv_resource_read(engine, op->resource.name, true, op->arena, &resource, &op->error);
        if (code != FAINA_OK)
            return code;
        if (op->kind == FA_OP_RESOURCE_REMOVE && !resource.is_set)
            return fa_error_set(&op->error, FAINA_NOT_FOUND, "there is no resource %.255s",
                                op->resource.name);
        resource.is_set = op->kind == FA_OP_RESOURCE_SET;
        resource.max = resource.is_set ? op->resource.max_concurrency : -1;
        code = fa_kv_resource_write(engine, &resource, &op->error);
    }
    if (code == FAINA_OK) {
        fa_waiting_claims_notify(engine->claims, FA_TYPES_ALL);
        fa_waiters_notify_ready(engine->waiters, FA_TYPES_ALL);
    }
    return code;
}

/* ------------------------------------------------------------------------------------------
 * Tokens
 */

static void put_token(const struct fa_token *token, struct fa_buf *buf)
{
    struct fa_json_writer w;

    fa_buf_init(buf, SIZE_MAX / 2);
    fa_json_writer_init(&w, buf, 0);
    fa_json_begin_object(&w);
    fa_json_set_str(&w, "id", token->id);
    fa_json_set_str(&w, "name", token->name);
    fa_json_set_str(&w, "hash", token->hash);
    fa_json_set_int(&w, "scopes", token->scopes);
    fa_json_set_str(&w, "namespaces", token->namespaces);
    fa_json_set_int(&w, "created", token->created_us);
    fa_json_set_int(&w, "expires", token->expires_us);
    fa_json_end_object(&w);
}

bool fa_kv_token_parse(struct fa_bytes value, struct fa_arena *arena, struct fa_token *out)
{
    struct fa_json object;
    const char *id;

    *out = (struct fa_token){0};
    if (fa_json_check(value, 8, "", FAINA_INTERNAL, NULL) != FAINA_OK)
        return false;
    object = fa_json_value(value);
    id = fa_json_member_text(object, "id", arena);
    out->name = fa_json_member_text(object, "name", arena);
    out->hash = fa_json_member_text(object, "hash", arena);
    if (id == NULL || strlen(id) >= sizeof(out->id) || out->hash == NULL)
        return false;
    memcpy(out->id, id, strlen(id) + 1);
    out->scopes = (unsigned)fa_json_member_int(object, "scopes") & FA_SCOPE_ALL;
    out->namespaces = fa_json_member_text(object, "namespaces", arena);
    out->created_us = fa_json_member_int(object, "created");
    out->expires_us = fa_json_member_int(object, "expires");
    return true;
}

static enum faina_code add_token(struct fa_kv_engine *engine, struct fa_op *op)
{
    struct fa_token *token = fa_arena_zero(op->arena, 1, sizeof(*token));
    enum faina_code code;
    const char *key;
    uint64_t revision;
    struct fa_buf buf;

    *token = *op->token;
    fa_id_format(fa_kv_engine_new_id(engine, false), token->id);
    token->created_us = fa_kv_now(engine);
    token->name = fa_arena_strdup(op->arena, token->name);
    token->hash = fa_arena_strdup(op->arena, token->hash);
    token->namespaces = fa_arena_strdup(op->arena, token->namespaces);
    key = fa_arena_printf(op->arena, FA_KV_TOKENS "%s", token->id);
    put_token(token, &buf);
    code =
        fa_kv_create(engine->kv, key, (struct fa_bytes){buf.ptr, buf.len}, &revision, &op->error);
    if (code == FAINA_OK) {
        put_entry(engine, key, (struct fa_bytes){buf.ptr, buf.len}, revision);
        op->token_answer = token;
    }
    fa_buf_finish(&buf);
    return code;
}

/* Refuses to remove the last valid token. */
static enum faina_code check_last(struct fa_kv_engine *engine, struct fa_op *op)
{
    struct fa_kv_named_value *values;
    size_t count = fa_kv_named_list(engine->named, FA_KV_TOKENS, op->arena, &values);
    bool has_other = false, is_last = false;
    int64_t now = fa_kv_now(engine);

    for (size_t i = 0; i < count; i++) {
        struct fa_token token;
        bool is_good;

        if (!fa_kv_token_parse(values[i].value, op->arena, &token))
            continue;
        is_good = token.expires_us == 0 || token.expires_us > now;
        if (strcmp(token.id, op->id) == 0)
            is_last = count == 1 || is_good;
        else
            has_other |= is_good;
    }
    if (!is_last || has_other)
        return FAINA_OK;
    return fa_error_set(&op->error, FAINA_CONFLICT,
                        "this is the last valid token, and without it other machines have no "
                        "access any more: to revoke it anyway, use --force (force=true)");
}

static enum faina_code remove_token(struct fa_kv_engine *engine, struct fa_op *op)
{
    const char *key = fa_arena_printf(op->arena, FA_KV_TOKENS "%s", op->id);
    enum faina_code code = fa_kv_engine_await(engine, &op->error);
    bool was_there = false;

    if (code == FAINA_OK && !op->force)
        code = check_last(engine, op);
    if (code == FAINA_OK)
        code = set_key(engine, key, (struct fa_bytes){NULL, 0}, &was_there, &op->error);
    if (code == FAINA_OK && !was_there)
        code = fa_error_set(&op->error, FAINA_NOT_FOUND, "there is no token %.64s", op->id);
    return code;
}

enum faina_code fa_kv_admin_op(struct fa_kv_engine *engine, struct fa_op *op)
{
    switch ((int)op->kind) {
    case FA_OP_PAUSE:
    case FA_OP_RESUME:
        return set_paused(engine, op);
    case FA_OP_RESOURCE_SET:
    case FA_OP_RESOURCE_REMOVE:
        return set_limit(engine, op);
    case FA_OP_TOKEN_PUT:
        return add_token(engine, op);
    case FA_OP_TOKEN_REMOVE:
        return remove_token(engine, op);
    default:
        return fa_kv_refuse_op(op);
    }
}
