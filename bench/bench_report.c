/*
 * bench_report.c - medians and ratios; then the same report twice, as a table and as JSON.
 */
#include "bench/bench_report.h"

#include "json/json.h"
#include "cli/text.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>

#define JSON_SIZE_MAX (4 * 1024 * 1024)

/* ------------------------------------------------------------------------------------------
 * Numbers
 */

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

double fa_bench_quantile(double *values, size_t count, double share)
{
    double position, part;
    size_t below;

    assert(share >= 0 && share <= 1);
    if (count == 0)
        return 0;
    qsort(values, count, sizeof *values, compare_doubles);
    position = share * (double)(count - 1);
    below = (size_t)position;
    part = position - (double)below;
    return below + 1 < count ? values[below] + part * (values[below + 1] - values[below])
                             : values[below];
}

void fa_bench_rounds_add(struct fa_bench_rounds *rounds, double value)
{
    assert(rounds->count < FA_BENCH_ROUNDS_MAX);
    rounds->values[rounds->count++] = value;
}

double fa_bench_median(const struct fa_bench_rounds *rounds)
{
    struct fa_bench_rounds copy = *rounds;

    return fa_bench_quantile(copy.values, copy.count, 0.5);
}

void fa_bench_speed_add(struct fa_bench_speed *speed, const int64_t ns[FA_BENCH_STEPS])
{
    int64_t life_ns = 0;

    for (size_t i = 0; i < FA_BENCH_STEPS; i++) {
        fa_bench_rounds_add(&speed->rates[i], (double)speed->tasks * 1e9 / (double)ns[i]);
        life_ns += ns[i];
    }
    fa_bench_rounds_add(&speed->rates[FA_BENCH_LIFE], (double)speed->tasks * 1e9 / (double)life_ns);
}

void fa_bench_latency_summarize(struct fa_bench_latency *row, double *samples_us, size_t count,
                                int rounds)
{
    size_t parts = (size_t)rounds < count ? (size_t)rounds : count;

    for (size_t i = 0; i < parts; i++) {
        size_t from = count * i / parts, to = count * (i + 1) / parts;

        fa_bench_rounds_add(&row->medians_us, fa_bench_quantile(samples_us + from, to - from, 0.5));
    }
    row->samples = count;
    row->median_us = fa_bench_quantile(samples_us, count, 0.5);
    row->p99_us = fa_bench_quantile(samples_us, count, 0.99);
}

/* Adds a ratio without rounds. */
static FA_PRINTF(4, 0) struct fa_bench_ratio *add_ratio(struct fa_bench_report *report,
                                                        enum fa_bench_aim aim, double target,
                                                        const char *format, va_list args)
{
    struct fa_bench_ratio *ratio = &report->ratios[report->ratio_count++];

    assert(report->ratio_count <= FA_BENCH_ROWS_MAX);
    vsnprintf(ratio->name, sizeof ratio->name, format, args);
    ratio->aim = aim;
    ratio->target = target;
    return ratio;
}

void fa_bench_ratio_add(struct fa_bench_report *report, const struct fa_bench_rounds *above,
                        const struct fa_bench_rounds *below, enum fa_bench_aim aim, double target,
                        const char *format, ...)
{
    struct fa_bench_ratio *ratio;
    va_list args;

    assert(above->count == below->count);
    va_start(args, format);
    ratio = add_ratio(report, aim, target, format, args);
    va_end(args);
    for (size_t i = 0; i < above->count; i++)
        fa_bench_rounds_add(&ratio->rounds,
                            below->values[i] > 0 ? above->values[i] / below->values[i] : 0);
}

void fa_bench_value_add(struct fa_bench_report *report, const struct fa_bench_rounds *values,
                        enum fa_bench_aim aim, double target, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    add_ratio(report, aim, target, format, args)->rounds = *values;
    va_end(args);
}

const char *fa_bench_verdict(const struct fa_bench_ratio *ratio)
{
    double value = fa_bench_median(&ratio->rounds);

    switch (ratio->aim) {
    case FA_BENCH_NO_AIM:
        return "";
    case FA_BENCH_AT_LEAST:
        return value >= ratio->target ? "met" : "missed";
    case FA_BENCH_AT_MOST:
        return value <= ratio->target ? "met" : "missed";
    }
    return "";
}

static bool has_server(const struct fa_bench_report *report)
{
    return report->server.version[0] != '\0';
}

