/* verb_pool.h - the flags of a worker pool that `worker` and `serve` share: its name, and the
 * services that it can reach. */
#ifndef FA_CLI_VERBS_VERB_POOL_H
#define FA_CLI_VERBS_VERB_POOL_H

#include "cli/cli.h"
#include "worker/runtime.h"

/* Sets worker_id, services and checks. Returns an exit code. */
FA_MUST_CHECK int fa_cli_pool_read(struct fa_cli *cli, struct fa_runtime_config *config);

#endif
