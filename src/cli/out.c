/*
 * out.c - results on stdout, notes and errors on stderr.
 */
#include "cli/cli.h"

#include "cli/text.h"
#include "cli/verbs.h"
#include "model/codes.h"
#include "wire/wire.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#define JSON_SIZE_MAX ((size_t)8 << 30) /* a page of the largest tasks */
#define PIPED_YES_MS 1000               /* how long to wait for a yes from a pipe */

/* Stores errno at once: a later successful call would overwrite it. */
static void check_out(struct fa_cli *cli)
{
    if (ferror(stdout) && cli->out_errno == 0)
        cli->out_errno = errno ? errno : EIO;
}

bool fa_cli_wants_json(const struct fa_cli *cli)
{
    return cli->has_format && cli->format != FA_CLI_TABLE;
}

void fa_out(struct fa_cli *cli, const char *ptr, size_t len)
{
    if (len > 0)
        fwrite(ptr, 1, len, stdout);
    check_out(cli);
}

void fa_outf(struct fa_cli *cli, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vfprintf(stdout, format, args);
    va_end(args);
    check_out(cli);
}

bool fa_out_is_broken(const struct fa_cli *cli)
{
    return cli->out_errno != 0;
}

int fa_out_finish(struct fa_cli *cli)
{
    if (cli->out_errno == 0 && fflush(stdout) != 0)
        cli->out_errno = errno;
    if (cli->out_errno == 0)
        return FA_EXIT_OK;
    /* A reader that closes the pipe early (`| head`) is not reported. */
    if (cli->out_errno != EPIPE)
        fprintf(stderr, "faina: the output could not be written: %s\n", strerror(cli->out_errno));
    return FA_EXIT_FAILURE;
}

void fa_out_json_begin(struct fa_cli *cli, struct fa_out_json *json)
{
    bool is_pretty = cli->format == FA_CLI_JSON && cli->out_is_tty;

    fa_buf_init(&json->buf, JSON_SIZE_MAX);
    fa_json_writer_init(&json->writer, &json->buf, is_pretty ? 2 : 0);
}

void fa_out_json_flush(struct fa_cli *cli, struct fa_out_json *json)
{
    fa_out(cli, json->buf.ptr, json->buf.len);
    fa_buf_clear(&json->buf);
}

/* A payload is printed as it was stored, which may be on many lines. (A JSON string contains no
 * newline.) */
static void join_lines(struct fa_buf *text)
{
    size_t len = 0;

    for (size_t at = 0; at < text->len;) {
        size_t line = strcspn(text->ptr + at, "\r\n");

        memmove(text->ptr + len, text->ptr + at, line);
        len += line;
        at += line;
        at += strspn(text->ptr + at, "\r\n\t ");
    }
    text->len = len;
    text->ptr[len] = '\0';
}

void fa_out_json_end(struct fa_cli *cli, struct fa_out_json *json)
{
    if (cli->format == FA_CLI_JSONL)
        join_lines(&json->buf);
    fa_buf_add_char(&json->buf, '\n');
    fa_out_json_flush(cli, json);
    fa_buf_finish(&json->buf);
}

void fa_out_shape(struct fa_cli *cli, const struct fa_shape *shape, const void *from)
{
    struct fa_out_json json;

    fa_out_json_begin(cli, &json);
    fa_shape_put(&json.writer, shape, from);
    fa_out_json_end(cli, &json);
}

void fa_out_list_begin(struct fa_cli *cli, struct fa_out_list *list, const char *name)
{
    *list = (struct fa_out_list){.cli = cli, .is_lines = !name || cli->format == FA_CLI_JSONL};
    if (list->is_lines)
        return;
    fa_out_json_begin(cli, &list->json);
    fa_json_begin_object(&list->json.writer);
    fa_json_key(&list->json.writer, name);
    fa_json_begin_array(&list->json.writer);
}

static void end_line(struct fa_out_list *list)
{
    if (list->has_line)
        fa_out_json_end(list->cli, &list->json);
    list->has_line = false;
}

struct fa_json_writer *fa_out_list_item(struct fa_out_list *list)
{
    if (!list->is_lines) {
        fa_out_json_flush(list->cli, &list->json);
        return &list->json.writer;
    }
    end_line(list);
    fa_out_json_begin(list->cli, &list->json);
    list->has_line = true;
    return &list->json.writer;
}

static void end_list(struct fa_out_list *list, bool is_page, const char *next_cursor)
{
    end_line(list);
    if (list->is_lines)
        return;
    fa_json_end_array(&list->json.writer);
    if (is_page)
        fa_json_set_str(&list->json.writer, "nextCursor", next_cursor);
    fa_json_end_object(&list->json.writer);
    fa_out_json_end(list->cli, &list->json);
}

void fa_out_list_end(struct fa_out_list *list)
{
    end_list(list, false, NULL);
}

void fa_out_list_end_page(struct fa_out_list *list, const char *next_cursor)
{
    end_list(list, true, next_cursor);
}

/* ------------------------------------------------------------------------------------------
 * Errors
 */

static void print_problem(const struct faina_error *err)
{
    struct fa_buf buf;
    struct fa_json_writer writer;

    fa_buf_init(&buf, 64 * 1024);
    fa_json_writer_init(&writer, &buf, 0);
    fa_wire_put_problem(&writer, err);
    fprintf(stderr, "%s\n", buf.ptr);
    fa_buf_finish(&buf);
}

static const char *red(const struct fa_cli *cli)
{
    return cli->has_err_colour ? "\033[31m" : "";
}

static const char *plain(const struct fa_cli *cli)
{
    return red(cli)[0] ? "\033[0m" : "";
}