static const char *subject_name(const struct fa_bench_report *report, enum fa_bench_subject subject)
{
    switch (subject) {
    case FA_BENCH_MINIMAL:
        return has_server(report) ? "raw PostgreSQL, minimal table" : "raw SQLite, minimal table";
    case FA_BENCH_OWN:
        return "raw SQLite, our schema";
    case FA_BENCH_ENGINE:
        return "engine";
    case FA_BENCH_POSTED:
        return "engine, posted";
    case FA_BENCH_HTTP:
        return "engine, over HTTP";
    case FA_BENCH_ANNOUNCED:
        return "engine, with RabbitMQ";
    case FA_BENCH_KEYS:
        return "bare keys on NATS";
    }
    return "";
}

static const char *aim_name(enum fa_bench_aim aim)
{
    switch (aim) {
    case FA_BENCH_NO_AIM:
        return "";
    case FA_BENCH_AT_LEAST:
        return "at least";
    case FA_BENCH_AT_MOST:
        return "at most";
    }
    return "";
}

/* ------------------------------------------------------------------------------------------
 * Tables
 */

/* The median as "1,234,567". */
static const char *rate_text(const struct fa_bench_rounds *rounds, char out[FA_TEXT_COUNT_SIZE])
{
    return fa_text_count((int64_t)(fa_bench_median(rounds) + 0.5), out);
}

static void print_server(const struct fa_bench_server *server, FILE *out)
{
    fprintf(out, "PostgreSQL %s, shared_buffers %s, fsync %s, synchronous_commit %s\n",
            server->version, server->shared_buffers, server->fsync, server->synchronous_commit);
    if (strcmp(server->fsync, "on") != 0 || strcmp(server->synchronous_commit, "on") != 0)
        fputs("Warning: this server doesn't wait for its disk.\n", out);
}

static void print_machine(const struct fa_bench_report *report, FILE *out)
{
    const struct fa_bench_machine *machine = &report->machine;

    fprintf(out, "%d cores (%s), %s, SQLite %s, %s\n", machine->cores, machine->cpu,
            machine->kernel, machine->sqlite, machine->filesystem);
    fprintf(out, "fdatasync of one page: %.0f microseconds (median)\n", machine->fdatasync_us);
    if (has_server(report))
        print_server(&report->server, out);
    fprintf(out, "%s, %d rounds, input %zu bytes, cache %lld MiB, %.0f seconds in all\n",
            has_server(report) ? report->server.location : report->url, report->rounds,
            report->input_size, (long long)report->cache_kib / 1024, report->seconds);
    if (strcmp(machine->filesystem, "tmpfs") == 0)
        fputs("Warning: tmpfs is not on a disk. Use --dir to name a folder on one.\n", out);
    if (report->is_quick)
        fputs("Warning: --quick only checks that all parts run; its numbers mean nothing.\n", out);
}

static void print_speeds(const struct fa_bench_report *report, FILE *out)
{
    static const char *const limits[] = {"", ", a limit", ", a rate"};

    if (report->speed_count == 0)
        return;
    fprintf(out, "\n%-30s %7s %6s %10s %10s %10s %11s\n", "Tasks per second", "callers", "batch",
            "submit", "claim", "complete", "all three");
    for (size_t i = 0; i < report->speed_count; i++) {
        const struct fa_bench_speed *speed = &report->speeds[i];
        char name[64], text[FA_BENCH_STEPS + 1][FA_TEXT_COUNT_SIZE];

        if (i > 0 && strcmp(speed->part, report->speeds[i - 1].part) != 0)
            fputc('\n', out);
        snprintf(name, sizeof name, "%s%s%s", subject_name(report, speed->subject),
                 speed->has_key ? ", keys" : "", limits[speed->limit]);
        fprintf(out, "%-30s %7d %6d %10s %10s %10s %11s\n", name, speed->callers, speed->batch,
                rate_text(&speed->rates[FA_BENCH_SUBMIT], text[0]),
                rate_text(&speed->rates[FA_BENCH_CLAIM], text[1]),
                rate_text(&speed->rates[FA_BENCH_COMPLETE], text[2]),
                rate_text(&speed->rates[FA_BENCH_LIFE], text[3]));
    }
}

