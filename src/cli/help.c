/*
 * help.c - help texts, generated from the table of verbs and wrapped to the terminal.
 */
#include "cli/verbs.h"

#include "cli/text.h"

#define WIDTH_MAX 96 /* wider lines are hard to read */
#define FLAG_COLUMN 28

static int help_width(const struct fa_cli *cli)
{
    return cli->width > WIDTH_MAX ? WIDTH_MAX : cli->width < 40 ? 40 : cli->width;
}

/* Prints `text` wrapped between `indent` and the right edge, with an empty line for each newline in
 * it. The cursor is at `indent`. */
static void print_wrapped(const struct fa_cli *cli, FILE *to, const char *text, int indent)
{
    int width = help_width(cli), column = indent;

    while (*text) {
        int len = (int)strcspn(text, " \n");
        int gap = column > indent ? 1 : 0;

        if (gap && column + gap + len > width) {
            fprintf(to, "\n%*s", indent, "");
            column = indent;
            gap = 0;
        }
        fprintf(to, "%*s%.*s", gap, "", len, text);
        column += gap + len;
        text += len;
        if (*text == '\n') {
            fprintf(to, "\n\n%*s", indent, "");
            column = indent;
        }
        text += *text != '\0';
    }
    fputc('\n', to);
}

static void print_flag(const struct fa_cli *cli, FILE *to, const struct fa_flag *flag)
{
    char left[80];
    char letter[5] = "    ";

    if (flag->letter)
        snprintf(letter, sizeof(letter), "-%c, ", flag->letter);
    snprintf(left, sizeof(left), "  %s--%s%s%s%s", letter, flag->name,
             !flag->value        ? ""
             : flag->is_optional ? " ["
                                 : " ",
             flag->value ? flag->value : "", flag->is_optional ? "]" : "");
    if (strlen(left) + 2 > FLAG_COLUMN)
        fprintf(to, "%s\n%*s", left, FLAG_COLUMN, "");
    else
        fprintf(to, "%-*s", FLAG_COLUMN, left);
    print_wrapped(cli, to, flag->help, FLAG_COLUMN);
}

static bool is_of_noun(const struct fa_verb *verb, const char *noun)
{
    size_t len = strlen(noun);

    return strncmp(verb->name, noun, len) == 0 && verb->name[len] == ' ';
}

/* The widths of the columns of names and arguments; noun NULL: for all verbs. */
static void measure(const char *noun, int *names, int *arguments)
{
    *names = *arguments = 0;
    for (size_t i = 0; i < fa_verb_count; i++) {
        int name = (int)strlen(fa_verbs[i].name), argument = (int)strlen(fa_verbs[i].arguments);

        if (noun && !is_of_noun(&fa_verbs[i], noun))
            continue;
        *names = name > *names ? name : *names;
        *arguments = argument > *arguments ? argument : *arguments;
    }
}

static void print_group(FILE *to, enum fa_verb_group group)
{
    int width, unused;

    measure(NULL, &width, &unused);
    fprintf(to, "\n%s:\n", fa_verb_group_title(group));
    for (size_t i = 0; i < fa_verb_count; i++)
        if (fa_verbs[i].group == group)
            fprintf(to, "  %-*s  %s\n", width, fa_verbs[i].name, fa_verbs[i].help);
}

static void print_common_flags(const struct fa_cli *cli, FILE *to, const char *note)
{
    fprintf(to, "\nFlags of every verb%s:\n", note);
    for (const struct fa_flag *flag = fa_common_flags; flag->name; flag++)
        print_flag(cli, to, flag);
}

void fa_help_general(struct fa_cli *cli, FILE *to)
{
    fprintf(to, "Usage: faina VERB [arguments] [flags]\n\n");
    print_wrapped(cli, to,
                  "Faina is a durable task engine: it queues, schedules, retries, throttles and "
                  "records background work, in a SQLite file and with no set-up.",
                  0);
    for (enum fa_verb_group group = 0; group < FA_GROUP_COUNT; group++)
        print_group(to, group);
    print_common_flags(cli, to, " (flags may be anywhere; -- ends them)");
    fprintf(to, "\nExit codes: 0 ok, 1 failure, 2 usage, 3 not found, 4 conflict, 5 timeout,\n"
                "6 the engine can't be reached.\n"
                "An ID may be shortened to its beginning, or to at least 6 of its last digits.\n"
                "\nfaina VERB --help describes a verb; man faina is the full manual.\n");
}

void fa_help_noun(struct fa_cli *cli, const char *noun, FILE *to)
{
    int names, arguments;

    measure(noun, &names, &arguments);
    fprintf(to, "Usage: faina %s VERB [arguments] [flags]\n\n", noun);
    for (size_t i = 0; i < fa_verb_count; i++) {
        const struct fa_verb *verb = &fa_verbs[i];

        if (is_of_noun(verb, noun))
            fprintf(to, "  %-*s  %-*s  %s\n", names, verb->name, arguments, verb->arguments,
                    verb->help);
    }
    print_common_flags(cli, to, "");
    fprintf(to, "\nfaina %s VERB --help describes a verb.\n", noun);
}

void fa_help_verb(struct fa_cli *cli, const struct fa_verb *verb, FILE *to)
{
    const char *line;

    fprintf(to, "Usage: faina %s%s%s%s\n\n%c%s.\n", verb->name, verb->arguments[0] ? " " : "",
            verb->arguments, verb->is_raw ? "" : " [flags]", verb->help[0] - 'a' + 'A',
            verb->help + 1);
    if (verb->details) {
        fputc('\n', to);
        print_wrapped(cli, to, verb->details, 0);
    }
    if (verb->flags) {
        fprintf(to, "\nFlags:\n");
        for (const struct fa_flag *flag = verb->flags; flag->name; flag++)
            print_flag(cli, to, flag);
    }
    if (!verb->is_raw)
        print_common_flags(cli, to, "");
    if (!verb->examples)
        return;
    fprintf(to, "\nExamples:\n");
    for (line = verb->examples; *line; line += strcspn(line, "\n") + (strchr(line, '\n') != NULL))
        fprintf(to, "  %.*s\n", (int)strcspn(line, "\n"), line);
}

int fa_verb_help(struct fa_cli *cli)
{
    const struct fa_verb *verb;
    const char *name = NULL;

    if (cli->arg_count == 0) {
        fa_help_general(cli, stdout);
        return FA_EXIT_OK;
    }
    if (cli->arg_count == 1 && fa_verb_is_noun(cli->args[0]) && !fa_verb_find(cli->args[0])) {
        fa_help_noun(cli, cli->args[0], stdout);
        return FA_EXIT_OK;
    }
    name = cli->arg_count == 1 ? cli->args[0]
                               : fa_arena_printf(&cli->arena, "%s %s", cli->args[0], cli->args[1]);
    verb = fa_verb_find(name);
    if (!verb) {
        const char *guess = fa_verb_is_noun(cli->args[0])
                                ? fa_verb_guess(&cli->arena, cli->args[0], cli->args[1])
                                : fa_verb_guess(&cli->arena, NULL, name);

        return fa_cli_usage(cli, "there is no verb \"%.100s\"; %s%s%s", name,
                            guess ? "did you mean " : "faina help lists them", guess ? guess : "",
                            guess ? "?" : "");
    }
    fa_help_verb(cli, verb, stdout);
    return FA_EXIT_OK;
}
