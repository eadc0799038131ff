/*
 * reserve.h - disk space that is reserved for finishing work when the disk is full.
 *
 * FILE.reserve occupies a few MiB. When a transaction finds the disk full, the reserve is released:
 * outcomes, heartbeats, cancels and purges use its space, and new tasks are refused until the same
 * space can be allocated again.
 *
 *   V1  A released reserve is allocated again as a whole, and only when a quarter of its size is
 *       free besides: otherwise new tasks would use up the space that is meant for finishing work.
 *   V2  While it is released, new tasks are accepted only if the file itself has free pages for
 *       them (after a purge), which need no disk space.
 *
 * Threads: any.
 */
#ifndef FA_STORE_DB_SQLITE_RESERVE_H
#define FA_STORE_DB_SQLITE_RESERVE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct fa_reserve {
    char *path;          /* NULL: there is none */
    atomic_bool is_gone; /* the disk was full, and the reserve is released */
    atomic_llong inside; /* V2: bytes in free pages of the file */
    pthread_mutex_t mutex;
    atomic_llong size; /* of the reserve, or of the last one */
    bool is_held;      /* guarded by the mutex */
};

/* For the file at `path`. Without `may_make` only an existing reserve is used. On a disk with
 * little space it is smaller than usual, or missing. */
void fa_reserve_open(struct fa_reserve *reserve, const char *path, bool may_make);
/* Keeps the file. A reserve that is all zero is allowed. */
void fa_reserve_close(struct fa_reserve *reserve);
/* The disk is full: frees the space. */
void fa_reserve_give_up(struct fa_reserve *reserve);
/* Whether new tasks must be refused. Allocates the reserve again when there is space. */
bool fa_reserve_is_full(struct fa_reserve *reserve);

#endif
