/*
 * codes.h - the columns of FAINA_CODE_LIST that are not in the enum.
 */
#ifndef FA_CODES_H
#define FA_CODES_H

#include <faina.h>

int fa_code_http(enum faina_code code);
int fa_code_exit(enum faina_code code);
const char *fa_code_sentence(enum faina_code code);
bool fa_code_parse(const char *wire, enum faina_code *out);
/* The code that a status of 400 and above says when nothing else does. */
enum faina_code fa_code_of_http(int status);

#endif
