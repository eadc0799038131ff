/*
 * cli.h - what the verbs share: the parsed command line, the terminal, the engine.
 *
 *   C1  On an error nothing is written to stdout, and stderr gets the reason in one sentence.
 *   C2  A function that returns an `int` exit code has printed the error when it isn't 0.
 *   C3  All arguments and flags are checked before the engine is opened.
 *
 * Threads: one.
 */
#ifndef FA_CLI_CLI_H
#define FA_CLI_CLI_H

#include "base/bytes.h"
#include "base/error.h"
#include "json/json.h"
#include "service/service.h"

#include <stdio.h>

/* Exit codes that belong to no faina_code. */
enum { FA_EXIT_OK = 0, FA_EXIT_FAILURE = 1, FA_EXIT_USAGE = 2 };

enum fa_cli_format { FA_CLI_TABLE, FA_CLI_JSON, FA_CLI_JSONL };

/* A flag that was given, with its value (NULL for a switch). */
struct fa_given {
    const struct fa_flag *flag;
    const char *value;
};

struct fa_cli {
    /* args.c fills these in. */
    const struct fa_verb *verb;
    const char **args; /* the words that are neither the verb nor flags */
    size_t arg_count;
    struct fa_given *given;
    size_t given_count;
    bool is_help;       /* --help */
    const char *url;    /* --url, else NULL */
    const char *ns;     /* --namespace, else FAINA_NAMESPACE, else NULL: the engine's default */
    const char *reason; /* --reason, else NULL */
    enum fa_cli_format format;
    bool has_format; /* -o was given */

    /* The terminal. */
    bool in_is_tty, out_is_tty, err_is_tty;
    bool has_colour, has_err_colour; /* on stdout, on stderr */
    int width;                       /* columns */
    int table_width;        /* of tables: no limit in a file or a pipe, unless COLUMNS is set */
    int out_errno;          /* the first write error on stdout; 0: none */
    const char *hidden[16]; /* titles of the columns that were left out (T3) */
    size_t hidden_count;

    struct faina_options options; /* of the engine */
    bool is_long_lived;           /* keeps the engine open: doesn't use another owner's socket */
    const char *address;          /* NULL until fa_cli_url ... */
    const char *address_source;   /* ... and where it is from (address.h) */
    struct fa_service *service;   /* NULL until fa_cli_open */
    struct fa_arena arena;        /* lives as long as the program */
};

/* ---- open_engine.c: the engine ---- */

/* Opens the engine that the flags and the environment name. Does nothing when it is open. */
FA_MUST_CHECK int fa_cli_open(struct fa_cli *cli);
/* The same, but prints nothing on failure. */
FA_MUST_CHECK enum faina_code fa_cli_try_open(struct fa_cli *cli, struct faina_error *err);
void fa_cli_close(struct fa_cli *cli);
/* The URL to open, by address.h. */
FA_MUST_CHECK enum faina_code fa_cli_url(struct fa_cli *cli, const char **out,
                                         struct faina_error *err);
/* Whether --namespace is "*". */
bool fa_cli_is_all_namespaces(const struct fa_cli *cli);
/* Opens the engine if it isn't open, and runs one operation. Without an arena of its own the
 * operation gets the program's. A part of the id of a task is completed first (short_id.h). */
FA_MUST_CHECK int fa_cli_run(struct fa_cli *cli, struct fa_op *op);
/*
 * Polls `is_done`, and closes the engine between the calls. A SQLite file has one owner at a time,
 * so a waiting command must let the process open it that does the work. Returns true when `is_done`
 * did, or the engine could not be opened; false: the time ran out (timeout_ms < 0: never).
 */
typedef bool (*fa_cli_is_done)(struct fa_cli *cli, void *context, int *exit_code);
bool fa_cli_wait_for(struct fa_cli *cli, int64_t timeout_ms, fa_cli_is_done is_done, void *context,
                     int *exit_code);
