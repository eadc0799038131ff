/*
 * scratch.h - a temporary copy of a SQLite store, for experiments.
 */
#ifndef FA_CLI_SCRATCH_H
#define FA_CLI_SCRATCH_H

#include "base/error.h"

#define FA_SCRATCH_PATH_SIZE 4096

struct fa_scratch {
    char folder[FA_SCRATCH_PATH_SIZE];
    char url[FA_SCRATCH_PATH_SIZE + 32]; /* of the copy; the original's when there is no file */
};

/* Copies the file of `url` and its WAL. A missing file gives an empty folder. */
FA_MUST_CHECK enum faina_code fa_scratch_copy(struct fa_scratch *scratch, const char *url,
                                              struct faina_error *err);
void fa_scratch_remove(struct fa_scratch *scratch);

#endif
