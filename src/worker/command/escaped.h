/*
 * escaped.h - finds processes that a handler has started and that have left its process group.
 *
 * Such a process, in a session of its own for instance, still has the environment of its handler
 * unless it has changed it. So some variables of a handler are its marks: together no other handler
 * has them.
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
#include <sys/types.h>

#define FA_MARKS_MAX 2
#define FA_MARK_SIZE 64

/* Variables, NAME=value; those after the last are empty. A process without marks isn't searched.
 */
struct fa_marks {
    char variables[FA_MARKS_MAX][FA_MARK_SIZE];
};

/* The environment of a process, as far as it is searched, and a 0 behind it. */
struct fa_environ {
    size_t len;
    char text[256 * 1024 + 1];
};

/* False: it can't be read, or is empty. */
bool fa_environ_read(struct fa_environ *env, pid_t pid);
bool fa_environ_has(const struct fa_environ *env, const struct fa_marks *marks);

/* Visits the direct children, or every process of the system, until `visit` returns false.
 * Orphans are children of the first thread of their subreaper. */
typedef bool fa_process_visit(pid_t pid, void *arg);
void fa_process_each_child(pid_t pid, fa_process_visit *visit, void *arg);
void fa_process_each(fa_process_visit *visit, void *arg);

/* Kills a process, and those that it has started: those first, since they may have another
 * environment. */
void fa_process_kill_tree(pid_t pid);

#endif
