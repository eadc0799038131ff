/*
 * verb_workflow_joins.c - replays ended tasks for a join.
 *
 * The ends of tasks of its types are sorted by key and time; then each key is replayed by the rules
 * of the engine (docs/workflows.md, Joins). Only the last end of a task is stored: one that failed,
 * was retried and completed counts as completed.
 */
#include "cli/verbs/verb_workflow.h"

#include "base/clock.h"
#include "model/limits.h"
#include "model/states.h"
#include "wire/wire.h"

#include <stdlib.h>

/* The end of a task. */
struct end {
    int64_t at_us;
    size_t member; /* which of the join's types */
    const char *key;
    bool is_good;
    struct fa_json task;
};

struct replay {
    struct fa_cli *cli;
    const struct fa_join *join;
    struct fa_join_replay *result;
    struct fa_arena arena; /* of all ends */
    struct end *ends;
    size_t count, size;
    int64_t now_us;

    /* The current round. */
    const struct end *members[FA_JOIN_TYPES_MAX];
    int64_t first_us; /* 0: it has no member yet */
};

/* ------------------------------------------------------------------------------------------
 * Ends
 */

static struct fa_json copy_task(struct replay *replay, const struct faina_task *task)
{
    struct fa_json_writer writer;
    struct fa_bytes json;
    struct fa_buf buf;

    fa_buf_init(&buf, SIZE_MAX / 2);
    fa_json_writer_init(&writer, &buf, 0);
    fa_wire_put_task(&writer, task);
    json = (struct fa_bytes){fa_arena_copy(&replay->arena, buf.ptr, buf.len), buf.len};
    fa_buf_finish(&buf);
    return fa_json_value(json);
}

static void add_end(struct replay *replay, size_t member, const struct faina_task *task)
{
    struct fa_buf key;

    fa_buf_init(&key, FA_JOIN_KEY_SIZE_MAX);
    if (task->input && fa_join_key(replay->join, fa_str(task->input), &key)) {
        replay->ends = fa_arena_grow(&replay->arena, replay->ends, replay->count, &replay->size,
                                     sizeof(*replay->ends));
        replay->ends[replay->count++] =
            (struct end){.at_us = task->completed_us,
                         .member = member,
                         .key = fa_arena_copy(&replay->arena, key.ptr, key.len),
                         .is_good = task->status == FAINA_COMPLETED,
                         .task = copy_task(replay, task)};
    }
    fa_buf_finish(&key);
}

/* The ends of one type. */
static int find_ends(struct replay *replay, size_t member, int64_t since_us)
{
    struct faina_query query = {
        .ns = replay->cli->ns,
        .type = replay->join->task_types[member],
        .statuses = 1u << FAINA_COMPLETED | 1u << FAINA_FAILED | 1u << FAINA_DEAD_LETTER |
                    1u << FAINA_CANCELLED,
        .created_after_us = since_us,
        .limit = FA_LIST_LIMIT_MAX,
    };
    char cursor[FA_CURSOR_SIZE_MAX + 1];
    int code;

    do {
        struct fa_arena page = {0};
        struct fa_op op = {.kind = FA_OP_LIST, .query = &query, .arena = &page};

        code = fa_cli_run(replay->cli, &op);
        query.cursor = NULL;
        for (size_t i = 0; code == FA_EXIT_OK && i < op.tasks->count; i++)
            add_end(replay, member, &op.tasks->items[i]);
        if (code == FA_EXIT_OK && op.tasks->next_cursor) {
            snprintf(cursor, sizeof(cursor), "%s", op.tasks->next_cursor);
            query.cursor = cursor;
        }
        fa_arena_finish(&page);
    } while (code == FA_EXIT_OK && query.cursor);
    return code;
}

static int compare_ends(const void *a, const void *b)
{
    const struct end *x = a, *y = b;
    int order = strcmp(x->key, y->key);

    if (order != 0)
        return order;
    if (x->at_us != y->at_us)
        return x->at_us < y->at_us ? -1 : 1;
    return x->member < y->member ? -1 : x->member > y->member;
}

/* ------------------------------------------------------------------------------------------
 * Rounds
 */

