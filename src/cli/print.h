/*
 * print.h - prints tasks to stdout: as JSON, as a record, as a table, as one line.
 */
#ifndef FA_CLI_PRINT_H
#define FA_CLI_PRINT_H

#include "cli/short_id.h"

/* The whole task: JSON, or a record on a terminal. */
void fa_print_task(struct fa_cli *cli, const struct faina_task *task);
/* A task after a change: JSON, or one line such as "claimed 0190... (attempt 1 of 4)". */
void fa_print_change(struct fa_cli *cli, const struct faina_task *task);
/* The JSON of a task alone, and a newline. */
void fa_print_task_json(struct fa_cli *cli, const struct faina_task *task);
/* A table of tasks; row_max as in fa_table_print. */
void fa_print_task_table(struct fa_cli *cli, const struct faina_task *tasks, size_t count,
                         struct fa_short_ids ids, size_t row_max);
/* How their ids are shown in a table. The engine must be open. */
struct fa_short_ids fa_task_ids_of(struct fa_cli *cli, const struct faina_task *tasks,
                                   size_t count);
/* The text in the parentheses of that line; "" when there is none. */
const char *fa_print_note(struct fa_arena *arena, const struct faina_task *task);
/* The message in a task's error; NULL: there is none. */
const char *fa_print_error_message(struct fa_arena *arena, const struct faina_task *task);

#endif
