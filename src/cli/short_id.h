/*
 * short_id.h - ids of tasks as people type and read them.
 *
 *   D1  Where a verb takes the id of a task, it takes its beginning, too, or at least
 *       FA_ID_SUFFIX_MIN digits of its end, if the task is among the newest FA_FIND_NEWEST. What
 *       matches several tasks is refused (exit code 4), and the tasks are listed on stderr.
 *   D2  A table shows ids shortened in a way that D1 resolves: the end, or the beginning of tasks
 *       that are too old for that. JSON and lines about one task have whole ids.
 */
#ifndef FA_CLI_SHORT_ID_H
#define FA_CLI_SHORT_ID_H

#include "cli/cli.h"

/* If *id is a part of an id, replaces it by the id of the task, in cli->args, too. Text that can't
 * be one is left as it is. The exit code of a refusal, which is printed, otherwise. */
FA_MUST_CHECK int fa_cli_task_id(struct fa_cli *cli, const char **id);
FA_MUST_CHECK int fa_cli_task_ids(struct fa_cli *cli, const char **ids, size_t count);

/* How the ids of a table are shortened. All zero: they are not. */
struct fa_short_ids {
    int end;   /* so many characters of the end */
    int begin; /* or of the beginning */
};
/* The engine must be open. */
struct fa_short_ids fa_short_ids_of(struct fa_cli *cli, const char *const *ids, size_t count);
const char *fa_short_id(struct fa_short_ids how, const char *id, struct fa_arena *arena);

#endif
