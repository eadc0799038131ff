/* bad.c - a plugin whose types end badly, each in its own way. */
#include <faina.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum faina_outcome crash_here(struct faina_context *context, void *user)
{
    volatile int *nowhere = NULL;

    (void)context;
    (void)user;
    *nowhere = 1;
    return FAINA_OUTCOME_COMPLETE;
}

static enum faina_outcome abort_here(struct faina_context *context, void *user)
{
    (void)context;
    (void)user;
    abort();
}

static enum faina_outcome exit_here(struct faina_context *context, void *user)
{
    (void)context;
    (void)user;
    _exit(3);
}

static int fall(volatile int *depth)
{
    volatile char room[4096];

    room[0] = (char)*depth;
    ++*depth;
    return fall(depth) + room[0];
}

static enum faina_outcome overflow(struct faina_context *context, void *user)
{
    volatile int depth = 0;

    (void)context;
    (void)user;
    return fall(&depth) ? FAINA_OUTCOME_COMPLETE : FAINA_OUTCOME_FAILED;
}

static enum faina_outcome loop(struct faina_context *context, void *user)
{
    (void)context;
    (void)user;
    for (;;)
        usleep(1000);
}

static enum faina_outcome spin(struct faina_context *context, void *user)
{
    volatile unsigned turns = 0;

    (void)context;
    (void)user;
    for (;;)
        ++turns;
}

static enum faina_outcome rubbish(struct faina_context *context, void *user)
{
    char noise[64];

    (void)context;
    (void)user;
    memset(noise, 0xAB, sizeof(noise));
    (void)!write(STDIN_FILENO, noise, sizeof(noise)); /* which is the socket */
    for (;;)
        usleep(1000);
}

static enum faina_outcome leak(struct faina_context *context, void *user)
{
    (void)user;
    for (;;) {
        char *room = malloc(16 << 20);

        if (!room || faina_context_cancelled(context))
            abort();
        room[0] = 1;
    }
}

static enum faina_outcome fine(struct faina_context *context, void *user)
{
    (void)user;
    faina_context_output(context, "\"fine\"", NULL);
    return FAINA_OUTCOME_COMPLETE;
}

static const struct faina_plugin_type types[] = {
    {.type = "bad.crash", .handler = {.on_start = crash_here}},
    {.type = "bad.abort", .handler = {.on_start = abort_here}},
    {.type = "bad.exit", .handler = {.on_start = exit_here}},
    {.type = "bad.overflow", .handler = {.on_start = overflow}},
    {.type = "bad.loop", .handler = {.on_start = loop, .timeout_ms = 100}},
    {.type = "bad.spin", .handler = {.on_start = spin, .timeout_ms = 60000}},
    {.type = "bad.rubbish", .handler = {.on_start = rubbish}},
    {.type = "bad.leak", .handler = {.on_start = leak, .timeout_ms = 20000}},
    {.type = "bad.fine", .handler = {.on_start = fine}},
};

static const struct faina_plugin plugin = {
    .abi = FAINA_PLUGIN_ABI,
    .handler_size = sizeof(struct faina_plugin_type),
    .name = "bad",
    .version = "1",
    .type_count = sizeof(types) / sizeof(types[0]),
    .types = types,
};

const struct faina_plugin *faina_plugin(void)
{
    return &plugin;
}
