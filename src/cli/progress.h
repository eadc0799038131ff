/*
 * progress.h - the progress of a long command: a bar on stderr when that is a terminal.
 */
#ifndef FA_CLI_PROGRESS_H
#define FA_CLI_PROGRESS_H

#include "cli/cli.h"

struct fa_progress {
    struct fa_cli *cli;
    const char *label;
    int64_t total; /* 0: unknown */
    int64_t start_us, shown_us;
    bool is_shown;
};

void fa_progress_start(struct fa_progress *progress, struct fa_cli *cli, const char *label,
                       int64_t total);
/* Draws at most ten times a second. */
void fa_progress_show(struct fa_progress *progress, int64_t done);
void fa_progress_stop(struct fa_progress *progress); /* erases the bar */
/* Seconds since the start, never 0. */
double fa_progress_seconds(const struct fa_progress *progress);

#endif
