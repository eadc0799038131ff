/* require.c - see require.h. */
#include "worker/pool/require.h"

#include "model/check.h"
#include "model/limits.h"

enum faina_code fa_require(struct fa_require *require, struct fa_arena *arena,
                           const struct faina_task *task, const char *name, struct faina_error *err)
{
    enum faina_code code =
        fa_check_name(name, FA_RESOURCE_NAME_SIZE_MAX, "resource", FAINA_INVALID_REQUEST, err);

    if (code != FAINA_OK ||
        fa_names_have(&(struct fa_texts){task->resources, task->resource_count}, name))
        return code;
    if (!fa_names_have(&(struct fa_texts){require->names, require->count}, name)) {
        if (task->resource_count + require->count >= FA_RESOURCES_MAX)
            return fa_error_field(err, FAINA_INVALID_REQUEST, "resource",
                                  "a task can use at most %d resources", FA_RESOURCES_MAX);
        require->names = fa_arena_grow(arena, require->names, require->count, &require->size,
                                       sizeof(*require->names));
        require->names[require->count++] = fa_arena_strdup(arena, name);
    }
    return fa_error_set(err, FAINA_OVERLOADED,
                        "the task does not have resource %.100s yet; it is queued again with it",
                        name);
}

bool fa_require_outcome(struct fa_require *require, struct fa_outcome *outcome)
{
    if (require->count == 0)
        return false;
    require->settings =
        (struct faina_submit){.resources = require->names, .resource_count = require->count};
    *outcome = (struct fa_outcome){.kind = FA_OUTCOME_AMEND, .settings = &require->settings};
    return true;
}
