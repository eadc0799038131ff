/*
 * short_id.c - see short_id.h.
 *
 * How much of an end is enough: an id has the last ten digits of another one of the newest 100,000
 * with a probability of 1 in 10 million. Ends that are the same in one table are made longer. The
 * first three groups of an id contain the key of the task, which no other task has.
 */
#include "cli/short_id.h"

#include "base/clock.h"
#include "cli/text.h"
#include "model/id_part.h"
#include "model/limits.h"

#define END 10
#define BEGIN 18 /* of three groups, with their dashes */
#define LENGTH (FAINA_ID_SIZE - 1)

/* The tasks that a part of an id may mean, on stderr. */
static void print_candidates(struct fa_cli *cli, const struct fa_found *found)
{
    int64_t now_us = fa_clock_now_us();

    for (size_t i = 0; i < found->count; i++) {
        const struct fa_found_task *task = &found->items[i];

        fa_cli_note(cli, "  %s  %s, %s, %s", task->id, fa_text_clean(&cli->arena, task->type),
                    faina_status_name(task->status),
                    fa_text_roughly(&cli->arena, task->created_us, now_us));
    }
    if (found->has_more)
        fa_cli_note(cli, "  ... and more");
}

static int refuse(struct fa_cli *cli, const char *text, const struct fa_found *found)
{
    struct fa_id_part end;
    struct faina_error err;
    int code;

    if (found->count + found->has_more == 0)
        fa_error_set(
            &err, FAINA_TASK_NOT_FOUND, "there is no task whose id begins with \"%s\"%s", text,
            fa_id_part_end(text, &end) ? ", and none of the newest 100,000 whose id ends with it"
                                       : " (the end of an id needs at least 6 digits)");
    else
        fa_error_set(&err, FAINA_CONFLICT, "\"%s\" is ambiguous: the ids of %s%zu tasks %s", text,
                     found->has_more ? "more than " : "", found->count,
                     fa_id_part_end(text, &end) ? "begin or end with it" : "begin with it");
    code = fa_cli_fail(cli, &err);
    print_candidates(cli, found);
    return code;
}

int fa_cli_task_id(struct fa_cli *cli, const char **id)
{
    struct fa_op op = {.kind = FA_OP_FIND, .id = *id};
    struct fa_id whole;
    const char *found;
    int code;

    if (!*id || fa_id_parse(*id, &whole) || !fa_id_part_is_text(*id))
        return FA_EXIT_OK;
    code = fa_cli_run(cli, &op);
    if (code != FA_EXIT_OK)
        return code;
    if (op.found->count != 1 || op.found->has_more)
        return refuse(cli, *id, op.found);
    found = op.found->items[0].id;
    for (size_t i = 0; i < cli->arg_count; i++)
        if (cli->args[i] == *id)
            cli->args[i] = found;
    *id = found;
    return FA_EXIT_OK;
}

int fa_cli_task_ids(struct fa_cli *cli, const char **ids, size_t count)
{
    int code = FA_EXIT_OK;

    for (size_t i = 0; code == FA_EXIT_OK && i < count; i++)
        code = fa_cli_task_id(cli, &ids[i]);
    return code;
}

/* ------------------------------------------------------------------------------------------
 * Tables
 */

const char *fa_short_id(struct fa_short_ids how, const char *id, struct fa_arena *arena)
{
    size_t len = strlen(id);

    if (how.begin > 0)
        return fa_arena_printf(arena, "%.*s", how.begin, id);
    return how.end > 0 && len > (size_t)how.end ? id + len - (size_t)how.end : id;
}

/* Whether two of the ids are different, and look the same. */
static bool has_twins(struct fa_short_ids how, const char *const *ids, size_t count)
{
    struct fa_arena scratch = {0};
    bool has = false;

    for (size_t i = 1; !has && i < count; i++)
        for (size_t k = 0; !has && k < i; k++)
            has = strcmp(fa_short_id(how, ids[i], &scratch), fa_short_id(how, ids[k], &scratch)) ==
                      0 &&
                  strcmp(ids[i], ids[k]) != 0;
    fa_arena_finish(&scratch);
    return has;
}

struct fa_short_ids fa_short_ids_of(struct fa_cli *cli, const char *const *ids, size_t count)
{
    struct fa_short_ids how = {0};
    struct fa_arena arena = {0};
    struct fa_op op = {.kind = FA_OP_FIND, .arena = &arena, .wants_recent = true};

    for (size_t i = 0; i < count; i++)
        if (!op.id || strcmp(ids[i], op.id) < 0)
            op.id = ids[i];
    if (!op.id || !fa_id_part_is_text(op.id))
        return how;
    fa_service_run(cli->service, &op, 1);
    if (op.code == FAINA_OK && op.found->is_recent) /* the oldest, so all of them */
        for (how.end = END; how.end < LENGTH && has_twins(how, ids, count);)
            how.end++;
    else if (op.code == FAINA_OK)
        how.begin = BEGIN;
    if (how.begin > 0 && has_twins(how, ids, count))
        how.begin = 0;
    fa_arena_finish(&arena);
    return how;
}
