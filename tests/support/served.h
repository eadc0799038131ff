/*
 * served.h - a real `faina serve` of a test's own, in a process of its own.
 *
 * It is the program of the test's build. It ends when the thread that started it ends, also by
 * a crash; only that thread may use it.
 */
#ifndef FA_TEST_SERVED_H
#define FA_TEST_SERVED_H

#include "support/support.h"

#include <sys/types.h>

struct fa_served {
    pid_t pid;                     /* 0: not running */
    char url[FA_T_PATH_SIZE];      /* http://127.0.0.1:PORT */
    char log_path[FA_T_PATH_SIZE]; /* its log */
};

/* The path of the program. */
void fa_served_program(char out[FA_T_PATH_SIZE]);

/* Serves `store` on a free port and returns when it accepts requests. Its log is in `dir`. */
void fa_served_start(struct fa_served *served, const char *store, const char *dir,
                     const struct faina_options *options);
/* SIGTERM; it must exit with 0. Does nothing when it isn't running. */
void fa_served_stop(struct fa_served *served);
void fa_served_kill(struct fa_served *served);

#endif
