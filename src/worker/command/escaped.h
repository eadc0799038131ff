/*
 * escaped.h - finds processes that a handler has started and that have left its process group.
 *
 * Each handler has marks that no other handler has, and its processes inherit them. The first is a
 * resource limit: only a privileged process could raise it again, and all of the same user can read
 * it. The others are variables of its environment, for where the limit can't be set.
 *
 * These functions make system calls only, since the guard (guard.h) uses them in a copy of the
 * worker, in which locks may be held for ever.
 *
 * Threads: any, each with a buffer of its own.
 */
#ifndef FA_WORKER_COMMAND_ESCAPED_H
#define FA_WORKER_COMMAND_ESCAPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#define FA_MARKS_MAX 2
#define FA_MARK_SIZE 64

/* How long a thread of a real-time class runs without a rest, in microseconds: as a mark, 146,000
 * years and more. */
#define FA_MARK_RLIMIT RLIMIT_RTTIME
#define FA_MARK_LIMIT_MIN ((uint64_t)1 << 62)

struct fa_marks {
    /* NAME=value; those after the last are empty. A process without any isn't searched. */
    char variables[FA_MARKS_MAX][FA_MARK_SIZE];
    uint64_t limit; /* the hard limit; 0: none */
};

/* The environment of a process, as far as it is searched, and a 0 behind it. */
struct fa_environ {
    size_t len;
    char text[256 * 1024 + 1];
};

/* False: it can't be read, or is empty. */
bool fa_environ_read(struct fa_environ *env, pid_t pid);
bool fa_environ_has(const struct fa_environ *env, const struct fa_marks *marks);

/* 0: it has none, or it can't be read. */
uint64_t fa_process_limit_mark(pid_t pid);

/* Visits the direct children, or every process of the system, until `visit` returns false.
 * Orphans are children of the first thread of their subreaper. */
typedef bool fa_process_visit(pid_t pid, void *arg);
void fa_process_each_child(pid_t pid, fa_process_visit *visit, void *arg);
void fa_process_each(fa_process_visit *visit, void *arg);

/* Kills a process, and those that it has started: those first, since they may have another
 * environment. */
void fa_process_kill_tree(pid_t pid);

#endif
