/*
 * token.h - tokens of the HTTP interface: making a secret, its hash, and tokens as JSON.
 *
 * A secret is "faina_" and 64 hexadecimal digits: 256 random bits. It is shown once, where it is
 * made; the store has its SHA-256 only.
 */
#ifndef FA_SERVICE_TOKEN_H
#define FA_SERVICE_TOKEN_H

#include "base/hash.h"
#include "json/json.h"
#include "service/service.h"
#include "wire/shape.h"

#define FA_TOKEN_SIZE (6 + 64 + 1) /* with its NUL */

/* A new secret and its hash. UNAVAILABLE: the system has no randomness. */
FA_MUST_CHECK enum faina_code fa_token_make(char secret[FA_TOKEN_SIZE],
                                            char hash[FA_SHA256_HEX_SIZE], struct faina_error *err);
void fa_token_hash(const char *secret, char hash[FA_SHA256_HEX_SIZE]);

/* "read", "view", "submit", "work", "operate", "admin". */
FA_MUST_CHECK enum faina_code fa_scope_parse(const char *const *names, size_t count, unsigned *out,
                                             struct faina_error *err);
/* The name of the n-th scope, from 0; NULL: no more. */
const char *fa_scope_name(size_t index);

/* The names of a set of scopes, as an array. */
void fa_scopes_put(struct fa_json_writer *w, unsigned scopes);

/* {id, name, scopes, namespaces, createdAt, expiresAt}, and `token` when secret isn't NULL. */
extern const struct fa_shape fa_shape_token; /* of a struct fa_token, without its hash */
extern const struct fa_shape fa_shape_tokens;
extern const struct fa_shape fa_shape_new_token; /* for its description */
void fa_token_put(struct fa_json_writer *w, const struct fa_token *token, const char *secret);

#endif
