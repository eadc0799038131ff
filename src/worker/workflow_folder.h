/*
 * workflow_folder.h - the workflows folder: definitions in files, applied at the start and when
 * they change.
 *
 * A file NAME.yaml, .yml or .json is applied as by `faina workflow apply`. The workflow's name is
 * in the definition; the file's name has no meaning.
 *
 *   W1  A file with a mistake changes nothing, and each mistake is logged with file, line and
 *       column.
 *   W2  A workflow that is in the store exactly as in its file is not changed: a workflow that was
 *       switched off stays off when the server starts again.
 *   W3  When its file has been missing for GONE_US, a workflow is switched off. The state of its
 *       joins stays. When the file returns, under any name, the server that switched it off
 *       switches it on again. It stays on when it was changed by another caller since, or when the
 *       folder can't be read.
 *   W4  Two files can't define one workflow: the second is refused.
 *   W5  A folder or file that other users could change is not used (handler_folder.h, D1).
 *   W6  A file resources.yaml, .yml or .json has limits of resources (model/limits_file.h). They
 *       are applied at the start and when the file changes. A name that is removed from the file
 *       loses its limit, unless another caller has changed it. When the file is removed, all limits
 *       stay.
 *
 * Threads: create and destroy from the owner's. It has a thread of its own, since it waits for the
 * store.
 */
#ifndef FA_WORKER_WORKFLOW_FOLDER_H
#define FA_WORKER_WORKFLOW_FOLDER_H

#include "worker/reporter.h"
#include "service/service.h"

struct fa_workflows;

struct fa_workflows_config {
    const char *path;
    bool is_wanted; /* the user named it: log it when it isn't there */
    const char *ns; /* of all workflows in it; NULL: "default" */
    struct fa_reporter log;
};

/* Applies the files, then watches the folder. Only a lack of resources is an error; other failures
 * go to the log. */
FA_MUST_CHECK enum faina_code fa_workflows_create(struct fa_workflows **out,
                                                  struct fa_service *service,
                                                  const struct fa_workflows_config *config,
                                                  struct faina_error *err);
/* Applies one definition, in JSON, of another source: config->path is its name for the log. */
void fa_workflows_apply(struct fa_service *service, const struct fa_workflows_config *config,
                        const char *definition);
void fa_workflows_destroy(struct fa_workflows *workflows); /* before the service; NULL is fine */

#endif
