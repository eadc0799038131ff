/*
 * verb_submit.h - `submit --bulk`.
 */
#ifndef FA_CLI_VERBS_VERB_SUBMIT_H
#define FA_CLI_VERBS_VERB_SUBMIT_H

#include "cli/cli.h"

/* verb_bulk.c. `defaults` has the values of the fields that a line leaves out. */
FA_MUST_CHECK int fa_submit_bulk(struct fa_cli *cli, const struct faina_submit *defaults);

#endif
