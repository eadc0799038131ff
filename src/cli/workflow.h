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

#endif
