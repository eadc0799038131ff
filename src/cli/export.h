/*
 * export.h - the OpenTelemetry exporter of `faina serve` and `faina worker`, when the environment
 * names a collector.
 */
#ifndef FA_CLI_EXPORT_H
#define FA_CLI_EXPORT_H

#include "cli/cli.h"
#include "otlp/otlp.h"
#include "server/server.h"

/* All zero: there is none. */
struct fa_cli_export {
    struct fa_otlp_settings settings;
    bool is_on;
    struct fa_otlp *otlp;
};

/* A code other than FA_EXIT_OK: a variable can't be read. The error was printed. */
FA_MUST_CHECK int fa_cli_export_read(struct fa_cli *cli, const struct fa_reporter *log,
                                     struct fa_cli_export *out);
/* Which traces are exported; NULL: none are. */
const struct fa_sampler *fa_cli_export_sampler(const struct fa_cli_export *export);
/* Before the engine is used. Does nothing when there is none. */
FA_MUST_CHECK enum faina_code fa_cli_export_start(struct fa_cli *cli, struct fa_cli_export *export,
                                                  const char *node_id,
                                                  const struct fa_reporter *log,
                                                  struct faina_error *err);
/* Has the server show the exporter's metrics, before it is started. */
void fa_cli_export_options(const struct fa_cli_export *export, struct fa_server_options *options);
/* Exports the server's metrics until fa_cli_export_leave, before the server is stopped. */
void fa_cli_export_metrics(struct fa_cli_export *export, struct fa_server *server);
void fa_cli_export_leave(struct fa_cli_export *export);
/* Before the engine is closed. */
void fa_cli_export_stop(struct fa_cli_export *export);

#endif
