/* reporter.c - see reporter.h. */
#include "worker/reporter.h"

#include <stdarg.h>
#include <stdio.h>

#define LINE_SIZE_MAX 2048

void fa_report(const struct fa_reporter *reporter, enum fa_log_level level, const char *format, ...)
{
    char line[LINE_SIZE_MAX];
    va_list args;

    if (!reporter->write)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    reporter->write(reporter->ctx, level, line);
}

static void write_to_log(void *ctx, enum fa_log_level level, const char *text)
{
    const struct fa_log *log = ctx;

    if (fa_log_takes(log, level))
        fa_log_write(log, level, text, NULL, 0);
}

struct fa_reporter fa_reporter_of_log(const struct fa_log *log)
{
    return (struct fa_reporter){.write = write_to_log, .ctx = (struct fa_log *)(uintptr_t)log};
}
