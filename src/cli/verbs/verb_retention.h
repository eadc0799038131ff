/* keep.h - how long tasks stay (runtime/keeper.h), as told on the command line. */
#ifndef FA_KEEP_H
#define FA_KEEP_H

#include "cli/cli.h"
#include "runtime/keeper.h"

/* Before the engine is opened. An exit code. */
FA_MUST_CHECK int fa_keep_read(struct fa_cli *cli, struct fa_keep *out);
/* *out stays NULL when everything is kept for ever. */
FA_MUST_CHECK enum faina_code fa_keep_start(struct fa_cli *cli, const struct fa_keep *keep,
                                            struct fa_keeper **out, struct faina_error *err);

#endif
