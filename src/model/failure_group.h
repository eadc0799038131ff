/*
 * failure_group.h - failures that are alike: of one type and kind, with messages that differ only
 * in numbers, ids and quoted text.
 *
 * Threads: pure functions.
 */
#ifndef FA_MODEL_FAILURE_GROUP_H
#define FA_MODEL_FAILURE_GROUP_H

#include "base/error.h"

#define FA_FAILURE_MESSAGE_SIZE_MAX 300 /* of a group */
#define FA_FAILURE_TASKS_MAX 10         /* tasks that a group shows */
#define FA_FAILURE_GROUPS_MAX 1000      /* of a namespace; of more, the oldest are dropped */
#define FA_FAILURE_KEEP_US (90 * 24 * 3600 * INT64_C(1000000)) /* since the last failure */
#define FA_FAILURE_ID_SIZE 17

/* Appends the message without what differs: numbers and ids become `#`, quoted text `…`, and space
 * between words one space. At most FA_FAILURE_MESSAGE_SIZE_MAX bytes. */
void fa_failure_normalize(struct fa_bytes message, struct fa_buf *out);

/* The group of a failure. */
struct fa_failure_key {
    const char *kind, *message; /* normalized; "" for none; in the arena */
    int64_t id;                 /* positive; of the namespace, type, kind and message */
};
/* `error` is a task's error: JSON that was checked; NULL: none. */
struct fa_failure_key fa_failure_key_of(const char *ns, const char *type, const char *error,
                                        struct fa_arena *arena);
void fa_failure_id_format(int64_t id, char out[FA_FAILURE_ID_SIZE]);
bool fa_failure_id_parse(const char *text, int64_t *out);

struct fa_failure_query {
    const char *ns;   /* NULL: "default"; "*": all */
    const char *type; /* NULL: all */
    int64_t since_us; /* only groups with a failure since then */
    int limit;        /* 0: all */
};

struct fa_failure_group {
    char id[FA_FAILURE_ID_SIZE];
    const char *ns, *type, *kind, *message; /* kind NULL: none */
    int64_t count, first_us, last_us;
    const char *const *task_ids; /* that failed last, the last one first; each once */
    size_t task_count;
};

struct fa_failure_groups {
    size_t count;
    struct fa_failure_group *items; /* the one with the most failures first */
};

#endif
