/* workflow_try.c - see workflow_try.h. */
#include "model/workflow_try.h"

#include "model/limits.h"

struct fa_trigger_result fa_trigger_try(struct fa_arena *arena,
                                        const struct fa_workflow_trigger *trigger,
                                        const struct fa_match_data *data)
{
    struct fa_trigger_result result = {.is_match = true};
    struct fa_match_verdict verdict;
    struct fa_json root = data->root;
    struct faina_error err = {0};
    struct fa_buf buf;

    if (trigger->match) {
        struct fa_bytes source = fa_match_source(trigger->match);

        if (fa_match_run(trigger->match, data, &verdict, &err) != FAINA_OK)
            return (struct fa_trigger_result){.has_failed = true,
                                              .task = fa_arena_strdup(arena, err.message)};
        result.is_match = verdict.is_match;
        result.clause = fa_arena_copy(arena, source.ptr + verdict.from, verdict.to - verdict.from);
    }
    if (!result.is_match)
        return result;
    fa_buf_init(&buf, FA_INPUT_SIZE_CEILING);
    result.has_failed =
        fa_template_render(trigger->task, fa_template_lookup_data, &root, &buf, &err) != FAINA_OK;
    result.task = result.has_failed ? fa_arena_strdup(arena, err.message)
                                    : fa_arena_copy(arena, buf.ptr, buf.len);
    fa_buf_finish(&buf);
    return result;
}
