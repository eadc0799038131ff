/*
 * codes.h - the columns of FAINA_CODE_LIST that are not in the enum.
 */
#ifndef FA_MODEL_CODES_H
#define FA_MODEL_CODES_H

#include <faina.h>

int fa_code_http(enum faina_code code);
int fa_code_exit(enum faina_code code);
const char *fa_code_sentence(enum faina_code code);
bool fa_code_parse(const char *wire, enum faina_code *out);
/* The code for an HTTP status of 400 and above without a code in its body. */
enum faina_code fa_code_of_http(int status);

#endif
