/*
 * service_checks.c - a thread for connections, a timer in the loop for commands, and one list of
 * reachable services.
 */
#include "worker/service_checks.h"

#include "worker/command/environment.h"
#include "base/clock.h"
#include "base/thread.h"
#include "model/check.h"
#include "model/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define INTERVAL_MS_DEFAULT 5000
#define CHECK_MS 5000
#define ARGS_MAX 64
#define TCP_PREFIX "tcp:"

enum health { UNKNOWN, UP, DOWN };

struct check {
    struct fa_services *services;
    const char *name;
    char *host, *port; /* NULL: a command */
    const char **argv;
    const char *path;
    enum health health; /* under the mutex */

    /* A command's, in the loop. */
    struct fa_process process;
    struct fa_timer timer; /* the next check, or the end of this one */
    bool is_running, is_killed;
};

struct fa_services {
    struct fa_pool *pool;
    struct fa_event_loop *loop;
    struct fa_spawner *spawner;
    struct fa_arena arena;
    struct fa_reporter log;
    int64_t interval_us;
    const char **fixed; /* always reachable */
    size_t fixed_count;
    struct check *checks;
    size_t check_count;
    const char **env;
    struct fa_message begin, end;

    pthread_mutex_t mutex; /* guards what follows, and each check's health */
    pthread_cond_t cond;
    bool is_ending, has_ended; /* has_ended: the commands */
    pthread_t thread;
    bool has_thread;
};

/* ------------------------------------------------------------------------------------------
 * Reachable services
 */

/* Passes the list to the pool. With the mutex held. */
static void publish(struct fa_services *services)
{
    const char **names =
        fa_alloc_zero(services->fixed_count + services->check_count + 1, sizeof(char *));
    size_t count = services->fixed_count;

    memcpy(names, services->fixed, count * sizeof(char *));
    for (size_t i = 0; i < services->check_count; i++)
        if (services->checks[i].health == UP)
            names[count++] = services->checks[i].name;
    fa_pool_set_services(services->pool, names, count);
    free(names);
}

static void set_health(struct check *check, bool is_up, const char *why)
{
    struct fa_services *services = check->services;
    enum health now = is_up ? UP : DOWN;

    pthread_mutex_lock(&services->mutex);
    if (check->health != now) {
        fa_report(&services->log, is_up ? FA_LOG_INFO : FA_LOG_WARN, "service %s is %s%s%s",
                  check->name, is_up ? "reachable" : "not reachable", is_up ? "" : ": ",
                  is_up ? "" : why);
        check->health = now;
        publish(services);
    }
    pthread_mutex_unlock(&services->mutex);
}

/* ------------------------------------------------------------------------------------------
 * Connections
 */

/* One address. 0, or the error. */
static int try_connect(const struct addrinfo *address)
{
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    socklen_t size = sizeof(int);
    int error = 0;

    if (fd < 0)
        return errno;
    if (connect(fd, address->ai_addr, address->ai_addrlen) != 0) {
        error = errno;
        if (error == EINPROGRESS) {
            error = ETIMEDOUT;
            if (poll(&wait, 1, CHECK_MS) == 1)
                getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
        }
    }
    close(fd);
    return error;
}

static void check_tcp(struct check *check)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *addresses = NULL;
    int failed = getaddrinfo(check->host, check->port, &hints, &addresses), error = 0;

    if (failed) {
        set_health(check, false, gai_strerror(failed));
        return;
    }
    for (struct addrinfo *address = addresses; address; address = address->ai_next) {
        error = try_connect(address);
        if (error == 0)
            break;
    }
    freeaddrinfo(addresses);
    set_health(check, error == 0, strerror(error));
}

static bool is_ending(struct fa_services *services)
{
    bool ending;

    pthread_mutex_lock(&services->mutex);
    ending = services->is_ending;
    pthread_mutex_unlock(&services->mutex);
    return ending;
}

