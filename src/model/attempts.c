/* attempts.c - see attempts.h. */
#include "model/attempts.h"

#include "model/limits.h"
#include "model/operation.h"
#include "model/states.h"

static bool is_word(const char *text, const char *word)
{
    return strcmp(text, word) == 0;
}

static void begin_hold(struct fa_attempts *history, const struct faina_event *event)
{
    struct fa_hold *hold = &history->holds[history->count++];

    hold->is_counted = !history->is_resumed;
    history->attempts += hold->is_counted;
    hold->number = history->attempts;
    hold->worker = event->worker_id;
    hold->claimed_us = event->at_us;
    history->is_held = true;
    history->is_resumed = false;
}

static void end_hold(struct fa_attempts *history, const struct faina_event *event)
{
    struct fa_hold *hold = &history->holds[history->count - 1];

    hold->end = event->what;
    history->is_held = false;
    if (strcmp(event->what, "released") != 0)
        return;
    history->is_resumed = !hold->is_counted;
    history->attempts -= hold->is_counted;
}

/* The log is stored when its process has ended. Another worker may hold the task by then. */
static void add_log(struct fa_attempts *history, const struct faina_event *event)
{
    /* It was valid when it was stored, but the file may be damaged. */
    if (!event->detail || fa_json_check(fa_str(event->detail), FA_JSON_DEPTH_MAX + 1, "detail",
                                        FAINA_INTERNAL, NULL) != FAINA_OK)
        return;
    for (size_t i = history->count; i > 0; i--) {
        struct fa_hold *hold = &history->holds[i - 1];

        if (hold->event == NULL && hold->worker && event->worker_id &&
            strcmp(hold->worker, event->worker_id) == 0) {
            hold->event = event;
            return;
        }
    }
    /* The claim's event was removed. */
    history->holds[history->count++] =
        (struct fa_hold){.number = history->attempts, .end = "", .event = event};
}

/* A part of the log of the attempt that runs, or ran last. */
static void add_part(struct fa_attempts *history, const struct faina_event *event,
                     struct fa_arena *arena)
{
    struct fa_hold *hold = history->count > 0 ? &history->holds[history->count - 1] : NULL;

    if (!hold || !event->detail)
        return;
    hold->parts =
        fa_arena_grow(arena, hold->parts, hold->part_count, &hold->part_size, sizeof(*hold->parts));
    hold->parts[hold->part_count++] = event;
}

/* Reads the events, which are sorted newest first. */
void fa_attempts_read(struct fa_arena *arena, const struct faina_events *events,
                      int64_t attempts_made, struct fa_attempts *history)
{
    *history = (struct fa_attempts){
        .holds = fa_arena_zero(arena, events->count + 1, sizeof(*history->holds))};
    for (size_t i = events->count; i > 0; i--) {
        const struct faina_event *event = &events->items[i - 1];

        if (is_word(event->what, "attempt"))
            add_log(history, event);
        else if (is_word(event->what, FA_LOG_PART))
            add_part(history, event, arena);
        else if (is_word(event->what, "claimed") ||
                 (is_word(event->what, "started") && !history->is_held))
            begin_hold(history, event);
        else if (history->is_held && !fa_status_is_held(event->status))
            end_hold(history, event);
        if (is_word(event->what, "unblocked"))
            history->is_resumed = history->count > 0;
    }
    /* Events of the first attempts were removed. */
    for (size_t i = 0; i < history->count && history->attempts < attempts_made; i++)
        history->holds[i].number += attempts_made - history->attempts;
    if (history->attempts < attempts_made)
        history->attempts = attempts_made;
}

/* ------------------------------------------------------------------------------------------
 * A log that grows
 */

/* The length of the whole log is not known: behind the last bytes that were shown. */
static const char *behind_tail(const struct fa_log_place *place, const char *text)
{
    size_t len = strlen(text);
    const char *found = text, *at = text;

    if (place->tail_len == 0)
        return text;
    while ((at = memmem(at, len - (size_t)(at - text), place->tail, place->tail_len)) != NULL) {
        found = at + place->tail_len;
        at++;
    }
    return found;
}

static const char *behind_place(const struct fa_log_place *place, const struct fa_attempt_log *log)
{
    int64_t len = (int64_t)strlen(log->text), begin = log->end - len;

    if (log->end < 0 || place->shown < 0)
        return behind_tail(place, log->text);
    if (place->shown <= begin)
        return log->text;
    return log->text + (place->shown >= log->end ? len : place->shown - begin);
}

const char *fa_log_rest(struct fa_log_place *place, const struct fa_attempt_log *log)
{
    const char *rest = behind_place(place, log);
    size_t len = strlen(log->text);

    place->shown = log->end;
    place->tail_len = len < FA_LOG_TAIL_SIZE ? len : FA_LOG_TAIL_SIZE;
    memcpy(place->tail, log->text + len - place->tail_len, place->tail_len);
    return rest;
}
