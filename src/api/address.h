/*
 * address.h - where the engine is: one URL, from the argument and the environment.
 *
 *     given (--url, or the argument of faina_open)
 *     FAINA_URL
 *     DATABASE_URL, if it is that of a PostgreSQL database
 *     DB_HOST DB_PORT DB_USER DB_PASSWORD DB_NAME DB_SCHEMA, if there is a host or a name
 *     sqlite:faina.db
 *
 * The first that is there counts. Each of the DB_ variables falls back by itself to the one with
 * the prefix API_PG_. The tables of PostgreSQL are in the schema DB_SCHEMA, else in
 * that of the URL. Each variable may also be NAME_FILE, the path of a file that holds the value.
 *
 *   A1  No sentence holds a password, nor what was read from a file.
 *   A2  An empty variable is one that is not set.
 */
#ifndef FA_API_ADDRESS_H
#define FA_API_ADDRESS_H

#include "base/bytes.h"
#include "base/error.h"

#define FA_VARIABLE_FILE_SIZE_MAX (64 * 1024)

/* The value of the variable `name`, or what the file named by NAME_FILE holds, without line ends
 * behind it; NULL when there is neither. INVALID_REQUEST: the file can't be read. */
FA_MUST_CHECK enum faina_code fa_variable_read(const char *name, struct fa_arena *arena,
                                               const char **out, struct faina_error *err);

struct fa_address {
    const char *url;
    const char *source; /* for messages: "--url", the variable's name, or "the default" */
};

/* The URL to open, and where it is from; neither is NULL. `given` may be NULL. */
FA_MUST_CHECK enum faina_code fa_address_read(const char *given, struct fa_arena *arena,
                                              struct fa_address *out, struct faina_error *err);
/* The same, the URL alone. */
FA_MUST_CHECK enum faina_code fa_address_find(const char *given, struct fa_arena *arena,
                                              const char **out, struct faina_error *err);
/* The same for one of two URLs at once, both given: a schema in the URL stays. */
FA_MUST_CHECK enum faina_code fa_address_complete(const char *url, struct fa_arena *arena,
                                                  const char **out, struct faina_error *err);

bool fa_address_is_postgres(const char *url);

#endif