static void *tcp_main(void *arg)
{
    struct fa_services *services = arg;

    while (!is_ending(services)) {
        int64_t next_us = fa_clock_mono_us() + services->interval_us;

        for (size_t i = 0; i < services->check_count && !is_ending(services); i++)
            if (services->checks[i].host)
                check_tcp(&services->checks[i]);
        pthread_mutex_lock(&services->mutex);
        while (!services->is_ending && fa_clock_mono_us() < next_us)
            fa_cond_wait_until(&services->cond, &services->mutex, next_us);
        pthread_mutex_unlock(&services->mutex);
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------
 * Commands, in the loop
 */

static void end_if_idle(struct fa_services *services)
{
    for (size_t i = 0; i < services->check_count; i++)
        if (services->checks[i].is_running)
            return;
    pthread_mutex_lock(&services->mutex);
    services->has_ended = services->is_ending;
    pthread_cond_broadcast(&services->cond);
    pthread_mutex_unlock(&services->mutex);
}

static void on_command_exit(struct fa_process *process)
{
    struct check *check = FA_CONTAINER_OF(process, struct check, process);
    struct fa_services *services = check->services;
    struct rusage usage;
    int status = -1;
    bool is_known;

    is_known = fa_process_finish(process, &status, &usage);
    check->is_running = false;
    fa_timer_clear(services->loop, &check->timer);
    if (is_ending(services)) {
        end_if_idle(services);
        return;
    }
    set_health(check, is_known && WIFEXITED(status) && WEXITSTATUS(status) == 0,
               check->is_killed ? "its check took too long" : "its check failed");
    fa_timer_set(services->loop, &check->timer, fa_clock_mono_us() + services->interval_us);
}

static enum faina_code spawn_command(struct check *check, struct faina_error *err)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC), fd;
    struct fa_spawn spawn = {
        .path = check->path, .argv = check->argv, .env = check->services->env, .fd_count = 3};
    enum faina_code code;

    fd = fcntl(null, F_DUPFD_CLOEXEC, 16); /* above the descriptors of the child */
    for (int i = 0; i < spawn.fd_count; i++)
        spawn.fds[i] = fd;
    check->process.on_exit = on_command_exit;
    code = fd < 0 ? fa_error_set(err, FAINA_UNAVAILABLE, "/dev/null: %s", strerror(errno))
                  : fa_spawn(check->services->spawner, &spawn, &check->process, err);
    if (fd >= 0)
        close(fd);
    if (null >= 0)
        close(null);
    return code;
}

/* Starts a check, or ends one that takes too long (V2). */
static void on_command_timer(struct fa_timer *timer)
{
    struct check *check = FA_CONTAINER_OF(timer, struct check, timer);
    struct fa_services *services = check->services;
    struct faina_error err;

    if (check->is_running) {
        check->is_killed = true;
        fa_process_kill(&check->process, SIGKILL);
        return;
    }
    if (is_ending(services))
        return;
    fa_error_clear(&err);
    check->is_killed = false;
    check->is_running = spawn_command(check, &err) == FAINA_OK;
    if (!check->is_running)
        set_health(check, false, err.message);
    fa_timer_set(services->loop, timer,
                 fa_clock_mono_us() +
                     (check->is_running ? CHECK_MS * 1000 : services->interval_us));
}

static void begin_commands(struct fa_message *message)
{
    struct fa_services *services = FA_CONTAINER_OF(message, struct fa_services, begin);

    for (size_t i = 0; i < services->check_count; i++)
        if (!services->checks[i].host)
            on_command_timer(&services->checks[i].timer);
}

static void end_commands(struct fa_message *message)
{
    struct fa_services *services = FA_CONTAINER_OF(message, struct fa_services, end);

    for (size_t i = 0; i < services->check_count; i++) {
        struct check *check = &services->checks[i];

        fa_timer_clear(services->loop, &check->timer);
        if (check->is_running)
            fa_process_kill(&check->process, SIGKILL);
    }
    end_if_idle(services);
}

/* ------------------------------------------------------------------------------------------
 * Reading the checks
 */

static enum faina_code read_tcp(struct fa_services *services, struct check *check, const char *text,
                                struct faina_error *err)
{
    char *address = fa_arena_strdup(&services->arena, text + strlen(TCP_PREFIX));
    char *colon = strrchr(address, ':');
    long port = colon ? strtol(colon + 1, NULL, 10) : 0;

    if (!colon || colon == address || port < 1 || port > 65535 ||
        strspn(colon + 1, "0123456789") != strlen(colon + 1))
        return fa_error_set(err, FAINA_INVALID_REQUEST,
                            "the check of service %.100s is tcp:HOST:PORT, such as "
                            "tcp:localhost:11434, not \"%.200s\"",
                            check->name, text);
    *colon = '\0';
    if (address[0] == '[' && colon[-1] == ']') { /* an IPv6 address */
        colon[-1] = '\0';
        address++;
    }
    check->host = address;
    check->port = colon + 1;
    return FAINA_OK;
}

/* The path of a program, by PATH. NULL: there is none. */
static const char *find_program(struct fa_arena *arena, const char *name)
{
    const char *path = getenv("PATH") ? getenv("PATH") : "/usr/local/bin:/usr/bin:/bin";

    if (strchr(name, '/')) {
        char *absolute = realpath(name, NULL);
        const char *copy = absolute ? fa_arena_strdup(arena, absolute) : NULL;

        free(absolute);
        return copy && access(copy, X_OK) == 0 ? copy : NULL;
    }
    while (*path) {
        size_t len = strcspn(path, ":");
        const char *program = fa_arena_printf(arena, "%.*s/%s", (int)len, path, name);

        if (program[0] == '/' && access(program, X_OK) == 0)
            return program;
        path += len + (path[len] == ':');
    }
    return NULL;
}

