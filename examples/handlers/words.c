/*
 * words.c - a plugin: counts the words of a text, page by page.
 *
 * Build it into the handlers folder:
 *     cc -shared -fPIC -o handlers/words.so words.c $(pkg-config --cflags faina)
 *
 * `words.count` takes {"pages":["some text", ...]}: it makes a subtask for each page, waits for
 * them, and adds up what they found. `words.page` takes one text.
 */
#include <faina.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The strings of the first JSON array in `json`, one after the other. Plain ASCII is enough for an
 * example; a real plugin has a JSON library. */
static const char *next_string(const char *at, size_t *len)
{
    const char *begin = strchr(at, '"');
    const char *end = begin ? strchr(begin + 1, '"') : NULL;

    *len = end ? (size_t)(end - begin) + 1 : 0;
    return end ? begin : NULL;
}

static enum faina_outcome count_page(struct faina_context *context, void *user)
{
    const char *text = faina_context_task(context)->input;
    char output[64];
    int words = 0;

    (void)user;
    if (!text || text[0] != '"') {
        struct faina_failure failure = {.message = "the page is no text", .permanent = true};

        faina_context_error(context, &failure, NULL);
        return FAINA_OUTCOME_FAILED;
    }
    for (const char *at = text + 1; *at && *at != '"'; at++)
        words += *at != ' ' && (at[1] == ' ' || at[1] == '"');
    snprintf(output, sizeof(output), "{\"words\":%d}", words);
    faina_context_output(context, output, NULL);
    return FAINA_OUTCOME_COMPLETE;
}

static enum faina_outcome split(struct faina_context *context, void *user)
{
    const char *input = faina_context_task(context)->input;
    const char *at = input ? strchr(input, '[') : NULL;
    size_t len;

    (void)user;
    for (at = at ? next_string(at, &len) : NULL; at; at = next_string(at + len, &len)) {
        char *page = strndup(at, len);
        struct faina_submit subtask = {.type = "words.page", .input = page};
        enum faina_code code = faina_context_subtask(context, &subtask, NULL, NULL);

        free(page);
        if (code != FAINA_OK)
            return FAINA_OUTCOME_FAILED;
    }
    return FAINA_OUTCOME_BLOCKED;
}

static enum faina_outcome add_up(struct faina_context *context, void *user)
{
    size_t count;
    const struct faina_subtask *pages = faina_context_subtasks(context, &count);
    char output[64];
    long words = 0;

    (void)user;
    for (size_t i = 0; i < count; i++)
        if (pages[i].output)
            words += strtol(pages[i].output + strlen("{\"words\":"), NULL, 10);
    snprintf(output, sizeof(output), "{\"words\":%ld,\"pages\":%zu}", words, count);
    faina_context_output(context, output, NULL);
    return FAINA_OUTCOME_COMPLETE;
}

static const struct faina_plugin_type types[] = {
    {.type = "words.count", .handler = {.on_start = split, .on_resume = add_up}},
    {.type = "words.page", .handler = {.on_start = count_page}},
};

static const struct faina_plugin plugin = {
    .abi = FAINA_PLUGIN_ABI,
    .handler_size = sizeof(struct faina_plugin_type),
    .name = "words",
    .version = "1",
    .type_count = sizeof(types) / sizeof(types[0]),
    .types = types,
};

FAINA_PLUGIN(plugin)
