/*
 * workflow.h - reading definitions for the verbs that need them.
 */
#ifndef FA_CLI_WORKFLOW_H
#define FA_CLI_WORKFLOW_H

#include "cli/cli.h"
#include "model/workflow.h"

/* Reads a definition; says all that is wrong with it. */
FA_MUST_CHECK int fa_workflow_load(struct fa_cli *cli, const char *file, struct fa_bytes *text,
                                   bool *is_yaml, const struct fa_workflow **out);
/* A stored one, understood; NULL when it can't be. */
const struct fa_workflow *fa_workflow_of(struct fa_cli *cli,
                                         const struct fa_stored_workflow *stored);

/* What a join would have made of the tasks that were made since then and have ended. */
struct fa_join_trial {
    int64_t ends; /* of tasks that have a key */
    int64_t fired, failed, dropped;
    int64_t waiting;     /* rounds that aren't over */
    const char *failure; /* the first */
};
/* Asks for the tasks, and prints each task that would be made unless a table is wanted. */
FA_MUST_CHECK int fa_join_play(struct fa_cli *cli, const struct fa_join *join, int64_t since_us,
                               struct fa_join_trial *out);

#endif
