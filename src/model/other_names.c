/* other_names.c - see other_names.h. Words are compared without case, underscores and dashes. */
#include "model/other_names.h"

#include "base/bytes.h"
#include "model/states.h"

#include <ctype.h>
#include <stdbool.h>

static const struct {
    const char *word, *ours;
} statuses[] = {
    {"IN_PROGRESS", "claimed or running"},
    {"OPEN", "pending"},
    {"QUEUED", "pending"},
    {"READY", "pending"},
    {"SCHEDULED", "pending"},
    {"PROCESSING", "running"},
    {"STARTED", "running"},
    {"COMPLETE", "completed"},
    {"DONE", "completed"},
    {"SUCCESS", "completed"},
    {"SUCCEEDED", "completed"},
    {"ERROR", "failed"},
    {"DEAD", "dead_letter"},
    {"CANCELED", "cancelled"},
};

static const struct {
    const char *word, *ours;
} members[] = {
    {"payload", "input"},       {"payload", "data"},
    {"result", "output"},       {"claimedBy", "workerId"},
    {"executor", "workerId"},   {"worker", "workerId"},
    {"taskType", "type"},       {"title", "name"},
    {"tenantId", "namespace"},  {"tenant", "namespace"},
    {"inputHash", "dedupe"},    {"retryCount", "attempts"},
    {"retries", "maxAttempts"}, {"retryable", "error.retryable"},
    {"nextRetryAt", "runAt"},   {"scheduledAt", "runAt"},
    {"scheduledFor", "runAt"},  {"team", "teamId"},
    {"parent", "parentId"},     {"message", "error"},
    {"errorMessage", "error"},  {"exceptionType", "kind"},
    {"lease", "leaseSeconds"},  {"timeoutSeconds", "timeout"},
    {"blockedBy", "dependsOn"}, {"resource", "resources"},
};

/* The next letter or digit, in lower case; '\0' at the end. */
static char next_letter(const char **at)
{
    while (**at == '_' || **at == '-')
        (*at)++;
    return **at ? (char)tolower((unsigned char)*(*at)++) : '\0';
}

static bool is_same_word(const char *a, const char *b)
{
    char letter;

    do {
        letter = next_letter(&a);
        if (letter != next_letter(&b))
            return false;
    } while (letter);
    return true;
}

const char *fa_other_status(const char *word)
{
    for (enum faina_status status = 0; status < FAINA_STATUS_COUNT; status++)
        if (is_same_word(word, faina_status_name(status)))
            return faina_status_name(status);
    for (size_t i = 0; i < FA_COUNT(statuses); i++)
        if (is_same_word(word, statuses[i].word))
            return statuses[i].ours;
    return NULL;
}

const char *fa_other_member(const char *word, size_t index)
{
    for (size_t i = 0; i < FA_COUNT(members); i++)
        if (is_same_word(word, members[i].word) && index-- == 0)
            return members[i].ours;
    return NULL;
}
