/*
 * pgserver.c - a PostgreSQL server of a test's own.
 *
 * Its programs run through setpriv: as another user when the test is root, and with the signal
 * of an immediate stop in case the test ends first.
 */
#include "support/pgserver.h"

#include "base/clock.h"
#include "base/random.h"
#include "support/psql.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pwd.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <libpq-fe.h>

#define ARGS_MAX 24
#define START_MS 60000
/* As in tools/test-postgres: below the system's ephemeral ports. */
#define PORT_FIRST 20000
#define PORT_COUNT 12000

/* ------------------------------------------------------------------------------------------
 * Programs
 */

static const char *setting(const char *name)
{
    const char *text = getenv(name);

    return text ? text : "";
}

static const struct passwd *server_user(void)
{
    const char *name = setting("FA_POSTGRES_USER");
    const struct passwd *user = *name ? getpwnam(name) : NULL;

    CHECK(*name == '\0' || user != NULL, "there is no user %s", name);
    return user;
}

/* Starts a program of PostgreSQL's, or of the system when its name has a '/'. Its output goes to
 * the server's log. */
static pid_t launch(struct fa_pgs *server, const char *const *args, bool ends_with_us)
{
    const struct passwd *user = server_user();
    char uid[32], gid[32], path[FA_T_PATH_SIZE], log[FA_T_PATH_SIZE + 8];
    const char *line[ARGS_MAX + 8];
    size_t count = 0;
    pid_t pid;

    line[count++] = "setpriv";
    if (user) {
        snprintf(uid, sizeof uid, "--reuid=%u", (unsigned)user->pw_uid);
        snprintf(gid, sizeof gid, "--regid=%u", (unsigned)user->pw_gid);
        line[count++] = uid;
        line[count++] = gid;
        line[count++] = "--clear-groups";
    }
    line[count++] = "--pdeathsig";
    line[count++] = ends_with_us ? "QUIT" : "KILL";
    snprintf(path, sizeof path, "%s%s%s", args[0][0] == '/' ? "" : setting("FA_POSTGRES_BIN"),
             args[0][0] == '/' ? "" : "/", args[0]);
    line[count++] = path;
    for (size_t i = 1; args[i]; i++)
        line[count++] = args[i];
    line[count] = NULL;
    CHECK(count < FA_COUNT(line), "too many arguments");
    snprintf(log, sizeof log, "%s/log", server->dir);

    pid = vfork();
    CHECK(pid >= 0, "no process: %s", strerror(errno));
    if (pid == 0) {
        int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0644);

        dup2(fd, 1);
        dup2(fd, 2);
        close(0);
        if (chdir(server->dir) == 0)
            execvp(line[0], (char *const *)(uintptr_t)line);
        _exit(127);
    }
    return pid;
}

static void show_log(struct fa_pgs *server)
{
    char path[FA_T_PATH_SIZE + 8], line[1024];
    FILE *file;

    snprintf(path, sizeof path, "%s/log", server->dir);
    file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        print_message("server: %s", line);
    if (file)
        fclose(file);
}

static void run(struct fa_pgs *server, const char *const *args)
{
    pid_t pid = launch(server, args, false);
    int status = -1;

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (status != 0)
        show_log(server);
    CHECK(status == 0, "%s fails: status %x", args[0], (unsigned)status);
}

/* ------------------------------------------------------------------------------------------
 * Creating
 */

