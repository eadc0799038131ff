/*
 * vault_search.c - build.search: stores what the extractors and the virus scan have found out about
 * a leaf as its search entry: a note in the object store, and a row of the index.
 */
#include "vault_index.h"
#include "vault_tasks.h"

#include <stdlib.h>
#include <string.h>

#define KIND "search"

static bool go_on(void *ctx, struct vault_error *err)
{
    return !faina_context_cancelled(ctx) || vault_fail(err, "cancelled", "the attempt was stopped");
}

static bool store_entry(struct faina_context *context, const char *hash, const char *entry,
                        struct vault_error *err)
{
    struct vault_index *index = NULL;
    struct vault_store store;
    bool is_ok = vault_store_open(&store, faina_context_task(context)->ns, err) &&
                 vault_note_write(&store, hash, KIND, entry, err) &&
                 vault_index_begin(&index, &store, go_on, context, err) &&
                 vault_index_note(index, hash, KIND, entry, err) && vault_index_commit(index, err);

    vault_index_close(index);
    return is_ok;
}

enum faina_outcome vault_search_start(struct faina_context *context, void *user)
{
    const struct faina_task *task = faina_context_task(context);
    struct vault_error err;
    yajl_val input = NULL;
    const char *hash;
    char output[VAULT_HASH_SIZE + 16];
    bool is_ok;

    (void)user;
    if (!vault_json_object(task->input, "the input", &input, &err))
        return vault_give_up(context, &err);
    hash = vault_json_str(input, "hash");
    is_ok = vault_is_hash(hash)
                ? store_entry(context, hash, task->input, &err)
                : vault_refuse(&err, "invalid_input", "the input has no SHA-256 as its hash");
    if (is_ok) {
        snprintf(output, sizeof(output), "{\"entry\":\"%s\"}", hash);
        faina_context_output(context, output, NULL);
    }
    yajl_tree_free(input);
    return is_ok ? FAINA_OUTCOME_COMPLETE : vault_give_up(context, &err);
}