static void print_latencies(const struct fa_bench_report *report, FILE *out)
{
    if (report->latency_count == 0)
        return;
    fprintf(out, "\n%-50s %8s %10s %10s\n", "Claims, milliseconds", "samples", "median", "p99");
    for (size_t i = 0; i < report->latency_count; i++) {
        const struct fa_bench_latency *row = &report->latencies[i];

        fprintf(out, "%-50s %8zu %10.3f %10.3f\n", row->name, row->samples, row->median_us / 1000,
                row->p99_us / 1000);
    }
}

static void print_wakes(const struct fa_bench_report *report, FILE *out)
{
    if (report->wake_count == 0)
        return;
    fprintf(out, "\n%-50s %8s %10s %10s\n", "Start on another node, milliseconds", "samples",
            "median", "p99");
    for (size_t i = 0; i < report->wake_count; i++) {
        const struct fa_bench_wake *row = &report->wakes[i];

        fprintf(out, "%-50s %8zu %10.3f %10.3f\n", row->name, row->samples,
                fa_bench_median(&row->medians_us) / 1000, fa_bench_median(&row->p99s_us) / 1000);
    }
}

static void print_requests(const struct fa_bench_report *report, FILE *out)
{
    if (report->request_row_count == 0)
        return;
    fprintf(out, "\n%-36s %11s %10s %10s %10s\n", "The server, responses per second", "connections",
            "rate", "median ms", "p99 ms");
    for (size_t i = 0; i < report->request_row_count; i++) {
        const struct fa_bench_request_row *row = &report->request_rows[i];
        char text[FA_TEXT_COUNT_SIZE];

        fprintf(out, "%-36s %11d %10s %10.3f %10.3f\n", row->name, row->connections,
                rate_text(&row->per_second, text), fa_bench_median(&row->medians_us) / 1000,
                fa_bench_median(&row->p99s_us) / 1000);
    }
}

static void print_resident(const char *name, int64_t before, int64_t quarter, int64_t after,
                           FILE *out)
{
    fprintf(out, "%-46s %8.1f %10.1f %8.1f %8.1f\n", name, (double)before / 1024,
            (double)quarter / 1024, (double)after / 1024, (double)(after - before) / 1024);
}

static void print_memory(const struct fa_bench_memory *memory, FILE *out)
{
    char tasks[FA_TEXT_COUNT_SIZE];

    if (!memory->is_measured)
        return;
    fprintf(out, "\n%-46s %8s %10s %8s %8s\n", "Resident memory, MiB", "before", "at quarter",
            "after", "growth");
    fprintf(out, "%s waiting, page cache %.0f MiB\n", fa_text_count(memory->tasks, tasks),
            (double)memory->cache_kib / 1024);
    print_resident("  all of it (VmRSS)", memory->before.rss_kib, memory->quarter.rss_kib,
                   memory->after.rss_kib, out);
    print_resident("  its own (RssAnon)", memory->before.anon_kib, memory->quarter.anon_kib,
                   memory->after.anon_kib, out);
}

static void print_ratios(const struct fa_bench_report *report, FILE *out)
{
    if (report->ratio_count == 0)
        return;
    fprintf(out, "\n%-66s %8s %15s\n", "Ratio", "measured", "target");
    for (size_t i = 0; i < report->ratio_count; i++) {
        const struct fa_bench_ratio *ratio = &report->ratios[i];

        fprintf(out, "%-66s %8.2f", ratio->name, fa_bench_median(&ratio->rounds));
        if (ratio->aim != FA_BENCH_NO_AIM)
            fprintf(out, "  %8s %4.2f  %s", aim_name(ratio->aim), ratio->target,
                    fa_bench_verdict(ratio));
        fputc('\n', out);
    }
}

void fa_bench_report_print(const struct fa_bench_report *report, FILE *out)
{
    print_machine(report, out);
    print_speeds(report, out);
    print_latencies(report, out);
    print_wakes(report, out);
    print_requests(report, out);
    print_memory(&report->memory, out);
    print_ratios(report, out);
}

/* ------------------------------------------------------------------------------------------
 * JSON
 */

static void put_rounds(struct fa_json_writer *w, const char *key,
                       const struct fa_bench_rounds *rounds)
{
    fa_json_key(w, key);
    fa_json_begin_array(w);
    for (size_t i = 0; i < rounds->count; i++)
        fa_json_put_double(w, rounds->values[i]);
    fa_json_end_array(w);
}

