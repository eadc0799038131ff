/* publish.c - see publish.h. */
#include "cli/publish.h"

#include "api/address.h"

#include <stdio.h>
#include <unistd.h>

int fa_cli_broker_url(struct fa_cli *cli, const char **out)
{
    struct faina_error err;

    fa_error_clear(&err);
    if (fa_variable_read("FAINA_BROKER", &cli->arena, out, &err) != FAINA_OK ||
        (*out != NULL && fa_amqp_check_url(*out, &err) != FAINA_OK))
        return fa_cli_usage(cli, "FAINA_BROKER: %s", err.message);
    return FA_EXIT_OK;
}

enum faina_code fa_cli_publisher_start(struct fa_cli *cli, const char *url,
                                       const struct fa_reporter *log, struct fa_publisher **out,
                                       struct faina_error *err)
{
    char host[200] = "", node[256];

    if (url == NULL || fa_service_is_remote(cli->service)) /* the server publishes */
        return FAINA_OK;
    gethostname(host, sizeof(host) - 1);
    snprintf(node, sizeof(node), "%s-%ld", host, (long)getpid());
    return fa_publisher_start(out, cli->service,
                              &(struct fa_publisher_config){.url = url, .node = node, .log = *log},
                              err);
}
