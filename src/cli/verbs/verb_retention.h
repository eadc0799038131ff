/* verb_retention.h - retention (worker/retention_thread.h), from the command line and the
 * environment. */
#ifndef FA_CLI_VERBS_VERB_RETENTION_H
#define FA_CLI_VERBS_VERB_RETENTION_H

#include "cli/cli.h"
#include "worker/retention_thread.h"

/* Called before the engine is opened. Returns an exit code. */
FA_MUST_CHECK int fa_cli_retention_read(struct fa_cli *cli, struct fa_retention_settings *out);
/* *out stays NULL without retention. */
FA_MUST_CHECK enum faina_code fa_cli_retention_start(struct fa_cli *cli,
                                                     const struct fa_retention_settings *keep,
                                                     struct fa_retention_thread **out,
                                                     struct faina_error *err);

#endif
