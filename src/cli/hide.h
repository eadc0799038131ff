/*
 * hide.h - passwords on the command line, kept from those who list processes.
 */
#ifndef FA_HIDE_H
#define FA_HIDE_H

#include "base/bytes.h"

/* Gives each argument that is a URL with a password a copy to work with, and writes over the
 * password in the original, which other users can see. */
void fa_hide_passwords(int argc, char **argv, struct fa_arena *arena);

#endif
