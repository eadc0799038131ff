/*
 * refusal.h - which callers may change a task that a worker holds, and the refusals of all others;
 * answers that every engine takes in the same way.
 *
 * Engines decide by the table of model/states.h and by these functions, so that a refusal has the
 * same code and sentence on each of them.
 *
 * Threads: pure functions.
 */
#ifndef FA_SERVICE_REFUSAL_H
#define FA_SERVICE_REFUSAL_H

#include "model/states.h"
#include "service/service.h"

/* What a task is compared with. */
struct fa_holding {
    enum faina_status status;
    const char *worker; /* NULL: no worker holds it */
    int64_t fence, version;
};

/* VERSION_CONFLICT: op->by.version is given, and isn't the task's. */
FA_MUST_CHECK enum faina_code fa_holding_check_version(const struct fa_holding *task,
                                                       struct fa_op *op);
/* WRONG_WORKER: op->by isn't the worker that holds the task. */
FA_MUST_CHECK enum faina_code fa_holding_check(const struct fa_holding *task, struct fa_op *op);
/* Refuses a trigger that the table of model/states.h doesn't allow, with a message. */
enum faina_code fa_holding_refuse(const struct fa_holding *task, enum fa_trigger trigger,
                                  struct fa_op *op);
/* TASK_NOT_CLAIMED: no worker holds the task. If the caller gives a worker or fence, the message
 * says what happened to its lease. */
enum faina_code fa_holding_refuse_unheld(const struct fa_holding *task, struct fa_op *op);

/* GET_BY_KEY without a type: takes the task from `list`, a LIST of the tasks with the key in the
 * namespace. TASK_NOT_FOUND: it is empty. */
enum faina_code fa_op_take_listed(struct fa_op *op, const struct fa_op *list, const char *ns);
/* Whether the task is among those of a FIND already. */
bool fa_found_has(const struct fa_found *found, const char *id);

/* Whether the operation gives a fence; whether it is another than that of the task's last claim. */
bool fa_gives_fence(const struct fa_op *op);
bool fa_holding_other_fence(const struct fa_holding *task, const struct fa_op *op);
/* Whether the operation is by the task's worker, with its fence if it gives one. */
bool fa_holding_is_by(const struct fa_holding *task, const struct fa_op *op);

#endif