static int free_port(void)
{
    struct fa_random random;

    fa_random_seed_system(&random);
    for (int i = 0; i < 200; i++) {
        int port = PORT_FIRST + (int)fa_random_below(&random, PORT_COUNT);
        struct sockaddr_in address = {.sin_family = AF_INET,
                                      .sin_port = htons((uint16_t)port),
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        int taken = bind(fd, (struct sockaddr *)&address, sizeof address);

        close(fd);
        if (taken == 0)
            return port;
    }
    fa_t_fail(__FILE__, __LINE__, "no free port");
}

static void own(const char *path)
{
    const struct passwd *user = server_user();

    if (user)
        CHECK(chown(path, user->pw_uid, user->pw_gid) == 0, "%s: %s", path, strerror(errno));
}

/* Makes the server's folder, with an empty data folder, and its URLs. */
static void make_folder(struct fa_pgs *server, int mib)
{
    char data[FA_T_PATH_SIZE + 8], size[32];

    memset(server, 0, sizeof *server);
    fa_psql_need();
    snprintf(server->dir, sizeof server->dir, "%s/XXXXXX", setting("FA_POSTGRES_DIR"));
    CHECK(mkdtemp(server->dir) != NULL, "%s: %s", server->dir, strerror(errno));
    CHECK(chmod(server->dir, 0755) == 0, "%s: %s", server->dir, strerror(errno));
    own(server->dir);
    snprintf(data, sizeof data, "%s/data", server->dir);
    CHECK(mkdir(data, 0700) == 0, "%s: %s", data, strerror(errno));
    if (mib > 0) {
        snprintf(size, sizeof size, "size=%dm,mode=0700", mib);
        CHECK(mount("faina", data, "tmpfs", 0, size) == 0, "can't mount %s: %s", data,
              strerror(errno));
        server->is_mounted = true;
    }
    own(data);
    server->port = free_port();
    fa_psql_through(fa_psql_url(), server->port, server->url);
    fa_psql_through(fa_psql_admin_url(), server->port, server->admin_url);
}

static void copy_template(struct fa_pgs *server)
{
    char from[FA_T_PATH_SIZE];
    const char *const args[] = {"/bin/cp", "-a", from, "data", NULL};

    snprintf(from, sizeof from, "%s/.", setting("FA_POSTGRES_TEMPLATE"));
    run(server, args);
}

void fa_pgs_init(struct fa_pgs *server)
{
    make_folder(server, 0);
    copy_template(server);
}

void fa_pgs_init_small(struct fa_pgs *server, int mib)
{
    memset(server, 0, sizeof *server);
    if (geteuid() != 0) {
        print_message("only root can mount a small file system\n");
        skip();
    }
    make_folder(server, mib);
    copy_template(server);
}

void fa_pgs_set(struct fa_pgs *server, const char *line)
{
    char path[FA_T_PATH_SIZE + 32];
    FILE *file;

    snprintf(path, sizeof path, "%s/data/postgresql.conf", server->dir);
    file = fopen(path, "a");
    CHECK(file != NULL, "%s: %s", path, strerror(errno));
    fprintf(file, "%s\n", line);
    CHECK(fclose(file) == 0, "%s: %s", path, strerror(errno));
}

/* ------------------------------------------------------------------------------------------
 * Running
 */

void fa_pgs_begin(struct fa_pgs *server)
{
    char port[16];
    const char *const args[] = {"postgres", "-D", "data", "-p", port, "-k", server->dir, NULL};

    CHECK(server->pid == 0, "it runs already");
    snprintf(port, sizeof port, "%d", server->port);
    server->pid = launch(server, args, true);
}

static bool has_ended(struct fa_pgs *server)
{
    int status;

    if (waitpid(server->pid, &status, WNOHANG) != server->pid)
        return false;
    server->pid = 0;
    return true;
}

void fa_pgs_start(struct fa_pgs *server)
{
    fa_pgs_begin(server);
    fa_pgs_await(server);
}

void fa_pgs_await(struct fa_pgs *server)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    int64_t deadline_us = fa_clock_mono_us() + START_MS * 1000LL;

    while (PQping(server->url) != PQPING_OK) {
        bool ended = has_ended(server);

        if (ended || fa_clock_mono_us() > deadline_us)
            show_log(server);
        CHECK(!ended, "the server doesn't start");
        CHECK(fa_clock_mono_us() < deadline_us, "the server isn't ready after %d ms", START_MS);
        nanosleep(&pause, NULL);
    }
}

static void end(struct fa_pgs *server, int number)
{
    int64_t deadline_us = fa_clock_mono_us() + START_MS * 1000LL;
    const struct timespec pause = {.tv_nsec = 1000000};

    if (server->pid == 0)
        return;
    kill(server->pid, number);
    while (!has_ended(server)) {
        CHECK(fa_clock_mono_us() < deadline_us, "the server doesn't stop");
        nanosleep(&pause, NULL);
    }
}

void fa_pgs_stop(struct fa_pgs *server)
{
    end(server, SIGQUIT);
}

void fa_pgs_shut_down(struct fa_pgs *server)
{
    end(server, SIGINT);
}

