/*
 * set_aside.h - rows and tasks that the engine can't handle, and leaves out until they are
 * repaired.
 *
 * A row may be damaged, or make every transaction fail that changes it. Such an item is set aside:
 * it gets a row with the reason in table set_aside, the statements that search for work skip it,
 * and other items are processed. It is tried again after an hour, then after two, four, up to a
 * day. An item that doesn't fail again is removed from the table a while later.
 *
 *   A1  Only failures of the item itself set it aside: a damaged row, a constraint. Never a lost
 *       connection, a full disk, or a conflict with another transaction.
 *   A2  Setting an item aside changes none of its rows. A task gets an event if its rows can be
 *       read.
 *   A3  An item is reported once for each time it is set aside.
 *   A4  Items of this process are left out at once, those that other nodes have set aside after
 *       REFRESH_US at the latest.
 *
 * Threads: fa_aside_report and fa_aside_has from any. The rest from the thread that leads a batch.
 */
#ifndef FA_STORE_UPKEEP_SET_ASIDE_H
#define FA_STORE_UPKEEP_SET_ASIDE_H

#include "base/bytes.h"
#include "base/error.h"

struct fa_aside;
struct fa_aside_item; /* service.h */
struct fa_unit;

/* Kinds of items; stored. */
#define FA_ASIDE_TASK "task"         /* key: the task's row id */
#define FA_ASIDE_SCHEDULE "schedule" /* key: namespace/name */
#define FA_ASIDE_JOIN "join"         /* key: namespace/workflow/join/key */
#define FA_ASIDE_EVENT "event"       /* key: its number in the inbox */
#define FA_ASIDE_WORKFLOW "workflow" /* key: namespace/name */
#define FA_ASIDE_ROW "row"           /* key: table, and the row's id there */
#define FA_ASIDE_CHORE "chore"       /* key: its name; its statements change many rows */

/* `reported` is called for each new item, in the thread that reports it. */
struct fa_aside *fa_aside_create(void (*reported)(void *ctx), void *ctx);
void fa_aside_destroy(struct fa_aside *aside); /* NULL is fine */

/* Sets an item aside; fa_aside_write stores it. Does nothing if it is set aside already, or without
 * `aside`. True: the item is new. */
bool fa_aside_report(struct fa_aside *aside, const char *kind, const char *key, const char *name,
                     const char *reason, int64_t now_us);
/* The same for an item that something outside of the store keeps from being processed: it is tried
 * again after 10 seconds, then after 20, 40, up to 5 minutes. */
bool fa_aside_put_off(struct fa_aside *aside, const char *kind, const char *key, const char *reason,
                      int64_t now_us);
bool fa_aside_report_task(struct fa_aside *aside, int64_t key, const char *name, const char *reason,
                          int64_t now_us);
/* A damaged row of a small table, by its id; returns a message that names it, in `arena`. */
struct fa_value;
const char *fa_aside_report_row(struct fa_aside *aside, const char *table,
                                const struct fa_value *id, const char *reason,
                                struct fa_arena *arena, int64_t now_us);
bool fa_aside_has(struct fa_aside *aside, const char *kind, const char *key, int64_t now_us);
bool fa_aside_has_task(struct fa_aside *aside, int64_t key, int64_t now_us);
/* Whether there are items that fa_aside_write has not stored yet. */
bool fa_aside_is_pending(struct fa_aside *aside);

/* Stores new items in the open transaction, and with `with_events` also events of the tasks. */
FA_MUST_CHECK enum faina_code fa_aside_write(struct fa_aside *aside, struct fa_unit *unit,
                                             bool with_events, struct faina_error *err);
/* After that transaction. If it failed, the next one stores them. */
void fa_aside_settle(struct fa_aside *aside, bool is_committed);
/* Whether items were stored since the last fa_aside_take_unpublished; and these items, in `arena`
 * (A3). */
bool fa_aside_has_unpublished(struct fa_aside *aside);
size_t fa_aside_take_unpublished(struct fa_aside *aside, struct fa_arena *arena,
                                 struct fa_aside_item **out);

/* A chore: reads the items of other nodes, and removes items that did not fail again. *next_us
 * becomes the time of the next try, if that is earlier. */
FA_MUST_CHECK enum faina_code fa_aside_refresh(struct fa_aside *aside, struct fa_unit *unit,
                                               int64_t *next_us, struct faina_error *err);
/* Makes all items due to be tried again, when the store has just been opened. */
FA_MUST_CHECK enum faina_code fa_aside_retry_all(struct fa_aside *aside, struct fa_unit *unit,
                                                 struct faina_error *err);

#endif
