/*
 * logins.h - failed logins: how many each address may have, and the log of them.
 *
 * Each address has a token bucket of failures: FA_LOGINS_BURST at once, then one per second. An
 * address is an IPv4 address, the /64 network of an IPv6 address, or all Unix sockets together.
 *
 *   N1  An address whose bucket is empty is refused before its token is compared, unless a token
 *       was good there since its first failure, or it is this machine: clients behind one proxy
 *       must not lock each other out. There a good token is let in, and a bad one refused.
 *   N2  A success costs nothing.
 *   N3  Memory is fixed: FA_LOGINS_ADDRESSES are remembered, and the oldest make room.
 *   N4  The log has the address, the route and the reason, never the token: FA_LOGINS_BURST lines
 *       at once, then one per second, which tells how many were left out.
 *
 * Threads: any; the functions lock.
 */
#ifndef FA_LOGINS_H
#define FA_LOGINS_H

#include "base/log.h"

#include <sys/socket.h>

#define FA_LOGINS_BURST 10
#define FA_LOGINS_ADDRESSES 4096

struct fa_logins;

/* Whom a request comes from. */
struct fa_login_address {
    unsigned char bytes[16]; /* all zero: a Unix socket */
    unsigned char whole[16]; /* the address itself, of which `bytes` may be the network */
    int family;
    bool is_local; /* this machine */
};

#define FA_LOGIN_TEXT_SIZE 64

struct fa_logins *fa_logins_create(const struct fa_log *log);
void fa_logins_destroy(struct fa_logins *logins); /* NULL is fine */

/* NULL, or a family that is not IP: a Unix socket. */
void fa_login_address_of(const struct sockaddr *address, struct fa_login_address *out);

/* For people. */
void fa_login_address_text(const struct fa_login_address *from, char out[FA_LOGIN_TEXT_SIZE]);

/* Whether a token from there is to be compared at all. Times are monotonic microseconds. */
bool fa_logins_may_try(struct fa_logins *logins, const struct fa_login_address *from,
                       int64_t now_us);
/* A token was good. */
void fa_logins_pass(struct fa_logins *logins, const struct fa_login_address *from);
/* A token was bad, or not compared. False: the address has had too many of them. */
bool fa_logins_fail(struct fa_logins *logins, const struct fa_login_address *from,
                    const char *method, const char *route, const char *reason, int64_t now_us);

/* How many there were. */
uint64_t fa_logins_failures(const struct fa_logins *logins);

#endif