static void print_fire(struct replay *replay, const char *key, const char *task, const char *error)
{
    struct fa_out_json json;

    if (replay->cli->format != FA_CLI_JSONL)
        return;
    fa_out_json_begin(replay->cli, &json);
    fa_json_begin_object(&json.writer);
    fa_json_set_str(&json.writer, "join", replay->join->name);
    fa_json_set_raw(&json.writer, "key", key);
    fa_json_set_raw(&json.writer, "task", task);
    fa_json_set_str(&json.writer, "error", error);
    fa_json_end_object(&json.writer);
    fa_out_json_end(replay->cli, &json);
}

static void fire(struct replay *replay, const char *key)
{
    struct fa_json tasks[FA_JOIN_TYPES_MAX] = {{0}};
    struct fa_template_members members = {.key = fa_json_value(fa_str(key)), .tasks = tasks};
    struct faina_error err = {0};
    struct fa_buf buf;

    for (size_t i = 0; i < replay->join->task_type_count; i++)
        if (replay->members[i])
            tasks[i] = replay->members[i]->task;
    fa_buf_init(&buf, FA_INPUT_SIZE_CEILING);
    if (fa_template_render(replay->join->task, fa_template_lookup_members, &members, &buf, &err) ==
        FAINA_OK) {
        replay->result->fired++;
        print_fire(replay, key, buf.ptr, NULL);
    } else {
        replay->result->failed++;
        if (!replay->result->failure)
            replay->result->failure = fa_arena_strdup(&replay->cli->arena, err.message);
        print_fire(replay, key, NULL, err.message);
    }
    fa_buf_finish(&buf);
}

static void end_round(struct replay *replay, const char *key)
{
    bool is_good = true;

    for (size_t i = 0; i < replay->join->task_type_count; i++)
        is_good &= replay->members[i] && replay->members[i]->is_good;
    if (is_good || replay->join->on_failure == FA_JOIN_FIRE)
        fire(replay, key);
    else
        replay->result->dropped++;
    memset(replay->members, 0, sizeof(replay->members));
    replay->first_us = 0;
}

static bool is_late(const struct replay *replay, int64_t at_us)
{
    return replay->first_us != 0 && replay->join->deadline_ms > 0 &&
           at_us >= replay->first_us + replay->join->deadline_ms * 1000;
}

static bool is_full(const struct replay *replay)
{
    for (size_t i = 0; i < replay->join->task_type_count; i++)
        if (!replay->members[i])
            return false;
    return true;
}

static void replay_end(struct replay *replay, const struct end *end)
{
    if (is_late(replay, end->at_us))
        end_round(replay, end->key);
    if (replay->first_us == 0)
        replay->first_us = end->at_us;
    replay->members[end->member] = end;
    if (is_full(replay))
        end_round(replay, end->key);
}

static void replay_all(struct replay *replay)
{
    for (size_t i = 0; i < replay->count; i++) {
        const struct end *end = &replay->ends[i];
        bool is_last = i + 1 == replay->count || strcmp(replay->ends[i + 1].key, end->key) != 0;

        replay_end(replay, end);
        if (!is_last || replay->first_us == 0)
            continue;
        if (is_late(replay, replay->now_us)) {
            end_round(replay, end->key);
        } else {
            replay->result->waiting++;
            memset(replay->members, 0, sizeof(replay->members));
            replay->first_us = 0;
        }
    }
}

int fa_join_play(struct fa_cli *cli, const struct fa_join *join, int64_t since_us,
                 struct fa_join_replay *out)
{
    struct replay replay = {.cli = cli, .join = join, .result = out, .now_us = fa_clock_now_us()};
    int code = FA_EXIT_OK;

    *out = (struct fa_join_replay){0};
    for (size_t i = 0; code == FA_EXIT_OK && i < join->task_type_count; i++)
        code = find_ends(&replay, i, since_us);
    if (code == FA_EXIT_OK && replay.count > 0) {
        out->ends = (int64_t)replay.count;
        qsort(replay.ends, replay.count, sizeof(*replay.ends), compare_ends);
        replay_all(&replay);
    }
    fa_arena_finish(&replay.arena);
    return code;
}
