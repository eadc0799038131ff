/*
 * token.c - secrets of tokens.
 */
#include "service/token.h"

#include "base/secret.h"
#include "wire/wire.h"

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

void fa_scopes_put(struct fa_json_writer *w, unsigned scopes)
{
    fa_json_begin_array(w);
    for (size_t i = 0; i < FA_COUNT(scope_names); i++)
        if (scopes & 1u << i)
            fa_json_put_str(w, scope_names[i]);
    fa_json_end_array(w);
}

static void put_scopes(struct fa_json_writer *w, const void *from)
{
    fa_scopes_put(w, ((const struct fa_token *)from)->scopes);
}

static enum faina_code read_scopes(const struct fa_field *field, struct fa_json value,
                                   struct fa_arena *arena, void *out, struct faina_error *err)
{
    const char *const *names;
    size_t count;

    (void)field;
    if (!fa_json_texts(value, arena, &names, &count))
        return FAINA_INTERNAL;
    return fa_scope_parse(names, count, &((struct fa_token *)out)->scopes, err);
}

#define TOKEN(json_name, kind, member, ...)                                                        \
    FA_ROW(json_name, kind, struct fa_token, member, __VA_ARGS__)

/* clang-format off */
const struct fa_shape fa_shape_token = {
    .name = "Token",
    .what = "token",
    .fields = FA_FIELDS(
        TOKEN("id", ID, id, .flags = FA_FIELD_REQUIRED, .doc = "A UUIDv7"),
        TOKEN("name", TEXT, name, .flags = FA_FIELD_REQUIRED, .doc = "For people"),
        {.name = "scopes", .type = FA_FIELD_OWN, .put = put_scopes, .read = read_scopes,
         .schema = FA_SCOPES_SCHEMA, .doc = "What it allows"},
        TOKEN("namespaces", JSON, namespaces,
              .schema = "{\"type\":[\"array\",\"null\"],\"items\":{\"type\":\"string\"}}",
              .doc = "The namespaces that it reaches; null: all"),
        TOKEN("createdAt", TIME, created_us, .flags = FA_FIELD_REQUIRED,
              .doc = "When it was made"),
        TOKEN("expiresAt", TIME, expires_us, .doc = "When it ends; null: never")),
};

const struct fa_shape fa_shape_tokens = {
    .what = "list",
    .fields = FA_FIELDS(FA_ROW_LIST("items", fa_shape_token, struct fa_tokens, items, count,
                                    .doc = "The tokens")),
};

/* As fa_token_put writes it with the secret. */
const struct fa_shape fa_shape_new_token = {
    .name = "NewToken",
    .what = "token",
    .base = &fa_shape_token,
    .fields = FA_FIELDS({.name = "token", .flags = FA_FIELD_OMIT,
                         .doc = "The secret, shown this once; not with a hash"}),
};
/* clang-format on */

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
