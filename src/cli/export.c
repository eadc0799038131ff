/* export.c - see export.h. */
#include "cli/export.h"

#include "api/address.h"

#include <stdlib.h>

/* Headers may hold a secret, which may be in a file. */
struct variables {
    struct fa_cli *cli;
    enum faina_code code;
    struct faina_error error;
};

static const char *get_variable(void *ctx, const char *name)
{
    struct variables *variables = ctx;
    const char *value = NULL;
    struct faina_error err;

    fa_error_clear(&err);
    if (fa_variable_read(name, &variables->cli->arena, &value, &err) != FAINA_OK) {
        variables->code = FAINA_INVALID_REQUEST;
        variables->error = err;
    }
    return value;
}

int fa_cli_export_read(struct fa_cli *cli, const struct fa_reporter *log, struct fa_cli_export *out)
{
    struct variables variables = {.cli = cli, .code = FAINA_OK};
    struct faina_error err;
    enum faina_code code;

    fa_error_clear(&err);
    code = fa_otlp_settings_read(get_variable, &variables, log, &cli->arena, &out->settings,
                                 &out->is_on, &err);
    if (variables.code != FAINA_OK)
        return fa_cli_usage(cli, "%s", variables.error.message);
    return code == FAINA_OK ? FA_EXIT_OK : fa_cli_usage(cli, "%s", err.message);
}

const struct fa_sampler *fa_cli_export_sampler(const struct fa_cli_export *export)
{
    return export->is_on && export->settings.traces.url ? &export->settings.sampler : NULL;
}

enum faina_code fa_cli_export_start(struct fa_cli *cli, struct fa_cli_export *export,
                                    const char *node_id, const struct fa_reporter *log,
                                    struct faina_error *err)
{
    const struct fa_otlp_config config = {
        .settings = &export->settings, .node_id = node_id, .log = *log};

    return export->is_on ? fa_otlp_start(&export->otlp, cli->service, &config, err) : FAINA_OK;
}

void fa_cli_export_options(const struct fa_cli_export *export, struct fa_server_options *options)
{
    options->sampler = fa_cli_export_sampler(export);
    if (export->otlp) {
        options->more_metrics = fa_otlp_write_own_metrics;
        options->more_metrics_ctx = export->otlp;
    }
}

static void write_metrics(void *ctx, struct fa_buf *out)
{
    fa_server_write_metrics(ctx, out);
}

void fa_cli_export_metrics(struct fa_cli_export *export, struct fa_server *server)
{
    if (export->otlp)
        fa_otlp_metrics_begin(export->otlp, write_metrics, server);
}

void fa_cli_export_leave(struct fa_cli_export *export)
{
    fa_otlp_metrics_end(export->otlp);
}

void fa_cli_export_stop(struct fa_cli_export *export)
{
    fa_otlp_stop(export->otlp);
    export->otlp = NULL;
}
