/*
 * flows.c - a plugin with a trigger and a join. With -DWRONG its trigger has a mistake; with -DMORE
 * the trigger has another condition.
 */
#include <faina.h>

#include <stdio.h>
#include <string.h>

/* Makes a task of type `user` out of the event's data. */
static enum faina_outcome build(struct faina_context *context, void *user)
{
    struct faina_submit task = {.type = user, .input = faina_context_task(context)->input};

    if (strstr(task.input, "\"skip\""))
        return FAINA_OUTCOME_COMPLETE;
    return faina_context_subtask(context, &task, NULL, NULL) == FAINA_OK ? FAINA_OUTCOME_BLOCKED
                                                                         : FAINA_OUTCOME_FAILED;
}

/* Does what was built. */
static enum faina_outcome echo(struct faina_context *context, void *user)
{
    (void)user;
    faina_context_output(context, faina_context_task(context)->input, NULL);
    return FAINA_OUTCOME_COMPLETE;
}

static char made[] = "flow.made", joined[] = "flow.joined";

static const struct faina_plugin_type types[] = {
    {.type = "flow.made", .handler = {.on_start = echo}},
    {.type = "flow.joined", .handler = {.on_start = echo}},
    {.type = "flow.a", .handler = {.on_start = echo}},
    {.type = "flow.b", .handler = {.on_start = echo}},
};

static const struct faina_plugin_trigger triggers[] = {
    {.name = "large",
     .on = "x",
#if defined(WRONG)
     .match = "n >",
#elif defined(MORE)
     .match = "n > 100",
#else
     .match = "n > 1",
#endif
     .build = build,
     .user = made},
};

static const char *const members[] = {"flow.a", "flow.b"};
static const struct faina_plugin_join joins[] = {
    {.name = "both",
     .task_types = members,
     .task_type_count = 2,
     .join_key = "k",
     .deadline_ms = 3600000,
     .build = build,
     .user = joined},
};

static const struct faina_plugin plugin = {
    .abi = FAINA_PLUGIN_ABI,
    .handler_size = sizeof(struct faina_plugin_type),
    .name = "flow",
    .version = "1",
    .type_count = 4,
    .types = types,
    .trigger_count = 1,
    .triggers = triggers,
    .join_count = 1,
    .joins = joins,
};

FAINA_PLUGIN(plugin)
