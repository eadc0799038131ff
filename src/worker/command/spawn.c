/*
 * spawn.c - vfork, a few system calls in the child, execve.
 *
 * vfork and not fork: the cost must not grow with the engine's caches. The child shares the
 * parent's memory until execve, so it only makes system calls; everything it needs is prepared
 * before.
 */
#include "worker/command/spawn.h"

#include "base/clock.h"
#include "base/random.h"
#include "worker/command/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOWEST_FD 16 /* above the descriptors of a child */
#define REAP_INTERVAL_US 1000000
#define INTERPRETER_SIZE_MAX 255 /* what the kernel reads of a script's first line */
#define CPU_GAP_S 1              /* SIGKILL, at the hard limit, doesn't show the cause */
/* After the end of a handler, what it has started is searched this often and this long: a process
 * is an orphan once its parents have ended. */
#define ESCAPED_US 50000
#define ESCAPED_MAX_US 5000000
#define EXIT_RETRY 75 /* EX_TEMPFAIL: such as a file that is being written */

struct fa_spawner {
    struct fa_event_loop *loop;
    struct rlimit files; /* before it was raised */
    struct fa_process *processes;
    bool owns_process, is_subreaper;
    struct fa_guard *guard; /* NULL: none */
    struct fa_timer reap_timer, escape_timer;
    struct fa_message begin;
    struct ended *ended;
    struct fa_environ *environ; /* a buffer */
    uint64_t mark_base, mark_count;
    uint64_t next_limit; /* the mark of the next process; 0: this process has such a limit itself */
};

/* A handler that has ended, and whose processes are searched. */
struct ended {
    struct fa_marks marks;
    int64_t until_us; /* monotonic */
    struct ended *next;
};

/* ------------------------------------------------------------------------------------------
 * The child
 */

struct child_setup {
    const struct fa_spawn *spawn;
    struct fa_guard *guard;
    struct fa_marks marks;
    pid_t parent;
    struct {
        int resource;
        struct rlimit limit;
    } limits[8];
    int limit_count;
};

static void write_error(const char *text)
{
    (void)!write(STDERR_FILENO, text, strlen(text));
}

/* For a script whose interpreter is missing. False: it is no script. */
static bool write_interpreter_error(const char *path)
{
    char line[INTERPRETER_SIZE_MAX + 1];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t len = fd >= 0 ? read(fd, line, sizeof(line) - 1) : -1;
    char *name = line + 2;

    if (fd >= 0)
        close(fd);
    if (len < 3 || line[0] != '#' || line[1] != '!')
        return false;
    line[len] = '\0';
    name += strspn(name, " \t");
    name[strcspn(name, " \t\n")] = '\0';
    write_error("there is no interpreter ");
    for (size_t part; *name; name += part + (name[part] == '\r')) {
        part = strcspn(name, "\r");
        (void)!write(STDERR_FILENO, name, part);
        if (name[part] == '\r')
            write_error("\\r");
    }
    write_error(", which its first line names");
    return true;
}

/* Writes why the program can't be run to stderr, the handler's log. */
static _Noreturn void give_up(const char *path, const char *step, int error)
{
    write_error("faina: can't ");
    write_error(step);
    write_error(" ");
    write_error(path);
    write_error(": ");
    if (error != ENOENT || !write_interpreter_error(path))
        write_error(strerrordesc_np(error) ? strerrordesc_np(error) : "unknown error");
    write_error("\n");
    if (error == ETXTBSY || error == EAGAIN || error == ENOMEM)
        _exit(EXIT_RETRY);
    _exit(error == ENOENT || error == ENOTDIR ? FA_SPAWN_MISSING : FA_SPAWN_CANNOT);
}

