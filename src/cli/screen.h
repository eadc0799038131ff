/*
 * screen.h - the alternate screen of a terminal, which leaves no trace of what was drawn on it.
 *
 *   N1  The terminal is as before after every end of the process that it can notice: also after a
 *       failed assertion and other fatal signals.
 *
 * Threads: one.
 */
#ifndef FA_CLI_SCREEN_H
#define FA_CLI_SCREEN_H

#include "cli/cli.h"

/* Whether stdout is a terminal that has one. */
bool fa_screen_exists(const struct fa_cli *cli);
/* Flushes stdout. */
void fa_screen_enter(void);
void fa_screen_leave(void);

#endif
