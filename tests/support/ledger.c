/*
 * ledger.c - see ledger.h.
 */
#include "support/ledger.h"

#include <stdlib.h>

static const struct fa_l_state absent = {.status = FA_L_ABSENT, .output = -1};

void fa_l_key(int32_t number, char out[32])
{
    snprintf(out, 32, "n%d", (int)number);
}

bool fa_l_is_away(enum faina_code code)
{
    return code == FAINA_UNAVAILABLE || code == FAINA_STORE_CLOSED || code == FAINA_OVERLOADED;
}

bool fa_l_is_unknown(const struct faina_error *error)
{
    return strstr(error->message, "unknown") || strstr(error->message, "not known");
}

static struct fa_l_entry *entry_of(struct fa_l *ledger, int32_t number)
{
    CHECK(number >= 0 && number < 10000000, "a record about task %d", (int)number);
    if (number >= ledger->size) {
        int32_t size = ledger->size ? ledger->size : 1024;

        while (size <= number)
            size *= 2;
        ledger->entries = fa_realloc(ledger->entries, (size_t)size * sizeof(struct fa_l_entry));
        ledger->size = size;
    }
    while (ledger->count <= number)
        ledger->entries[ledger->count++] =
            (struct fa_l_entry){.parent = -1, .acked = absent, .seen = absent};
    return &ledger->entries[number];
}

void fa_l_note(struct fa_l *ledger, const struct fa_l_record *record)
{
    struct fa_l_entry *entry = entry_of(ledger, record->number);

    entry->parent = record->parent;
    entry->uses_gpu = record->uses_gpu;
    switch (record->kind) {
    case 'i':
        entry->has_intent = true;
        entry->intent = record->state;
        break;
    case 'a':
        entry->has_intent = false;
        entry->acked = record->state;
        break;
    case 'n':
        entry->has_intent = false;
        break;
    default:
        CHECK(false, "a record of kind %d", record->kind);
    }
}

void fa_l_clear(struct fa_l *ledger)
{
    free(ledger->entries);
    *ledger = (struct fa_l){0};
}

/* ------------------------------------------------------------------------------------------
 * Reading and checking the store
 */

static struct fa_l_state state_of(const struct faina_task *task)
{
    return (struct fa_l_state){
        .status = (int8_t)task->status,
        .attempts = (int8_t)task->attempts,
        .output = (int16_t)(task->output ? fa_t_int(task->output) : -1),
    };
}

/* Reads every task of the ledger's kinds from the engine. */
static void read_all(struct fa_l *ledger, struct fa_t *t)
{
    struct faina_query query = {.ns = "*", .limit = 1000};

    for (int32_t i = 0; i < ledger->count; i++)
        ledger->entries[i].seen = absent;
    do {
        const char *cursor;

        CHECK_OK(t, fa_t_list_code(t, &query));
        for (size_t i = 0; i < t->op.tasks->count; i++) {
            const struct faina_task *task = &t->op.tasks->items[i];
            const char *text = task->idempotency_key ? task->idempotency_key : task->name;
            int32_t number = text[0] == 'n' ? (int32_t)fa_t_int(text + 1) : -1;

            CHECK(number >= 0 && number < ledger->count, "task %s (%s): it was never submitted",
                  task->id, text);
            CHECK(ledger->entries[number].seen.status == FA_L_ABSENT, "%s is there twice", text);
            ledger->entries[number].seen = state_of(task);
        }
        cursor = t->op.tasks->next_cursor;
        query.cursor = cursor;
    } while (query.cursor);
    fa_t_forget(t);
}

static bool is_same(struct fa_l_state a, struct fa_l_state b)
{
    return a.status == b.status &&
           (a.status == FA_L_ABSENT || (a.attempts == b.attempts && a.output == b.output));
}

static const char *status_text(struct fa_l_state state)
{
    return state.status == FA_L_ABSENT ? "absent"
                                       : faina_status_name((enum faina_status)state.status);
}

static bool has_ended(struct fa_l_state state)
{
    return state.status >= FAINA_COMPLETED;
}

static bool uses(struct fa_l_state state)
{
    return state.status == FAINA_CLAIMED || state.status == FAINA_RUNNING ||
           state.status == FAINA_BACKGROUND;
}

/* A parent is blocked exactly as long as one of its children has not ended, and its children are
 * created by the block. A writer's parents block once, on two children. */
