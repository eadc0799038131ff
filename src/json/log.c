/*
 * log.c - one line per event, on stderr.
 */
#include "json/log.h"

#include "base/clock.h"
#include "json/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define LINE_SIZE_MAX 8192

static const char *const names[] = {"error", "warn", "info", "debug"};

bool fa_log_init(struct fa_log *log, const char *level)
{
    *log = (struct fa_log){
        .fd = STDERR_FILENO, .level = FA_LOG_INFO, .is_json = !isatty(STDERR_FILENO)};
    if (!level)
        return true;
    for (size_t i = 0; i < FA_COUNT(names); i++) {
        if (strcmp(level, names[i]) == 0) {
            log->level = (enum fa_log_level)i;
            return true;
        }
    }
    return false;
}

static void add_time(struct fa_buf *line, bool is_long)
{
    int64_t now_us = fa_clock_now_us();
    time_t seconds = (time_t)(now_us / 1000000);
    struct tm tm;
    char text[40];

    gmtime_r(&seconds, &tm);
    strftime(text, sizeof(text), is_long ? "%Y-%m-%dT%H:%M:%S" : "%H:%M:%S", &tm);
    fa_buf_add_str(line, text);
    fa_buf_printf(line, is_long ? ".%06dZ" : ".%06d", (int)(now_us % 1000000));
}

static void put_json(struct fa_buf *line, enum fa_log_level level, const char *message,
                     const struct fa_log_field *fields, size_t count)
{
    struct fa_json_writer w;
    struct fa_buf time;

    fa_buf_init(&time, 64);
    add_time(&time, true);
    fa_json_writer_init(&w, line, 0);
    fa_json_begin_object(&w);
    fa_json_set_str(&w, "time", time.ptr);
    fa_json_set_str(&w, "level", names[level]);
    fa_json_set_str(&w, "message", message);
    for (size_t i = 0; i < count; i++) {
        if (!fields[i].value)
            continue;
        fa_json_key(&w, fields[i].name);
        if (fields[i].is_number)
            fa_json_put_raw(&w, fields[i].value);
        else
            fa_json_put_str(&w, fields[i].value);
    }
    fa_json_end_object(&w);
    fa_buf_finish(&time);
}

/* Text of a client must not move the cursor or forge a line. */
static void add_plain(struct fa_buf *line, const char *text)
{
    for (; *text; text++)
        fa_buf_add_char(line, (unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text);
}

static void put_plain(struct fa_buf *line, enum fa_log_level level, const char *message,
                      const struct fa_log_field *fields, size_t count)
{
    add_time(line, false);
    fa_buf_printf(line, " %-5s ", names[level]);
    add_plain(line, message);
    for (size_t i = 0; i < count; i++) {
        if (!fields[i].value)
            continue;
        fa_buf_printf(line, "  %s=", fields[i].name);
        add_plain(line, fields[i].value);
    }
}

void fa_log_write(const struct fa_log *log, enum fa_log_level level, const char *message,
                  const struct fa_log_field *fields, size_t count)
{
    struct fa_buf line;

    if (!fa_log_takes(log, level))
        return;
    fa_buf_init(&line, LINE_SIZE_MAX);
    (log->is_json ? put_json : put_plain)(&line, level, message, fields, count);
    if (!line.overflow) {
        fa_buf_add_char(&line, '\n');
        (void)!write(log->fd, line.ptr, line.len); /* an error can't be reported */
    }
    fa_buf_finish(&line);
}
