/*
 * vault_tasks.h - the handlers of the plugin, one file each, and what they share.
 *
 * Threads: a handler runs in a thread of its attempt.
 */
#ifndef VAULT_TASKS_H
#define VAULT_TASKS_H

#include "vault.h"

/* vault_ingest.c: {"sourcePath"} -> {"containerRef", "leafCount"}, in the background. */
faina_handler_fn vault_ingest_start;
/* vault_reconstruct.c: {"containerRef", "outputPath"} -> {"outputPath", "verified"}, likewise. */
faina_handler_fn vault_reconstruct_start;
/* vault_rebuild.c: {"tenantId"} -> {"leafCount", "manifestCount"}. */
faina_handler_fn vault_rebuild_start;
/* vault_enrichment.c: {"leafRef"} -> {"metadata"}. The reference "pending" means all leaves that
 * have no metadata yet, as subtasks. */
faina_handler_fn vault_enrichment_start, vault_enrichment_resume, vault_enrichment_error;
/* vault_search.c: {"hash", ...} -> {"entry"}: stores the input as the leaf's search entry. */
faina_handler_fn vault_search_start;

/* Opens a path of a task's input below VAULT_FILES; relative ones begin there. It can't leave the
 * folder by `..` or by a link. `flags` as of open. -1: *err. */
int vault_open_file(const char *path, int flags, struct vault_error *err);

#endif
