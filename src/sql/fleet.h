/*
 * fleet.h - the other nodes that use the same store: waking each other, and who leads.
 *
 * Nodes don't talk to each other; the database carries what they have to say (LISTEN and NOTIFY,
 * and two small tables). A fleet has one thread and one connection of its own, so that no
 * transaction waits for a notification: it is sent after the commit, many at a time.
 *
 *   F1  Losing any notification costs time, never a task: everybody also looks now and then.
 *   F2  After each (re)connect it listens first, and then tells the engine to look at everything.
 *   F3  At most one node holds the leader's row; its epoch grows with each change of holder. Any
 *       doubt means: not the leader.
 *
 * Threads: any may tell and await; the events come from the fleet's own thread.
 */
#ifndef FA_FLEET_H
#define FA_FLEET_H

#include "model/id.h"
#include "sql/db.h"
#include "sql/fronts.h"

#include <assert.h>

struct fa_fleet;

#define FA_LEADER_LEASE_US 15000000
#define FA_LEADER_RENEW_US 5000000 /* also how often the others try to take over */

/* A schedule's time that is longer ago than this was missed because nothing ran (crons.c); times
 * that follow each other faster are missed sooner. While nodes live, one leads again after a lease
 * and a renewal; as long again is for its connection and for the chores before this one. */
#define FA_CRON_LATE_US 60000000

static_assert(FA_CRON_LATE_US >= 2 * (FA_LEADER_LEASE_US + FA_LEADER_RENEW_US),
              "a leader that dies must not take a schedule's time with it");

/* What a fleet tells its engine. */
struct fa_fleet_events {
    void *ctx;
    /* There may be more to claim, and a task may have come into line behind others (fronts.h). */
    void (*ready)(void *ctx, int64_t old_key);
    void (*ended)(void *ctx, const struct fa_id *ids, size_t n); /* these tasks have ended */
    void (*due)(void *ctx, int64_t at_us); /* for the leader: something has this time */
    void (*all)(void *ctx);                /* we have not listened for a while: anything may be */
};

/* What an engine has to say after a commit. */
struct fa_fleet_news {
    bool has_ready;
    int64_t old_key;   /* of what is ready; FA_FRONT_NONE: only the newest */
    bool has_leftover; /* tasks were kept from others for a moment */
    const struct fa_id *ended;
    size_t ended_count;
    int64_t due_us; /* INT64_MAX: nothing */
};

void fa_fleet_leave(struct fa_fleet *fleet); /* NULL is fine */
void fa_fleet_tell(struct fa_fleet *fleet, const struct fa_fleet_news *news);
/* Inside a transaction that puts tasks in line: when nothing was told for a moment, it tells the
 * others itself (*is_done), which is quicker; while there is much to tell, fa_fleet_tell gathers.
 */
FA_MUST_CHECK enum faina_code fa_fleet_announce(struct fa_fleet *fleet, struct fa_db *db,
                                                int64_t old_key, bool *is_done,
                                                struct faina_error *err);
/* Somebody on this node waits for the task: `ended` will come when another node ends it. It also
 * comes once when the others can know of it, because the end may have been before that. */
void fa_fleet_await(struct fa_fleet *fleet, struct fa_id id);
/* Whether this node leads, as far as it knows. */
bool fa_fleet_leads(struct fa_fleet *fleet);
/* Inside a transaction: makes sure that we lead until it ends. *leads is false when we don't. */
FA_MUST_CHECK enum faina_code fa_fleet_fence(struct fa_fleet *fleet, struct fa_db *db, bool *leads,
                                             struct faina_error *err);

#endif
