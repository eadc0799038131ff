/*
 * hide.h - hides passwords on the command line from the list of processes.
 */
#ifndef FA_CLI_HIDE_H
#define FA_CLI_HIDE_H

#include "base/bytes.h"

/* Replaces each argument that is a URL by a copy, and overwrites the password in the original,
 * which other users can see. */
void fa_hide_passwords(int argc, char **argv, struct fa_arena *arena);

#endif
