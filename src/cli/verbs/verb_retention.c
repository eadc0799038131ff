/* verb_retention.c - retention: the flags and variables of `serve` and `worker`. */
#include "cli/verbs/verb_retention.h"

#include "model/times.h"

#include <stdlib.h>

#define KEEP_MS_MIN 1000

/* The flag, else the variable, else never. */
static int read_time(struct fa_cli *cli, const char *flag, const char *variable, int64_t *out_ms)
{
    const char *text = getenv(variable);
    struct faina_error err;
    int code = FA_EXIT_OK;

    *out_ms = -1;
    if (fa_flag_is_given(cli, flag))
        code = fa_flag_duration(cli, flag, out_ms);
    else if (text && text[0] && fa_duration_parse(text, variable, out_ms, &err) != FAINA_OK)
        return fa_cli_usage(cli, "%s", err.message);
    if (code == FA_EXIT_OK && fa_flag_is_given(cli, flag) && *out_ms < KEEP_MS_MIN)
        return fa_cli_usage(cli, "--%s is at least 1s", flag);
    return code;
}

int fa_cli_retention_read(struct fa_cli *cli, struct fa_retention_settings *out)
{
    const char *folder = getenv("FAINA_ARCHIVE");
    int code = read_time(cli, "keep-completed", "FAINA_KEEP_COMPLETED", &out->completed_ms);

    if (code == FA_EXIT_OK)
        code = read_time(cli, "keep-failed", "FAINA_KEEP_FAILED", &out->failed_ms);
    if (code == FA_EXIT_OK)
        code = read_time(cli, "keep-events", "FAINA_EVENTS_KEEP", &out->events_ms);
    if (code != FA_EXIT_OK)
        return code;
    if (fa_flag_is_given(cli, "no-archive") && fa_flag_is_given(cli, "archive"))
        return fa_cli_usage(cli, "--archive and --no-archive exclude each other");
    if (out->events_ms > 0)
        cli->options.events_keep_ms = out->events_ms;
    if (fa_flag_is_given(cli, "archive"))
        folder = fa_flag(cli, "archive");
    out->archive = fa_flag_is_given(cli, "no-archive") ? NULL
                   : folder && folder[0]               ? folder
                                                       : "archive";
    return FA_EXIT_OK;
}

enum faina_code fa_cli_retention_start(struct fa_cli *cli, const struct fa_retention_settings *keep,
                                       struct fa_retention_thread **out, struct faina_error *err)
{
    static const char *const flags[] = {"keep-completed", "keep-failed", "keep-events", "archive",
                                        "no-archive"};
    bool is_wanted = keep->completed_ms >= 0 || keep->failed_ms >= 0 || keep->events_ms >= 0;
    bool has_flag = false;

    for (size_t i = 0; i < FA_COUNT(flags); i++)
        has_flag |= fa_flag_is_given(cli, flags[i]);
    /* Environment variables are often shared by many programs, and a server applies its own. */
    if (!is_wanted || (fa_service_is_remote(cli->service) && !has_flag))
        return FAINA_OK;
    return fa_retention_start(out, cli->service, keep, err);
}