static void reset_signals(void)
{
    static const int ignored[] = {SIGPIPE, SIGXFSZ, SIGXCPU, SIGHUP,  SIGINT,  SIGQUIT, SIGTERM,
                                  SIGCHLD, SIGUSR1, SIGUSR2, SIGALRM, SIGTTIN, SIGTTOU};
    sigset_t none;

    for (size_t i = 0; i < FA_COUNT(ignored); i++)
        signal(ignored[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void child_main(const struct child_setup *setup)
{
    const struct fa_spawn *spawn = setup->spawn;

    setsid();
    fa_guard_join(setup->guard, &setup->marks);
    for (int i = 0; i < spawn->fd_count; i++)
        if (dup2(spawn->fds[i], i) < 0)
            _exit(EXIT_RETRY);
    syscall(SYS_close_range, spawn->fd_count, ~0U, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != setup->parent)
        _exit(EXIT_RETRY); /* the parent ended before the prctl */
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    for (int i = 0; i < setup->limit_count; i++)
        if (setrlimit((__rlimit_resource_t)setup->limits[i].resource, &setup->limits[i].limit) != 0)
            give_up(spawn->path, "set the limits of", errno);
    reset_signals();
    if (spawn->folder && chdir(spawn->folder) != 0)
        give_up(spawn->folder, "enter", errno);
    execve(spawn->path, (char *const *)(uintptr_t)spawn->argv,
           (char *const *)(uintptr_t)spawn->env);
    give_up(spawn->path, "run", errno);
}

/* The hard limit is higher than the soft one by `gap`. */
static void add_limit(struct child_setup *setup, int resource, int64_t value, int64_t gap)
{
    rlim_t soft = (rlim_t)value, hard = (rlim_t)value + (rlim_t)gap;
    struct rlimit now;

    if (value <= 0)
        return;
    /* A process can't raise its own hard limit. */
    if (getrlimit((__rlimit_resource_t)resource, &now) == 0 && now.rlim_max != RLIM_INFINITY) {
        hard = hard > now.rlim_max ? now.rlim_max : hard;
        soft = soft > hard ? hard : soft;
    }
    setup->limits[setup->limit_count].resource = resource;
    setup->limits[setup->limit_count++].limit = (struct rlimit){.rlim_cur = soft, .rlim_max = hard};
}

static void add_limits(struct child_setup *setup, const struct fa_spawner *spawner)
{
    const struct fa_limits *limits = &setup->spawn->limits;

    setup->limits[0].resource = RLIMIT_CORE; /* an input can hold secrets */
    setup->limits[0].limit = (struct rlimit){0, 0};
    setup->limits[1].resource = RLIMIT_NOFILE;
    setup->limits[1].limit = spawner->files;
    setup->limit_count = 2;
    if (limits->files > 0)
        setup->limit_count = 1;
    add_limit(setup, RLIMIT_NOFILE, limits->files, 0);
    add_limit(setup, RLIMIT_AS, limits->memory_bytes, 0);
    add_limit(setup, RLIMIT_CPU, limits->cpu_s, CPU_GAP_S);
    add_limit(setup, RLIMIT_FSIZE, limits->file_bytes, 0);
    add_limit(setup, RLIMIT_NPROC, limits->processes, 0);
}

static void add_mark(struct child_setup *setup, struct fa_spawner *spawner)
{
    if (spawner->next_limit == 0 || setup->marks.variables[0][0] == '\0')
        return;
    setup->marks.limit = spawner->next_limit++;
    setup->limits[setup->limit_count].resource = FA_MARK_RLIMIT;
    setup->limits[setup->limit_count++].limit =
        (struct rlimit){setup->marks.limit, setup->marks.limit};
}

/* Signals are blocked: a signal handler in the child would run on the parent's memory. */
static __attribute__((noinline)) pid_t start_child(const struct child_setup *setup)
{
    sigset_t all, before;
    pid_t pid;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid = vfork();
    if (pid == 0)
        child_main(setup);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pid;
}

/* ------------------------------------------------------------------------------------------
 * Processes
 */

static void on_pidfd(struct fa_watch *watch)
{
    struct fa_process *process = FA_CONTAINER_OF(watch, struct fa_process, exit);

    fa_event_loop_unwatch(process->spawner->loop, watch);
    process->on_exit(process);
}

enum faina_code fa_spawn(struct fa_spawner *spawner, const struct fa_spawn *spawn,
                         struct fa_process *process, struct faina_error *err)
{
    struct child_setup setup = {
        .spawn = spawn, .guard = spawner->guard, .marks = spawn->marks, .parent = getpid()};
    pid_t pid;
    int fd;

    add_limits(&setup, spawner);
    add_mark(&setup, spawner);
    pid = start_child(&setup);
    if (pid < 0)
        return fa_error_set(err, FAINA_UNAVAILABLE, "can't start a process for %.200s: %s",
                            spawn->path, strerror(errno));
    fd = (int)syscall(SYS_pidfd_open, pid, 0);
    process->exit = (struct fa_watch){.fd = fd, .on_event = on_pidfd};
    if (fd < 0 || !fa_event_loop_watch(spawner->loop, &process->exit)) {
        int error = errno;

        kill(pid, SIGKILL);
        fa_guard_leave(spawner->guard, pid);
        waitpid(pid, NULL, 0);
        if (fd >= 0)
            close(fd);
        return fa_error_set(err, FAINA_UNAVAILABLE, "can't watch the process of %.200s: %s",
                            spawn->path, strerror(error));
    }
    process->pid = pid;
    process->spawner = spawner;
    process->marks = setup.marks;
    process->next = spawner->processes;
    process->link = &spawner->processes;
    if (process->next)
        process->next->link = &process->next;
    spawner->processes = process;
    return FAINA_OK;
}

void fa_process_kill(const struct fa_process *process, int signal)
{
    if (kill(-process->pid, signal) != 0)
        kill(process->pid, signal); /* its group doesn't exist yet */
}

bool fa_process_status(const struct fa_process *process, int *status)
{
    siginfo_t info = {0};
    int code;

    do
        code = waitid(P_PID, (id_t)process->pid, &info, WEXITED | WNOWAIT);
    while (code != 0 && errno == EINTR);
    if (code != 0)
        return false;
    *status =
        info.si_code == CLD_EXITED ? W_EXITCODE(info.si_status, 0) : W_EXITCODE(0, info.si_status);
    if (info.si_code == CLD_DUMPED)
        *status |= WCOREFLAG;
    return true;
}

bool fa_process_reap(struct fa_process *process, int *status, struct rusage *usage)
{
    pid_t pid;

    *process->link = process->next;
    if (process->next)
        process->next->link = process->link;
    fa_guard_leave(process->spawner->guard, process->pid);
    do
        pid = wait4(process->pid, status, 0, usage);
    while (pid < 0 && errno == EINTR);
    close(process->exit.fd);
    return pid == process->pid;
}

const char *fa_limits_broken(const struct fa_limits *limits, int status, struct fa_arena *arena)
{
    if (limits->cpu_s <= 0 || !WIFSIGNALED(status) || WTERMSIG(status) != SIGXCPU)
        return "";
    return fa_arena_printf(arena, ", since it used more CPU time than its limit of %lld s",
                           (long long)limits->cpu_s);
}

/* ------------------------------------------------------------------------------------------
 * Orphans
 */

static bool is_known(const struct fa_spawner *spawner, pid_t pid)
{
    for (const struct fa_process *process = spawner->processes; process; process = process->next)
        if (process->pid == pid)
            return true;
    return false;
}

/* Reaps orphans, whose parent this process has become (PR_SET_CHILD_SUBREAPER). If a child of ours
 * is first in the list, its watch reaps it, and the orphans behind it are reaped at the next call.
 * */
static void reap_orphans(struct fa_timer *timer)
{
    struct fa_spawner *spawner = FA_CONTAINER_OF(timer, struct fa_spawner, reap_timer);

    for (;;) {
        siginfo_t info = {0};

        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0 ||
            is_known(spawner, info.si_pid))
            break;
        waitpid(info.si_pid, NULL, WNOHANG);
    }
    fa_timer_set(spawner->loop, timer, fa_clock_mono_us() + REAP_INTERVAL_US);
}

static bool is_of_ended(struct fa_spawner *spawner, pid_t pid)
{
    const struct ended *ended = spawner->ended;
    uint64_t limit = fa_process_limit_mark(pid);

    while (limit != 0 && ended && ended->marks.limit != limit)
        ended = ended->next;
    if (limit != 0 && ended)
        return true;
    ended = spawner->ended;
    if (!spawner->environ)
        spawner->environ = fa_alloc(sizeof(*spawner->environ));
    if (!fa_environ_read(spawner->environ, pid))
        return false;
    while (ended && !fa_environ_has(spawner->environ, &ended->marks))
        ended = ended->next;
    return ended != NULL;
}

static bool end_if_escaped(pid_t pid, void *arg)
{
    struct fa_spawner *spawner = arg;

    if (!is_known(spawner, pid) && is_of_ended(spawner, pid))
        fa_process_kill_tree(pid);
    return true;
}

static void end_escaped(struct fa_timer *timer)
{
    struct fa_spawner *spawner = FA_CONTAINER_OF(timer, struct fa_spawner, escape_timer);
    int64_t now_us = fa_clock_mono_us();

    fa_process_each_child(getpid(), end_if_escaped, spawner);
    for (struct ended **at = &spawner->ended; *at;) {
        struct ended *ended = *at;

        if (ended->until_us > now_us) {
            at = &ended->next;
            continue;
        }
        *at = ended->next;
        free(ended);
    }
    if (spawner->ended)
        fa_timer_set(spawner->loop, timer, now_us + ESCAPED_US);
}

bool fa_process_finish(struct fa_process *process, int *status, struct rusage *usage)
{
    struct fa_spawner *spawner = process->spawner;
    struct ended *ended;
    bool is_known;

    fa_process_kill(process, SIGKILL); /* what is left of its group, while that is surely its own */
    is_known = fa_process_reap(process, status, usage);
    if (spawner->is_subreaper && process->marks.variables[0][0] != '\0') {
        ended = fa_alloc_zero(1, sizeof(*ended));
        ended->marks = process->marks;
        ended->until_us = fa_clock_mono_us() + ESCAPED_MAX_US;
        ended->next = spawner->ended;
        spawner->ended = ended;
        end_escaped(&spawner->escape_timer);
    }
    return is_known;
}

void fa_spawner_make_mark(struct fa_spawner *spawner, struct fa_marks *out)
{
    *out = (struct fa_marks){0};
    snprintf(out->variables[0], FA_MARK_SIZE, "FAINA_PROCESS=%016llx.%llu",
             (unsigned long long)spawner->mark_base, (unsigned long long)++spawner->mark_count);
}

static void begin_reaping(struct fa_message *message)
{
    struct fa_spawner *spawner = FA_CONTAINER_OF(message, struct fa_spawner, begin);

    fa_timer_set(spawner->loop, &spawner->reap_timer, fa_clock_mono_us() + REAP_INTERVAL_US);
}

enum faina_code fa_spawner_create(struct fa_spawner **out, struct fa_event_loop *loop,
                                  bool owns_process, struct faina_error *err)
{
    struct fa_spawner *spawner = fa_alloc_zero(1, sizeof(*spawner));
    struct fa_random random;
    struct rlimit more;

    spawner->loop = loop;
    spawner->owns_process = owns_process;
    spawner->reap_timer.fire = reap_orphans;
    spawner->begin.run = begin_reaping;
    fa_random_seed_system(&random);
    spawner->mark_base = fa_random_next(&random);
    if (getrlimit(FA_MARK_RLIMIT, &more) == 0 && more.rlim_max == RLIM_INFINITY)
        spawner->next_limit = FA_MARK_LIMIT_MIN + (fa_random_next(&random) >> 3);
    if (getrlimit(RLIMIT_NOFILE, &spawner->files) != 0) {
        free(spawner);
        return fa_error_set(err, FAINA_UNAVAILABLE, "can't read the limits: %s", strerror(errno));
    }
    more = spawner->files;
    more.rlim_cur = more.rlim_max;
    if (owns_process)
        setrlimit(RLIMIT_NOFILE, &more); /* each child needs four descriptors */
    if (owns_process)
        spawner->guard = fa_guard_create();
    spawner->escape_timer.fire = end_escaped;
    spawner->is_subreaper = owns_process && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0;
    if (spawner->is_subreaper)
        fa_event_loop_send(loop, &spawner->begin);
    *out = spawner;
    return FAINA_OK;
}

void fa_spawner_destroy(struct fa_spawner *spawner)
{
    if (!spawner)
        return;
    if (spawner->owns_process)
        setrlimit(RLIMIT_NOFILE, &spawner->files);
    fa_guard_destroy(spawner->guard);
    if (spawner->ended)
        fa_process_each_child(getpid(), end_if_escaped, spawner);
    while (spawner->ended) {
        struct ended *next = spawner->ended->next;

        free(spawner->ended);
        spawner->ended = next;
    }
    free(spawner->environ);
    free(spawner);
}

/* ------------------------------------------------------------------------------------------
 * Pipes
 */

/* Moves a descriptor above those of a child. */
static int raise_fd(int fd)
{
    int high;

    if (fd < 0 || fd >= LOWEST_FD)
        return fd;
    high = fcntl(fd, F_DUPFD_CLOEXEC, LOWEST_FD);
    close(fd);
    return high;
}

bool fa_pipe(int *read_end, int *write_end)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    ends[0] = raise_fd(ends[0]);
    ends[1] = raise_fd(ends[1]);
    if (ends[0] < 0 || ends[1] < 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) {
        close(ends[0]);
        close(ends[1]);
        return false;
    }
    *read_end = ends[0];
    *write_end = ends[1];
    return true;
}
