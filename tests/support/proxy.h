/*
 * proxy.h - a network between the engine and PostgreSQL that breaks when a test says so.
 *
 * It listens on a port of its own on 127.0.0.1 and understands the messages of PostgreSQL's
 * protocol, so that a rule can name one: a connection is cut before, inside or after it, it is
 * swallowed, or held up. A Bind is also known by the statement that it runs, since a prepared
 * statement sends its text only once.
 *
 *   P1  Bytes pass unchanged and in order, but for what a rule does to them.
 *   P2  What passed before a cut reaches the other end: PostgreSQL runs it.
 *   P3  It answers a request for TLS with no, so that messages can be read.
 *
 * Threads: one of its own; the functions from any.
 */
#ifndef FA_TEST_PROXY_H
#define FA_TEST_PROXY_H

#include "support/support.h"

enum fa_proxy_side { FA_PROXY_CLIENT, FA_PROXY_SERVER }; /* who sent it */

enum fa_proxy_action {
    FA_PROXY_CUT_BEFORE, /* the message doesn't pass, and the connection is gone */
    FA_PROXY_CUT_INSIDE, /* half of it passes */
    FA_PROXY_CUT_AFTER,  /* it passes, with all up to the next Sync or Flush; answers do not */
    FA_PROXY_DROP,       /* it alone doesn't pass */
    FA_PROXY_STALL,      /* it and all behind it wait for `stall_ms` */
};

/* Which messages, and what to do. All conditions must hold; unset ones do. */
struct fa_proxy_rule {
    enum fa_proxy_side from;
    enum fa_proxy_action action;
    char type;           /* 'Q', 'P', 'B', 'C', 'A' ...; 0: any */
    const char *text;    /* somewhere in it, or in the statement that it binds; must outlive it */
    const char *sql;     /* it binds exactly this statement */
    int64_t after_bytes; /* not a message, but the place: this many bytes since the rule came */
    int skip;            /* how many that fit are let pass first */
    int times;           /* how often it acts; 0: always */
    int stall_ms;
};

#define FA_PROXY_RULES_MAX 4

struct fa_proxy;

/* Between a new port and `port`, both on 127.0.0.1. */
struct fa_proxy *fa_proxy_start(int port);
void fa_proxy_stop(struct fa_proxy *proxy); /* cuts everything; NULL is fine */
int fa_proxy_port(const struct fa_proxy *proxy);
/* New connections go to this port from now on. */
void fa_proxy_aim(struct fa_proxy *proxy, int port);

void fa_proxy_add(struct fa_proxy *proxy, const struct fa_proxy_rule *rule);
void fa_proxy_clear(struct fa_proxy *proxy); /* no rules */
int fa_proxy_hits(struct fa_proxy *proxy);   /* how often any rule acted, since the last clear */

void fa_proxy_cut_all(struct fa_proxy *proxy);             /* now */
void fa_proxy_refuse(struct fa_proxy *proxy, bool refuse); /* new connections */
void fa_proxy_freeze(struct fa_proxy *proxy, bool freeze); /* nothing passes, nothing is cut */

/* Messages of this type that came from this side; type 0: all. Connections open now. */
int64_t fa_proxy_count(struct fa_proxy *proxy, enum fa_proxy_side from, char type);
int fa_proxy_connections(struct fa_proxy *proxy);

#endif