static void write_server(struct fa_json_writer *w, const struct fa_bench_server *server)
{
    fa_json_key(w, "server");
    fa_json_begin_object(w);
    fa_json_set_str(w, "version", server->version);
    fa_json_set_str(w, "sharedBuffers", server->shared_buffers);
    fa_json_set_str(w, "fsync", server->fsync);
    fa_json_set_str(w, "synchronousCommit", server->synchronous_commit);
    fa_json_end_object(w);
}

static void write_head(struct fa_json_writer *w, const struct fa_bench_report *report)
{
    const struct fa_bench_machine *machine = &report->machine;

    fa_json_set_str(w, "version", FAINA_VERSION);
    fa_json_set_str(w, "url", has_server(report) ? report->server.location : report->url);
    fa_json_set_bool(w, "quick", report->is_quick);
    fa_json_set_int(w, "rounds", report->rounds);
    fa_json_set_int(w, "cacheKib", report->cache_kib);
    fa_json_set_int(w, "inputBytes", (int64_t)report->input_size);
    fa_json_set_double(w, "seconds", report->seconds);
    fa_json_key(w, "machine");
    fa_json_begin_object(w);
    fa_json_set_int(w, "cores", machine->cores);
    fa_json_set_str(w, "cpu", machine->cpu);
    fa_json_set_str(w, "kernel", machine->kernel);
    fa_json_set_str(w, "sqlite", machine->sqlite);
    fa_json_set_str(w, "filesystem", machine->filesystem);
    fa_json_set_double(w, "fdatasyncUs", machine->fdatasync_us);
    fa_json_end_object(w);
    if (has_server(report))
        write_server(w, &report->server);
}

static void write_speed(struct fa_json_writer *w, const struct fa_bench_speed *speed)
{
    static const char *const names[] = {"submit", "claim", "complete", "life"};
    static const char *const subjects[] = {
        [FA_BENCH_MINIMAL] = "raw-minimal",
        [FA_BENCH_OWN] = "raw-own",
        [FA_BENCH_ENGINE] = "engine",
        [FA_BENCH_POSTED] = "engine-posted",
        [FA_BENCH_HTTP] = "engine-http",
        [FA_BENCH_KEYS] = "keys",
        [FA_BENCH_ANNOUNCED] = "engine-announced",
    };

    fa_json_begin_object(w);
    fa_json_set_str(w, "part", speed->part);
    fa_json_set_str(w, "subject", subjects[speed->subject]);
    fa_json_set_int(w, "callers", speed->callers);
    fa_json_set_int(w, "batch", speed->batch);
    fa_json_set_bool(w, "keys", speed->has_key);
    if (speed->limit != FA_BENCH_NO_RESOURCE)
        fa_json_set_str(w, "limit", speed->limit == FA_BENCH_RATE ? "rate" : "concurrency");
    fa_json_set_int(w, "tasks", speed->tasks);
    for (size_t i = 0; i <= FA_BENCH_STEPS; i++) {
        fa_json_key(w, names[i]);
        fa_json_begin_object(w);
        fa_json_set_double(w, "perSecond", fa_bench_median(&speed->rates[i]));
        put_rounds(w, "rounds", &speed->rates[i]);
        fa_json_end_object(w);
    }
    fa_json_end_object(w);
}

static void write_latency(struct fa_json_writer *w, const struct fa_bench_latency *row)
{
    fa_json_begin_object(w);
    fa_json_set_str(w, "name", row->name);
    fa_json_set_int(w, "waiting", row->waiting);
    fa_json_set_int(w, "throttled", row->throttled);
    fa_json_set_int(w, "ended", row->ended);
    fa_json_set_int(w, "samples", (int64_t)row->samples);
    fa_json_set_double(w, "medianUs", row->median_us);
    fa_json_set_double(w, "p99Us", row->p99_us);
    put_rounds(w, "rounds", &row->medians_us);
    fa_json_end_object(w);
}

static void write_wake(struct fa_json_writer *w, const struct fa_bench_wake *row)
{
    fa_json_begin_object(w);
    fa_json_set_str(w, "name", row->name);
    fa_json_set_int(w, "samples", (int64_t)row->samples);
    fa_json_set_double(w, "medianUs", fa_bench_median(&row->medians_us));
    fa_json_set_double(w, "p99Us", fa_bench_median(&row->p99s_us));
    put_rounds(w, "medians", &row->medians_us);
    put_rounds(w, "p99s", &row->p99s_us);
    fa_json_end_object(w);
}

