/*
 * copy.c - db copy: one store into another.
 */
#include "cli/verbs.h"

#include "base/clock.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/text.h"
#include "service/address.h"

#define LINE_EVERY_US 5000000 /* without a terminal */

static const char *const labels[] = {
    [FA_COPY_READING] = "Reading",
    [FA_COPY_WRITING] = "Copying",
    [FA_COPY_CHECKING] = "Checking",
};

struct watching {
    struct fa_cli *cli;
    struct fa_progress bar;
    bool has_phase;
    enum fa_copy_phase phase;
    int64_t line_us;
};

static void note(struct watching *watching, const char *table, int64_t done, int64_t total)
{
    char count[FA_TEXT_COUNT_SIZE], all[FA_TEXT_COUNT_SIZE];
    int64_t now_us = fa_clock_mono_us();

    if (watching->cli->err_is_tty || now_us - watching->line_us < LINE_EVERY_US)
        return;
    watching->line_us = now_us;
    if (total > 0)
        fa_cli_note(watching->cli, "%s %s: %s of %s rows", labels[watching->phase], table,
                    fa_text_count(done, count), fa_text_count(total, all));
    else
        fa_cli_note(watching->cli, "%s %s: %s rows", labels[watching->phase], table,
                    fa_text_count(done, count));
}

static void moved(void *ctx, enum fa_copy_phase phase, const char *table, int64_t done,
                  int64_t total)
{
    struct watching *watching = ctx;

    if (!watching->has_phase || watching->phase != phase) {
        fa_progress_stop(&watching->bar);
        fa_progress_start(&watching->bar, watching->cli, labels[phase], total);
        watching->has_phase = true;
        watching->phase = phase;
        watching->line_us = fa_clock_mono_us() - LINE_EVERY_US;
    }
    fa_progress_show(&watching->bar, done);
    note(watching, table, done, total);
}

static const char *how(const struct fa_copy_report *report)
{
    return report->is_resumed     ? ", going on with a copy that was begun before"
           : report->is_restarted ? ", anew, since the source has changed since it was begun"
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
            how(report));
}

static void print_json(struct fa_cli *cli, const struct fa_copy_report *report)
{
    struct fa_out_json json;
    struct fa_json_writer *w = &json.writer;
    char checksum[24];

    fa_out_json_begin(cli, &json);
    fa_json_begin_object(w);
    fa_json_key(w, "from");
    fa_json_put_str(w, report->from);
    fa_json_key(w, "to");
    fa_json_put_str(w, report->to);
    fa_json_key(w, "resumed");
    fa_json_put_bool(w, report->is_resumed);
    fa_json_key(w, "restarted");
    fa_json_put_bool(w, report->is_restarted);
    fa_json_key(w, "tables");
    fa_json_begin_array(w);
    for (size_t i = 0; i < report->table_count; i++) {
        snprintf(checksum, sizeof(checksum), "%016llx",
                 (unsigned long long)report->tables[i].checksum);
        fa_json_begin_object(w);
        fa_json_key(w, "name");
        fa_json_put_str(w, report->tables[i].name);
        fa_json_key(w, "rows");
        fa_json_put_int(w, report->tables[i].rows);
        fa_json_key(w, "checksum");
        fa_json_put_str(w, checksum);
        fa_json_end_object(w);
    }
    fa_json_end_array(w);
    fa_json_end_object(w);
    fa_out_json_end(cli, &json);
}

int fa_verb_db_copy(struct fa_cli *cli)
{
    struct watching watching = {.cli = cli};
    struct fa_copy_watch watch = {&watching, moved};
    int64_t start_us = fa_clock_mono_us();
    struct fa_copy_report report = {0};
    const char *urls[2];
    struct faina_error err;
    enum faina_code code = FAINA_OK;

    fa_error_clear(&err);
    for (size_t i = 0; code == FAINA_OK && i < FA_COUNT(urls); i++)
        code = fa_address_complete(cli->args[i], &cli->arena, &urls[i], &err);
    if (code == FAINA_OK && fa_address_is_postgres(urls[0]))
        fa_cli_note(cli, "The source is copied as it is now: stop the workers before, or what they "
                         "do from now on is not in the copy.");
    if (code == FAINA_OK)
        code = fa_service_copy(urls[0], urls[1], &watch, &cli->arena, &report, &err);
    fa_progress_stop(&watching.bar);
    if (code != FAINA_OK)
        return fa_cli_fail(cli, &err);
    if (report.user != NULL)
        fa_cli_note(cli, "%s used the source meanwhile: what it has done since is not in the copy.",
                    report.user);
    if (cli->format == FA_CLI_TABLE)
        print_text(cli, &report, (double)(fa_clock_mono_us() - start_us) / 1e6);
    else
        print_json(cli, &report);
    return FA_EXIT_OK;
}
