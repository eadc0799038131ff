/* guard.c - see guard.h. */
#include "worker/command/guard.h"

#include "base/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define GROUPS_MAX 65536
#define ROUNDS_MAX 100
#define LOWEST_FD 16 /* above the descriptors of a child */
#define ARG_START 48 /* the field of /proc/PID/stat; the next one is where it ends */

struct fa_guard {
    int fd; /* the pipe's writing end, of which there is no other copy */
    pid_t pid;
};

struct span {
    char *ptr;
    size_t len;
};

/* A write of this size to a pipe is atomic. */
struct change {
    pid_t group;
    int is_alive;
    struct fa_marks marks;
};

/* Of the guard's process. */
static struct {
    struct change alive[GROUPS_MAX];
    size_t count, killed;
    struct fa_environ environ;
} known;

static void apply(const struct change *change)
{
    size_t at = 0;

    while (at < known.count && known.alive[at].group != change->group)
        at++;
    if (change->is_alive && at == known.count && at < GROUPS_MAX)
        known.alive[known.count++] = *change;
    else if (!change->is_alive && at < known.count)
        known.alive[at] = known.alive[--known.count];
}

static bool is_of_alive(pid_t pid)
{
    uint64_t limit = fa_process_limit_mark(pid);

    for (size_t at = 0; limit != 0 && at < known.count; at++)
        if (known.alive[at].marks.limit == limit)
            return true;
    if (!fa_environ_read(&known.environ, pid))
        return false;
    for (size_t at = 0; at < known.count; at++)
        if (fa_environ_has(&known.environ, &known.alive[at].marks))
            return true;
    return false;
}

static bool kill_if_escaped(pid_t pid, void *arg)
{
    (void)arg;
    if (is_of_alive(pid)) {
        fa_process_kill_tree(pid);
        known.killed++;
    }
    return true;
}

/* Repeated, since a process may start another one meanwhile. */
static void kill_all(void)
{
    for (size_t i = 0; i < known.count; i++)
        kill(-known.alive[i].group, SIGKILL);
    for (int round = 0; known.count > 0 && round < ROUNDS_MAX; round++) {
        known.killed = 0;
        fa_process_each(kill_if_escaped, NULL);
        if (known.killed == 0)
            break;
    }
}

/* The memory from which the kernel shows the command line; empty: not found. */
static struct span command_line(void)
{
    FILE *file = fopen("/proc/self/stat", "re");
    struct span span = {0};
    uintptr_t begin = 0, end = 0;
    char text[2048], *at;
    size_t len;

    if (!file)
        return span;
    len = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[len] = '\0';
    at = strrchr(text, ')'); /* the end of field 2, which may contain any character */
    for (int field = 2; at && field < ARG_START; field++)
        at = strchr(at + 1, ' ');
    if (at && sscanf(at, "%" SCNuPTR " %" SCNuPTR, &begin, &end) == 2 && begin != 0 && begin < end)
        span = (struct span){(char *)begin, end - begin};
    return span;
}

/* U2 */
static void rename_process(struct span line)
{
    static const char name[] = "faina-guard";

    if (line.len > 0) {
        memset(line.ptr, 0, line.len);
        memcpy(line.ptr, name, line.len < sizeof(name) ? line.len - 1 : sizeof(name) - 1);
    }
    prctl(PR_SET_NAME, name);
}

/* The process is a copy of the worker, in which locks may be held for ever: system calls only. */
static _Noreturn void guard_main(const int *fds, struct span line)
{
    struct change change;
    ssize_t got;

    close(fds[1]); /* else the pipe would never end */
    setsid();
    rename_process(line);
    for (int i = 1; i < NSIG; i++)
        signal(i, SIG_IGN); /* U1 */
    if (dup2(fds[0], 0) != 0 || syscall(SYS_close_range, 1, ~0U, 0) != 0)
        _exit(1); /* the worker's files must not stay open here, such as the lock of a store */
    do {
        got = read(0, &change, sizeof(change));
        if (got == (ssize_t)sizeof(change))
            apply(&change);
    } while (got > 0 || (got < 0 && errno == EINTR));
    kill_all();
    _exit(0);
}

/* Signals are blocked: no signal handler runs in the copy, and none ends it before they are
 * ignored.
 */
static pid_t fork_guard(const int *fds)
{
    struct span line = command_line();
    sigset_t all, before;
    pid_t pid;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid = fork();
    if (pid == 0)
        guard_main(fds, line);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pid;
}

struct fa_guard *fa_guard_create(void)
{
    struct fa_guard *guard = NULL;
    int fds[2], fd;
    pid_t pid;

    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0) /* a write never blocks the worker */
        return NULL;
    fcntl(fds[0], F_SETFL, 0);
    fd = fcntl(fds[1], F_DUPFD_CLOEXEC, LOWEST_FD);
    close(fds[1]);
    fds[1] = fd;
    pid = fd >= 0 ? fork_guard(fds) : -1;
    close(fds[0]);
    if (pid > 0) {
        guard = fa_alloc_zero(1, sizeof(*guard));
        *guard = (struct fa_guard){fd, pid};
    } else if (fd >= 0) {
        close(fd);
    }
    return guard;
}

void fa_guard_destroy(struct fa_guard *guard)
{
    if (!guard)
        return;
    close(guard->fd);
    while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    free(guard);
}

/* A guard that missed a change might kill a group of another program, so it is ended. */
static void send_change(struct fa_guard *guard, const struct change *change)
{
    if (guard && write(guard->fd, change, sizeof(*change)) != (ssize_t)sizeof(*change))
        kill(guard->pid, SIGKILL);
}

void fa_guard_join(struct fa_guard *guard, const struct fa_marks *marks)
{
    send_change(guard, &(struct change){getpid(), true, *marks});
}

void fa_guard_leave(struct fa_guard *guard, pid_t group)
{
    send_change(guard, &(struct change){.group = group});
}
