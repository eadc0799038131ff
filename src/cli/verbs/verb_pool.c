/* verb_pool.c - see verb_pool.h. */
#include "cli/verbs/verb_pool.h"

#include "cli/verbs.h"
#include "model/check.h"
#include "model/limits.h"

#include <stdlib.h>

/* NAME=tcp:HOST:PORT or NAME=COMMAND. */
static int read_checks(struct fa_cli *cli, struct fa_runtime_config *config)
{
    struct fa_runtime_check *checks =
        fa_arena_zero(&cli->arena, cli->given_count + 1, sizeof(*checks));

    for (size_t i = 0; i < cli->given_count; i++) {
        const char *value = cli->given[i].value, *equal;

        if (strcmp(cli->given[i].flag->name, "service") != 0)
            continue;
        equal = strchr(value, '=');
        if (!equal || equal == value || equal[1] == '\0')
            return fa_cli_usage(
                cli, "--service is NAME=tcp:HOST:PORT or NAME=COMMAND, not \"%.200s\"", value);
        checks[config->check_count++] = (struct fa_runtime_check){
            .service = fa_arena_copy(&cli->arena, value, (size_t)(equal - value)),
            .check = equal + 1,
        };
    }
    config->checks = checks;
    return FA_EXIT_OK;
}

/* --worker is the name of the pool alone, --node-id that of the process. */
static int read_name(struct fa_cli *cli, struct fa_runtime_config *config)
{
    const char *field = "--node-id", *name = fa_flag(cli, "node-id");
    struct faina_error err;

    if (!name) {
        field = "FAINA_NODE_ID";
        name = getenv(field);
    }
    if (name && name[0] &&
        fa_check_name(name, FA_WORKER_ID_SIZE_MAX, field, FAINA_INVALID_WORKER_ID, &err) !=
            FAINA_OK)
        return fa_cli_usage(cli, "%s", err.message);
    config->worker_id = name && name[0] ? name : NULL;
    return FA_EXIT_OK;
}

int fa_cli_pool_read(struct fa_cli *cli, struct fa_runtime_config *config)
{
    int code = read_name(cli, config);

    if (code == FA_EXIT_OK)
        code = read_checks(cli, config);
    config->services = fa_flag_list(cli, "services", &config->service_count);
    config->pass_env = fa_flag_list(cli, "pass-env", &config->pass_env_count);
    return code;
}
