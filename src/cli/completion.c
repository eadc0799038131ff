/*
 * completion.c - completion scripts for bash, zsh and fish, printed from the table of verbs.
 *
 * completions/ holds what this prints; a test compares.
 */
#include "cli/verbs.h"

/* ------------------------------------------------------------------------------------------
 * What the three have in common
 */

/* Prints `text`, each character in `special` behind `escape`. */
static void put_escaped(struct fa_cli *cli, const char *text, const char *special,
                        const char *escape)
{
    for (; *text; text++)
        fa_outf(cli, "%s%c", strchr(special, *text) ? escape : "", *text);
}

/* The nouns ("resource", "db"), each once, separated by `gap`. */
static void put_nouns(struct fa_cli *cli, const char *gap)
{
    const char *last = "";

    for (size_t i = 0; i < fa_verb_count; i++) {
        size_t len = strcspn(fa_verbs[i].name, " ");

        if (fa_verbs[i].name[len] == '\0' || strncmp(last, fa_verbs[i].name, len + 1) == 0)
            continue;
        fa_outf(cli, "%s%.*s", last[0] ? gap : "", (int)len, fa_verbs[i].name);
        last = fa_verbs[i].name;
    }
}

/* Whether an earlier verb begins with the same noun. */
static bool is_later_of_noun(size_t index)
{
    size_t len = strcspn(fa_verbs[index].name, " ");

    if (fa_verbs[index].name[len] == '\0')
        return false;
    return index > 0 && strncmp(fa_verbs[index - 1].name, fa_verbs[index].name, len + 1) == 0;
}

/* The second words of a noun's verbs, with spaces between. */
static void put_second_words(struct fa_cli *cli, const char *noun, size_t len)
{
    bool is_first = true;

    for (size_t i = 0; i < fa_verb_count; i++) {
        if (strncmp(fa_verbs[i].name, noun, len) != 0 || fa_verbs[i].name[len] != ' ')
            continue;
        fa_outf(cli, "%s%s", is_first ? "" : " ", fa_verbs[i].name + len + 1);
        is_first = false;
    }
}

/* Whether an earlier verb, or an earlier flag of this one, has a flag of this name. */
static bool is_known_flag(size_t verb, const struct fa_flag *flag)
{
    for (const struct fa_flag *f = fa_common_flags; f->name; f++)
        if (f != flag && strcmp(f->name, flag->name) == 0)
            return true;
    for (size_t i = 0; i < verb; i++)
        for (const struct fa_flag *f = fa_verbs[i].flags; f && f->name; f++)
            if (strcmp(f->name, flag->name) == 0)
                return true;
    return false;
}

/* ------------------------------------------------------------------------------------------
 * bash
 */

static void bash_flag_pattern(struct fa_cli *cli, const struct fa_flag *flag, bool *is_first)
{
    if (!flag->value || flag->is_optional)
        return;
    fa_outf(cli, "%s--%s", *is_first ? "" : "|", flag->name);
    if (flag->letter)
        fa_outf(cli, "|-%c", flag->letter);
    *is_first = false;
}

/* Every flag with a value, as one pattern. */
static void bash_value_flags(struct fa_cli *cli)
{
    bool is_first = true;

    for (const struct fa_flag *f = fa_common_flags; f->name; f++)
        bash_flag_pattern(cli, f, &is_first);
    for (size_t i = 0; i < fa_verb_count; i++)
        for (const struct fa_flag *f = fa_verbs[i].flags; f && f->name; f++)
            if (!is_known_flag(i, f))
                bash_flag_pattern(cli, f, &is_first);
}

static void bash_choices(struct fa_cli *cli, const struct fa_flag *flag)
{
    if (!flag->choices)
        return;
    fa_outf(cli, "        --%s", flag->name);
    if (flag->letter)
        fa_outf(cli, "|-%c", flag->letter);
    fa_outf(cli,
            ")\n            COMPREPLY=($(compgen -W \"%s\" -- \"$cur\"))\n"
            "            return\n            ;;\n",
            flag->choices);
}

static void bash_flags(struct fa_cli *cli, const struct fa_verb *verb)
{
    fa_outf(cli, "            \"%s\") flags=\"", verb->name);
    for (const struct fa_flag *f = verb->flags; f && f->name; f++)
        fa_outf(cli, "--%s ", f->name);
    for (const struct fa_flag *f = fa_common_flags; f->name && !verb->is_raw; f++)
        fa_outf(cli, "%s--%s", f == fa_common_flags ? "" : " ", f->name);
    fa_outf(cli, "%s\" ;;\n", verb->is_raw ? "--help" : "");
}

