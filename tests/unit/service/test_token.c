/*
 * test_token.c - secrets of tokens, and tokens in a store.
 */
#include "service/token.h"
#include "support/ops.h"

#include "base/secret.h"

static void test_token__secrets(struct fa_t *t)
{
    char secret[FA_TOKEN_SIZE], other[FA_TOKEN_SIZE];
    char hash[FA_SHA256_HEX_SIZE], again[FA_SHA256_HEX_SIZE];
    struct faina_error err;

    (void)t;
    CHECK_INT(fa_token_make(secret, hash, &err), FAINA_OK);
    CHECK_INT(fa_token_make(other, again, &err), FAINA_OK);
    CHECK_INT(strlen(secret), FA_TOKEN_SIZE - 1);
    CHECK_TRUE(strncmp(secret, "faina_", 6) == 0);
    CHECK_TRUE(strcmp(secret, other) != 0);
    fa_token_hash(secret, again);
    CHECK_STR(again, hash);
    CHECK_TRUE(fa_secret_equal(hash, again, sizeof(hash)));
    again[10] ^= 1;
    CHECK_TRUE(!fa_secret_equal(hash, again, sizeof(hash)));
}

static void test_token__scopes(struct fa_t *t)
{
    static const char *const good[] = {"read", "admin"}, *const bad[] = {"read", "root"};
    struct faina_error err;
    unsigned scopes;

    (void)t;
    CHECK_INT(fa_scope_parse(good, 2, &scopes, &err), FAINA_OK);
    CHECK_INT(scopes, FA_SCOPE_READ | FA_SCOPE_ADMIN);
    CHECK_INT(fa_scope_parse(bad, 2, &scopes, &err), FAINA_INVALID_REQUEST);
    CHECK_INT(fa_scope_parse(NULL, 0, &scopes, &err), FAINA_OK);
    CHECK_INT(scopes, 0);
}

static enum faina_code put(struct fa_t *t, const struct fa_token *token)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_TOKEN_PUT, .token = token});
}

static void test_token__a_store_keeps_them(struct fa_t *t)
{
    char hash[2][FA_SHA256_HEX_SIZE];
    struct fa_token tokens[2] = {
        {.name = "one", .hash = hash[0], .scopes = FA_SCOPE_READ},
        {.name = "two",
         .hash = hash[1],
         .scopes = FA_SCOPE_ALL,
         .namespaces = "[\"a\",\"b\"]",
         .expires_us = 1234567890},
    };
    const char *first;

    fa_token_hash("x", hash[0]);
    fa_token_hash("y", hash[1]);
    CHECK_OK(t, put(t, &tokens[0]));
    first = t->op.token_answer->id;
    CHECK_OK(t, put(t, &tokens[1]));
    CHECK_TRUE(t->op.token_answer->created_us > 0);
    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_TOKEN_LIST}));
    CHECK_INT(t->op.tokens->count, 2);
    CHECK_STR(t->op.tokens->items[0].id, first);
    for (size_t i = 0; i < 2; i++) {
        const struct fa_token *got = &t->op.tokens->items[i];

        CHECK_STR(got->name, tokens[i].name);
        CHECK_STR(got->hash, hash[i]);
        CHECK_INT(got->scopes, tokens[i].scopes);
        CHECK_INT(got->expires_us, tokens[i].expires_us);
        CHECK_TRUE(!got->namespaces == !tokens[i].namespaces);
    }
    CHECK_STR(t->op.tokens->items[1].namespaces, "[\"a\",\"b\"]");
    CHECK_OK(t,
             fa_t_run(t, &(struct fa_op){.kind = FA_OP_TOKEN_REMOVE, .id = first, .force = true}));
    CHECK_CODE(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_TOKEN_REMOVE, .id = first}),
               FAINA_NOT_FOUND);
    CHECK_CODE(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_TOKEN_REMOVE, .id = "x"}),
               FAINA_NOT_FOUND);
    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_TOKEN_LIST}));
    CHECK_INT(t->op.tokens->count, 1);
}

static enum faina_code remove_token(struct fa_t *t, const char *id, bool force)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_TOKEN_REMOVE, .id = id, .force = force});
}

/* The last one that is good: one that has expired is no other. */
static void test_token__the_last_one_is_kept(struct fa_t *t)
{
    char hash[3][FA_SHA256_HEX_SIZE];
    const char *ids[3];

    for (size_t i = 0; i < 3; i++) {
        struct fa_token token = {.name = "n", .hash = hash[i], .scopes = FA_SCOPE_READ};

        token.expires_us = i == 2 ? 1 : 0;
        fa_token_hash(i == 0 ? "x" : i == 1 ? "y" : "z", hash[i]);
        CHECK_OK(t, put(t, &token));
        ids[i] = t->op.token_answer->id;
    }
    CHECK_OK(t, remove_token(t, ids[0], false));
    CHECK_CODE(t, remove_token(t, ids[1], false), FAINA_CONFLICT);
    CHECK_OK(t, remove_token(t, ids[2], false)); /* it lets nobody in anyhow */
    CHECK_CODE(t, remove_token(t, ids[1], false), FAINA_CONFLICT);
    CHECK_CODE(t, remove_token(t, ids[0], false), FAINA_NOT_FOUND);
    CHECK_OK(t, remove_token(t, ids[1], true));
    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_TOKEN_LIST}));
    CHECK_INT(t->op.tokens->count, 0);
}

static void test_token__nonsense_is_refused(struct fa_t *t)
{
    char hash[FA_SHA256_HEX_SIZE];
    const struct fa_token good = {.name = "n", .hash = hash, .scopes = FA_SCOPE_READ};
    struct fa_token bad[9];

    fa_token_hash("x", hash);
    for (size_t i = 0; i < FA_COUNT(bad); i++)
        bad[i] = good;
    bad[0].name = "";
    bad[1].hash = NULL;
    bad[2].hash = "abc";
    bad[3].scopes = 0;
    bad[4].scopes = FA_SCOPE_ALL + 1;
    bad[5].namespaces = "[]";
    bad[6].namespaces = "\"a\"";
    bad[7].namespaces = "[1]";
    bad[8].expires_us = -1;
    for (size_t i = 0; i < FA_COUNT(bad); i++)
        CHECK_CODE(t, put(t, &bad[i]), FAINA_INVALID_REQUEST);
    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_TOKEN_LIST}));
    CHECK_INT(t->op.tokens->count, 0);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE(test_token__secrets),
        FA_T_CASE(test_token__scopes),
        FA_T_CASE_LOCAL(test_token__a_store_keeps_them),
        FA_T_CASE_LOCAL(test_token__the_last_one_is_kept),
        FA_T_CASE(test_token__nonsense_is_refused),
    };

    return fa_t_main(argc, argv, "token", cases, FA_COUNT(cases));
}
