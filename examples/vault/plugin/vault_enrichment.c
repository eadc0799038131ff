/*
 * vault_enrichment.c - enrichment: a local model describes a leaf. What it finds is stored as a
 * note of the leaf, in the object store and in the index.
 */
#include "vault_index.h"
#include "vault_model.h"
#include "vault_tasks.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TYPE "enrichment"
#define PENDING_MAX 500 /* leaves in one run; the next run takes others */
#define EXCERPT 4096    /* bytes of a text that are sent to the model */

/* What is known about a leaf. */
struct known {
    bool is_known;
    char *path, *mime, *search;
    uint64_t size;
};

static void free_known(struct known *known)
{
    free(known->path);
    free(known->mime);
    free(known->search);
}

static bool go_on(void *ctx, struct vault_error *err)
{
    return !faina_context_cancelled(ctx) || vault_fail(err, "cancelled", "the attempt was stopped");
}

static bool find_leaf(struct faina_context *context, const struct vault_store *store,
                      const char *hash, struct known *out, struct vault_error *err)
{
    struct vault_index *index = NULL;
    bool is_ok = vault_index_begin(&index, store, go_on, context, err) &&
                 vault_index_find(index, hash, &out->is_known, &out->path, &out->mime, &out->size,
                                  &out->search, err);

    vault_index_close(index);
    if (is_ok && !out->is_known)
        return vault_refuse(err, "not_found", "there is no leaf %.100s", hash);
    return is_ok;
}

/* The beginning of a text; nothing of other files. */
static bool add_excerpt(struct vault_text *prompt, const struct vault_store *store,
                        const char *hash, const struct known *known, struct vault_error *err)
{
    char path[VAULT_PATH_SIZE], excerpt[EXCERPT];
    ssize_t len;
    int fd;

    if (strncmp(known->mime, "text/", 5) != 0)
        return true;
    if (!vault_store_object(store, hash, path, err))
        return false;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return vault_refuse(err, "damaged", "leaf %s is missing in the object store", hash);
    len = vault_read_at(fd, excerpt, sizeof(excerpt), 0);
    close(fd);
    if (len < 0)
        return vault_fail_errno(err, "read", path);
    vault_text_printf(prompt, "\nIts text begins:\n");
    vault_text_add(prompt, excerpt, strnlen(excerpt, (size_t)len));
    return true;
}

static bool make_prompt(struct vault_text *prompt, const struct vault_store *store,
                        const char *hash, const struct known *known, struct vault_error *err)
{
    vault_text_printf(prompt, "Describe a file. Answer with a JSON object with the members title "
                              "(text), summary (text) and keywords (array of texts).\nIts path: ");
    vault_text_add(prompt, known->path, strlen(known->path));
    vault_text_printf(prompt, "\nIts type: %s, %" PRIu64 " bytes", known->mime, known->size);
    if (known->search) {
        vault_text_printf(prompt, "\nWhat is known: ");
        vault_text_add(prompt, known->search, strlen(known->search));
    }
    return add_excerpt(prompt, store, hash, known, err);
}

static bool store_note(struct faina_context *context, const struct vault_store *store,
                       const char *hash, const char *metadata, struct vault_error *err)
{
    struct vault_index *index = NULL;
    bool is_ok = vault_note_write(store, hash, TYPE, metadata, err) &&
                 vault_index_begin(&index, store, go_on, context, err) &&
                 vault_index_note(index, hash, TYPE, metadata, err) &&
                 vault_index_commit(index, err);

    vault_index_close(index);
    return is_ok;
}

static bool enrich(struct faina_context *context, const struct vault_store *store, const char *hash,
                   struct vault_error *err)
{
    struct vault_text prompt = {0}, metadata = {0}, output = {0};
    struct known known = {0};
    bool is_ok = find_leaf(context, store, hash, &known, err) &&
                 make_prompt(&prompt, store, hash, &known, err) &&
                 vault_model_ask(context, prompt.ptr, &metadata, err) &&
                 store_note(context, store, hash, metadata.ptr, err);

