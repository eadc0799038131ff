/*
 * verb_completion.c - completion in shells. The scripts in completions/ only know their shell: what
 * can be typed is answered here, from the table of verbs.
 *
 * The answer's first line says how to complete. A line for each word follows: WORD, a tab, its
 * help.
 *
 *   words         the words below
 *   prefixes      the same, and typing goes on after them without a space
 *   files PREFIX  files, after the prefix
 *   folders
 */
#include "cli/verbs.h"

#include "generated/completion_bash.h"
#include "generated/completion_fish.h"
#include "generated/completion_zsh.h"

static bool begins_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Prints the words of a list, which are separated by spaces. */
static void put_choices(const char *choices)
{
    for (size_t len; *choices; choices += len + (choices[len] == ' ')) {
        len = strcspn(choices, " ");
        printf("%.*s\t\n", (int)len, choices);
    }
}

/* Completes a value; false: nothing is known about such values. */
static bool put_value(enum fa_takes takes, const char *choices, const char *word)
{
    if (choices) {
        puts("words");
        put_choices(choices);
    } else if (takes == FA_TAKES_FILE) {
        puts("files");
    } else if (takes == FA_TAKES_FOLDER) {
        puts("folders");
    } else if (takes == FA_TAKES_JSON) {
        puts(word[0] == '@' ? "files @" : "words");
    } else if (takes == FA_TAKES_URL && begins_with(word, "sqlite:")) {
        puts("files sqlite:");
    } else if (takes == FA_TAKES_URL && begins_with(word, "unix:")) {
        puts("files unix:");
    } else if (takes == FA_TAKES_URL) {
        puts("prefixes");
        put_choices("sqlite: postgres:// http:// https:// unix: memory:");
    }
    return choices || takes != FA_TAKES_TEXT;
}

/* Whether one of the words is the flag, by its name or letter. */
static bool is_given(const struct fa_flag *flag, char **words, int count)
{
    size_t len = strlen(flag->name);

    for (int i = 0; i < count; i++)
        if (flag->letter && words[i][0] == '-' && words[i][1] == flag->letter)
            return true;
        else if (begins_with(words[i], "--") && begins_with(words[i] + 2, flag->name) &&
                 (words[i][2 + len] == '\0' || words[i][2 + len] == '='))
            return true;
    return false;
}

/* Prints the flags that begin with `word` and can still be given. */
static void put_flags(const struct fa_flag *flags, char **before, int count, const char *word)
{
    for (const struct fa_flag *f = flags; f && f->name; f++) {
        if (!f->is_repeatable && is_given(f, before, count))
            continue;
        printf("--%s\t%s\n", f->name, f->help);
        if (f->letter && !begins_with(word, "--"))
            printf("-%c\t%s\n", f->letter, f->help);
    }
}

/* Prints the first words of verbs, or with a noun their second words. */
static void put_verbs(const char *noun)
{
    size_t noun_len = noun ? strlen(noun) : 0, last_len = 0;
    const char *last = "";

    puts("words");
    for (size_t i = 0; i < fa_verb_count; i++) {
        const char *name = fa_verbs[i].name;
        size_t len = strcspn(name, " ");
        bool is_last = len == last_len && memcmp(name, last, len) == 0;

        if (noun ? len == noun_len && name[len] && memcmp(name, noun, len) == 0 : !name[len])
            printf("%s\t%s\n", noun ? name + len + 1 : name, fa_verbs[i].help);
        else if (!noun && !is_last)
            printf("%.*s\tverbs of a %.*s\n", (int)len, name, (int)len, name);
        last = name;
        last_len = len;
    }
}

/* The flag whose value the last of the words expects, or may be followed by; NULL: none. Finds the
 * verb too; `name` gets its words, as far as they are given. */
static const struct fa_flag *read_words(char **words, int count, const struct fa_verb **verb,
                                        char name[64])
{
    const struct fa_flag *flag = NULL;

    name[0] = '\0';
    for (int i = 0; i < count; i++) {
        flag = fa_word_is_flag(words[i]) ? fa_word_flag(*verb, words[i]) : NULL;
        if (flag && (!flag->value || (!flag->is_optional && fa_word_count(words[i]) == 1)))
            flag = NULL;
        if (!fa_word_is_flag(words[i]) && !*verb) {
            size_t len = strlen(name);

            snprintf(name + len, 64 - len, "%s%s", len ? " " : "", words[i]);
            *verb = fa_verb_find(name);
        } else if (flag && !flag->is_optional && i + 1 < count) {
            flag = NULL;
            i++;
        }
    }
    return flag;
}

int fa_complete_word(int argc, char **argv)
{
    int count = argc > 0 ? argc - 1 : 0; /* words before the one that is completed */
    const char *word = argc > 0 ? argv[count] : "";
    const struct fa_verb *verb = NULL;
    char name[64];
    const struct fa_flag *flag = read_words(argv, count, &verb, name);

    if (word[0] == '-') {
        puts("words");
        if (verb && verb->is_raw)
            puts("--help\t");
        else if (verb)
            put_flags(verb->flags, argv, count, word);
        if (!verb || !verb->is_raw)
            put_flags(fa_common_flags, argv, count, word);
    } else if (flag && (put_value(flag->takes, flag->choices, word) || !flag->is_optional)) {
        return FA_EXIT_OK;
    } else if (!name[0] || (verb && verb->run == fa_verb_help)) {
        put_verbs(NULL);
    } else if (!verb) {
        put_verbs(name);
    } else {
        put_value(verb->takes, verb->arg_choices, word);
    }
    return FA_EXIT_OK;
}

int fa_verb_completion(struct fa_cli *cli)
{
    static const struct {
        const char *shell, *script;
    } scripts[] = {{"bash", completion_bash}, {"zsh", completion_zsh}, {"fish", completion_fish}};

    for (size_t i = 0; i < FA_COUNT(scripts); i++)
        if (strcmp(cli->args[0], scripts[i].shell) == 0) {
            fa_outf(cli, "%s", scripts[i].script);
            return FA_EXIT_OK;
        }
    return fa_cli_usage(cli, "there are completions for bash, zsh and fish, not for \"%.100s\"",
                        cli->args[0]);
}
