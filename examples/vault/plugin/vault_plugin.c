/* vault_plugin.c - the types of the plugin, with the resources of document 003's table. */
#include "vault_tasks.h"
#include "vault_work.h"

static const char *const stores[] = {"objectstore", "database"};
static const char *const database[] = {"database"};
static const char *const ollama[] = {"ollama"};

/* The table: with attempts that follow soon, since most faults are a file system or a server that
 * is back in a moment. */
#define SOON                                                                                       \
    {                                                                                              \
        .base_ms = 500, .factor = 4, .max_ms = 60000                                               \
    }

static const struct faina_plugin_type types[] = {
    {.type = "ingest.container",
     .handler = {.on_start = vault_ingest_start,
                 .retry = SOON,
                 .resources = stores,
                 .resource_count = VAULT_COUNT(stores)}},
    {.type = "reconstruct.container",
     .handler = {.on_start = vault_reconstruct_start,
                 .retry = SOON,
                 .resources = stores,
                 .resource_count = VAULT_COUNT(stores)}},
    {.type = "rebuild.sql",
     .handler = {.on_start = vault_rebuild_start,
                 .retry = SOON,
                 .resources = stores,
                 .resource_count = VAULT_COUNT(stores)}},
    {.type = "enrichment",
     .handler = {.on_start = vault_enrichment_start,
                 .on_resume = vault_enrichment_resume,
                 .on_error = vault_enrichment_error,
                 .retry = SOON,
                 .resources = ollama,
                 .resource_count = VAULT_COUNT(ollama)}},
    {.type = "build.search",
     .handler = {.on_start = vault_search_start,
                 .retry = SOON,
                 .resources = database,
                 .resource_count = VAULT_COUNT(database)}},
};

static const struct faina_plugin plugin = {
    .abi = FAINA_PLUGIN_ABI,
    .handler_size = sizeof(struct faina_plugin_type),
    .name = "vault",
    .version = "1",
    .type_count = VAULT_COUNT(types),
    .types = types,
};

FAINA_PLUGIN_LINKAGE faina_plugin_fn faina_plugin;

const struct faina_plugin *faina_plugin(void)
{
    vault_work_recover();
    return &plugin;
}