static void bash_words(struct fa_cli *cli)
{
    fa_outf(cli, "    case $verb in\n        \"\"|help)\n            words=\"");
    for (size_t i = 0; i < fa_verb_count; i++)
        if (!is_later_of_noun(i))
            fa_outf(cli, "%s%.*s", i == 0 ? "" : " ", (int)strcspn(fa_verbs[i].name, " "),
                    fa_verbs[i].name);
    fa_outf(cli, "\"\n            ;;\n");
    for (size_t i = 0; i < fa_verb_count; i++) {
        size_t len = strcspn(fa_verbs[i].name, " ");

        if (fa_verbs[i].name[len] == '\0' || is_later_of_noun(i))
            continue;
        fa_outf(cli, "        %.*s) words=\"", (int)len, fa_verbs[i].name);
        put_second_words(cli, fa_verbs[i].name, len);
        fa_outf(cli, "\" ;;\n");
    }
    for (size_t i = 0; i < fa_verb_count; i++)
        if (fa_verbs[i].arg_choices)
            fa_outf(cli, "        \"%s\") words=\"%s\" ;;\n", fa_verbs[i].name,
                    fa_verbs[i].arg_choices);
    fa_outf(cli, "    esac\n");
}

/* Finds the verb among the words before the cursor. */
static void bash_find_verb(struct fa_cli *cli)
{
    fa_outf(cli, "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
                 "        word=${COMP_WORDS[i]}\n"
                 "        case $word in\n            ");
    bash_value_flags(cli);
    fa_outf(cli, ") ((i++)) ;;\n"
                 "            -*) ;;\n"
                 "            *)\n"
                 "                case $verb in\n"
                 "                    \"\") verb=$word ;;\n                    ");
    put_nouns(cli, "|");
    fa_outf(cli, ") verb=\"$verb $word\" ;;\n"
                 "                esac\n"
                 "                ;;\n"
                 "        esac\n"
                 "    done\n\n");
}

/* Values of the flag before the cursor. */
static void bash_values(struct fa_cli *cli)
{
    fa_outf(cli, "    case $prev in\n");
    for (const struct fa_flag *f = fa_common_flags; f->name; f++)
        bash_choices(cli, f);
    for (size_t i = 0; i < fa_verb_count; i++)
        for (const struct fa_flag *f = fa_verbs[i].flags; f && f->name; f++)
            if (!is_known_flag(i, f))
                bash_choices(cli, f);
    fa_outf(cli, "        --bulk)\n"
                 "            COMPREPLY=($(compgen -f -- \"$cur\"))\n"
                 "            return\n"
                 "            ;;\n"
                 "    esac\n\n");
}

static void print_bash(struct fa_cli *cli)
{
    fa_outf(cli, "# Completion of faina for bash, printed by: faina completion bash\n\n"
                 "_faina()\n{\n"
                 "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
                 "    local verb=\"\" words=\"\" flags=\"\" word i\n\n"
                 "    COMPREPLY=()\n");
    bash_find_verb(cli);
    bash_values(cli);
    fa_outf(cli, "    if [[ $cur == @* ]]; then\n"
                 "        COMPREPLY=($(compgen -f -P @ -- \"${cur#@}\"))\n"
                 "        return\n"
                 "    fi\n"
                 "    if [[ $cur == -* ]]; then\n"
                 "        case $verb in\n");
    for (size_t i = 0; i < fa_verb_count; i++)
        bash_flags(cli, &fa_verbs[i]);
    fa_outf(cli, "        esac\n"
                 "        COMPREPLY=($(compgen -W \"$flags\" -- \"$cur\"))\n"
                 "        return\n"
                 "    fi\n");
    bash_words(cli);
    fa_outf(cli, "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
                 "}\n\n"
                 "complete -F _faina faina\n");
}

/* ------------------------------------------------------------------------------------------
 * zsh
 */

static void zsh_help(struct fa_cli *cli, const char *help)
{
    for (; *help; help++) {
        if (*help == '\'')
            fa_outf(cli, "'\\''");
        else
            fa_outf(cli, "%s%c", strchr("[]:\\", *help) ? "\\" : "", *help);
    }
}

