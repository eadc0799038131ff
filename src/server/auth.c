/*
 * auth.c - the server's copy of the tokens (a table of hashes) and of the setting `redact`,
 * reloaded periodically.
 */
#include "server/auth.h"

#include "base/clock.h"
#include "base/secret.h"
#include "service/token.h"

#include <pthread.h>
#include <stdlib.h>
#include <strings.h>

struct fa_auth {
    pthread_mutex_t loading; /* held during a load: an older list never replaces a newer one */
    pthread_rwlock_t lock;   /* guards the fields below */
    struct fa_tokens tokens; /* in the arena */
    struct fa_texts redact;  /* in the arena */
    struct fa_arena arena;
};

struct fa_auth *fa_auth_create(void)
{
    struct fa_auth *auth = fa_alloc_zero(1, sizeof(*auth));

    pthread_mutex_init(&auth->loading, NULL);
    pthread_rwlock_init(&auth->lock, NULL);
    return auth;
}

void fa_auth_destroy(struct fa_auth *auth)
{
    if (!auth)
        return;
    fa_arena_finish(&auth->arena);
    pthread_rwlock_destroy(&auth->lock);
    pthread_mutex_destroy(&auth->loading);
    free(auth);
}

static enum faina_code load_redact(struct fa_service *service, struct fa_arena *arena,
                                   struct fa_texts *out, struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_SETTINGS_GET, .arena = arena};
    enum faina_code code = fa_service_run_one(service, &op, err);

    if (code == FAINA_OK)
        *out = op.settings_answer->redact;
    return code == FAINA_NOT_SUPPORTED ? FAINA_OK : code;
}

enum faina_code fa_auth_load(struct fa_auth *auth, struct fa_service *service,
                             struct faina_error *err)
{
    struct fa_arena arena = {0}, old;
    struct fa_op op = {.kind = FA_OP_TOKEN_LIST, .arena = &arena};
    struct fa_texts redact = {0};
    enum faina_code code;

    pthread_mutex_lock(&auth->loading);
    code = fa_service_run_one(service, &op, err);
    if (code == FAINA_OK)
        code = load_redact(service, &arena, &redact, err);
    if (code == FAINA_OK) {
        pthread_rwlock_wrlock(&auth->lock);
        old = auth->arena;
        auth->arena = arena;
        auth->tokens = *op.tokens;
        auth->redact = redact;
        pthread_rwlock_unlock(&auth->lock);
        arena = old;
    }
    pthread_mutex_unlock(&auth->loading);
    fa_arena_finish(&arena);
    return code;
}

bool fa_auth_has_tokens(struct fa_auth *auth)
{
    bool has_tokens;

    pthread_rwlock_rdlock(&auth->lock);
    has_tokens = auth->tokens.count > 0;
    pthread_rwlock_unlock(&auth->lock);
    return has_tokens;
}

/* The token in "Bearer <token>"; NULL: the header has another form. */
static const char *bearer(const char *authorization)
{
    if (!authorization || strncasecmp(authorization, "Bearer", 6) != 0 || authorization[6] != ' ')
        return NULL;
    authorization += 6;
    while (*authorization == ' ')
        authorization++;
    return authorization;
}

/* A1: always compares all tokens. The lock is held. */
static const struct fa_token *find(const struct fa_auth *auth, const char *secret)
{
    const struct fa_token *found = NULL;
    char hash[FA_SHA256_HEX_SIZE];

    fa_token_hash(secret, hash);
    for (size_t i = 0; i < auth->tokens.count; i++) {
        const char *known = auth->tokens.items[i].hash;

        if (known && strlen(known) == sizeof(hash) - 1 &&
            fa_secret_equal(known, hash, sizeof(hash) - 1))
            found = &auth->tokens.items[i];
    }
    return found;
}

/* A2. A list that can't be parsed grants no namespace. */
static struct fa_texts copy_namespaces(const char *json, struct fa_arena *arena)
{
    struct fa_texts texts = {0};

    if (json && (fa_json_check(fa_str(json), 2, "namespaces", FAINA_INTERNAL, NULL) != FAINA_OK ||
                 !fa_json_texts(fa_json_value(fa_str(json)), arena, &texts.items, &texts.count)))
        texts.items = fa_arena_zero(arena, 1, sizeof(char *));
    return texts;
}

static struct fa_texts copy_texts(const struct fa_texts *texts, struct fa_arena *arena)
{
    const char **items;

    if (texts->count == 0)
        return (struct fa_texts){0};
    items = fa_arena_zero(arena, texts->count, sizeof(*items));
    for (size_t i = 0; i < texts->count; i++)
        items[i] = fa_arena_strdup(arena, texts->items[i]);
    return (struct fa_texts){items, texts->count};
}

static bool is_expired(const struct fa_token *token)
{
    return token->expires_us != 0 && token->expires_us <= fa_clock_now_us();
}

