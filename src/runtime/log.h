/*
 * log.h - where the runtime tells what it does: a function of the owner's, and a level.
 *
 * One line is one sentence without a newline. Nothing here is needed for correctness.
 */
#ifndef FA_RUNTIME_LOG_H
#define FA_RUNTIME_LOG_H

#include "base/bytes.h"

enum fa_log_level { FA_LOG_ERROR, FA_LOG_WARN, FA_LOG_INFO, FA_LOG_DEBUG };

struct fa_log {
    /* Called from any of the runtime's threads; NULL: nobody listens. */
    void (*write)(void *ctx, enum fa_log_level level, const char *text);
    void *ctx;
};

void fa_log(const struct fa_log *log, enum fa_log_level level, const char *format, ...)
    FA_PRINTF(3, 4);

#endif
