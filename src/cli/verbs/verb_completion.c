/*
 * verb_completion.c - completion in shells. The scripts in completions/ only know their shell: what
 * can be typed is answered here, from the table of verbs.
 *
 * Names that only the engine knows are read from it, if it answers within ENGINE_MS. Nothing is
 * printed otherwise, and never an error: the user is typing.
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

#include "model/limits.h"

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "generated/completion_bash.h"
#include "generated/completion_fish.h"
#include "generated/completion_zsh.h"

static bool begins_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* A word of several with commas between: the part before the last one, which is kept. */
static int kept_length(const char *word)
{
    const char *comma = strrchr(word, ',');

    return comma ? (int)(comma + 1 - word) : 0;
}

/* Prints the words of a list, which are separated by spaces. */
static void put_choices(const char *choices, const char *word)
{
    for (size_t len; *choices; choices += len + (choices[len] == ' ')) {
        len = strcspn(choices, " ");
        printf("%.*s%.*s\t\n", kept_length(word), word, (int)len, choices);
    }
}

/* ------------------------------------------------------------------------------------------
 * Names that the engine has
 */

#define ENGINE_MS 700

static void give_up(int number)
{
    (void)number;
    _exit(FA_EXIT_OK);
}

static void limit_time(void)
{
    const struct itimerval limit = {.it_value = {.tv_usec = ENGINE_MS * 1000}};

    signal(SIGALRM, give_up);
    setitimer(ITIMER_REAL, &limit, NULL);
}

/* The value of a common flag among the words that were typed before; NULL: it isn't there. */
static const char *typed_value(char **words, int count, const char *flag)
{
    size_t len = strlen(flag);

    for (int i = 0; i < count; i++)
        if (strcmp(words[i], flag) == 0)
            return i + 1 < count ? words[i + 1] : NULL;
        else if (begins_with(words[i], flag) && words[i][len] == '=')
            return words[i] + len + 1;
    return NULL;
}

/* A name that a shell would take for something else is not offered. */
static void put_name(const char *name, const char *word)
{
    if (name[strcspn(name, " \t\r\n'\"\\$`|&;<>(){}[]*?!#~,")] == '\0')
        printf("%.*s%s\t\n", kept_length(word), word, name);
}

static void put_answer(enum fa_takes takes, const struct fa_op *op, const char *word)
{
    for (size_t i = 0; takes == FA_TAKES_TYPE && i < op->stats->count; i++)
        put_name(op->stats->types[i].type, word);
    for (size_t i = 0; takes == FA_TAKES_SCHEDULE && i < op->crons->count; i++)
        put_name(op->crons->items[i].name, word);
    for (size_t i = 0; takes == FA_TAKES_WORKFLOW && i < op->workflows->count; i++)
        put_name(op->workflows->items[i].name, word);
    for (size_t i = 0; takes == FA_TAKES_RESOURCE && i < op->resources->count; i++)
        put_name(op->resources->items[i].name, word);
}

static void put_names(struct fa_cli *cli, enum fa_takes takes, char **words, int count,
                      const char *word)
{
    static const enum fa_op_kind kinds[FA_TAKES_COUNT] = {
        [FA_TAKES_TYPE] = FA_OP_STATS,
        [FA_TAKES_SCHEDULE] = FA_OP_CRON_LIST,
        [FA_TAKES_WORKFLOW] = FA_OP_WORKFLOW_LIST,
        [FA_TAKES_RESOURCE] = FA_OP_RESOURCE_LIST,
    };
    struct fa_op op = {.kind = kinds[takes], .arena = &cli->arena};
    const char *ns = typed_value(words, count, "--namespace");
    struct faina_error err;

    puts("words");
    fflush(stdout);
    limit_time();
    cli->url = typed_value(words, count, "--url");
    cli->ns = ns ? ns : cli->ns;
    cli->verb = fa_verb_find("ls"); /* a verb that creates no store */
    if (takes == FA_TAKES_WORKFLOW)
        op.workflow.ns = cli->ns;
    else if (takes != FA_TAKES_RESOURCE)
        op.name.ns = cli->ns;
    if (takes != FA_TAKES_TYPE) /* statistics have the busiest types, and no pages */
        op.part = (struct fa_part){.is_asked = true, .limit = FA_LIST_LIMIT_MAX};
    if (fa_cli_try_open(cli, &err) != FAINA_OK)
        return;
    fa_service_run(cli->service, &op, 1);
    if (op.code == FAINA_OK)
        put_answer(takes, &op, word);
}