int fa_cli_fail(struct fa_cli *cli, const struct faina_error *err)
{
    const char *message = err->message[0] ? err->message : fa_code_sentence(err->code);

    fprintf(stderr, "%sfaina:%s %s\n", red(cli), plain(cli), fa_text_clean(&cli->arena, message));
    if (fa_cli_wants_json(cli))
        print_problem(err);
    return fa_code_exit(err->code);
}

int fa_cli_fail_for(struct fa_cli *cli, const char *id, const struct faina_error *err)
{
    struct faina_error named = *err;

    if (!strstr(err->message, id))
        snprintf(named.message, sizeof(named.message), "%.64s: %.440s", id, err->message);
    return fa_cli_fail(cli, &named);
}

int fa_cli_fail_refused(struct fa_cli *cli, const struct fa_op *ops, size_t count)
{
    int code = FA_EXIT_OK;

    fflush(stdout); /* before stderr, in case both are the same terminal */
    for (size_t i = 0; i < count; i++) {
        int one = ops[i].code == FAINA_OK ? FA_EXIT_OK : fa_cli_fail(cli, &ops[i].error);

        code = code == FA_EXIT_OK ? one : code;
    }
    return code;
}

int fa_cli_remove(struct fa_cli *cli, struct fa_op *ops, const char *done)
{
    size_t count = cli->arg_count, done_count;
    int code = fa_cli_open(cli);

    if (code != FA_EXIT_OK)
        return code;
    for (size_t i = 0; i < count; i++)
        ops[i].arena = &cli->arena;
    fa_service_run(cli->service, ops, count);
    done_count = fa_cli_count_done(ops, count);
    for (size_t i = 0; cli->format == FA_CLI_TABLE && i < count; i++)
        if (ops[i].code == FAINA_OK)
            fa_outf(cli, "%s %s\n", done, cli->args[i]);
    if (cli->format != FA_CLI_TABLE && done_count > 0)
        fa_outf(cli, "{\"deleted\":%zu}\n", done_count);
    return fa_cli_fail_refused(cli, ops, count);
}

size_t fa_cli_count_done(const struct fa_op *ops, size_t count)
{
    size_t done = 0;

    for (size_t i = 0; i < count; i++)
        done += ops[i].code == FAINA_OK;
    return done;
}

int fa_cli_usage(struct fa_cli *cli, const char *format, ...)
{
    struct faina_error err = {.code = FAINA_INVALID_REQUEST};
    va_list args;

    va_start(args, format);
    vsnprintf(err.message, sizeof(err.message), format, args);
    va_end(args);
    fa_cli_fail(cli, &err);
    if (cli->verb)
        fprintf(stderr, "See faina %s --help.\n", cli->verb->name);
    else
        fprintf(stderr, "See faina --help.\n");
    return FA_EXIT_USAGE;
}

bool fa_cli_can_ask(const struct fa_cli *cli)
{
    return cli->in_is_tty && cli->err_is_tty;
}

static bool read_yes(void)
{
    char *line = NULL;
    size_t size = 0;
    bool is_yes = false;

    if (getline(&line, &size, stdin) > 0) {
        line[strcspn(line, "\r\n")] = '\0';
        is_yes = strcasecmp(line, "y") == 0 || strcasecmp(line, "yes") == 0;
    }
    free(line);
    return is_yes;
}

/* A yes from a pipe, with a limit of time: the pipe may stay open and empty. */
static bool read_piped_yes(const struct fa_cli *cli)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};

    return !cli->in_is_tty && poll(&input, 1, PIPED_YES_MS) > 0 && read_yes();
}

int fa_cli_confirm(struct fa_cli *cli, const char *question)
{
    if (fa_flag_is_given(cli, "yes"))
        return FA_EXIT_OK;
    if (!fa_cli_can_ask(cli))
        return read_piped_yes(cli)
                   ? FA_EXIT_OK
                   : fa_cli_usage(cli,
                                  "\"%s\" There is no terminal to ask on: add --yes to confirm",
                                  question);
    fflush(stdout);
    fprintf(stderr, "%s [y/N] ", question);
    fflush(stderr);
    if (read_yes())
        return FA_EXIT_OK;
    fa_cli_note(cli, "Nothing was changed.");
    return FA_EXIT_FAILURE;
}

void fa_cli_note(struct fa_cli *cli, const char *format, ...)
{
    va_list args;

    (void)cli;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

/* ------------------------------------------------------------------------------------------
 * Colour
 */

const char *fa_style_on(const struct fa_cli *cli, enum fa_style style)
{
    static const char *const codes[] = {
        [FA_PLAIN] = "",        [FA_BOLD] = "\033[1m",     [FA_DIM] = "\033[2m",
        [FA_RED] = "\033[31m",  [FA_GREEN] = "\033[32m",   [FA_YELLOW] = "\033[33m",
        [FA_CYAN] = "\033[36m", [FA_MAGENTA] = "\033[35m",
    };

    return cli->has_colour ? codes[style] : "";
}

const char *fa_style_off(const struct fa_cli *cli, enum fa_style style)
{
    return cli->has_colour && style != FA_PLAIN ? "\033[0m" : "";
}

enum fa_style fa_style_of(enum faina_status status)
{
    switch (status) {
    case FAINA_PENDING:
        return FA_PLAIN;
    case FAINA_CLAIMED:
    case FAINA_RUNNING:
        return FA_CYAN;
    case FAINA_BLOCKED:
    case FAINA_BACKGROUND:
        return FA_MAGENTA;
    case FAINA_COMPLETED:
        return FA_GREEN;
    case FAINA_FAILED:
    case FAINA_DEAD_LETTER:
        return FA_RED;
    case FAINA_CANCELLED:
        return FA_DIM;
    case FAINA_STATUS_COUNT:
        break;
    }
    return FA_PLAIN;
}
