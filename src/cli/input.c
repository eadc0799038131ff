/*
 * input.c - payloads from the command line, from files and from stdin; errors in their JSON.
 */
#include "cli/cli.h"

#include "cli/text.h"
#include "model/limits.h"
#include "model/codes.h"

#include <ctype.h>
#include <errno.h>

/* Reads a stream to its end. More than the largest payload is refused while reading. */
static int read_stream(struct fa_cli *cli, FILE *file, const char *name, struct fa_bytes *out)
{
    struct faina_error err;
    struct fa_buf buf;
    char chunk[64 * 1024];
    size_t got;
    int code = FA_EXIT_OK;

    fa_buf_init(&buf, FA_INPUT_SIZE_CEILING);
    fa_buf_add(&buf, "", 0);
    while (!buf.overflow && (got = fread(chunk, 1, sizeof(chunk), file)) > 0)
        fa_buf_add(&buf, chunk, got);
    if (ferror(file)) {
        fa_error_set(&err, FAINA_INTERNAL, "%s could not be read: %s", name, strerror(errno));
        code = fa_cli_fail(cli, &err);
    } else if (buf.overflow) {
        fa_error_set(&err, FAINA_PAYLOAD_TOO_LARGE, "%s is larger than %d MiB", name,
                     FA_INPUT_SIZE_CEILING / (1024 * 1024));
        code = fa_cli_fail(cli, &err);
    } else {
        out->ptr = fa_arena_copy(&cli->arena, buf.ptr ? buf.ptr : "", buf.len);
        out->len = buf.len;
    }
    fa_buf_finish(&buf);
    return code;
}

int fa_input_read(struct fa_cli *cli, const char *arg, const char *what, struct fa_bytes *out)
{
    FILE *file;
    int code;

    if (strcmp(arg, "-") == 0)
        return read_stream(cli, stdin, "stdin", out);
    if (arg[0] != '@') {
        *out = fa_str(arg);
        return FA_EXIT_OK;
    }
    file = fopen(arg + 1, "re");
    if (!file)
        return fa_cli_usage(cli, "%s: %s could not be opened: %s", what, arg + 1, strerror(errno));
    code = read_stream(cli, file, arg + 1, out);
    fclose(file);
    return code;
}

/* The line of `text` with this number, from 1. */
static struct fa_bytes find_line(struct fa_bytes text, int number)
{
    const char *at = text.ptr, *end = text.ptr + text.len, *stop;

    for (; number > 1; number--) {
        at = memchr(at, '\n', (size_t)(end - at));
        if (!at)
            return FA_LIT("");
        at++;
    }
    stop = memchr(at, '\n', (size_t)(end - at));
    return (struct fa_bytes){at, (size_t)((stop ? stop : end) - at)};
}

/* Characters may take no column of the terminal, or two, and a tab is shown as a space: so the
 * caret is placed by the width of what is shown before it. */
void fa_input_show(struct fa_cli *cli, struct fa_bytes text, int line_number, int column)
{
    struct fa_bytes line = find_line(text, line_number);
    size_t at = (size_t)column - 1, from = 0, room = (size_t)(cli->width > 20 ? cli->width : 20);
    const char *shown, *before;

    if (!cli->err_is_tty || line_number <= 0 || column <= 0)
        return;
    if (at > line.len)
        at = line.len;
    if (at > room / 2)
        from = at - room / 2;
    while (from > 0 && ((unsigned char)line.ptr[from] & 0xc0) == 0x80)
        from--;
    before = fa_text_clean(&cli->arena, fa_arena_copy(&cli->arena, line.ptr + from, at - from));
    shown =
        fa_text_clean(&cli->arena, fa_arena_copy(&cli->arena, line.ptr + from, line.len - from));
    fprintf(stderr, "    %s\n    %*s^\n", fa_text_clip(&cli->arena, shown, (int)room - 4),
            fa_text_width(before), "");
}

/* A string without its quotes is the most frequent error on a command line. */
static void hint_at_quotes(struct fa_cli *cli, struct fa_bytes text)
{
    if (text.len > 0 && text.len <= 60 && isalpha((unsigned char)text.ptr[0]) &&
        !memchr(text.ptr, '\n', text.len) && !memchr(text.ptr, '"', text.len))
        fa_cli_note(cli,
                    "A JSON string needs double quotes, and the shell needs single ones around "
                    "them: '\"%.*s\"'",
                    (int)text.len, text.ptr);
}

int fa_input_check(struct fa_cli *cli, struct fa_bytes text, const char *what)
{
    struct faina_error err;
    int exit_code;

    fa_error_clear(&err);
    if (fa_json_check(text, FA_JSON_DEPTH_MAX, what, FAINA_INVALID_REQUEST, &err) == FAINA_OK)
        return FA_EXIT_OK;
    exit_code = fa_cli_fail(cli, &err);
    fa_input_show(cli, text, err.line, err.column);
    hint_at_quotes(cli, text);
    return exit_code;
}