/* '(-o --output)'{-o,--output}'[help]:FORMAT:(table json jsonl)' */
static void zsh_flag(struct fa_cli *cli, const struct fa_flag *flag)
{
    fa_outf(cli, "        ");
    if (flag->is_repeatable && flag->letter)
        fa_outf(cli, "'*'{-%c,--%s}'", flag->letter, flag->name);
    else if (flag->is_repeatable)
        fa_outf(cli, "'*--%s", flag->name);
    else if (flag->letter)
        fa_outf(cli, "'(-%c --%s)'{-%c,--%s}'", flag->letter, flag->name, flag->letter, flag->name);
    else
        fa_outf(cli, "'--%s", flag->name);
    fa_outf(cli, "[");
    zsh_help(cli, flag->help);
    fa_outf(cli, "]");
    if (flag->value) {
        fa_outf(cli, "%s", flag->is_optional ? "::" : ":");
        zsh_help(cli, flag->value);
        if (flag->choices)
            fa_outf(cli, ":(%s)", flag->choices);
        else if (flag->is_optional)
            fa_outf(cli, ":_files");
        else
            fa_outf(cli, ": ");
    }
    fa_outf(cli, "'\n");
}

/* The verbs and what they do; a noun with its verbs. */
static void zsh_verbs(struct fa_cli *cli)
{
    fa_outf(cli, "    verbs=(\n");
    for (size_t i = 0; i < fa_verb_count; i++) {
        size_t len = strcspn(fa_verbs[i].name, " ");

        if (is_later_of_noun(i))
            continue;
        fa_outf(cli, "        '%.*s:", (int)len, fa_verbs[i].name);
        if (fa_verbs[i].name[len] == '\0') {
            zsh_help(cli, fa_verbs[i].help);
        } else {
            fa_outf(cli, "one of ");
            put_second_words(cli, fa_verbs[i].name, len);
        }
        fa_outf(cli, "'\n");
    }
    fa_outf(cli, "    )\n\n");
}

/* After a noun its second word, which then is part of the verb. */
static void zsh_nouns(struct fa_cli *cli)
{
    fa_outf(cli, "    case $verb in\n");
    for (size_t i = 0; i < fa_verb_count; i++) {
        size_t len = strcspn(fa_verbs[i].name, " ");

        if (fa_verbs[i].name[len] == '\0' || is_later_of_noun(i))
            continue;
        fa_outf(cli,
                "    %.*s)\n"
                "        if ((CURRENT == 2)); then\n"
                "            _values verb ",
                (int)len, fa_verbs[i].name);
        put_second_words(cli, fa_verbs[i].name, len);
        fa_outf(cli, "\n"
                     "            return\n"
                     "        fi\n"
                     "        verb=\"$verb $words[2]\"\n"
                     "        ;;\n");
    }
    fa_outf(cli, "    esac\n");
}

static void zsh_own_flags(struct fa_cli *cli)
{
    fa_outf(cli, "    own=('*:argument: ')\n    case $verb in\n");
    for (size_t i = 0; i < fa_verb_count; i++) {
        const struct fa_verb *verb = &fa_verbs[i];
        bool is_help = strcmp(verb->name, "help") == 0;

        if (!verb->flags && !verb->arg_choices && !is_help)
            continue;
        fa_outf(cli, "    '%s')\n        own=(\n", verb->name);
        for (const struct fa_flag *f = verb->flags; f && f->name; f++)
            zsh_flag(cli, f);
        if (verb->arg_choices)
            fa_outf(cli, "        '1:word:(%s)'\n", verb->arg_choices);
        fa_outf(cli, "        '*:argument:%s'\n", strstr(verb->arguments, "FILE") ? "_files" : " ");
        if (is_help)
            fa_outf(cli, "        \"1:verb:(${(j. .)${(@)verbs%%%%:*}})\"\n");
        fa_outf(cli, "        )\n        ;;\n");
    }
    fa_outf(cli, "    esac\n");
}

static void print_zsh(struct fa_cli *cli)
{
    fa_outf(cli, "#compdef faina\n"
                 "# Completion of faina for zsh, printed by: faina completion zsh\n\n"
                 "_faina()\n{\n"
                 "    local curcontext=$curcontext state line verb\n"
                 "    local -a common own verbs\n\n"
                 "    common=(\n");
    for (const struct fa_flag *f = fa_common_flags; f->name; f++)
        zsh_flag(cli, f);
    fa_outf(cli, "    )\n");
    zsh_verbs(cli);
    fa_outf(cli, "    _arguments -C $common '1:verb:->verb' '*::argument:->rest' && return\n"
                 "    if [[ $state == verb ]]; then\n"
                 "        _describe verb verbs\n"
                 "        return\n"
                 "    fi\n"
                 "    verb=$words[1]\n");
    zsh_nouns(cli);
    zsh_own_flags(cli);
    fa_outf(cli, "    _arguments $common $own\n}\n\n_faina \"$@\"\n");
}

