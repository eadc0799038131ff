/*
 * token.c - secrets of tokens.
 */
#include "service/token.h"

#include "base/secret.h"

#include <stdio.h>

static const char *const scope_names[] = {"read", "submit", "work", "admin", "view", "operate"};

void fa_token_hash(const char *secret, char hash[FA_SHA256_HEX_SIZE])
{
    uint8_t bytes[FA_SHA256_SIZE];

    fa_sha256(fa_str(secret), bytes);
    fa_hex(bytes, sizeof(bytes), hash);
}

enum faina_code fa_token_make(char secret[FA_TOKEN_SIZE], char hash[FA_SHA256_HEX_SIZE],
                              struct faina_error *err)
{
    uint8_t bytes[32];
    char hex[65];

    if (!fa_secret_random(bytes, sizeof(bytes)))
        return fa_error_set(err, FAINA_UNAVAILABLE, "the system has no randomness for a token");
    fa_hex(bytes, sizeof(bytes), hex);
    snprintf(secret, FA_TOKEN_SIZE, "faina_%s", hex);
    fa_token_hash(secret, hash);
    return FAINA_OK;
}

const char *fa_scope_name(size_t index)
{
    return index < FA_COUNT(scope_names) ? scope_names[index] : NULL;
}

enum faina_code fa_scope_parse(const char *const *names, size_t count, unsigned *out,
                               struct faina_error *err)
{
    *out = 0;
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;

        while (k < FA_COUNT(scope_names) && strcmp(names[i], scope_names[k]) != 0)
            k++;
        if (k == FA_COUNT(scope_names))
            return fa_error_field(
                err, FAINA_INVALID_REQUEST, "scopes",
                "\"%.40s\" is no scope; there are read, view, submit, work, operate "
                "and admin",
                names[i]);
        *out |= 1u << k;
    }
    return FAINA_OK;
}

static void put_scopes(struct fa_json_writer *w, const void *place)
{
    unsigned scopes = *(const unsigned *)place;

    fa_json_begin_array(w);
    for (size_t i = 0; i < FA_COUNT(scope_names); i++)
        if (scopes & 1u << i)
            fa_json_put_str(w, scope_names[i]);
    fa_json_end_array(w);
}

static bool read_scopes(struct fa_json value, struct fa_arena *arena, void *place)
{
    struct fa_json_iter it;
    struct fa_json item;

    if (value.type != FA_JSON_ARRAY)
        return false;
    for (it = fa_json_iter(value); fa_json_next(&it, NULL, &item);) {
        const char *name = item.type == FA_JSON_STRING ? fa_json_text(item, arena) : "";
        unsigned scope;

        if (fa_scope_parse(&name, 1, &scope, NULL) != FAINA_OK)
            return false;
        *(unsigned *)place |= scope;
    }
    return true;
}

static const struct fa_shape_field token_fields[] = {
    FA_SHAPE_ROW("id", FA_SHAPE_KEY, struct fa_token, id),
    FA_SHAPE_ROW("name", FA_SHAPE_WORD, struct fa_token, name),
    FA_SHAPE_OF_ITS_OWN("scopes", struct fa_token, scopes, put_scopes, read_scopes),
    FA_SHAPE_ROW("namespaces", FA_SHAPE_JSON, struct fa_token, namespaces),
    FA_SHAPE_ROW("createdAt", FA_SHAPE_TIME, struct fa_token, created_us),
    FA_SHAPE_ROW("expiresAt", FA_SHAPE_TIME, struct fa_token, expires_us),
};
const struct fa_shape fa_shape_token = FA_SHAPE("token", token_fields);

static const struct fa_shape_field tokens_fields[] = {
    FA_SHAPE_LIST_OF("items", fa_shape_token, struct fa_tokens, items, count),
};
const struct fa_shape fa_shape_tokens = FA_SHAPE("list", tokens_fields);

void fa_token_put(struct fa_json_writer *w, const struct fa_token *token, const char *secret)
{
    fa_json_begin_object(w);
    fa_shape_put_members(w, &fa_shape_token, token);
    if (secret) {
        fa_json_key(w, "token");
        fa_json_put_str(w, secret);
    }
    fa_json_end_object(w);
}
