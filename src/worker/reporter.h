/*
 * reporter.h - where the worker's log lines go: a function of its owner.
 *
 * A line is one sentence without a newline.
 */
#ifndef FA_WORKER_REPORTER_H
#define FA_WORKER_REPORTER_H

#include "json/log.h"

struct fa_reporter {
    /* Called from any of the worker's threads; NULL: lines are dropped. */
    void (*write)(void *ctx, enum fa_log_level level, const char *text);
    void *ctx;
};

void fa_report(const struct fa_reporter *reporter, enum fa_log_level level, const char *format, ...)
    FA_PRINTF(3, 4);
/* Writes to a log, which must outlive it. */
struct fa_reporter fa_reporter_of_log(const struct fa_log *log);

#endif
