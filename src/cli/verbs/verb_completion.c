/*
 * verb_completion.c - completion scripts for bash, zsh and fish, generated from the table of verbs.
 *
 * completions/ holds the output; a test compares it.
 */
#include "cli/verbs.h"

/* ------------------------------------------------------------------------------------------
 * Shared by the three shells
 */

/* Prints `text` with `escape` before each character in `special`. */
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

/* The second words of a noun's verbs, separated by spaces. */
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
    fa_outf(cli, "    case $verb in\n        \"\"|help)\n            firsts=\"");
    for (size_t i = 0; i < fa_verb_count; i++)
        if (!is_later_of_noun(i))
            fa_outf(cli, "%s%.*s", i == 0 ? "" : " ", (int)strcspn(fa_verbs[i].name, " "),
                    fa_verbs[i].name);
    fa_outf(cli, "\"\n            ;;\n");
    for (size_t i = 0; i < fa_verb_count; i++) {
        size_t len = strcspn(fa_verbs[i].name, " ");

        if (fa_verbs[i].name[len] == '\0' || is_later_of_noun(i))
            continue;
        fa_outf(cli, "        %.*s) firsts=\"", (int)len, fa_verbs[i].name);
        put_second_words(cli, fa_verbs[i].name, len);
        fa_outf(cli, "\" ;;\n");
    }
    for (size_t i = 0; i < fa_verb_count; i++)
        if (fa_verbs[i].arg_choices)
            fa_outf(cli, "        \"%s\") firsts=\"%s\" ;;\n", fa_verbs[i].name,
                    fa_verbs[i].arg_choices);
    fa_outf(cli, "    esac\n");
}

