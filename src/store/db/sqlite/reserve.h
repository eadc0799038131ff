/*
 * reserve.h - room on the disk that is kept for finishing work when there is no other.
 *
 * FILE.reserve takes up a few MiB. When a transaction finds the disk full, the reserve is given up:
 * outcomes, heartbeats, cancels and purges go on with its room, and new tasks are refused until the
 * same room can be taken again.
 *
 *   V1  Given up once, it is taken again whole, and only when a quarter of its size is left
 *       besides: otherwise new tasks would use up what was meant for the others.
 *   V2  While it is given up, new tasks are accepted only if the file itself has free pages for
 *       them (after a purge), which need no room on the disk.
 *
 * Threads: any.
 */
#ifndef FA_RESERVE_H
#define FA_RESERVE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct fa_reserve {
    char *path;          /* NULL: there is none */
    atomic_bool is_gone; /* the disk was full, and the reserve is given up */
    atomic_llong inside; /* V2: bytes in free pages of the file */
    pthread_mutex_t mutex;
    atomic_llong size; /* what it takes, or took */
    bool is_held;      /* guarded by the mutex */
};

/* For the file at `path`. Without `may_make` only a reserve that is there is kept. On a disk that
 * has little room it is smaller than usual, or none. */
void fa_reserve_open(struct fa_reserve *reserve, const char *path, bool may_make);
/* The file stays. Also after a reserve that is all zero. */
void fa_reserve_close(struct fa_reserve *reserve);
/* The disk is full: makes its room free for others. */
void fa_reserve_give_up(struct fa_reserve *reserve);
/* Whether new tasks must be refused. Looks whether there is room again, and takes it. */
bool fa_reserve_is_full(struct fa_reserve *reserve);

#endif
