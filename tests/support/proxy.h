/*
 * proxy.h - a proxy between the engine and PostgreSQL that fails as a test's rules specify.
 *
 * It listens on a port of its own on 127.0.0.1 and parses the messages of PostgreSQL's protocol, so
 * that a rule can name one: the connection is cut before, inside or after it, or the message is
 * dropped or delayed. A Bind is also matched by the statement that it runs, since the text of a
 * prepared statement is sent only once.
 *
 *   P1  Bytes pass unchanged and in order, except where a rule acts.
 *   P2  What passed before a cut reaches the other end: PostgreSQL runs it.
 *   P3  It refuses TLS, so that messages can be read.
 *
 * Threads: one of its own; the functions from any.
 */
#ifndef FA_TEST_PROXY_H
#define FA_TEST_PROXY_H

#include "support/support.h"

enum fa_proxy_side { FA_PROXY_CLIENT, FA_PROXY_SERVER }; /* the sender */

enum fa_proxy_action {
    FA_PROXY_CUT_BEFORE, /* the message doesn't pass, and the connection is closed */
    FA_PROXY_CUT_INSIDE, /* half of it passes */
    FA_PROXY_CUT_AFTER,  /* it passes, with all up to the next Sync or Flush; responses don't */
    FA_PROXY_DROP,       /* it alone doesn't pass */
    FA_PROXY_STALL,      /* it and all later ones wait for `stall_ms` */
};

/* Which messages, and what to do. All conditions that are set must hold. */
struct fa_proxy_rule {
    enum fa_proxy_side from;
    enum fa_proxy_action action;
    char type;           /* 'Q', 'P', 'B', 'C', 'A' ...; 0: any */
    const char *text;    /* part of it, or of the statement that it binds; must outlive the rule */
    const char *sql;     /* it binds exactly this statement */
    int64_t after_bytes; /* instead of a message: this many bytes since the rule was added */
    int skip;            /* how many matching messages pass first */
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