static enum faina_code read_command(struct fa_services *services, struct check *check,
                                    const char *text, struct faina_error *err)
{
    char *words = fa_arena_strdup(&services->arena, text);
    size_t count = 0;

    check->argv = fa_arena_zero(&services->arena, ARGS_MAX + 1, sizeof(char *));
    while (count < ARGS_MAX) {
        words += strspn(words, " ");
        if (!*words)
            break;
        check->argv[count++] = words;
        words += strcspn(words, " ");
        if (*words)
            *words++ = '\0';
    }
    check->path = count > 0 ? find_program(&services->arena, check->argv[0]) : NULL;
    if (!check->path)
        return fa_error_set(err, FAINA_INVALID_REQUEST,
                            "the check of service %.100s can't be run: there is no program "
                            "\"%.200s\"",
                            check->name, count > 0 ? check->argv[0] : "");
    return FAINA_OK;
}

static enum faina_code read_check(struct fa_services *services, struct check *check,
                                  const struct fa_runtime_check *from, struct faina_error *err)
{
    enum faina_code code = fa_check_name(from->service, FA_RESOURCE_NAME_SIZE_MAX, "service",
                                         FAINA_INVALID_REQUEST, err);

    if (code != FAINA_OK)
        return code;
    check->services = services;
    check->name = fa_arena_strdup(&services->arena, from->service);
    check->timer.fire = on_command_timer;
    if (strncmp(from->check, TCP_PREFIX, strlen(TCP_PREFIX)) == 0)
        return read_tcp(services, check, from->check, err);
    return read_command(services, check, from->check, err);
}

static enum faina_code read_config(struct fa_services *services,
                                   const struct fa_runtime_config *config, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;
    struct fa_environment environment;

    services->interval_us =
        1000 * (config->check_interval_ms > 0 ? config->check_interval_ms : INTERVAL_MS_DEFAULT);
    services->fixed_count = config->services ? config->service_count : 0;
    services->fixed = fa_arena_strs(&services->arena, config->services, services->fixed_count);
    services->check_count = config->check_count;
    services->checks =
        fa_arena_zero(&services->arena, config->check_count + 1, sizeof(*services->checks));
    fa_environment_init(&environment, &services->arena);
    services->env = environment.items;
    for (size_t i = 0; code == FAINA_OK && i < config->check_count; i++)
        code = read_check(services, &services->checks[i], &config->checks[i], err);
    return code;
}

/* ------------------------------------------------------------------------------------------
 * Creating and stopping
 */

static bool has_tcp(const struct fa_services *services)
{
    for (size_t i = 0; i < services->check_count; i++)
        if (services->checks[i].host)
            return true;
    return false;
}

static enum faina_code start(struct fa_services *services, struct faina_error *err)
{
    int failed = 0;

    publish(services); /* V1: only those that are always reachable */
    if (has_tcp(services)) {
        failed = fa_thread_start(&services->thread, tcp_main, services);
        services->has_thread = failed == 0;
    }
    if (failed)
        return fa_error_set(err, FAINA_UNAVAILABLE, "can't start a thread: %s", strerror(failed));
    fa_event_loop_send(services->loop, &services->begin);
    return FAINA_OK;
}

enum faina_code fa_services_create(struct fa_services **out, struct fa_pool *pool,
                                   struct fa_event_loop *loop, struct fa_spawner *spawner,
                                   const struct fa_runtime_config *config, struct faina_error *err)
{
    struct fa_services *services = fa_alloc_zero(1, sizeof(*services));
    enum faina_code code;

    services->pool = pool;
    services->loop = loop;
    services->spawner = spawner;
    services->log = config->log;
    services->begin.run = begin_commands;
    services->end.run = end_commands;
    pthread_mutex_init(&services->mutex, NULL);
    fa_cond_init(&services->cond);
    code = read_config(services, config, err);
    if (code == FAINA_OK)
        code = start(services, err);
    if (code != FAINA_OK) {
        fa_services_destroy(services);
        return code;
    }
    *out = services;
    return FAINA_OK;
}

void fa_services_stop(struct fa_services *services)
{
    if (!services)
        return;
    pthread_mutex_lock(&services->mutex);
    services->is_ending = true;
    pthread_cond_broadcast(&services->cond);
    pthread_mutex_unlock(&services->mutex);
    fa_event_loop_send(services->loop, &services->end);
    pthread_mutex_lock(&services->mutex);
    while (!services->has_ended)
        pthread_cond_wait(&services->cond, &services->mutex);
    pthread_mutex_unlock(&services->mutex);
    if (services->has_thread)
        pthread_join(services->thread, NULL);
}

void fa_services_destroy(struct fa_services *services)
{
    if (!services)
        return;
    pthread_mutex_destroy(&services->mutex);
    pthread_cond_destroy(&services->cond);
    fa_arena_finish(&services->arena);
    free(services);
}
