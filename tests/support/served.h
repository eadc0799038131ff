/*
 * served.h - a real `faina serve` of a test's own, in a process of its own.
 *
 * It is the program of the test's build. It ends when the thread that started it does, however that
 * happens; that thread alone may use it.
 */
#ifndef FA_TEST_SERVED_H
#define FA_TEST_SERVED_H

#include "support/support.h"

#include <sys/types.h>

struct fa_served {
    pid_t pid;                     /* 0: it doesn't run */
    char url[FA_T_PATH_SIZE];      /* http://127.0.0.1:PORT */
    char log_path[FA_T_PATH_SIZE]; /* what it says */
};

/* Where the program is. */
void fa_served_program(char out[FA_T_PATH_SIZE]);

/* Serves `store` on a free port and returns when it does. `dir` gets its log. */
void fa_served_start(struct fa_served *served, const char *store, const char *dir,
                     const struct faina_options *options);
/* SIGTERM; it must end well. Nothing happens when it doesn't run. */
void fa_served_stop(struct fa_served *served);
void fa_served_kill(struct fa_served *served);

#endif
