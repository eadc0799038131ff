/*
 * turns.h - fair share: the tasks of different groups take turns (start-time fair queuing).
 *
 * Tasks with a group are in lanes of their own (lanes.h), whose ready queue is in the order of
 * `turn`. A task gets its turn when it becomes ready, so a claim reads an index, and knows no
 * groups. Each group has a place in the round, of FA_TURN_ROUND places, and its tasks get the turns
 * with that place, one in each round:
 *
 *   turn = max(the next turn with the group's place after the first ready task,
 *              the group's last turn + FA_TURN_ROUND)
 *
 *   U1  Of each group with a ready task, the first one is in the round that begins with the first
 *       ready task of all. So between two starts of one group, each other group with ready tasks of
 *       that lane and rank starts one.
 *   U2  A group that has got no turn in the last round is forgotten: it would get none that a new
 *       group doesn't get. When the queue is empty all are.
 *   U3  On PostgreSQL the row of the lane and rank is locked while turns are assigned, so U1 holds
 *       for tasks that become ready on several nodes.
 *
 * The turns of groups are in table `group_turn`, and written with the tasks.
 *
 * Threads: the batch leader.
 */
#ifndef FA_STORE_QUEUE_TURNS_H
#define FA_STORE_QUEUE_TURNS_H

#include "store/txn/unit.h"

/* Greater than the number of groups that take turns in one lane and rank. With more of them, some
 * share a place, and the older task is first. */
#define FA_TURN_ROUND 1048576

/* Gives turns to those of the rows that have a group and no turn yet. They are about to be inserted
 * into `ready`, and rows that leave it have left. */
FA_MUST_CHECK enum faina_code fa_turns_assign(struct fa_unit *unit, struct fa_row *const *rows,
                                              size_t count, struct faina_error *err);

#endif
