/* unusable.c - a plugin that can't be loaded; WHY selects the reason. */
#include <faina.h>

#include <stdlib.h>

#ifndef WHY
#define WHY 0
#endif

enum { OLD = 1, EMPTY, UNWILLING, CRASHES, NO_START };

static const struct faina_plugin_type types[] = {{.type = "x"}};

static const struct faina_plugin plugin = {
    .abi = WHY == OLD ? 99 : FAINA_PLUGIN_ABI,
    .handler_size = sizeof(struct faina_plugin_type),
    .type_count = WHY == EMPTY ? 0 : 1,
    .types = types,
};

const struct faina_plugin *faina_plugin(void)
{
    if (WHY == CRASHES)
        abort();
    return WHY == UNWILLING ? NULL : &plugin;
}
