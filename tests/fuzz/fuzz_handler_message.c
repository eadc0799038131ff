/*
 * fuzz_handler_message.c - descriptor 3: whatever a handler writes there, its attempt has an
 * outcome that the engine takes, and a sentence when it is invalid.
 */
#include "worker/handler_message.h"

#include "base/utf8.h"
#include "model/check.h"
#include "model/limits.h"
#include "worker/pool/pool_inner.h"

#include <stdlib.h>
#include <string.h>

#define OUTPUT_MAX 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool is_true)
{
    if (!is_true)
        abort();
}

static void check_outcome(const struct fa_outcome *outcome)
{
    struct faina_error err;

    switch (outcome->kind) {
    case FA_OUTCOME_COMPLETE:
        break;
    case FA_OUTCOME_BLOCK:
        check(outcome->subtask_count > 0);
        for (size_t i = 0; i < outcome->subtask_count; i++)
            check(fa_check_submit(&outcome->subtasks[i], OUTPUT_MAX, &err) == FAINA_OK);
        break;
    case FA_OUTCOME_BACKGROUND:
    case FA_OUTCOME_SNOOZE:
        check(outcome->timeout_ms >= 0);
        break;
    case FA_OUTCOME_FAIL:
        check(outcome->failure.message != NULL && outcome->failure.message[0] != '\0');
        check(fa_check_failure(&outcome->failure, &err) == FAINA_OK);
        break;
    case FA_OUTCOME_AMEND:
        check(outcome->settings != NULL && outcome->settings->resource_count > 0);
        check(outcome->settings->resource_count <= FA_RESOURCES_MAX);
        break;
    case FA_OUTCOME_RELEASE:
        abort(); /* nobody can say that */
    }
}

/* The first byte says what is on stdout; each line after it is one of descriptor 3. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const outputs[] = {NULL, "{}", "", "no json"};
    struct fa_service service = {.input_size_max = OUTPUT_MAX};
    struct fa_pool pool = {.service = &service, .mutex = PTHREAD_MUTEX_INITIALIZER};
    const char *resources[] = {"gpu"};
    struct faina_task task = {.resources = resources, .resource_count = 1};
    struct fa_job job = {.pool = &pool, .task = &task, .is_dirty = true}; /* nobody is told */
    const char *at = (const char *)data + 1, *end = (const char *)data + size;
    struct fa_outcome outcome;
    struct fa_handler_messages messages;

    if (size == 0)
        return 0;
    fa_handler_messages_init(&messages, &job);
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline ? newline : end;

        fa_handler_messages_add(&messages, (struct fa_bytes){at, (size_t)(stop - at)});
        at = stop + 1;
    }
    check(!messages.is_wrong || fa_utf8_is_valid(fa_str(messages.wrong)));
    check(!job.report.has_progress || (job.report.progress >= 0 && job.report.progress <= 100));
    outcome = fa_handler_messages_outcome(&messages, outputs[data[0] % FA_COUNT(outputs)]);
    check_outcome(&outcome);
    free((char *)(uintptr_t)job.report.state);
    free((char *)(uintptr_t)job.report.metadata);
    fa_handler_messages_finish(&messages);
    fa_arena_finish(&job.arena);
    return 0;
}