    if (is_ok) {
        vault_text_printf(&output, "{\"metadata\":");
        vault_text_add(&output, metadata.ptr, metadata.len);
        vault_text_printf(&output, "}");
        faina_context_output(context, output.ptr, NULL);
    }
    vault_text_free(&prompt);
    vault_text_free(&metadata);
    vault_text_free(&output);
    free_known(&known);
    return is_ok;
}

/* ------------------------------------------------------------------------------------------
 * All that have none yet
 */

struct pending {
    struct faina_context *context;
    int count;
};

static bool add_subtask(void *ctx, const char *hash, uint64_t size, const char *mime,
                        struct vault_error *err)
{
    struct pending *pending = ctx;
    char input[VAULT_HASH_SIZE + 32];
    struct faina_submit subtask = {.type = TYPE, .name = hash, .input = input};
    struct faina_error why;

    (void)size, (void)mime;
    snprintf(input, sizeof(input), "{\"leafRef\":\"%s\"}", hash);
    pending->count++;
    return faina_context_subtask(pending->context, &subtask, NULL, &why) == FAINA_OK ||
           vault_fail(err, "subtask", "%s", why.message);
}

static enum faina_outcome start_pending(struct faina_context *context,
                                        const struct vault_store *store, struct vault_error *err)
{
    struct pending pending = {.context = context};
    struct vault_index *index = NULL;
    bool is_ok = vault_index_begin(&index, store, go_on, context, err) &&
                 vault_index_without(index, TYPE, PENDING_MAX, add_subtask, &pending, err);

    vault_index_close(index);
    if (!is_ok)
        return vault_give_up(context, err);
    if (pending.count > 0)
        return FAINA_OUTCOME_BLOCKED;
    faina_context_output(context, "{\"metadata\":{\"enriched\":0,\"failed\":0}}", NULL);
    return FAINA_OUTCOME_COMPLETE;
}

/* All have ended. Those that failed are pending again for the next run. */
enum faina_outcome vault_enrichment_resume(struct faina_context *context, void *user)
{
    size_t count, enriched = 0;
    const struct faina_subtask *subtasks = faina_context_subtasks(context, &count);
    char output[128];

    (void)user;
    for (size_t i = 0; i < count; i++)
        enriched += subtasks[i].status == FAINA_COMPLETED;
    snprintf(output, sizeof(output), "{\"metadata\":{\"enriched\":%zu,\"failed\":%zu}}", enriched,
             count - enriched);
    faina_context_output(context, output, NULL);
    return FAINA_OUTCOME_COMPLETE;
}

enum faina_outcome vault_enrichment_error(struct faina_context *context, void *user)
{
    return vault_enrichment_resume(context, user);
}

enum faina_outcome vault_enrichment_start(struct faina_context *context, void *user)
{
    const struct faina_task *task = faina_context_task(context);
    enum faina_outcome outcome = FAINA_OUTCOME_COMPLETE;
    struct vault_store store;
    struct vault_error err;
    yajl_val input = NULL;
    const char *leaf;

    (void)user;
    if (!vault_json_object(task->input, "the input", &input, &err))
        return vault_give_up(context, &err);
    leaf = vault_json_str(input, "leafRef");
    if (!leaf || (strcmp(leaf, "pending") != 0 && !vault_is_hash(leaf))) {
        vault_refuse(&err, "invalid_input",
                     "leafRef is neither the SHA-256 of a leaf nor \"pending\"");
        outcome = vault_give_up(context, &err);
    } else if (!vault_store_open(&store, task->ns, &err)) {
        outcome = vault_give_up(context, &err);
    } else if (strcmp(leaf, "pending") == 0) {
        outcome = start_pending(context, &store, &err);
    } else if (!enrich(context, &store, leaf, &err)) {
        outcome = vault_give_up(context, &err);
    }
    yajl_tree_free(input);
    return outcome;
}
