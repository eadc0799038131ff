/*
 * fuzz_workflow.c - definitions in JSON and YAML: a workflow, or mistakes that each have a path, a
 * place and a sentence. What was read from YAML reads the same from the JSON that it became.
 */
#include "base/utf8.h"
#include "model/limits.h"
#include "model/workflow.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool claim)
{
    if (!claim)
        abort();
}

static const struct fa_workflow *check(struct fa_bytes text, enum fa_workflow_format format,
                                       struct fa_arena *arena)
{
    const struct fa_workflow_target home = {.ns = "default"};
    const struct fa_workflow *workflow = NULL;
    struct fa_mistakes mistakes = {0};
    struct faina_error err = {0};
    enum faina_code code = fa_workflow_read(text, format, &home, arena, &workflow, &mistakes, &err);

    require((code == FAINA_OK) == (mistakes.count == 0));
    require((code == FAINA_OK) == (workflow != NULL));
    require(mistakes.count <= FA_WORKFLOW_MISTAKES_MAX);
    require(fa_utf8_is_valid(fa_str(err.message)));
    for (size_t i = 0; i < mistakes.count; i++) {
        require(mistakes.items[i].line >= 1);
        require(mistakes.items[i].column >= 1);
        require(mistakes.items[i].message[0] != '\0');
    }
    return workflow;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fa_bytes text = {(const char *)data, size};
    struct fa_arena arena = {0};
    const struct fa_workflow *yaml = check(text, FA_WORKFLOW_YAML, &arena), *json;

    check(text, FA_WORKFLOW_JSON, &arena);
    if (yaml) {
        json = check(yaml->json, FA_WORKFLOW_JSON, &arena);
        require(json != NULL);
        require(json->trigger_count == yaml->trigger_count);
        require(json->join_count == yaml->join_count);
    }
    fa_arena_finish(&arena);
    return 0;
}
