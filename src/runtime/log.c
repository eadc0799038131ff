/* log.c - formats a line for whoever listens. */
#include "runtime/log.h"

#include <stdarg.h>
#include <stdio.h>

#define LINE_SIZE_MAX 2048

void fa_log(const struct fa_log *log, enum fa_log_level level, const char *format, ...)
{
    char line[LINE_SIZE_MAX];
    va_list args;

    if (!log->write)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    log->write(log->ctx, level, line);
}