/* Sends a signal to the processes that the postmaster has started; returns how many. */
static int signal_children(pid_t parent, int number)
{
    int count = 0;
    struct dirent *entry;
    DIR *dir = opendir("/proc");

    CHECK(dir != NULL, "no /proc");
    while ((entry = readdir(dir))) {
        char path[300], text[512] = "";
        const char *rest;
        int ppid = -1;
        FILE *file;

        if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
            continue;
        snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
        file = fopen(path, "r");
        if (file == NULL)
            continue;
        rest = fgets(text, sizeof text, file) ? strrchr(text, ')') : NULL;
        fclose(file);
        if (rest == NULL || sscanf(rest, ") %*c %d", &ppid) != 1 || ppid != parent)
            continue;
        count++;
        kill((pid_t)fa_t_int(entry->d_name), number);
    }
    closedir(dir);
    return count;
}

void fa_pgs_kill(struct fa_pgs *server)
{
    if (server->pid == 0)
        return;
    /* Stopped first, so that it starts no more children while they are listed. */
    kill(server->pid, SIGSTOP);
    signal_children(server->pid, SIGKILL);
    end(server, SIGKILL);
}

void fa_pgs_pause(struct fa_pgs *server)
{
    kill(server->pid, SIGSTOP);
    signal_children(server->pid, SIGSTOP);
}

void fa_pgs_resume(struct fa_pgs *server)
{
    signal_children(server->pid, SIGCONT);
    kill(server->pid, SIGCONT);
}

void fa_pgs_kill_session(struct fa_pgs *server, pid_t pid)
{
    CHECK(server->pid != 0 && pid > 1, "no session %d", (int)pid);
    CHECK(kill(pid, SIGKILL) == 0, "session %d: %s", (int)pid, strerror(errno));
}

/* A killed server leaves the small shared memory segment that marks it as running. */
static void drop_shared_memory(struct fa_pgs *server)
{
    char path[FA_T_PATH_SIZE + 32], line[256];
    FILE *file;
    int id = -1;

    snprintf(path, sizeof path, "%s/data/postmaster.pid", server->dir);
    file = fopen(path, "r");
    for (int i = 0; file && fgets(line, sizeof line, file); i++)
        if (i == 6 && sscanf(line, "%*d %d", &id) == 1)
            shmctl(id, IPC_RMID, NULL);
    if (file)
        fclose(file);
}

void fa_pgs_finish(struct fa_pgs *server)
{
    char data[FA_T_PATH_SIZE + 8];

    if (server->dir[0] == '\0')
        return;
    if (server->pid != 0)
        fa_pgs_resume(server);
    fa_pgs_stop(server);
    drop_shared_memory(server);
    if (server->is_mounted) {
        snprintf(data, sizeof data, "%s/data", server->dir);
        umount2(data, MNT_DETACH);
    }
    fa_t_remove_tree(server->dir);
    memset(server, 0, sizeof *server);
}

/* ------------------------------------------------------------------------------------------
 * Standbys
 */

void fa_pgs_init_standby(struct fa_pgs *standby, struct fa_pgs *primary)
{
    const char *const args[] = {"pg_basebackup",    "-D",        "data", "-R",   "-X",
                                "stream",           "--no-sync", "-c",   "fast", "-d",
                                primary->admin_url, NULL};

    make_folder(standby, 0);
    run(standby, args);
}

void fa_pgs_promote(struct fa_pgs *standby)
{
    PGconn *conn = fa_psql_connect(standby->admin_url);

    CHECK_INT(fa_psql_int(conn, "SELECT CASE WHEN pg_promote(true, %d) THEN 1 ELSE 0 END",
                          START_MS / 1000),
              1);
    fa_psql_close(conn);
}

/* ------------------------------------------------------------------------------------------
 * A full disk
 */

void fa_pgs_fill_disk(struct fa_pgs *server)
{
    char path[FA_T_PATH_SIZE + 32], bytes[65536] = {0};
    size_t size = sizeof bytes;
    int fd;

    CHECK(server->is_mounted, "it has no disk of its own");
    snprintf(path, sizeof path, "%s/data/filler", server->dir);
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    CHECK(fd >= 0, "%s: %s", path, strerror(errno));
    while (size > 0)
        if (write(fd, bytes, size) <= 0)
            size /= 2;
    close(fd);
}

void fa_pgs_free_disk(struct fa_pgs *server)
{
    char path[FA_T_PATH_SIZE + 32];

    snprintf(path, sizeof path, "%s/data/filler", server->dir);
    CHECK(unlink(path) == 0, "%s: %s", path, strerror(errno));
}