/* Waits until the task has ended. *task lives in `arena`. */
FA_MUST_CHECK int fa_cli_wait_end(struct fa_cli *cli, const char *id, int64_t timeout_ms,
                                  struct fa_arena *arena, struct faina_task **task);

struct fa_log;
/* Logs what is known of the durability of the engine, where settings of a server decide it. */
void fa_cli_log_durability(const struct fa_log *log, struct fa_service *service);
/* Logs which engine is open, and which variable or flag has named it; no secrets. */
void fa_cli_log_source(const struct fa_cli *cli, const struct fa_log *log);

/* ---- out.c: output ---- */

/* Whether -o asks for JSON. For verbs that print a plain line by default, even to a pipe. */
bool fa_cli_wants_json(const struct fa_cli *cli);
void fa_out(struct fa_cli *cli, const char *ptr, size_t len);
void fa_outf(struct fa_cli *cli, const char *format, ...) FA_PRINTF(2, 3);
/* True after a write to stdout failed (a closed pipe, a full disk): the verb can stop. */
bool fa_out_is_broken(const struct fa_cli *cli);
/* Flushes stdout. Not 0: something could not be written. */
int fa_out_finish(struct fa_cli *cli);

/* A JSON document: begin, write with the writer, end. Long lists may flush in between. */
struct fa_out_json {
    struct fa_buf buf;
    struct fa_json_writer writer;
};
void fa_out_json_begin(struct fa_cli *cli, struct fa_out_json *json);
void fa_out_json_flush(struct fa_cli *cli, struct fa_out_json *json);
void fa_out_json_end(struct fa_cli *cli, struct fa_out_json *json);
/* A document by its table. */
struct fa_shape;
void fa_out_shape(struct fa_cli *cli, const struct fa_shape *shape, const void *from);

/* A JSON list: one document, {"NAME":[...]}, or with -o jsonl or no name a line for each item. An
 * item is written with the writer that fa_out_list_item returns. */
struct fa_out_list {
    struct fa_cli *cli;
    struct fa_out_json json;
    bool is_lines;
    bool has_line;
};
void fa_out_list_begin(struct fa_cli *cli, struct fa_out_list *list, const char *name);
struct fa_json_writer *fa_out_list_item(struct fa_out_list *list);
void fa_out_list_end(struct fa_out_list *list);
/* The same for one page of a list. next_cursor is NULL for the last page. */
void fa_out_list_end_page(struct fa_out_list *list, const char *next_cursor);

/* "faina: <sentence>" on stderr, and the problem as JSON when -o json was given. Returns the exit
 * code of err->code. */
int fa_cli_fail(struct fa_cli *cli, const struct faina_error *err);
/* The same for one of several tasks: the sentence begins with its id. */
int fa_cli_fail_for(struct fa_cli *cli, const char *id, const struct faina_error *err);
/* After the output of several operations: prints the errors of those that failed. Returns the exit
 * code of the first, FA_EXIT_OK when none did. */
int fa_cli_fail_refused(struct fa_cli *cli, const struct fa_op *ops, size_t count);
/* Runs the operations, one for each argument, and prints what became of those: `done` ("removed
 * team") and the argument, or {"deleted":N}. Returns the exit code of the first refusal. */
FA_MUST_CHECK int fa_cli_remove(struct fa_cli *cli, struct fa_op *ops, const char *done);
size_t fa_cli_count_done(const struct fa_op *ops, size_t count);
/* A usage error: the sentence and a pointer to --help. Returns FA_EXIT_USAGE. */
int fa_cli_usage(struct fa_cli *cli, const char *format, ...) FA_PRINTF(2, 3);
/* Whether there is a terminal for a question and its answer. */
bool fa_cli_can_ask(const struct fa_cli *cli);
/* Before a change that can't be undone: asks "<question> [y/N]", unless --yes was given. Without a
 * terminal it reads a yes from stdin. Returns FA_EXIT_OK if confirmed, else the exit code. */
