/*
 * publish.h - the publisher of a node that has FAINA_BROKER: `faina serve` and `faina worker`.
 */
#ifndef FA_CLI_PUBLISH_H
#define FA_CLI_PUBLISH_H

#include "broker/amqp.h"
#include "broker/publisher.h"
#include "cli/cli.h"

/* The broker's URL; NULL: none is set. A code other than FA_EXIT_OK: it is no URL. The error was
 * printed. */
FA_MUST_CHECK int fa_cli_broker_url(struct fa_cli *cli, const char **out);
/* Starts it. *out stays NULL without a URL, and where the engine is in another process. */
FA_MUST_CHECK enum faina_code fa_cli_publisher_start(struct fa_cli *cli, const char *url,
                                                     const struct fa_reporter *log,
                                                     struct fa_publisher **out,
                                                     struct faina_error *err);

#endif