static void write_request(struct fa_json_writer *w, const struct fa_bench_request_row *row)
{
    fa_json_begin_object(w);
    fa_json_set_str(w, "name", row->name);
    fa_json_set_int(w, "connections", row->connections);
    fa_json_set_double(w, "perSecond", fa_bench_median(&row->per_second));
    fa_json_set_double(w, "medianUs", fa_bench_median(&row->medians_us));
    fa_json_set_double(w, "p99Us", fa_bench_median(&row->p99s_us));
    put_rounds(w, "rounds", &row->per_second);
    put_rounds(w, "medians", &row->medians_us);
    put_rounds(w, "p99s", &row->p99s_us);
    fa_json_end_object(w);
}

static void write_resident(struct fa_json_writer *w, const char *key,
                           const struct fa_bench_resident *resident)
{
    fa_json_key(w, key);
    fa_json_begin_object(w);
    fa_json_set_int(w, "rssKib", resident->rss_kib);
    fa_json_set_int(w, "anonKib", resident->anon_kib);
    fa_json_end_object(w);
}

static void write_memory(struct fa_json_writer *w, const struct fa_bench_memory *memory)
{
    fa_json_key(w, "memory");
    if (!memory->is_measured) {
        fa_json_put_null(w);
        return;
    }
    fa_json_begin_object(w);
    fa_json_set_int(w, "tasks", memory->tasks);
    fa_json_set_int(w, "cacheKib", memory->cache_kib);
    write_resident(w, "before", &memory->before);
    write_resident(w, "quarter", &memory->quarter);
    write_resident(w, "after", &memory->after);
    fa_json_end_object(w);
}

static void write_ratio(struct fa_json_writer *w, const struct fa_bench_ratio *ratio)
{
    fa_json_begin_object(w);
    fa_json_set_str(w, "name", ratio->name);
    fa_json_set_double(w, "value", fa_bench_median(&ratio->rounds));
    put_rounds(w, "rounds", &ratio->rounds);
    if (ratio->aim != FA_BENCH_NO_AIM) {
        fa_json_set_str(w, "aim", aim_name(ratio->aim));
        fa_json_set_double(w, "target", ratio->target);
        fa_json_set_str(w, "verdict", fa_bench_verdict(ratio));
    }
    fa_json_end_object(w);
}

static void write_report(struct fa_json_writer *w, const struct fa_bench_report *report)
{
    fa_json_begin_object(w);
    write_head(w, report);
    fa_json_key(w, "speeds");
    fa_json_begin_array(w);
    for (size_t i = 0; i < report->speed_count; i++)
        write_speed(w, &report->speeds[i]);
    fa_json_end_array(w);
    fa_json_key(w, "claims");
    fa_json_begin_array(w);
    for (size_t i = 0; i < report->latency_count; i++)
        write_latency(w, &report->latencies[i]);
    fa_json_end_array(w);
    fa_json_key(w, "starts");
    fa_json_begin_array(w);
    for (size_t i = 0; i < report->wake_count; i++)
        write_wake(w, &report->wakes[i]);
    fa_json_end_array(w);
    fa_json_key(w, "asked");
    fa_json_begin_array(w);
    for (size_t i = 0; i < report->request_row_count; i++)
        write_request(w, &report->request_rows[i]);
    fa_json_end_array(w);
    write_memory(w, &report->memory);
    fa_json_key(w, "ratios");
    fa_json_begin_array(w);
    for (size_t i = 0; i < report->ratio_count; i++)
        write_ratio(w, &report->ratios[i]);
    fa_json_end_array(w);
    fa_json_end_object(w);
}

bool fa_bench_report_write_json(const struct fa_bench_report *report, FILE *out)
{
    struct fa_json_writer writer;
    struct fa_buf buf;
    bool is_good;

    fa_buf_init(&buf, JSON_SIZE_MAX);
    fa_json_writer_init(&writer, &buf, 2);
    write_report(&writer, report);
    fa_buf_add_char(&buf, '\n');
    assert(!buf.overflow);
    is_good = fwrite(buf.ptr, 1, buf.len, out) == buf.len && fflush(out) == 0;
    fa_buf_finish(&buf);
    return is_good;
}
