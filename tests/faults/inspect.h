/*
 * inspect.h - looking at a SQLite file from outside, while no engine has it open.
 *
 * Through plain SQLite and the views that people have (design.md 6), so that what the engine
 * believes of itself isn't taken for granted.
 */
#ifndef FA_TEST_INSPECT_H
#define FA_TEST_INSPECT_H

#include "support/support.h"

/* The file is sound: SQLite's own checks, no key twice, no task in two states, every count right.
 * The test fails when it isn't; `when` says after what. */
void fa_f_check_sound(const char *path, const char *when);

/* The first column of the first row; -1 when there is none. */
int64_t fa_f_query_int(const char *path, const char *sql);
/* Runs statements on the file; fa_f_try_exec says whether they went well. */
void fa_f_exec(const char *path, const char *sql);
bool fa_f_try_exec(const char *path, const char *sql);

/* What a crash would leave: copies the file and its log, but not what is shared memory only. */
void fa_f_copy_crashed(const char *from, const char *to);
void fa_f_copy_file(const char *from, const char *to); /* does nothing when there is none */
/* The whole file; free() it. */
char *fa_f_read_file(const char *path, size_t *size);
void fa_f_write_file(const char *path, const char *data, size_t size);

#endif