/* ------------------------------------------------------------------------------------------
 * Words that are known here
 */

/* What was typed. */
struct typed {
    char **before; /* the words before the one that is completed */
    int count;
    const char *word;
};

/* Completes a value; false: nothing is known about such values. */
static bool put_value(struct fa_cli *cli, enum fa_takes takes, const char *choices,
                      const struct typed *typed)
{
    const char *word = typed->word;

    if (choices) {
        puts("words");
        put_choices(choices, word);
        return true;
    }
    switch (takes) {
    case FA_TAKES_FILE:
        puts("files");
        break;
    case FA_TAKES_FOLDER:
        puts("folders");
        break;
    case FA_TAKES_JSON:
        puts(word[0] == '@' ? "files @" : "words");
        break;
    case FA_TAKES_URL:
        if (begins_with(word, "sqlite:")) {
            puts("files sqlite:");
        } else if (begins_with(word, "unix:")) {
            puts("files unix:");
        } else {
            puts("prefixes");
            put_choices("sqlite: postgres:// http:// https:// unix: memory:", "");
        }
        break;
    case FA_TAKES_TYPE:
    case FA_TAKES_SCHEDULE:
    case FA_TAKES_WORKFLOW:
    case FA_TAKES_RESOURCE:
        put_names(cli, takes, typed->before, typed->count, word);
        break;
    case FA_TAKES_TEXT:
    case FA_TAKES_COUNT:
        return false;
    }
    return true;
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

/* Whether the verb, such as "worker", and the word are another verb, "worker ls". */
static bool is_longer_verb(const char *name, const char *word)
{
    char longer[128];

    snprintf(longer, sizeof(longer), "%s %s", name, word);
    return fa_verb_find(longer) != NULL;
}

/* The flag whose value the last of the words expects, or may be followed by; NULL: none. Finds the
 * verb too; `name` gets its words, as far as they are given, and *args the number of arguments. */
static const struct fa_flag *read_words(char **words, int count, const struct fa_verb **verb,
                                        char name[64], int *args)
{
    const struct fa_flag *flag = NULL;

    *args = 0;
    name[0] = '\0';
    for (int i = 0; i < count; i++) {
        flag = fa_word_is_flag(words[i]) ? fa_word_flag(*verb, words[i]) : NULL;
        if (flag && (!flag->value || (!flag->is_optional && fa_word_count(words[i]) == 1)))
            flag = NULL;
        if (!fa_word_is_flag(words[i]) && (!*verb || is_longer_verb(name, words[i]))) {
            size_t len = strlen(name);

            snprintf(name + len, 64 - len, "%s%s", len ? " " : "", words[i]);
            *verb = fa_verb_find(name);
        } else if (!fa_word_is_flag(words[i])) {
            ++*args;
        } else if (flag && !flag->is_optional && i + 1 < count) {
            flag = NULL;
            i++;
        }
    }
    return flag;
}

/* The arguments of a verb, of which `args` have been typed. */
static void put_argument(struct fa_cli *cli, const struct fa_verb *verb, int args,
                         const struct typed *typed)
{
    bool is_first = args == 0 && verb->first != FA_TAKES_TEXT;

    if (verb->arg_max >= 0 && args >= verb->arg_max)
        return;
    (void)put_value(cli, is_first ? verb->first : verb->takes, verb->arg_choices, typed);
}

int fa_complete_word(struct fa_cli *cli, int argc, char **argv)
{
    int count = argc > 0 ? argc - 1 : 0; /* words before the one that is completed */
    const char *word = argc > 0 ? argv[count] : "";
    const struct typed typed = {argv, count, word};
    const struct fa_verb *verb = NULL;
    char name[64];
    int args;
    const struct fa_flag *flag = read_words(argv, count, &verb, name, &args);

    if (word[0] == '-') {
        puts("words");
        if (verb && verb->is_raw)
            puts("--help\t");
        else if (verb)
            put_flags(verb->flags, argv, count, word);
        if (!verb || !verb->is_raw)
            put_flags(fa_common_flags, argv, count, word);
    } else if (flag && (put_value(cli, flag->takes, flag->choices, &typed) || !flag->is_optional)) {
        return FA_EXIT_OK;
    } else if (!name[0] || (verb && verb->run == fa_verb_help)) {
        put_verbs(NULL);
    } else if (!verb || (args == 0 && verb->arg_max == 0 && fa_verb_is_noun(name))) {
        put_verbs(name);
    } else {
        put_argument(cli, verb, args, &typed);
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
