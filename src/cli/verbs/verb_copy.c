/*
 * verb_copy.c - db copy: one store into another.
 */
#include "cli/verbs.h"

#include "base/clock.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/text.h"
#include "api/address.h"

#define LINE_EVERY_US 5000000 /* the interval of lines when stderr is no terminal */

static const char *const labels[] = {
    [FA_COPY_READING] = "Reading",
    [FA_COPY_WRITING] = "Copying",
    [FA_COPY_CHECKING] = "Checking",
};

struct display {
    struct fa_cli *cli;
    struct fa_progress bar;
    bool has_phase;
    enum fa_copy_phase phase;
    int64_t line_us;
};

static void note(struct display *display, const char *table, int64_t done, int64_t total)
{
    char count[FA_TEXT_COUNT_SIZE], all[FA_TEXT_COUNT_SIZE];
    int64_t now_us = fa_clock_mono_us();

    if (display->cli->err_is_tty || now_us - display->line_us < LINE_EVERY_US)
        return;
    display->line_us = now_us;
    if (total > 0)
        fa_cli_note(display->cli, "%s %s: %s of %s rows", labels[display->phase], table,
                    fa_text_count(done, count), fa_text_count(total, all));
    else
        fa_cli_note(display->cli, "%s %s: %s rows", labels[display->phase], table,
                    fa_text_count(done, count));
}

static void show_progress(void *ctx, enum fa_copy_phase phase, const char *table, int64_t done,
                          int64_t total)
{
    struct display *display = ctx;

    if (!display->has_phase || display->phase != phase) {
        fa_progress_stop(&display->bar);
        fa_progress_start(&display->bar, display->cli, labels[phase], total);
        display->has_phase = true;
        display->phase = phase;
        display->line_us = fa_clock_mono_us() - LINE_EVERY_US;
    }
    fa_progress_show(&display->bar, done);
    note(display, table, done, total);
}

static const char *note_on(const struct fa_copy_report *report)
{
    return report->is_resumed     ? ", resuming an interrupted copy"
           : report->is_restarted ? ", restarted because the source has changed"
                                  : "";
}

static void print_text(struct fa_cli *cli, const struct fa_copy_report *report, double seconds)
{
    static const struct fa_column columns[] = {
        {"TABLE", 0}, {"ROWS", FA_COLUMN_RIGHT}, {"CHECKSUM", 0}};
    struct fa_table table;
    char count[FA_TEXT_COUNT_SIZE];
    int64_t rows = 0;

    fa_table_init(&table, columns, FA_COUNT(columns));
    for (size_t i = 0; i < report->table_count; i++) {
        fa_table_add(&table, FA_PLAIN, report->tables[i].name);
        fa_table_add(&table, FA_PLAIN,
                     fa_arena_strdup(&cli->arena, fa_text_count(report->tables[i].rows, count)));
        fa_table_addf(&table, "%016llx", (unsigned long long)report->tables[i].checksum);
        rows += report->tables[i].rows;
    }
    fa_table_print(&table, cli, 0);
    fa_table_finish(&table);
    fa_outf(cli, "copied %s from %s to %s in %.1f s%s; both sides are equal\n",
            fa_text_plural(&cli->arena, rows, "row"), report->from, report->to, seconds,
            note_on(report));
}

static void print_json(struct fa_cli *cli, const struct fa_copy_report *report)
{
    struct fa_out_json json;
    struct fa_json_writer *w = &json.writer;
    char checksum[24];

    fa_out_json_begin(cli, &json);
    fa_json_begin_object(w);
    fa_json_set_str(w, "from", report->from);
    fa_json_set_str(w, "to", report->to);
    fa_json_set_bool(w, "resumed", report->is_resumed);
    fa_json_set_bool(w, "restarted", report->is_restarted);
    fa_json_key(w, "tables");
    fa_json_begin_array(w);
    for (size_t i = 0; i < report->table_count; i++) {
        snprintf(checksum, sizeof(checksum), "%016llx",
                 (unsigned long long)report->tables[i].checksum);
        fa_json_begin_object(w);
        fa_json_set_str(w, "name", report->tables[i].name);
        fa_json_set_int(w, "rows", report->tables[i].rows);
        fa_json_set_str(w, "checksum", checksum);
        fa_json_end_object(w);
    }
    fa_json_end_array(w);
    fa_json_end_object(w);
    fa_out_json_end(cli, &json);
}

int fa_verb_db_copy(struct fa_cli *cli)
{
    struct display display = {.cli = cli};
    struct fa_copy_watch watch = {&display, show_progress};
    int64_t start_us = fa_clock_mono_us();
    struct fa_copy_report report = {0};
    const char *urls[2];
    struct faina_error err;
    enum faina_code code = FAINA_OK;

    fa_error_clear(&err);
    for (size_t i = 0; code == FAINA_OK && i < FA_COUNT(urls); i++)
        code = fa_address_complete(cli->args[i], &cli->arena, &urls[i], &err);
    if (code == FAINA_OK && fa_address_is_postgres(urls[0]))
        fa_cli_note(cli, "The source is copied as it is now: changes that workers make from now "
                         "on are not in the copy. Stop them first.");
    if (code == FAINA_OK)
        code = fa_service_copy(urls[0], urls[1], &watch, &cli->arena, &report, &err);
    fa_progress_stop(&display.bar);
    if (code != FAINA_OK)
        return fa_cli_fail(cli, &err);
    if (report.user != NULL)
        fa_cli_note(cli, "%s used the source meanwhile: its later changes are not in the copy.",
                    report.user);
    if (cli->format == FA_CLI_TABLE)
        print_text(cli, &report, (double)(fa_clock_mono_us() - start_us) / 1e6);
    else
        print_json(cli, &report);
    return FA_EXIT_OK;
}