static void check_families(const struct fa_l *ledger)
{
    for (int32_t i = 0; i < ledger->count; i++) {
        const struct fa_l_entry *child = &ledger->entries[i];
        const struct fa_l_entry *parent, *sibling;

        if (child->parent < 0)
            continue;
        parent = &ledger->entries[child->parent];
        sibling = &ledger->entries[i == child->parent + 1 ? i + 1 : i - 1];
        if (child->seen.status == FA_L_ABSENT)
            CHECK(parent->seen.status != FAINA_BLOCKED, "n%d is blocked without its child n%d",
                  (int)child->parent, (int)i);
        if (child->seen.status != FA_L_ABSENT && !has_ended(child->seen))
            CHECK(parent->seen.status == FAINA_BLOCKED, "n%d is %s while its child n%d is %s",
                  (int)child->parent, status_text(parent->seen), (int)i, status_text(child->seen));
        if (parent->seen.status != FA_L_ABSENT)
            CHECK((child->seen.status == FA_L_ABSENT) == (sibling->seen.status == FA_L_ABSENT),
                  "one child of n%d is there, and the other isn't", (int)child->parent);
    }
}

static void check_counts(const struct fa_l *ledger, struct fa_t *t)
{
    int64_t by_status[FAINA_STATUS_COUNT] = {0};
    int64_t gpus = 0;

    for (int32_t i = 0; i < ledger->count; i++) {
        const struct fa_l_entry *entry = &ledger->entries[i];

        if (entry->seen.status == FA_L_ABSENT)
            continue;
        by_status[entry->seen.status]++;
        gpus += entry->uses_gpu && uses(entry->seen);
    }
    CHECK_OK(t, fa_t_stats(t, "*"));
    for (enum faina_status s = 0; s < FAINA_STATUS_COUNT; s++)
        CHECK(t->op.stats->by_status[s] == by_status[s],
              "stats count %lld %s tasks, there are %lld", (long long)t->op.stats->by_status[s],
              faina_status_name(s), (long long)by_status[s]);
    if (fa_t_resource_list(t, "gpu") == FAINA_NOT_FOUND)
        return;
    CHECK_INT(t->op.code, FAINA_OK);
    CHECK(t->op.resources->items[0].in_use == gpus, "%lld use the gpu, the engine counts %lld",
          (long long)gpus, (long long)t->op.resources->items[0].in_use);
    CHECK(t->op.resources->items[0].max_concurrency < 0 ||
              gpus <= t->op.resources->items[0].max_concurrency,
          "%lld use the gpu, the limit is %lld", (long long)gpus,
          (long long)t->op.resources->items[0].max_concurrency);
}

void fa_l_check(struct fa_l *ledger, struct fa_t *t)
{
    read_all(ledger, t);
    for (int32_t i = 0; i < ledger->count; i++) {
        struct fa_l_entry *entry = &ledger->entries[i];
        bool is_kept = is_same(entry->seen, entry->acked);
        bool is_done = entry->has_intent && is_same(entry->seen, entry->intent);

        CHECK(is_kept || is_done,
              "n%d was acknowledged as %s (attempt %d, output %d)%s%s, and is %s (attempt %d, "
              "output %d)",
              (int)i, status_text(entry->acked), entry->acked.attempts, entry->acked.output,
              entry->has_intent ? ", about to be " : "",
              entry->has_intent ? status_text(entry->intent) : "", status_text(entry->seen),
              entry->seen.attempts, entry->seen.output);
        entry->acked = entry->seen;
        entry->has_intent = false;
    }
    check_families(ledger);
    check_counts(ledger, t);
    fa_t_check_sound(t);
    fa_t_forget(t);
}

void fa_l_release_held(struct fa_l *ledger, struct fa_t *t)
{
    for (int32_t i = 0; i < ledger->count; i++) {
        struct fa_l_entry *entry = &ledger->entries[i];
        char key[32];

        if (!entry->uses_gpu || !uses(entry->seen))
            continue;
        fa_l_key(i, key);
        CHECK_OK(t, fa_t_get_by_key(t, NULL, "kept", key));
        CHECK_OK(t, fa_t_cancel(t, t->task->id, NOBODY));
        entry->acked.status = entry->seen.status = FAINA_CANCELLED;
    }
    fa_t_forget(t);
}
