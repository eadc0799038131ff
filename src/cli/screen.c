/*
 * screen.c - see screen.h.
 *
 * The handlers of fatal signals (N1) are installed only while the alternate screen is shown, so
 * they need no state.
 */
#include "cli/screen.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* The alternate screen and the cursor, by their numbers in xterm. */
#define ENTER "\033[?1049h\033[?25l"
#define LEAVE "\033[?25h\033[?1049l"

static const int fatal[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS};

bool fa_screen_exists(const struct fa_cli *cli)
{
    const char *term = getenv("TERM");

    return cli->out_is_tty && !(term && strcmp(term, "dumb") == 0);
}

/* SA_RESETHAND: the same signal then ends the process. */
static void restore(int number)
{
    (void)!write(STDOUT_FILENO, LEAVE, sizeof(LEAVE) - 1);
    raise(number);
}

static void handle_fatal(void (*handler)(int number))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = (int)SA_RESETHAND};

    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < FA_COUNT(fatal); i++)
        sigaction(fatal[i], &action, NULL);
}

void fa_screen_enter(void)
{
    handle_fatal(restore);
    fputs(ENTER, stdout);
    fflush(stdout);
}

void fa_screen_leave(void)
{
    fputs(LEAVE, stdout);
    fflush(stdout);
    handle_fatal(SIG_DFL);
}
