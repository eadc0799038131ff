/* good.c - a valid plugin: each type tests one feature. */
#include <faina.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum faina_outcome echo(struct faina_context *context, void *user)
{
    (void)user;
    faina_context_progress(context, 50, "half");
    faina_context_output(context, faina_context_task(context)->input, NULL);
    return FAINA_OUTCOME_COMPLETE;
}

static enum faina_outcome about(struct faina_context *context, void *user)
{
    const struct faina_task *task = faina_context_task(context);
    char output[512];

    snprintf(output, sizeof(output),
             "{\"ns\":\"%s\",\"type\":\"%s\",\"name\":\"%s\",\"attempts\":%lld,\"user\":\"%s\","
             "\"metadata\":%s}",
             task->ns, task->type, task->name, (long long)task->attempts, (const char *)user,
             task->metadata);
    faina_context_output(context, output, NULL);
    return FAINA_OUTCOME_COMPLETE;
}

static enum faina_outcome open_engine(struct faina_context *context, void *user)
{
    struct faina *engine = NULL;
    struct faina_emitted *emitted = NULL;
    char output[300];
    enum faina_code code = faina_plugin_open(&engine, NULL);

    (void)user;
    if (code == FAINA_OK)
        code = faina_emit(engine, &(struct faina_emit){.type = "good.opened"}, &emitted, NULL);
    snprintf(output, sizeof(output), "\"%s\"", faina_code_name(code));
    faina_context_output(context, output, NULL);
    faina_free(emitted);
    faina_close(engine);
    return FAINA_OUTCOME_COMPLETE;
}

static enum faina_outcome parent(struct faina_context *context, void *user)
{
    const char *resources[] = {"disk"};
    struct faina_submit child = {.type = "good.echo",
                                 .name = "one",
                                 .input = "[1]",
                                 .priority = 3,
                                 .max_attempts = 2,
                                 .resources = resources,
                                 .resource_count = 1,
                                 .retry = {.base_ms = 10, .factor = 3, .max_ms = 20}};

    (void)user;
    faina_context_fail_fast(context);
    faina_context_subtask(context, &child, NULL, NULL);
    return FAINA_OUTCOME_BLOCKED;
}

static enum faina_outcome resume(struct faina_context *context, void *user)
{
    const struct faina_subtask *child = faina_context_find(context, "one");

    (void)user;
    faina_context_output(context, child ? child->output : "null", NULL);
    return FAINA_OUTCOME_COMPLETE;
}

/* The output is the subtask's id, or the code of the error. */
static enum faina_outcome early(struct faina_context *context, void *user)
{
    struct faina_submit child = {.type = "good.echo", .name = "one", .input = "[1]"};
    char id[FAINA_ID_SIZE] = "", output[64];
    enum faina_code code = faina_context_subtask(context, &child, id, NULL);

    (void)user;
    if (code == FAINA_OK)
        return FAINA_OUTCOME_BLOCKED;
    snprintf(output, sizeof(output), "\"%s\"", faina_code_name(code));
    faina_context_output(context, output, NULL);
    return FAINA_OUTCOME_COMPLETE;
}

static enum faina_outcome early_resume(struct faina_context *context, void *user)
{
    struct faina_submit child = {.type = "good.echo", .name = "one", .input = "[1]"};
    char id[FAINA_ID_SIZE] = "", output[64];
    const struct faina_subtask *found;

    (void)user;
    if (faina_context_subtask(context, &child, id, NULL) != FAINA_OK)
        return FAINA_OUTCOME_FAILED;
    found = faina_context_find(context, id);
    if (!found || found->status != FAINA_COMPLETED)
        return FAINA_OUTCOME_FAILED;
    snprintf(output, sizeof(output), "\"%s\"", id);
    faina_context_output(context, output, NULL);
    return FAINA_OUTCOME_COMPLETE;
}

static enum faina_outcome background(struct faina_context *context, void *user)
{
    (void)user;
    faina_context_background(context, "elsewhere", 60000, NULL);
    return FAINA_OUTCOME_BACKGROUND;
}

static enum faina_outcome fail(struct faina_context *context, void *user)
{
    struct faina_failure failure = {.message = "so it is", .kind = "k", .permanent = true};

    (void)user;
    faina_context_error(context, &failure, NULL);
    return FAINA_OUTCOME_FAILED;
}

static enum faina_outcome wait(struct faina_context *context, void *user)
{
    (void)user;
    faina_context_progress(context, 10, "waiting");
    while (!faina_context_cancelled(context))
        usleep(1000);
    return FAINA_OUTCOME_FAILED;
}

static enum faina_outcome require(struct faina_context *context, void *user)
{
    (void)user;
    if (faina_context_require(context, "gpu", NULL) != FAINA_OK)
        return FAINA_OUTCOME_FAILED;
    faina_context_output(context, "\"has it\"", NULL);
    return FAINA_OUTCOME_COMPLETE;
}

static enum faina_outcome zone(struct faina_context *context, void *user)
{
    char output[64];

    (void)user;
    snprintf(output, sizeof(output), "\"%s\"", getenv("TZ"));
    faina_context_output(context, output, NULL);
    return FAINA_OUTCOME_COMPLETE;
}

static char hello[] = "hello";

static const struct faina_plugin_type types[] = {
    {.type = "good.echo", .handler = {.on_start = echo}},
    {.type = "good.open", .handler = {.on_start = open_engine}},
    {.type = "good.about", .handler = {.on_start = about}, .user = hello},
    {.type = "good.parent", .handler = {.on_start = parent, .on_resume = resume}},
    {.type = "good.early", .handler = {.on_start = early, .on_resume = early_resume}},
    {.type = "good.background", .handler = {.on_start = background}},
    {.type = "good.require", .handler = {.on_start = require}},
    {.type = "good.zone", .handler = {.on_start = zone}},
    {.type = "good.fail", .handler = {.on_start = fail}},
    {.type = "good.wait", .handler = {.on_start = wait}},
    {.type = "good.late", .handler = {.on_start = wait, .timeout_ms = 100}},
};

static const struct faina_plugin plugin = {
    .abi = FAINA_PLUGIN_ABI,
    .handler_size = sizeof(struct faina_plugin_type),
    .name = "good",
    .version = "1",
    .type_count = sizeof(types) / sizeof(types[0]),
    .types = types,
};

const struct faina_plugin *faina_plugin(void)
{
    return &plugin;
}
