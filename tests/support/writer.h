/*
 * writer.h - a process that is busy with tasks until it is killed.
 *
 * The test starts its own program again with fa_w_start; the new process calls fa_w_main from its
 * main when fa_w_is_writer is true.
 */
#ifndef FA_TEST_WRITER_H
#define FA_TEST_WRITER_H

#include "support/ledger.h"

#include <sys/types.h>

enum fa_w_role {
    FA_W_BUSY,  /* opens the store and works with several threads */
    FA_W_OPEN,  /* opens and closes it, again and again */
    FA_W_HOLD,  /* opens it and waits */
    FA_W_HEAVY, /* rewrites a few large tasks again and again: see fa_w_rewrite */
};

bool fa_w_is_writer(int argc, char **argv);
int fa_w_main(char **argv);

#define FA_W_HEAVY_TASKS 20

/* Makes the tasks of FA_W_HEAVY, unless they exist; all of them are running. */
void fa_w_make_heavy(struct fa_t *t, char ids[FA_W_HEAVY_TASKS][FAINA_ID_SIZE]);
/* Gives all of them metadata of some 64 KiB that begins with `round`, in one transaction. */
enum faina_code fa_w_rewrite(struct fa_t *t, char ids[FA_W_HEAVY_TASKS][FAINA_ID_SIZE],
                             int32_t round);

/* The job of a writer. */
struct fa_w_plan {
    enum fa_w_role role;
    const char *url;
    int32_t first, step; /* its tasks' numbers: `first`, and `step` more each time (0: 3) */
    uint64_t seed;
    /* The store may become unavailable: refused operations are tried again, and a task whose state
     * is unknown isn't used any more. */
    bool is_patient;
};

struct fa_w {
    pid_t pid;
    int fd; /* the pipe of its records */
    struct fa_l_record rest;
    size_t rest_size; /* of a record that was received in part */
};

void fa_w_start(struct fa_w *writer, const struct fa_w_plan *plan);
/* Reads available records, for up to timeout_us; false when the writer has ended. `on_record` may
 * be called any number of times. */
bool fa_w_read(struct fa_w *writer, int64_t timeout_us,
               void (*on_record)(void *ctx, const struct fa_l_record *record), void *ctx);
/* SIGKILL, then reads its last records. The test fails when the writer had ended before. */
void fa_w_kill(struct fa_w *writer, void (*on_record)(void *ctx, const struct fa_l_record *record),
               void *ctx);

#endif
