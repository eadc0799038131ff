/*
 * vault_rebuild.c - rebuild.sql: makes the index database again from the object store alone, and
 * checks every byte in it. A leaf, skeleton, manifest or note that was changed is an error that
 * names it, and the index stays as it was.
 */
#include "vault_index.h"
#include "vault_tasks.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct rebuild {
    struct faina_context *context;
    struct vault_store store;
    struct vault_index *index;
    const char *ref; /* of the manifest that is being read */
    uint64_t done, total;
};

static bool go_on(void *ctx, struct vault_error *err)
{
    struct rebuild *rebuild = ctx;

    return !faina_context_cancelled(rebuild->context) ||
           vault_fail(err, "cancelled", "the attempt was stopped");
}

static bool add_leaf(void *ctx, const struct vault_leaf *leaf, struct vault_error *err)
{
    struct rebuild *rebuild = ctx;

    return vault_index_leaf(rebuild->index, rebuild->ref, leaf, err) && go_on(rebuild, err);
}

static bool add_manifest(struct rebuild *rebuild, const char *ref, struct vault_error *err)
{
    struct vault_container container;
    char path[VAULT_PATH_SIZE];

    rebuild->ref = ref;
    return vault_manifest_read(&rebuild->store, ref, add_leaf, rebuild, &container, err) &&
           vault_store_skeleton(&rebuild->store, ref, path, err) &&
           vault_store_verify(path, "the skeleton", container.skeleton, container.skeleton_size,
                              go_on, rebuild, err) &&
           vault_index_container(rebuild->index, &container, err);
}

/* In the order of the names, so that the result is the same each time. */
static bool add_manifests(struct rebuild *rebuild, struct vault_error *err)
{
    char path[VAULT_PATH_SIZE];
    struct dirent **items;
    bool is_ok = true;
    int count;

    if (!vault_path(path, "%s/manifests", rebuild->store.root))
        return vault_refuse(err, "settings", "the path of the store is too long");
    count = scandir(path, &items, NULL, alphasort);
    if (count < 0)
        return vault_fail_errno(err, "read", path);
    for (int i = 0; i < count; i++) {
        char *dot = strchr(items[i]->d_name, '.');

        if (dot && strcmp(dot, ".jsonl") == 0 && is_ok) {
            *dot = '\0';
            if (vault_is_hash(items[i]->d_name))
                is_ok = add_manifest(rebuild, items[i]->d_name, err);
        }
        free(items[i]);
    }
    free(items);
    return is_ok;
}

static bool add_note(void *ctx, const char *hash, const char *kind, const char *json,
                     struct vault_error *err)
{
    struct rebuild *rebuild = ctx;

    return vault_index_note(rebuild->index, hash, kind, json, err) && go_on(rebuild, err);
}

static bool check_leaf(void *ctx, const char *hash, uint64_t size, const char *mime,
                       struct vault_error *err)
{
    struct rebuild *rebuild = ctx;
    char path[VAULT_PATH_SIZE];

    (void)mime;
    rebuild->done++;
    faina_context_progress(rebuild->context,
                           rebuild->total ? (int)(rebuild->done * 100 / rebuild->total) : 0, NULL);
    return vault_store_object(&rebuild->store, hash, path, err) &&
           vault_store_verify(path, "leaf", hash, size, go_on, rebuild, err);
}

static bool rebuild_all(struct rebuild *rebuild, struct vault_text *output, struct vault_error *err)
{
    int64_t leaves, manifests;

    if (!vault_index_begin_new(&rebuild->index, &rebuild->store, go_on, rebuild, err))
        return false;
    if (!add_manifests(rebuild, err) || !vault_note_each(&rebuild->store, add_note, rebuild, err))
        return false;
    leaves = vault_index_count(rebuild->index, "leaf");
    manifests = vault_index_count(rebuild->index, "container");
    rebuild->total = (uint64_t)leaves;
    if (!vault_index_leaves(rebuild->index, check_leaf, rebuild, err) ||
        !vault_index_commit(rebuild->index, err))
        return false;
    vault_text_printf(output, "{\"leafCount\":%" PRId64 ",\"manifestCount\":%" PRId64 "}", leaves,
                      manifests);
    return true;
}

/* A task sees the store of its own namespace only. */
static bool check_tenant(const struct faina_task *task, struct vault_error *err)
{
    const char *tenant;
    yajl_val input;
    bool is_ok;

    if (!task->input || strcmp(task->input, "null") == 0)
        return true;
    if (!vault_json_object(task->input, "the input", &input, err))
        return false;
    tenant = vault_json_str(input, "tenantId");
    is_ok = !tenant || strcmp(tenant, task->ns) == 0 ||
            vault_refuse(err, "invalid_input",
                         "tenantId is %.100s, and the task is in the namespace %.100s: submit it "
                         "in that of the tenant",
                         tenant, task->ns);
    yajl_tree_free(input);
    return is_ok;
}

enum faina_outcome vault_rebuild_start(struct faina_context *context, void *user)
{
    const struct faina_task *task = faina_context_task(context);
    struct rebuild rebuild = {.context = context};
    struct vault_text output = {0};
    struct vault_error err;
    bool is_ok;

    (void)user;
    is_ok = check_tenant(task, &err) && vault_store_open(&rebuild.store, task->ns, &err) &&
            rebuild_all(&rebuild, &output, &err);
    vault_index_close(rebuild.index);
    if (is_ok)
        faina_context_output(context, output.ptr, NULL);
    vault_text_free(&output);
    return is_ok ? FAINA_OUTCOME_COMPLETE : vault_give_up(context, &err);
}
