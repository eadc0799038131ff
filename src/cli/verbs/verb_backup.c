/*
 * verb_backup.c - backup and restore.
 */
#include "cli/verbs.h"

#include "base/clock.h"
#include "cli/progress.h"
#include "cli/text.h"

#define KIB 1024 /* the unit of the progress bar */

static const char *const labels[] = {
    [FA_BACKUP_COPYING] = "Copying (KiB)",
    [FA_BACKUP_CHECKING] = "Checking (KiB)",
};

struct display {
    struct fa_cli *cli;
    struct fa_progress bar;
    bool has_phase;
    enum fa_backup_phase phase;
};

static bool show_progress(void *ctx, enum fa_backup_phase phase, int64_t done, int64_t total)
{
    struct display *display = ctx;

    if (!display->has_phase || display->phase != phase) {
        fa_progress_stop(&display->bar);
        fa_progress_start(&display->bar, display->cli, labels[phase], total / KIB);
        display->has_phase = true;
        display->phase = phase;
    }
    fa_progress_show(&display->bar, done / KIB);
    return true;
}

static void print_json(struct fa_cli *cli, const char *name, const char *path,
                       const struct fa_backup_report *report)
{
    struct fa_out_json json;
    struct fa_json_writer *w = &json.writer;

    fa_out_json_begin(cli, &json);
    fa_json_begin_object(w);
    fa_json_set_str(w, name, path);
    fa_json_set_int(w, "sizeBytes", report->size_bytes);
    fa_json_set_int(w, "schemaVersion", report->schema_version);
    fa_json_set_int(w, "tasks", report->task_count);
    fa_json_key(w, "byStatus");
    fa_json_begin_object(w);
    for (int i = 0; i < FAINA_STATUS_COUNT; i++)
        fa_json_set_int(w, faina_status_name((enum faina_status)i), report->by_status[i]);
    fa_json_end_object(w);
    fa_json_end_object(w);
    fa_out_json_end(cli, &json);
}

static void print_text(struct fa_cli *cli, const char *what, const char *path,
                       const struct fa_backup_report *report, int64_t start_us)
{
    fa_outf(cli, "%s %s: %s, %s, schema version %d, in %.1f s; checked\n", what,
            fa_text_clean(&cli->arena, path),
            fa_text_plural(&cli->arena, report->task_count, "task"),
            fa_text_size(&cli->arena, report->size_bytes), report->schema_version,
            (double)(fa_clock_mono_us() - start_us) / 1e6);
}

int fa_verb_backup(struct fa_cli *cli)
{
    struct display display = {.cli = cli};
    const struct fa_backup_watch watch = {&display, show_progress};
    int64_t start_us = fa_clock_mono_us();
    struct fa_backup_report report;
    struct faina_error err;
    enum faina_code code;
    int exit_code = fa_cli_open(cli);

    if (exit_code != FA_EXIT_OK)
        return exit_code;
    fa_error_clear(&err);
    code = fa_service_backup(cli->service, cli->args[0], fa_flag_is_given(cli, "force"), &watch,
                             &report, &err);
    fa_progress_stop(&display.bar);
    if (code != FAINA_OK)
        return fa_cli_fail(cli, &err);
    if (cli->format == FA_CLI_TABLE)
        print_text(cli, "wrote", cli->args[0], &report, start_us);
    else
        print_json(cli, "file", cli->args[0], &report);
    return FA_EXIT_OK;
}

int fa_verb_restore(struct fa_cli *cli)
{
    struct display display = {.cli = cli};
    const struct fa_backup_watch watch = {&display, show_progress};
    int64_t start_us = fa_clock_mono_us();
    struct fa_backup_report report;
    struct faina_error err;
    const char *url;
    enum faina_code code;

    fa_error_clear(&err);
    code = fa_cli_url(cli, &url, &err);
    if (code == FAINA_OK)
        code = fa_service_restore(cli->args[0], url, &watch, &report, &err);
    fa_progress_stop(&display.bar);
    if (code != FAINA_OK)
        return fa_cli_fail(cli, &err);
    if (cli->format == FA_CLI_TABLE)
        print_text(cli, "restored", fa_service_file(url), &report, start_us);
    else
        print_json(cli, "url", url, &report);
    return FA_EXIT_OK;
}