/* ------------------------------------------------------------------------------------------
 * fish
 */

/* -l priority -s p -r -d 'help' */
static void fish_flag(struct fa_cli *cli, const struct fa_flag *flag)
{
    fa_outf(cli, " -l %s", flag->name);
    if (flag->letter)
        fa_outf(cli, " -s %c", flag->letter);
    if (flag->value && !flag->is_optional)
        fa_outf(cli, " -x");
    else if (flag->is_optional)
        fa_outf(cli, " -F");
    if (flag->choices)
        fa_outf(cli, " -a '%s'", flag->choices);
    fa_outf(cli, " -d '");
    put_escaped(cli, flag->help, "'\\", "\\");
    fa_outf(cli, "'\n");
}

/* Whether a verb with a noun ends with this word. */
static bool is_second_word(const char *word)
{
    for (size_t i = 0; i < fa_verb_count; i++) {
        const char *space = strchr(fa_verbs[i].name, ' ');

        if (space && strcmp(space + 1, word) == 0)
            return true;
    }
    return false;
}

/* The condition under which a verb's flags apply. */
static void fish_condition(struct fa_cli *cli, const struct fa_verb *verb)
{
    size_t len = strcspn(verb->name, " ");

    fa_outf(cli, "complete -c faina -n '__fish_seen_subcommand_from %.*s", (int)len, verb->name);
    if (verb->name[len] == ' ')
        fa_outf(cli, "; and __fish_seen_subcommand_from %s", verb->name + len + 1);
    if (verb->name[len] == '\0' && is_second_word(verb->name)) {
        /* "ls", but not that of "team ls" */
        fa_outf(cli, "; and not __fish_seen_subcommand_from ");
        put_nouns(cli, " ");
    }
    fa_outf(cli, "'");
}

static void fish_verb(struct fa_cli *cli, size_t index)
{
    const struct fa_verb *verb = &fa_verbs[index];
    size_t len = strcspn(verb->name, " ");

    if (!is_later_of_noun(index)) {
        fa_outf(cli, "complete -c faina -n __fish_use_subcommand -a %.*s -d '", (int)len,
                verb->name);
        if (verb->name[len] == '\0') {
            put_escaped(cli, verb->help, "'\\", "\\");
        } else {
            fa_outf(cli, "one of ");
            put_second_words(cli, verb->name, len);
        }
        fa_outf(cli, "'\n");
    }
    if (verb->name[len] == ' ') {
        fa_outf(cli,
                "complete -c faina -n '__fish_seen_subcommand_from %.*s; and not "
                "__fish_seen_subcommand_from ",
                (int)len, verb->name);
        put_second_words(cli, verb->name, len);
        fa_outf(cli, "' -a %s -d '", verb->name + len + 1);
        put_escaped(cli, verb->help, "'\\", "\\");
        fa_outf(cli, "'\n");
    }
    for (const struct fa_flag *f = verb->flags; f && f->name; f++) {
        fish_condition(cli, verb);
        fish_flag(cli, f);
    }
    if (verb->arg_choices) {
        fish_condition(cli, verb);
        fa_outf(cli, " -a '%s'\n", verb->arg_choices);
    }
}

static void print_fish(struct fa_cli *cli)
{
    fa_outf(cli, "# Completion of faina for fish, printed by: faina completion fish\n\n"
                 "complete -c faina -f\n");
    for (const struct fa_flag *f = fa_common_flags; f->name; f++) {
        fa_outf(cli, "complete -c faina");
        fish_flag(cli, f);
    }
    for (size_t i = 0; i < fa_verb_count; i++)
        fish_verb(cli, i);
}

int fa_verb_completion(struct fa_cli *cli)
{
    const char *shell = cli->args[0];

    if (strcmp(shell, "bash") == 0)
        print_bash(cli);
    else if (strcmp(shell, "zsh") == 0)
        print_zsh(cli);
    else if (strcmp(shell, "fish") == 0)
        print_fish(cli);
    else
        return fa_cli_usage(cli, "there are completions for bash, zsh and fish, not for \"%.100s\"",
                            shell);
    return FA_EXIT_OK;
}
