/* bench_served.c - see bench_served.h. */
#include "bench/bench_served.h"

#include "base/clock.h"
#include "bench/bench_load.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIMEOUT_US 60000000
#define LINE_BEGIN "\"address\":\"http://127.0.0.1:"

void fa_bench_program_path(char *out, size_t size)
{
    ssize_t len = readlink("/proc/self/exe", out, size - 1);
    char *slash;

    out[len > 0 ? len : 0] = '\0';
    slash = strrchr(out, '/');
    snprintf(slash ? slash + 1 : out, size - (size_t)(slash ? slash + 1 - out : 0), "faina");
}

/* In the child. The server's log is JSON, because stderr is no terminal, and contains its port. */
static void exec_server(const char *url, int log, pid_t parent)
{
    char *argv[] = {(char[]){"faina"},
                    (char[]){"serve"},
                    (char[]){"--listen"},
                    (char[]){"127.0.0.1:0"},
                    (char[]){"--url"},
                    (char *)(uintptr_t)url,
                    NULL};
    char path[PATH_MAX];

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127);
    dup2(log, STDERR_FILENO);
    setenv("FAINA_LOG", "info", 1);
    unsetenv("NOTIFY_SOCKET");
    unsetenv("LISTEN_PID");
    fa_bench_program_path(path, sizeof path);
    execv(path, argv);
    _exit(127);
}

/* Reads the log until it contains the server's port. */
static enum faina_code read_port(struct fa_bench_served *served, int64_t until_us,
                                 struct faina_error *err)
{
    char text[8192] = "";
    size_t len = 0;

    while (fa_clock_mono_us() < until_us && len + 1 < sizeof text) {
        struct pollfd poller = {.fd = served->log, .events = POLLIN};
        const char *at;
        ssize_t got = 0;

        if (poll(&poller, 1, 100) > 0)
            got = read(served->log, text + len, sizeof text - 1 - len);
        else
            continue;
        if (got <= 0)
            break;
        len += (size_t)got;
        text[len] = '\0';
        at = strstr(text, LINE_BEGIN);
        if (at && strchr(at, '\n')) {
            served->port = (int)strtol(at + strlen(LINE_BEGIN), NULL, 10);
            return FAINA_OK;
        }
    }
    return fa_error_set(err, FAINA_UNAVAILABLE, "the server didn't start: %.300s", text);
}

static enum faina_code await_ready(const struct fa_bench_served *served, int64_t until_us,
                                   struct faina_error *err)
{
    struct fa_arena arena = {0};
    struct fa_bytes request = fa_bench_request(&arena, "GET", "/readyz", NULL);
    int status = 0;

    while (status != 200 && fa_clock_mono_us() < until_us)
        fa_bench_request_once(served->port, request, &status, NULL);
    fa_arena_finish(&arena);
    if (status != 200)
        return fa_error_set(err, FAINA_TIMEOUT, "the server is not ready in time");
    return FAINA_OK;
}

enum faina_code fa_bench_served_start(struct fa_bench_served *out, const char *url,
                                      struct faina_error *err)
{
    int64_t start_us = fa_clock_mono_us();
    pid_t parent = getpid();
    enum faina_code code;
    int ends[2];

    *out = (struct fa_bench_served){.log = -1};
    if (pipe(ends) != 0)
        return fa_error_set(err, FAINA_UNAVAILABLE, "can't create a pipe: %s", strerror(errno));
    out->pid = fork();
    if (out->pid == 0) {
        close(ends[0]);
        exec_server(url, ends[1], parent);
    }
    close(ends[1]);
    out->log = ends[0];
    if (out->pid < 0) {
        out->pid = 0;
        fa_bench_served_stop(out);
        return fa_error_set(err, FAINA_UNAVAILABLE, "can't start a process: %s", strerror(errno));
    }
    code = read_port(out, start_us + TIMEOUT_US, err);
    if (code == FAINA_OK)
        code = await_ready(out, start_us + TIMEOUT_US, err);
    out->ready_us = fa_clock_mono_us() - start_us;
    if (code != FAINA_OK)
        fa_bench_served_stop(out);
    return code;
}

void fa_bench_served_stop(struct fa_bench_served *served)
{
    if (served->pid > 0) {
        kill(served->pid, SIGTERM);
        waitpid(served->pid, NULL, 0);
        close(served->log);
    }
    served->pid = 0;
}

double fa_bench_served_mb(const struct fa_bench_served *served)
{
    char path[64], line[256];
    double kib = 0;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/status", (int)served->pid);
    file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "VmRSS:", 6) == 0)
            kib = strtod(line + 6, NULL);
    if (file)
        fclose(file);
    return kib * 1024 / 1e6;
}