FA_MUST_CHECK int fa_cli_confirm(struct fa_cli *cli, const char *question);
/* A line on stderr. */
void fa_cli_note(struct fa_cli *cli, const char *format, ...) FA_PRINTF(2, 3);

/* The escape sequence of a style, "" when there is no colour. */
enum fa_style { FA_PLAIN, FA_BOLD, FA_DIM, FA_RED, FA_GREEN, FA_YELLOW, FA_CYAN, FA_MAGENTA };
const char *fa_style_on(const struct fa_cli *cli, enum fa_style style);
const char *fa_style_off(const struct fa_cli *cli, enum fa_style style);
enum fa_style fa_style_of(enum faina_status status);

/* ---- args.c: reading the command line ---- */

/* Parses. Returns -1 if cli->verb should run, else the exit code. */
FA_MUST_CHECK int fa_cli_parse(struct fa_cli *cli, int argc, char **argv);

/* The last value of a flag, NULL when it wasn't given. The verb must have the flag. */
const char *fa_flag(const struct fa_cli *cli, const char *name);
bool fa_flag_is_given(const struct fa_cli *cli, const char *name);
/* All values of a flag, each split at commas; NULL when there is none. */
const char *const *fa_flag_list(struct fa_cli *cli, const char *name, size_t *count);
/* The same, but an empty list is refused. */
FA_MUST_CHECK int fa_flag_names(struct fa_cli *cli, const char *name, const char *const **out,
                                size_t *count);
/* Adds the conditions of --where. */
FA_MUST_CHECK int fa_flag_where(struct fa_cli *cli, struct faina_query *query);
/* These leave *out alone when the flag isn't given. */
FA_MUST_CHECK int fa_flag_int(struct fa_cli *cli, const char *name, int64_t min, int64_t max,
                              int64_t *out);
FA_MUST_CHECK int fa_flag_duration(struct fa_cli *cli, const char *name, int64_t *out_ms);
/* With may_be_ago, a duration counts back from now. */
FA_MUST_CHECK int fa_flag_time(struct fa_cli *cli, const char *name, bool may_be_ago,
                               int64_t *out_us);
/* A duration from now, of at least a millisecond, or a time: sets one of the two. */
FA_MUST_CHECK int fa_flag_when(struct fa_cli *cli, const char *name, int64_t *out_ms,
                               int64_t *out_us);
/* --retry BASE[,FACTOR[,MAX]]. */
FA_MUST_CHECK int fa_flag_retry(struct fa_cli *cli, struct faina_retry_policy *out);
FA_MUST_CHECK int fa_flag_statuses(struct fa_cli *cli, unsigned *out);
/* A flag whose value is JSON (or @FILE, or -): checked, NULL when it isn't given. */
FA_MUST_CHECK int fa_flag_json(struct fa_cli *cli, const char *name, const char **out);
/* The argument at `index` as JSON: the text itself, @FILE, or - for stdin. NULL when it isn't
 * there. `what` names it in messages. */
FA_MUST_CHECK int fa_arg_json(struct fa_cli *cli, size_t index, const char *what, const char **out);
/* --worker, --fence, --if-version. */
FA_MUST_CHECK int fa_flag_by(struct fa_cli *cli, struct faina_by *out);

/* ---- input.c: payloads ---- */

/* The text of `arg`, in the program's arena: itself, the content of @FILE, or stdin for -. */
FA_MUST_CHECK int fa_input_read(struct fa_cli *cli, const char *arg, const char *what,
                                struct fa_bytes *out);
/* Checks that `text` is JSON. An error is printed, on a terminal with the line and a caret. */
FA_MUST_CHECK int fa_input_check(struct fa_cli *cli, struct fa_bytes text, const char *what);
/*
 * On a terminal, prints the line and a caret below the position, which counts bytes from 1:
 *
 *     {"to": "ann", cc: true}
 *                   ^
 * Of a long line only the part around the position is printed.
 */
void fa_input_show(struct fa_cli *cli, struct fa_bytes text, int line_number, int column);

#endif