/* The lock is held. */
static const struct fa_token *find_id(const struct fa_auth *auth, const char *id)
{
    for (size_t i = 0; i < auth->tokens.count; i++)
        if (strcmp(auth->tokens.items[i].id, id) == 0)
            return &auth->tokens.items[i];
    return NULL;
}

static enum faina_code check_secret(const struct fa_auth *auth, const char *secret,
                                    const struct fa_token **out, struct faina_error *err)
{
    const struct fa_token *token = find(auth, secret);

    if (!token)
        return fa_error_set(err, FAINA_UNAUTHORIZED, "the token is not known");
    if (is_expired(token))
        return fa_error_set(err, FAINA_UNAUTHORIZED, "the token has expired");
    *out = token;
    return FAINA_OK;
}

static enum faina_code check_session(const struct fa_auth *auth, const char *token_id,
                                     const struct fa_token **out, struct faina_error *err)
{
    const struct fa_token *token = find_id(auth, token_id);

    if (!token || is_expired(token))
        return fa_error_set(err, FAINA_UNAUTHORIZED, "the session has ended: log in again");
    *out = token;
    return FAINA_OK;
}

/* The lock is held. */
static enum faina_code check(struct fa_auth *auth, const struct fa_credentials *credentials,
                             unsigned what, struct fa_arena *arena, struct fa_grant *out,
                             struct faina_error *err)
{
    const char *secret = bearer(credentials->authorization);
    const struct fa_token *token = NULL;
    enum faina_code code;

    if (secret)
        code = check_secret(auth, secret, &token, err);
    else if (credentials->token_id && !credentials->authorization)
        code = check_session(auth, credentials->token_id, &token, err);
    else
        code = fa_error_set(err, FAINA_UNAUTHORIZED,
                            "this needs a token, in the header Authorization: Bearer ...");
    if (code != FAINA_OK)
        return code;
    *out = (struct fa_grant){
        .has_token = true,
        .token_id = fa_arena_strdup(arena, token->id),
        .name = fa_arena_strdup(arena, token->name && token->name[0] ? token->name : token->id),
        .scopes = token->scopes,
        .namespaces = copy_namespaces(token->namespaces, arena),
    };
    return fa_access_enter(what, out, err);
}

enum faina_code fa_auth_check(struct fa_auth *auth, bool is_guarded,
                              const struct fa_credentials *credentials, unsigned what,
                              struct fa_arena *arena, struct fa_grant *out, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    *out = (struct fa_grant){.scopes = FA_SCOPE_ALL};
    if (fa_access_scopes(what) == FA_SCOPE_NONE)
        return FAINA_OK;
    pthread_rwlock_rdlock(&auth->lock);
    if (is_guarded || auth->tokens.count > 0)
        code = check(auth, credentials, what, arena, out, err);
    out->redact = copy_texts(&auth->redact, arena);
    pthread_rwlock_unlock(&auth->lock);
    return code;
}

static void copy_token(const struct fa_token *token, struct fa_arena *arena, struct fa_token *out)
{
    *out = *token;
    out->hash = NULL;
    out->name = fa_arena_strdup(arena, token->name);
    out->namespaces = token->namespaces ? fa_arena_strdup(arena, token->namespaces) : NULL;
}

enum faina_code fa_auth_find(struct fa_auth *auth, const char *secret, struct fa_arena *arena,
                             struct fa_token *out, struct faina_error *err)
{
    const struct fa_token *token = NULL;
    enum faina_code code;

    pthread_rwlock_rdlock(&auth->lock);
    code = check_secret(auth, secret, &token, err);
    if (code == FAINA_OK)
        copy_token(token, arena, out);
    pthread_rwlock_unlock(&auth->lock);
    return code;
}

bool fa_auth_describe(struct fa_auth *auth, const char *token_id, struct fa_arena *arena,
                      struct fa_token *out)
{
    const struct fa_token *token;

    pthread_rwlock_rdlock(&auth->lock);
    token = find_id(auth, token_id);
    if (token)
        copy_token(token, arena, out);
    pthread_rwlock_unlock(&auth->lock);
    return token != NULL;
}

bool fa_auth_is_needed(struct fa_auth *auth, bool is_guarded, unsigned what)
{
    return fa_access_scopes(what) != FA_SCOPE_NONE && (is_guarded || fa_auth_has_tokens(auth));
}

bool fa_auth_is_valid(struct fa_auth *auth, bool is_guarded, const char *token_id)
{
    bool is_valid;

    pthread_rwlock_rdlock(&auth->lock);
    is_valid = !token_id && !is_guarded && auth->tokens.count == 0;
    for (size_t i = 0; token_id && !is_valid && i < auth->tokens.count; i++) {
        const struct fa_token *token = &auth->tokens.items[i];

        is_valid = strcmp(token->id, token_id) == 0 && !is_expired(token);
    }
    pthread_rwlock_unlock(&auth->lock);
    return is_valid;
}
