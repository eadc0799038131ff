/*
 * quota.h - how many connections and waiting requests each client has.
 *
 * A client is an address or a token. Waiting requests are streams and long polls. A client has an
 * entry while it has at least one connection or waiting request.
 *
 *   U1  A count never exceeds its limit; a limit of 0 means none.
 *   U2  An entry exists while one of its counts isn't 0, so the number of connections bounds the
 *       memory.
 *
 * Threads: any; the functions lock.
 */
#ifndef FA_SERVER_HTTP_QUOTA_H
#define FA_SERVER_HTTP_QUOTA_H

#include "base/bytes.h"

#include <sys/socket.h>

enum fa_quota_kind { FA_QUOTA_CONNECTIONS, FA_QUOTA_WAITS, FA_QUOTA_KIND_COUNT };

/* The key of a client: 'a' and the bytes of an address, or 't' and the id of a token. */
#define FA_QUOTA_KEY_SIZE_MAX 64
struct fa_quota_key {
    size_t len; /* 0: not limited */
    char bytes[FA_QUOTA_KEY_SIZE_MAX];
};

struct fa_quotas;
struct fa_quota; /* of one client */

struct fa_quotas *fa_quotas_create(const size_t limits[FA_QUOTA_KIND_COUNT]);
void fa_quotas_destroy(struct fa_quotas *quotas); /* after all releases; NULL is fine */

/* An IPv4 address, or the /64 network of an IPv6 address, the smallest that a client is given. Any
 * other family is not limited. */
struct fa_quota_key fa_quota_key_of_address(const struct sockaddr *address);
/* NULL: not limited. */
struct fa_quota_key fa_quota_key_of_token(const char *token_id);

/* Counts one more for the client. *out is NULL for a key that is not limited. False: the client has
 * reached its limit. */
bool fa_quota_take(struct fa_quotas *quotas, const struct fa_quota_key *key,
                   enum fa_quota_kind kind, struct fa_quota **out);
/* Counts one less; NULL is fine. */
void fa_quota_release(struct fa_quotas *quotas, struct fa_quota *quota, enum fa_quota_kind kind);
/* Whether the entry has this key. */
bool fa_quota_is_of(const struct fa_quota *quota, const struct fa_quota_key *key);

#endif
