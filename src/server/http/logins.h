/*
 * logins.h - failed logins: the limit per address, and the log.
 *
 * Each address has a token bucket of failures: FA_LOGINS_BURST at once, then one per second. An
 * address is an IPv4 address, the /64 network of an IPv6 address, or all Unix sockets together.
 *
 *   N1  A request from an address whose bucket is empty is refused before its token is compared,
 *       unless a token from there was valid since its first failure, or it is this machine: clients
 *       behind one proxy must not lock each other out. For these the token is always compared.
 *   N2  A success takes nothing from the bucket.
 *   N3  Memory is fixed: FA_LOGINS_ADDRESSES are stored, and new ones replace the oldest.
 *   N4  The log contains the address, the route and the reason, never the token: FA_LOGINS_BURST
 *       lines at once, then one per second, with the number of failures that were not logged.
 *
 * Threads: any; the functions lock.
 */
#ifndef FA_SERVER_HTTP_LOGINS_H
#define FA_SERVER_HTTP_LOGINS_H

#include "json/log.h"

#include <sys/socket.h>

#define FA_LOGINS_BURST 10
#define FA_LOGINS_ADDRESSES 4096

struct fa_logins;

/* The address of a client. */
struct fa_login_address {
    unsigned char bytes[16]; /* all zero: a Unix socket */
    unsigned char whole[16]; /* the full address; `bytes` may be its network */
    int family;
    bool is_local; /* this machine */
};

#define FA_LOGIN_TEXT_SIZE 64

struct fa_logins *fa_logins_create(const struct fa_log *log);
void fa_logins_destroy(struct fa_logins *logins); /* NULL is fine */

/* NULL, or a family that is not IP: a Unix socket. */
void fa_login_address_of(const struct sockaddr *address, struct fa_login_address *out);

/* The address as text. */
void fa_login_address_text(const struct fa_login_address *from, char out[FA_LOGIN_TEXT_SIZE]);

/* N1: whether a token from this address is compared. Times are monotonic microseconds. */
bool fa_logins_may_try(struct fa_logins *logins, const struct fa_login_address *from,
                       int64_t now_us);
/* A token was valid. */
void fa_logins_pass(struct fa_logins *logins, const struct fa_login_address *from);
/* A token was invalid, or not compared. False: the bucket of the address is empty. */
bool fa_logins_fail(struct fa_logins *logins, const struct fa_login_address *from,
                    const char *method, const char *route, const char *reason, int64_t now_us);

/* The number of failures. */
uint64_t fa_logins_failures(const struct fa_logins *logins);

#endif
