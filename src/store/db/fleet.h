/*
 * fleet.h - the other nodes that use the same store: notifications between them, and the leader.
 *
 * Nodes communicate through the database only (LISTEN and NOTIFY, and two small tables). A fleet
 * has one thread and one connection of its own, so that no transaction waits for a notification:
 * notifications are sent after the commit, many at a time.
 *
 *   F1  A lost notification costs time, never a task: every node also polls.
 *   F2  After each (re)connect the fleet subscribes first, and then has the engine check
 *       everything.
 *   F3  At most one node holds the leader's row; its epoch grows with each change of holder. A node
 *       that is not certain to lead doesn't lead.
 *
 * Threads: any may notify and await; the events come from the fleet's own thread.
 */
#ifndef FA_STORE_DB_FLEET_H
#define FA_STORE_DB_FLEET_H

#include "model/id.h"
#include "store/db/db.h"

#include <assert.h>

struct fa_fleet;

#define FA_SCAN_START_NONE INT64_MAX /* instead of a key: only new tasks have become ready */
#define FA_LEADER_LEASE_US 15000000
#define FA_LEADER_RENEW_US 5000000 /* also how often the other nodes try to take over */

/* A schedule's time that is longer ago than this was missed because no node ran (schedules.c). For
 * schedules with shorter intervals the limit is lower. While nodes run, one of them leads again
 * after a lease and a renewal; the same time again is for its connection and its other chores. */
#define FA_CRON_LATE_US 60000000

static_assert(FA_CRON_LATE_US >= 2 * (FA_LEADER_LEASE_US + FA_LEADER_RENEW_US),
              "a leader that dies must not take a schedule's time with it");

/* Events that a fleet reports to its engine. */
struct fa_fleet_events {
    void *ctx;
    const char *node; /* the name of this node */
    /* There may be more to claim; a task from this key on may have become ready (scan_start.h). */
    void (*ready)(void *ctx, int64_t oldest_key);
    void (*ended)(void *ctx, const struct fa_id *ids, size_t n); /* these tasks have ended */
    void (*due)(void *ctx, int64_t at_us); /* for the leader: something is due then */
    void (*policies)(void *ctx);           /* policies of types have changed */
    void (*all)(void *ctx);                /* notifications may be lost: check everything */
    void (*lead)(void *ctx, bool leads);   /* this node leads from now on, or no more */
};

/* What an engine reports to the other nodes after a commit. */
struct fa_fleet_notification {
    bool has_ready;
    int64_t oldest_key; /* of the ready tasks; FA_SCAN_START_NONE: they are all new */
    bool has_leftover;  /* tasks were locked for a moment and not taken */
    const struct fa_id *ended;
    size_t ended_count;
    int64_t due_us; /* INT64_MAX: nothing */
};

void fa_fleet_leave(struct fa_fleet *fleet); /* NULL is fine */
void fa_fleet_notify(struct fa_fleet *fleet, const struct fa_fleet_notification *notification);
/* Inside a transaction that makes tasks ready: when no notification was sent for a moment, the
 * transaction sends it itself (*is_done), which is faster. At higher rates fa_fleet_notify gathers
 * them. */
FA_MUST_CHECK enum faina_code fa_fleet_notify_inside(struct fa_fleet *fleet, struct fa_db *db,
                                                     int64_t oldest_key, bool *is_done,
                                                     struct faina_error *err);
/* Inside a transaction that changes policies of types. */
FA_MUST_CHECK enum faina_code fa_fleet_notify_policies(struct fa_fleet *fleet, struct fa_db *db,
                                                       struct faina_error *err);
/* A caller on this node waits for the task: `ended` is reported when another node ends it. It is
 * also reported once when the other nodes have been notified of the wait, because the task may have
 * ended before that. */
void fa_fleet_await(struct fa_fleet *fleet, struct fa_id id);
/* Whether this node leads, by its last renewal. */
bool fa_fleet_leads(struct fa_fleet *fleet);
/* Inside a transaction: fences it, so that this node leads until it ends. *leads is false when this
 * node doesn't lead. */
FA_MUST_CHECK enum faina_code fa_fleet_fence(struct fa_fleet *fleet, struct fa_db *db, bool *leads,
                                             struct faina_error *err);

#endif
