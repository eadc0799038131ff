/*
 * verb_workflow.h - reads definitions, and replays tasks for a join.
 */
#ifndef FA_CLI_VERBS_VERB_WORKFLOW_H
#define FA_CLI_VERBS_VERB_WORKFLOW_H

#include "cli/cli.h"
#include "model/workflow.h"

/* Reads a definition; prints all errors in it. */
FA_MUST_CHECK int fa_workflow_load(struct fa_cli *cli, const char *file, struct fa_bytes *text,
                                   bool *is_yaml, const struct fa_workflow **out);
/* Parses a stored definition; NULL when it is invalid. */
const struct fa_workflow *fa_workflow_of(struct fa_arena *arena,
                                         const struct fa_stored_workflow *stored);

/* The rounds that a join would have had with the ended tasks since then. */
struct fa_join_replay {
    int64_t ends; /* of tasks that have a key */
    int64_t fired, failed, dropped;
    int64_t waiting;     /* rounds that haven't ended */
    const char *failure; /* the first */
};
/* Lists the tasks, replays their ends, and with -o jsonl prints each task that would be created. */
FA_MUST_CHECK int fa_join_play(struct fa_cli *cli, const struct fa_join *join, int64_t since_us,
                               struct fa_join_replay *out);

#endif
