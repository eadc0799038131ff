/*
 * submit.h - what `submit` and `submit --bulk` share.
 */
#ifndef FA_SUBMIT_H
#define FA_SUBMIT_H

#include "cli/cli.h"

/* `submit --bulk` (bulk.c). `defaults` fills in what a line leaves out. */
FA_MUST_CHECK int fa_submit_bulk(struct fa_cli *cli, const struct faina_submit *defaults);

#endif
