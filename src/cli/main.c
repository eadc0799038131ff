/*
 * main.c - the program: reads the environment, parses, runs the verb, closes.
 */
#include "cli/cli.h"

#include "cli/hide.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "worker/plugin/host.h"

#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/*
 * A program may be started with stdin, stdout or stderr closed. The next file that is opened, the
 * store, would get that descriptor, and output would be written into it. So a closed descriptor is
 * opened on /dev/null in the wrong direction: reads and writes of it fail, as they should.
 */
static void guard_standard_files(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

static int terminal_width(void)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size;
    long width = columns ? strtol(columns, NULL, 10) : 0;

    if (width > 0 && width < 10000)
        return (int)width;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 80;
}

/* https://no-color.org: any value but an empty one. */
static bool allows_colour(void)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

    return !(no_color && no_color[0]) && !(term && strcmp(term, "dumb") == 0);
}

static void read_environment(struct fa_cli *cli)
{
    const char *ns = getenv("FAINA_NAMESPACE");

    cli->in_is_tty = isatty(STDIN_FILENO);
    cli->out_is_tty = isatty(STDOUT_FILENO);
    cli->err_is_tty = isatty(STDERR_FILENO);
    cli->has_colour = cli->out_is_tty && allows_colour();
    cli->has_err_colour = cli->err_is_tty && allows_colour();
    cli->width = terminal_width();
    cli->table_width = cli->out_is_tty || getenv("COLUMNS") ? cli->width : INT_MAX;
    cli->format = cli->out_is_tty ? FA_CLI_TABLE : FA_CLI_JSON;
    cli->ns = ns && ns[0] ? ns : NULL;
}

int main(int argc, char **argv)
{
    struct fa_cli cli = {0};
    int code, out_code;

    if (argc == 3 && strcmp(argv[1], "plugin-host") == 0) /* started by a worker */
        return fa_host_main(argv[2]);
    guard_standard_files();
    /* Widths of characters must be those of UTF-8, whatever the user's language. */
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        setlocale(LC_CTYPE, "");
    /* Writes then return an error, which fa_out_finish reports. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    read_environment(&cli);
    fa_hide_passwords(argc, argv, &cli.arena);
    if (argc > 1 && strcmp(argv[1], "complete-word") == 0) /* started by a shell */
        code = fa_complete_word(&cli, argc - 2, argv + 2);
    else
        code = fa_cli_parse(&cli, argc, argv);
    if (code < 0)
        code = cli.verb->run(&cli);
    fa_cli_close(&cli);
    out_code = fa_out_finish(&cli);
    fa_table_note_hidden(&cli);
    fa_arena_finish(&cli.arena);
    return code != FA_EXIT_OK ? code : out_code;
}
