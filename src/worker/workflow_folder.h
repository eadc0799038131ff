/*
 * workflows.h - the workflows folder: definitions in files, applied at the start and when they
 * change.
 *
 * A file NAME.yaml, .yml or .json is applied as `faina workflow apply` would. The file's name is
 * nothing but that; the workflow is called what the definition says.
 *
 *   W1  A file with a mistake changes nothing, and each mistake is told with file, line and column.
 *   W2  A workflow that is in the store just as in its file is left alone: what somebody switched
 *       off stays off when the server starts again.
 *   W3  When its file is gone for GONE_US, a workflow is switched off: what its joins have gathered
 *       stays, and the file's coming back, under any name, switches it on as long as the server
 *       that switched it off runs. It is left alone when somebody has changed it since, or when
 *       the whole folder can't be read.
 *   W4  Two files can't define one workflow: the second is refused.
 *   W5  A folder or file that others could change is not used (folder.h, D1).
 *
 * Threads: create and destroy from the owner's. It has a thread of its own, since it waits for the
 * store.
 */
#ifndef FA_WORKFLOWS_H
#define FA_WORKFLOWS_H

#include "runtime/tell.h"
#include "service/service.h"

struct fa_workflows;

struct fa_workflows_config {
    const char *path;
    bool is_wanted; /* somebody has named it: it is told when it isn't there */
    const char *ns; /* of all workflows in it; NULL: "default" */
    struct fa_teller log;
};

/* Returns when what is there was applied; then watches. Only a lack of resources is an error: the
 * rest is told. */
FA_MUST_CHECK enum faina_code fa_workflows_create(struct fa_workflows **out,
                                                  struct fa_service *service,
                                                  const struct fa_workflows_config *config,
                                                  struct faina_error *err);
/* Applies one definition, in JSON, that comes from elsewhere: config->path tells from where. */
void fa_workflows_offer(struct fa_service *service, const struct fa_workflows_config *config,
                        const char *definition);
void fa_workflows_destroy(struct fa_workflows *workflows); /* before the service; NULL is fine */

#endif
