/* escaped.c - see escaped.h. */
#include "worker/command/escaped.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TREE_DEPTH_MAX 64
#define PATH_SIZE 64

/* Appends to a path that has room for it. */
static void append(char path[PATH_SIZE], size_t *len, const char *text)
{
    while (*text != '\0' && *len < PATH_SIZE - 1)
        path[(*len)++] = *text++;
    path[*len] = '\0';
}

static void append_number(char path[PATH_SIZE], size_t *len, unsigned number)
{
    const char digit[] = {(char)('0' + number % 10), '\0'};

    if (number >= 10)
        append_number(path, len, number / 10);
    append(path, len, digit);
}

static int open_environ(pid_t pid)
{
    char path[PATH_SIZE];
    size_t len = 0;

    append(path, &len, "/proc/");
    append_number(path, &len, (unsigned)pid);
    append(path, &len, "/environ");
    return open(path, O_RDONLY | O_CLOEXEC);
}

static int open_children(pid_t pid)
{
    char path[PATH_SIZE];
    size_t len = 0;

    append(path, &len, "/proc/");
    append_number(path, &len, (unsigned)pid);
    append(path, &len, "/task/");
    append_number(path, &len, (unsigned)pid);
    append(path, &len, "/children");
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* ------------------------------------------------------------------------------------------
 * Environments
 */

bool fa_environ_read(struct fa_environ *env, pid_t pid)
{
    int fd = open_environ(pid);
    ssize_t got;

    env->len = 0;
    if (fd < 0)
        return false;
    while (env->len < sizeof(env->text) - 1) {
        got = read(fd, env->text + env->len, sizeof(env->text) - 1 - env->len);
        if (got <= 0 && !(got < 0 && errno == EINTR))
            break;
        env->len += got > 0 ? (size_t)got : 0;
    }
    close(fd);
    env->text[env->len] = '\0';
    return env->len > 0;
}

static bool has_variable(const struct fa_environ *env, const char *variable)
{
    for (size_t at = 0; at < env->len; at += strlen(env->text + at) + 1)
        if (strcmp(env->text + at, variable) == 0)
            return true;
    return false;
}

bool fa_environ_has(const struct fa_environ *env, const struct fa_marks *marks)
{
    for (int i = 0; i < FA_MARKS_MAX && marks->variables[i][0] != '\0'; i++)
        if (!has_variable(env, marks->variables[i]))
            return false;
    return marks->variables[0][0] != '\0';
}

uint64_t fa_process_limit_mark(pid_t pid)
{
    struct rlimit limit;

    if (prlimit(pid, FA_MARK_RLIMIT, NULL, &limit) != 0 || limit.rlim_max == RLIM_INFINITY)
        return 0;
    return limit.rlim_max >= FA_MARK_LIMIT_MIN ? limit.rlim_max : 0;
}

/* ------------------------------------------------------------------------------------------
 * Processes
 */

void fa_process_each_child(pid_t pid, fa_process_visit *visit, void *arg)
{
    int fd = open_children(pid);
    char text[1024];
    pid_t child = 0;
    bool goes_on = true;
    ssize_t got;

    while (fd >= 0 && goes_on && (got = read(fd, text, sizeof(text))) > 0)
        for (ssize_t i = 0; goes_on && i < got; i++) { /* each number has a space behind it */
            if (text[i] >= '0' && text[i] <= '9') {
                child = child * 10 + (text[i] - '0');
            } else if (child > 0) {
                goes_on = visit(child, arg);
                child = 0;
            }
        }
    if (fd >= 0)
        close(fd);
}

struct dirent64_head {
    uint64_t ino;
    int64_t off;
    uint16_t size;
    uint8_t type;
    char name[];
};

void fa_process_each(fa_process_visit *visit, void *arg)
{
    _Alignas(struct dirent64_head) char entries[4096];
    int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool goes_on = true;
    long got;

    while (fd >= 0 && goes_on && (got = syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0)
        for (long at = 0; goes_on && at < got;) {
            const struct dirent64_head *entry = (const void *)(entries + at);
            pid_t pid = 0;

            for (const char *digit = entry->name; *digit >= '0' && *digit <= '9'; digit++)
                pid = pid * 10 + (*digit - '0');
            if (pid > 0)
                goes_on = visit(pid, arg);
            at += entry->size;
        }
    if (fd >= 0)
        close(fd);
}

static bool kill_with_children(pid_t pid, void *arg)
{
    int depth = *(const int *)arg + 1;

    kill(pid, SIGSTOP); /* it starts no more */
    if (depth <= TREE_DEPTH_MAX)
        fa_process_each_child(pid, kill_with_children, &depth);
    kill(pid, SIGKILL);
    return true;
}

void fa_process_kill_tree(pid_t pid)
{
    int depth = 0;

    kill_with_children(pid, &depth);
}