/* Finds the verb among the words before the cursor. */
static void bash_find_verb(struct fa_cli *cli)
{
    fa_outf(cli, "    for ((i = 1; i + 1 < ${#words[@]}; i++)); do\n"
                 "        word=${words[i]}\n"
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

/* The shell function that completes each kind; NULL: none. */
static const char *const bash_offers[FA_TAKES_COUNT] = {
    [FA_TAKES_FILE] = "_faina_paths -f",
    [FA_TAKES_FOLDER] = "_faina_paths -d",
    [FA_TAKES_JSON] = "_faina_json",
    [FA_TAKES_URL] = "_faina_url",
};

/* The flags whose value is of this kind, as one pattern. */
static void bash_flags_of(struct fa_cli *cli, enum fa_takes takes)
{
    const char *gap = "        ";

    for (const struct fa_flag *f = fa_common_flags; f->name; f++)
        if (f->takes == takes) {
            fa_outf(cli, "%s--%s", gap, f->name);
            gap = "|";
        }
    for (size_t i = 0; i < fa_verb_count; i++)
        for (const struct fa_flag *f = fa_verbs[i].flags; f && f->name; f++)
            if (f->takes == takes && !is_known_flag(i, f)) {
                fa_outf(cli, "%s--%s", gap, f->name);
                if (f->letter)
                    fa_outf(cli, "|-%c", f->letter);
                gap = "|";
            }
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
    for (enum fa_takes takes = FA_TAKES_FILE; takes < FA_TAKES_COUNT; takes++) {
        bash_flags_of(cli, takes);
        fa_outf(cli,
                ")\n            %s\n"
                "            return\n            ;;\n",
                bash_offers[takes]);
    }
    fa_outf(cli, "        ");
    bash_value_flags(cli);
    fa_outf(cli, ") return ;;\n"
                 "    esac\n\n");
}

/* The arguments that are files, by verb. */
static void bash_files(struct fa_cli *cli)
{
    fa_outf(cli, "    case $verb in\n");
    for (size_t i = 0; i < fa_verb_count; i++)
        if (bash_offers[fa_verbs[i].takes])
            fa_outf(cli,
                    "        \"%s\")\n            %s\n"
                    "            return\n            ;;\n",
                    fa_verbs[i].name, bash_offers[fa_verbs[i].takes]);
    fa_outf(cli, "    esac\n");
}

/* `cur` is the word at the cursor, without quotes. */
static void bash_helpers(struct fa_cli *cli)
{
    fa_outf(cli, "# Files (-f) or folders (-d), after the prefix $2.\n"
                 "_faina_paths()\n{\n"
                 "    local IFS=$'\\n'\n\n"
                 "    compopt -o filenames 2> /dev/null\n"
                 "    COMPREPLY=($(compgen \"$1\" -P \"$2\" -- \"${cur#\"$2\"}\"))\n"
                 "}\n\n"
                 "_faina_json()\n{\n"
                 "    [[ $cur == @* ]] && _faina_paths -f @\n"
                 "}\n\n"
                 "_faina_url()\n{\n"
                 "    case $cur in\n"
                 "        sqlite:*) _faina_paths -f sqlite: ;;\n"
                 "        unix:*) _faina_paths -f unix: ;;\n"
                 "        *)\n"
                 "            compopt -o nospace 2> /dev/null\n"
                 "            COMPREPLY=($(compgen -W \"sqlite: postgres:// http:// https:// unix: "
                 "memory:\" -- \"$cur\"))\n"
                 "            ;;\n"
                 "    esac\n"
                 "}\n\n");
}

/* bash splits words at @, : and =, and replaces only $2, which may begin after one of them. So the
 * words are joined again, and the part before $2 is removed from the completions. */
static void bash_entry(struct fa_cli *cli)
{
    fa_outf(cli, "_faina()\n{\n"
                 "    local line=$COMP_LINE cur prev kept flag=\"\" word i\n"
                 "    local -a words=()\n\n"
                 "    COMPREPLY=()\n"
                 "    for word in \"${COMP_WORDS[@]:0:COMP_CWORD+1}\"; do\n"
                 "        if ((${#words[@]} == 0)) || [[ $line == [[:space:]]* ]]; then\n"
                 "            words+=(\"$word\")\n"
                 "        else\n"
                 "            words[${#words[@]} - 1]+=$word\n"
                 "        fi\n"
                 "        line=${line#\"${line%%%%[![:space:]]*}\"}\n"
                 "        line=${line#\"$word\"}\n"
                 "    done\n"
                 "    cur=${words[${#words[@]} - 1]#[\\\"\\']}\n"
                 "    ((${#words[@]} > 1)) && prev=${words[${#words[@]} - 2]}\n"
                 "    kept=${cur%%\"$2\"}\n"
                 "    kept=${kept//\\\\/}\n"
                 "    cur=${cur//\\\\/}\n"
                 "    if [[ $cur == --*=* ]]; then\n"
                 "        prev=${cur%%%%=*}\n"
                 "        flag=$prev=\n"
                 "        cur=${cur#*=}\n"
                 "    fi\n"
                 "    _faina_offer\n"
                 "    for i in \"${!COMPREPLY[@]}\"; do\n"
                 "        word=$flag${COMPREPLY[i]}\n"
                 "        word=${word#\"$kept\"}\n"
                 "        if [[ $word == @* && -d ${word#@} ]]; then\n"
                 "            word+=/\n"
                 "            compopt -o nospace 2> /dev/null\n"
                 "        fi\n"
                 "        COMPREPLY[i]=$word\n"
                 "    done\n"
                 "}\n\n"
                 "complete -F _faina faina\n");
}

static void print_bash(struct fa_cli *cli)
{
    fa_outf(cli, "# Completion of faina for bash, printed by: faina completion bash\n\n");
    bash_helpers(cli);
    fa_outf(cli, "# Sets COMPREPLY to the completions of $cur.\n"
                 "_faina_offer()\n{\n"
                 "    local verb=\"\" firsts=\"\" flags=\"\"\n\n");
    bash_find_verb(cli);
    fa_outf(cli, "    if [[ $cur == -* ]]; then\n"
                 "        case $verb in\n");
    for (size_t i = 0; i < fa_verb_count; i++)
        bash_flags(cli, &fa_verbs[i]);
    fa_outf(cli, "        esac\n"
                 "        COMPREPLY=($(compgen -W \"$flags\" -- \"$cur\"))\n"
                 "        return\n"
                 "    fi\n\n");
    bash_values(cli);
    bash_files(cli);
    bash_words(cli);
    fa_outf(cli, "    COMPREPLY=($(compgen -W \"$firsts\" -- \"$cur\"))\n"
                 "}\n\n");
    bash_entry(cli);
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

/* The action that completes each kind. */
static const char *const zsh_actions[FA_TAKES_COUNT] = {
    [FA_TAKES_TEXT] = " ",           [FA_TAKES_FILE] = "_files",    [FA_TAKES_FOLDER] = "_files -/",
    [FA_TAKES_JSON] = "_faina_json", [FA_TAKES_URL] = "_faina_url",
};

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
        else
            fa_outf(cli, ":%s", zsh_actions[flag->takes]);
    }
    fa_outf(cli, "'\n");
}

/* The verbs with their help; a noun with its verbs. */
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

/* After a noun the second word, which is then part of the verb. */
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

        if (!verb->flags && !verb->arg_choices && verb->takes == FA_TAKES_TEXT && !is_help)
            continue;
        fa_outf(cli, "    '%s')\n        own=(\n", verb->name);
        for (const struct fa_flag *f = verb->flags; f && f->name; f++)
            zsh_flag(cli, f);
        if (verb->arg_choices)
            fa_outf(cli, "        '1:word:(%s)'\n", verb->arg_choices);
        fa_outf(cli, "        '*:argument:%s'\n", zsh_actions[verb->takes]);
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
                 "_faina_json()\n{\n"
                 "    compset -P @ && _files\n"
                 "}\n\n"
                 "_faina_url()\n{\n"
                 "    if compset -P sqlite: || compset -P unix:; then\n"
                 "        _files\n"
                 "    else\n"
                 "        compadd -S '' -- sqlite: postgres:// http:// https:// unix: memory:\n"
                 "    fi\n"
                 "}\n\n"
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

/* The action that completes each kind. */
static const char *const fish_actions[FA_TAKES_COUNT] = {
    [FA_TAKES_TEXT] = "",
    [FA_TAKES_FILE] = " -F",
    [FA_TAKES_FOLDER] = " -a '(__fish_complete_directories)'",
    [FA_TAKES_JSON] = " -a '(__faina_behind @)'",
    [FA_TAKES_URL] = " -a '(__faina_url)'",
};

/* -l priority -s p -r -d 'help' */
static void fish_flag(struct fa_cli *cli, const struct fa_flag *flag)
{
    fa_outf(cli, " -l %s", flag->name);
    if (flag->letter)
        fa_outf(cli, " -s %c", flag->letter);
    if (flag->value)
        fa_outf(cli, flag->takes == FA_TAKES_FILE ? " -r" : " -x");
    fa_outf(cli, "%s", fish_actions[flag->takes]);
    if (flag->choices)
        fa_outf(cli, " -a '%s'", flag->choices);
    fa_outf(cli, " -d '");
    put_escaped(cli, flag->help, "'\\", "\\");
    fa_outf(cli, "'\n");
}

/* Whether the word is the second one of a verb. */
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
        /* "ls", but not in "team ls" */
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
    if (verb->takes != FA_TAKES_TEXT) {
        fish_condition(cli, verb);
        fa_outf(cli, "%s\n", fish_actions[verb->takes]);
    }
}

/* Paths after a prefix. */
static void fish_helpers(struct fa_cli *cli)
{
    fa_outf(cli, "function __faina_behind\n"
                 "    set -l word (commandline -ct)\n"
                 "    string match -q -- \"$argv[1]*\" $word; or return\n"
                 "    set -l path (string sub -s (math (string length -- $argv[1]) + 1) -- $word)\n"
                 "    for found in (__fish_complete_path $path)\n"
                 "        echo $argv[1]$found\n"
                 "    end\n"
                 "end\n\n"
                 "function __faina_url\n"
                 "    printf '%%s\\n' sqlite: postgres:// http:// https:// unix: memory:\n"
                 "    __faina_behind sqlite:\n"
                 "    __faina_behind unix:\n"
                 "end\n\n");
}

static void print_fish(struct fa_cli *cli)
{
    fa_outf(cli, "# Completion of faina for fish, printed by: faina completion fish\n\n");
    fish_helpers(cli);
    fa_outf(cli, "complete -c faina -f\n");
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
