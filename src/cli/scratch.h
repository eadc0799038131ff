/*
 * scratch.h - a copy of a SQLite store in a temporary folder, to try something on.
 */
#ifndef FA_SCRATCH_H
#define FA_SCRATCH_H

#include "base/error.h"

#define FA_SCRATCH_PATH_SIZE 4096

struct fa_scratch {
    char folder[FA_SCRATCH_PATH_SIZE];
    char url[FA_SCRATCH_PATH_SIZE + 32]; /* "memory:" when there is no file to copy */
};

/* Copies the file of `url`, with its log. A file that isn't there is copied as nothing. */
FA_MUST_CHECK enum faina_code fa_scratch_copy(struct fa_scratch *scratch, const char *url,
                                              struct faina_error *err);
void fa_scratch_remove(struct fa_scratch *scratch);

#endif
