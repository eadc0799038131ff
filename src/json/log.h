/*
 * log.h - the program's log: JSON for machines, plain text for people.
 *
 *     FA_LOG(log, FA_LOG_INFO, "listening", {"address", text}, {"url", url});
 *
 *   L1  A line is one write, so lines of several threads never mix.
 *   L2  No secret is ever a field: callers log names and ids, never tokens or payloads.
 *
 * Threads: any, once fa_log_init has returned.
 */
#ifndef FA_JSON_LOG_H
#define FA_JSON_LOG_H

#include "base/bytes.h"

enum fa_log_level { FA_LOG_ERROR, FA_LOG_WARN, FA_LOG_INFO, FA_LOG_DEBUG };

struct fa_log {
    int fd;
    enum fa_log_level level; /* the highest that is written */
    bool is_json;
};

struct fa_log_field {
    const char *name, *value; /* a NULL value leaves the field out */
    bool is_number;           /* the value is a number as JSON writes it */
};

/* Writes to stderr: plain on a terminal, JSON lines elsewhere. `level` is a name such as "debug"
 * (NULL: info); false when it is unknown. */
bool fa_log_init(struct fa_log *log, const char *level);

static inline bool fa_log_takes(const struct fa_log *log, enum fa_log_level level)
{
    return level <= log->level;
}

void fa_log_write(const struct fa_log *log, enum fa_log_level level, const char *message,
                  const struct fa_log_field *fields, size_t count);

#define FA_LOG(log, level, message, ...)                                                           \
    do {                                                                                           \
        if (fa_log_takes((log), (level))) {                                                        \
            const struct fa_log_field fa_log_fields_[] = {__VA_ARGS__};                            \
            fa_log_write((log), (level), (message), fa_log_fields_, FA_COUNT(fa_log_fields_));     \
        }                                                                                          \
    } while (0)

#endif
