/* share.c - see share.h. */
#include "cli/share.h"

#include <stdlib.h>
#include <sys/un.h>

const char *fa_share_address(struct fa_cli *cli, const struct fa_log *log)
{
    const size_t size_max = sizeof(((struct sockaddr_un *)NULL)->sun_path);
    struct fa_service_info info;
    const char *address;
    char *real;

    if (fa_service_is_remote(cli->service) ||
        fa_service_info(cli->service, false, &cli->arena, &info, NULL) != FAINA_OK ||
        strcmp(info.engine, "sqlite") != 0)
        return NULL;
    real = realpath(info.location, NULL);
    if (!real)
        return NULL;
    address = fa_arena_printf(&cli->arena, "unix:%s.sock", real);
    free(real);
    if (strlen(address) - 5 < size_max)
        return address;
    FA_LOG(log, FA_LOG_WARN, "the file's path is too long for a socket beside it",
           {"file", info.location});
    return NULL;
}

const char *fa_share_plugin_url(struct fa_cli *cli, const char *address)
{
    struct fa_service_info info;
    const char *url = NULL;

    if (address)
        return address;
    if (fa_cli_url(cli, &url, NULL) != FAINA_OK || strcmp(url, "memory:") == 0)
        return NULL;
    /* The file belongs to another process: a plugin must not become its owner. */
    if (fa_service_file(url) && fa_service_is_remote(cli->service) &&
        fa_service_info(cli->service, false, &cli->arena, &info, NULL) == FAINA_OK)
        return info.location;
    return url;
}

void fa_share_advertise(struct fa_cli *cli, const struct fa_server *server, const char *address)
{
    if (address && fa_server_listens_on(server, address))
        fa_service_advertise(cli->service, address);
}
