/* guard.c - see guard.h. */
#include "runtime/guard.h"

#include "base/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define GROUPS_MAX 65536

struct fa_guard {
    int fd; /* the pipe's writing end: nobody else has it */
    pid_t pid;
};

/* What is told: small enough for the pipe to take it whole. */
struct news {
    pid_t group;
    int is_alive;
};

static void keep(pid_t *groups, size_t *count, const struct news *news)
{
    size_t at = 0;

    while (at < *count && groups[at] != news->group)
        at++;
    if (news->is_alive && at == *count && at < GROUPS_MAX)
        groups[(*count)++] = news->group;
    else if (!news->is_alive && at < *count)
        groups[at] = groups[--*count];
}

/* The process has our memory as it was, and locks that nobody will free: system calls only. */
static _Noreturn void guard_main(int fd)
{
    static pid_t groups[GROUPS_MAX];
    size_t count = 0;
    struct news news;
    ssize_t got;

    setsid();
    prctl(PR_SET_NAME, "faina-guard");
    for (int i = 1; i < NSIG; i++)
        signal(i, SIG_IGN); /* it ends with us, and not before */
    if (fd != 0 && dup2(fd, 0) != 0)
        _exit(1);
    syscall(SYS_close_range, 1, ~0U, 0);
    do {
        got = read(0, &news, sizeof(news));
        if (got == (ssize_t)sizeof(news))
            keep(groups, &count, &news);
    } while (got > 0 || (got < 0 && errno == EINTR));
    for (size_t i = 0; i < count; i++)
        kill(-groups[i], SIGKILL);
    _exit(0);
}

struct fa_guard *fa_guard_create(void)
{
    struct fa_guard *guard;
    int fds[2];
    pid_t pid;

    if (pipe2(fds, O_CLOEXEC) != 0)
        return NULL;
    pid = fork();
    if (pid == 0)
        guard_main(fds[0]);
    close(fds[0]);
    if (pid < 0) {
        close(fds[1]);
        return NULL;
    }
    fcntl(fds[1], F_SETFL, O_NONBLOCK); /* it must not keep us, whatever became of it */
    guard = fa_alloc_zero(1, sizeof(*guard));
    *guard = (struct fa_guard){fds[1], pid};
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

void fa_guard_tell(struct fa_guard *guard, pid_t group, bool is_alive)
{
    struct news news = {group, is_alive};

    if (guard)
        (void)!write(guard->fd, &news, sizeof(news));
}
