/*
 * spawn.h - child processes: started without a shell, in a session of their own, with the
 * environment that the caller gives (environment.h), watched by the loop.
 *
 *   X1  A child gets the descriptors in `fds`, as 0, 1, 2 ..., and no other.
 *   X2  It is the leader of its own session and process group, can gain no privileges, and is
 *       killed when the loop's thread ends.
 *   X3  on_exit is called once, when the child has ended and before it is reaped: its process id
 *       and group can't be reused yet. fa_process_finish or fa_process_reap must follow.
 *   X4  With `owns_process` the spawner also reaps orphans of its children, raises the limit of
 *       open files, and starts a guard (guard.h): the children's groups end with this process,
 *       however it ends.
 *   X5  With `owns_process`, processes that have left the group of a handler become children of
 *       this process once their parents have ended, since it is a subreaper. They are found by the
 *       handler's marks, and end within moments after it; when this process ends by SIGKILL, by
 *       the guard.
 *
 * Threads: the loop's, but for create and destroy.
 */
#ifndef FA_WORKER_COMMAND_SPAWN_H
#define FA_WORKER_COMMAND_SPAWN_H

#include "worker/command/escaped.h"
#include "worker/event_loop.h"

#include <sys/resource.h>
#include <sys/types.h>

struct fa_spawner;

/* What a child may use; 0: not limited here. After `cpu_s` it gets SIGXCPU, and after one more
 * second of CPU time SIGKILL. */
struct fa_limits {
    int64_t memory_bytes, cpu_s, files, file_bytes, processes;
};

#define FA_SPAWN_FDS_MAX 4

struct fa_spawn {
    const char *path;        /* absolute */
    const char *const *argv; /* ends with NULL */
    const char *const *env;  /* NAME=value, ends with NULL */
    const char *folder;      /* to run in; NULL: the working directory */
    int fds[FA_SPAWN_FDS_MAX];
    int fd_count;
    struct fa_limits limits;
    struct fa_marks marks; /* variables of `env` */
};

struct fa_process {
    pid_t pid;
    struct fa_watch exit;
    void (*on_exit)(struct fa_process *process);
    struct fa_spawner *spawner;
    struct fa_marks marks;
    struct fa_process *next, **link;
};

FA_MUST_CHECK enum faina_code fa_spawner_create(struct fa_spawner **out, struct fa_event_loop *loop,
                                                bool owns_process, struct faina_error *err);
void fa_spawner_destroy(struct fa_spawner *spawner); /* after the loop; NULL is fine */

/* Starts a child. process->on_exit is set by the caller. If the program can't be executed, the
 * child still starts, writes the reason to its stderr, and exits with one of these: it can't be
 * run, or isn't there. */
#define FA_SPAWN_CANNOT 126
#define FA_SPAWN_MISSING 127
FA_MUST_CHECK enum faina_code fa_spawn(struct fa_spawner *spawner, const struct fa_spawn *spawn,
                                       struct fa_process *process, struct faina_error *err);
void fa_process_kill(const struct fa_process *process, int signal); /* the whole group */
/* After on_exit: the exit status, without reaping. False: not known, since the program ignores
 * SIGCHLD and the kernel has reaped the child. */
FA_MUST_CHECK bool fa_process_status(const struct fa_process *process, int *status);
/* After on_exit: the end of the process, and of all that it has started. False: as above. */
FA_MUST_CHECK bool fa_process_finish(struct fa_process *process, int *status, struct rusage *usage);
/* The same, but what it has started continues. */
FA_MUST_CHECK bool fa_process_reap(struct fa_process *process, int *status, struct rusage *usage);

/* A variable for the environment of a process that makes many attempts: its mark, which no other
 * process gets. */
void fa_spawner_make_mark(struct fa_spawner *spawner, struct fa_marks *out);

/* The limit that ended the child, as far as its status shows: ", since it used ...", else "". */
const char *fa_limits_broken(const struct fa_limits *limits, int status, struct fa_arena *arena);

/* A pipe whose ends are closed on exec; the reading end doesn't block. False: errno is set. */
FA_MUST_CHECK bool fa_pipe(int *read_end, int *write_end);

#endif
