/*
 * lines.h - handlers with "mode":"lines": a process that serves many tasks, one after the other or
 * at once.
 *
 *   stdin   a line of JSON for each attempt: {"id","type","namespace","attempt","phase","fence",
 *           "input","subtasks"}; {"id","cancel":true} to stop one
 *   stdout  a line for each message about an attempt (handler_message.h); `output`, `error`,
 *           `subtasks` and `background` end it
 *   stderr  the log of all attempts that are in the process
 *
 *   L1  There are at most `processes` of them, each with at most `concurrency` attempts. A process
 *       is started when there is an attempt for it.
 *   L2  When a process ends, the attempts that it has been given have failed. The next one is
 *       started at once after an attempt that ended well, else with a growing pause.
 *   L3  A process that has not ended an attempt FA_KILL_AFTER_MS after it was asked to is killed.
 *   L4  A line that belongs to no attempt in the process fails all of them, and the process is
 *       killed: its other lines can't be trusted either. A late line about an attempt that was
 *       stopped is ignored.
 *
 * Threads: as in handler.h; processes and pipes are handled in the loop's.
 */
#ifndef FA_WORKER_COMMAND_LINES_H
#define FA_WORKER_COMMAND_LINES_H

#include "worker/command/command.h"
#include "worker/reporter.h"

/* The handlers of one folder. */
struct fa_lines_group;

struct fa_lines_group *fa_lines_group_create(struct fa_event_loop *loop, struct fa_spawner *spawner,
                                             const struct fa_reporter *log);
/* Ends all processes. After the pool has stopped, and before the loop ends. NULL is fine. */
void fa_lines_group_stop(struct fa_lines_group *group);
void fa_lines_group_destroy(struct fa_lines_group *group); /* after the pool; NULL is fine */

/* A handler for fa_pool_put. */
struct fa_handler *fa_lines_create(struct fa_lines_group *group,
                                   const struct fa_command_config *config);

#endif
