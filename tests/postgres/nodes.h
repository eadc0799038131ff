/*
 * nodes.h - nodes of a fleet: processes with an engine of their own on one schema, and a board in
 * shared memory on which they note what they do.
 *
 * A test starts its own program again; its main calls fa_n_main when fa_n_is_node says so. Nodes
 * end with the test, however that happens.
 */
#ifndef FA_TEST_NODES_H
#define FA_TEST_NODES_H

#include "support/ops.h"
#include "support/psql.h"

#include <stdatomic.h>
#include <sys/types.h>

enum {
    FA_BOARD_TASKS = 20000,
    FA_BOARD_ROWS = 4096, /* node processes of one test, the killed ones included */
    FA_BOARD_THREADS = 8,
};

/* All zero at first. Tasks that are counted have their number as input. */
struct fa_board {
    atomic_bool go;          /* nodes may begin ... */
    atomic_bool is_over;     /* ... and end */
    atomic_int ready;        /* nodes that have opened the engine */
    atomic_int stage;        /* of a node with one part to play */
    atomic_int code;         /* ... and what it was told in the end */
    atomic_int limit;        /* of the resource that FA_N_LIMITED keeps an eye on */
    atomic_int over;         /* how often more than that were held at once ... */
    atomic_llong overlap_us; /* ... and for how long at most */
    atomic_int most;         /* held at once, as far as seen */
    atomic_int tasks;        /* how many there are to be done */
    atomic_int done_count;
    atomic_long handed_out;
    atomic_llong last_us, gap_us; /* of hand-outs, by the monotonic clock; the longest gap */
    atomic_int done[FA_BOARD_TASKS];
    /* Until when each thread holds a task, by the database's clock; 0: it holds none. */
    atomic_llong until_us[FA_BOARD_ROWS][FA_BOARD_THREADS];
};

enum fa_n_role {
    FA_N_OPEN,    /* opens, and waits for the end */
    FA_N_LIMITED, /* FA_BOARD_THREADS threads: claim, hold for a moment, complete */
    FA_N_SHARE,   /* waits for `go`, opens, submits its part, works until all is done */
    FA_N_SLEEPER, /* claims one task, waits for `go`, completes it; `code` is the answer */
};

struct fa_n {
    pid_t pid;
    int row; /* of the board */
};

bool fa_n_is_node(int argc, char **argv);
int fa_n_main(char **argv);

/* A test with nodes: an engine of its own on their schema, and the board. */
struct fa_n_world {
    struct fa_t t;
    struct fa_board *board;
    PGconn *raw; /* from fa_n_open on */
};

/* For cmocka: *state is the world. Without PostgreSQL there is one too; the test then skips. */
int fa_n_set_up(void **state);
int fa_n_tear_down(void **state);
void fa_n_open(struct fa_n_world *world);

void fa_n_start(struct fa_n *node, enum fa_n_role role, const char *url, int row);
void fa_n_kill(struct fa_n *node); /* SIGKILL */
void fa_n_end(struct fa_n *node);  /* waits until it ends well */
void fa_n_signal(struct fa_n *node, int number);
/* Waits for *value to be at least `least`. */
void fa_n_await(atomic_int *value, int least, const char *what);

/* As many numbered tasks of a type, in the order of their numbers. */
void fa_n_submit(struct fa_t *t, const char *type, const char *resource, int first, int count);

#define FA_N_LEASE_MS 700

#endif
