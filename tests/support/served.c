/* served.c - starting and ending `faina serve`. */
#include "support/served.h"

#include "base/clock.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOG_SIZE 65536

void fa_served_program(char out[FA_T_PATH_SIZE])
{
    const char *named = getenv("FAINA_BIN");
    char self[FA_T_PATH_SIZE];
    ssize_t len;

    if (named && *named) {
        snprintf(out, FA_T_PATH_SIZE, "%s", named);
        return;
    }
    /* The tests are in build/tests, the program is in build. */
    len = readlink("/proc/self/exe", self, sizeof self - 1);
    CHECK(len > 0, "this program has no name");
    self[len] = '\0';
    for (int i = 0; i < 2; i++)
        *strrchr(self, '/') = '\0';
    snprintf(out, FA_T_PATH_SIZE, "%.400s/faina", self);
}

static void read_log(const struct fa_served *served, char out[LOG_SIZE])
{
    int fd = open(served->log_path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd >= 0 ? read(fd, out, LOG_SIZE - 1) : 0;

    if (fd >= 0)
        close(fd);
    out[len > 0 ? len : 0] = '\0';
}

/* The child. */
static void serve(const struct fa_served *served, char *const *argv, pid_t parent,
                  const struct faina_options *options)
{
    char keep[32];
    int fd = open(served->log_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || fd < 0)
        _exit(1);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    unsetenv("FAINA_LISTEN");
    unsetenv("FAINA_LOG");
    snprintf(keep, sizeof keep, "%lldms", (long long)options->events_keep_ms);
    if (options->events_keep_ms > 0)
        setenv("FAINA_EVENTS_KEEP", keep, 1);
    execv(argv[0], argv);
    _exit(127);
}

static bool find_address(struct fa_served *served)
{
    static const char key[] = "\"address\":\"http://";
    static char text[LOG_SIZE];
    const char *at;
    size_t len;

    read_log(served, text);
    at = strstr(text, key);
    len = at ? strcspn(at + sizeof key - 1, "\"") : 0;
    if (!at || at[sizeof key - 1 + len] != '"')
        return false;
    snprintf(served->url, sizeof served->url, "http://%.*s", (int)len, at + sizeof key - 1);
    /* The socket beside the file is announced after it. */
    return strstr(at, "\"address\":\"unix:") != NULL || strstr(text, "no socket beside") != NULL;
}

void fa_served_start(struct fa_served *served, const char *store, const char *dir,
                     const struct faina_options *options)
{
    char program[FA_T_PATH_SIZE], url[FA_T_PATH_SIZE], size[32], flag[] = "--input-max";
    char *argv[] = {program,
                    (char[]){"serve"},
                    (char[]){"--listen"},
                    (char[]){"127.0.0.1:0"},
                    (char[]){"--url"},
                    url,
                    NULL,
                    NULL,
                    NULL};
    const struct timespec pause = {.tv_nsec = 1000000};
    int64_t deadline = fa_clock_mono_us() + FA_T_DEADLINE_MS * 1000;
    pid_t parent = getpid();
    static char text[LOG_SIZE];

    fa_served_program(program);
    snprintf(url, sizeof url, "%s", store);
    if (options->input_size_max > 0) {
        snprintf(size, sizeof size, "%lld", (long long)options->input_size_max);
        argv[6] = flag;
        argv[7] = size;
    }
    snprintf(served->log_path, sizeof served->log_path, "%.480s/serve.log", dir);
    unlink(served->log_path);
    served->pid = fork();
    CHECK(served->pid >= 0, "can't fork");
    if (served->pid == 0)
        serve(served, argv, parent, options);
    while (!find_address(served)) {
        bool has_ended = waitpid(served->pid, NULL, WNOHANG) != 0;

        if (has_ended || fa_clock_mono_us() > deadline) {
            read_log(served, text);
            fa_t_fail(__FILE__, __LINE__, "%s serve did not start:\n%s", program, text);
        }
        nanosleep(&pause, NULL);
    }
}

static int end(struct fa_served *served, int signal_number)
{
    int status = 0;

    if (served->pid == 0)
        return 0;
    kill(served->pid, signal_number);
    waitpid(served->pid, &status, 0);
    served->pid = 0;
    return status;
}

void fa_served_stop(struct fa_served *served)
{
    static char text[LOG_SIZE];
    int status = end(served, SIGTERM);

    if (status == 0)
        return;
    read_log(served, text);
    fa_t_fail(__FILE__, __LINE__, "the server ended with status %d:\n%s", status, text);
}

void fa_served_kill(struct fa_served *served)
{
    end(served, SIGKILL);
}
