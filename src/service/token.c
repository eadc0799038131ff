/*
 * token.c - secrets of tokens.
 */
#include "service/token.h"

#include "base/secret.h"
#include "service/wire.h"

#include <stdio.h>

static const char *const scope_names[] = {"read", "submit", "work", "admin"};

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
            return fa_error_field(err, FAINA_INVALID_REQUEST, "scopes",
                                  "\"%.40s\" is no scope; there are read, submit, work and admin",
                                  names[i]);
        *out |= 1u << k;
    }
    return FAINA_OK;
}

void fa_token_put(struct fa_json_writer *w, const struct fa_token *token, const char *secret)
{
    fa_json_begin_object(w);
    fa_json_key(w, "id");
    fa_json_put_str(w, token->id);
    fa_json_key(w, "name");
    fa_json_put_str(w, token->name);
    fa_json_key(w, "scopes");
    fa_json_begin_array(w);
    for (size_t i = 0; i < FA_COUNT(scope_names); i++)
        if (token->scopes & 1u << i)
            fa_json_put_str(w, scope_names[i]);
    fa_json_end_array(w);
    fa_json_key(w, "namespaces");
    fa_json_put_raw(w, token->namespaces);
    fa_json_key(w, "createdAt");
    fa_wire_put_time(w, token->created_us);
    fa_json_key(w, "expiresAt");
    fa_wire_put_time(w, token->expires_us);
    if (secret) {
        fa_json_key(w, "token");
        fa_json_put_str(w, secret);
    }
    fa_json_end_object(w);
}
