/*
 * verb_operations.h - operations on many tasks: what --all of several verbs starts.
 */
#ifndef FA_CLI_VERBS_VERB_OPERATIONS_H
#define FA_CLI_VERBS_VERB_OPERATIONS_H

#include "cli/cli.h"
#include "model/bulk.h"

/* What a verb does with many tasks. */
struct fa_bulk_verb {
    const char *verb, *doing; /* "Cancel", "Cancelling" */
    const char *done;         /* "cancelled": before the number of tasks */
    const char *counter;      /* the name of the number in JSON */
};

/* The conditions of --type, --status, --where and --namespace, and --reason. */
FA_MUST_CHECK int fa_bulk_flags(struct fa_cli *cli, struct fa_bulk_request *request);
/* Whether the engine has such operations. It must be open. */
bool fa_bulk_is_supported(struct fa_cli *cli);
/* "Cancel 3 tasks?" */
FA_MUST_CHECK int fa_bulk_confirm(struct fa_cli *cli, const char *verb, int64_t count);
/* Counts the tasks of the request, asks for confirmation, starts the operation and waits until it
 * has ended, with a progress bar. With --dry-run it only counts. Returns the exit code. */
FA_MUST_CHECK int fa_bulk_run(struct fa_cli *cli, const struct fa_bulk_verb *verb,
                              const struct fa_bulk_request *request);

#endif
