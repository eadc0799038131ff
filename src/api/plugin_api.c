/* plugin_api.c - the engine of the worker, in the process of a plugin. */
#include "api/api.h"

#include "worker/plugin/plugin.h"

#include <stdlib.h>

enum faina_code faina_plugin_open(struct faina **out, struct faina_error *err)
{
    const char *url = getenv(FA_PLUGIN_URL);

    fa_error_clear(err);
    if (!url)
        return fa_error_set(err, FAINA_NOT_SUPPORTED,
                            "a plugin's process can't open this engine: it is in memory, or this "
                            "process was not started by a worker");
    return faina_open(out, url, NULL, err);
}
