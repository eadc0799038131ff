/*
 * args.c - parses the command line: the verb, its arguments, its flags.
 *
 * Flags may be anywhere, even before the verb. So the verb is searched for first, and whether a
 * flag takes a value must not depend on the verb (see verbs.h).
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "base/utf8.h"
#include "cli/verbs.h"
#include "model/backoff.h"
#include "model/other_names.h"
#include "model/states.h"
#include "model/times.h"
#include "wire/filter.h"
#include "wire/wire.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

/* The name of "--name" or "--name=value", in `out`. No flag has a name longer than 63 bytes. */
static void flag_name(const char *word, char out[64])
{
    snprintf(out, 64, "%.*s", (int)strcspn(word + 2, "="), word + 2);
}

bool fa_word_is_flag(const char *word)
{
    return word[0] == '-' && word[1] != '\0' && !isdigit((unsigned char)word[1]);
}

const struct fa_flag *fa_word_flag(const struct fa_verb *verb, const char *word)
{
    const struct fa_flag *flag = NULL;
    char name[64];

    flag_name(word, name);
    for (size_t v = 0; v <= fa_verb_count && !flag; v++, verb = &fa_verbs[v - 1])
        if (verb)
            flag = word[1] == '-' ? fa_verb_flag(verb, name) : fa_verb_letter(verb, word[1]);
    return flag;
}

int fa_word_count(const char *word)
{
    bool has_value = word[1] == '-' ? strchr(word, '=') != NULL : word[2] != '\0';
    const struct fa_flag *flag = has_value ? NULL : fa_word_flag(NULL, word);

    return flag && flag->value && !flag->is_optional ? 2 : 1;
}

/* The first word from `i` on that isn't a flag or its value; argc when there is none. */
static int next_word(int argc, char **argv, int i)
{
    while (i < argc && fa_word_is_flag(argv[i])) {
        if (strcmp(argv[i], "--") == 0)
            return i + 1 < argc ? i + 1 : argc;
        i += fa_word_count(argv[i]);
    }
    return i < argc ? i : argc;
}

/* ------------------------------------------------------------------------------------------
 * Finding the verb
 */

static int unknown_verb(struct fa_cli *cli, const char *noun, const char *word)
{
    const char *guess = fa_verb_guess(&cli->arena, noun, word);

    return fa_cli_usage(cli, "unknown verb \"%s%s%.100s\"%s%s%s", noun ? noun : "", noun ? " " : "",
                        word, guess ? "; did you mean " : "", guess ? guess : "", guess ? "?" : "");
}

/* Whether --help is among the words before any "--". */
static bool has_help_flag(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

/* "faina --version" without a verb means "faina version". */
static bool is_version_flag(const char *word)
{
    return strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0;
}

/* There is no verb: reports a flag that no verb has, else prints the help. */
static int no_verb(struct fa_cli *cli, int argc, char **argv)
{
    static const char *const alone[] = {"version", "help", NULL};

    if (has_help_flag(argc, argv)) {
        fa_help_general(cli, stdout);
        return FA_EXIT_OK;
    }
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const char *nearest = NULL;
        char name[64];

        if (!fa_word_is_flag(argv[i]) || fa_word_flag(NULL, argv[i]))
            continue;
        if (argv[i][1] != '-')
            return fa_cli_usage(cli, "there is no flag %.100s%s", argv[i],
                                argv[i][1] == 'v' ? "; did you mean -V?" : "");
        flag_name(argv[i], name);
        nearest = fa_wire_nearest(name, alone);
        return fa_cli_usage(cli, "there is no flag --%s%s%s%s", name,
                            nearest ? "; did you mean --" : "", nearest ? nearest : "",
                            nearest ? "?" : "");
    }
    fa_help_general(cli, stderr);
    return FA_EXIT_USAGE;
}

static const struct fa_verb *find_second(struct fa_cli *cli, const char *noun, const char *word)
{
    return fa_verb_find(fa_arena_printf(&cli->arena, "%s %s", noun, word));
}

/* Finds the verb; its words are at *first and *second (argc: none). -1: found. */
static int find_verb(struct fa_cli *cli, int argc, char **argv, int *first, int *second)
{
    const char *word;

    *second = argc;
    *first = next_word(argc, argv, 1);
    if (*first == argc) {
        for (int i = 1; i < argc; i++) {
            if (is_version_flag(argv[i])) {
                cli->verb = fa_verb_find("version");
                return -1;
            }
        }
        return no_verb(cli, argc, argv);
    }
    word = argv[*first];
    if (!fa_verb_is_noun(word)) {
        cli->verb = fa_verb_find(word);
        return cli->verb ? -1 : unknown_verb(cli, NULL, word);
    }
    *second = next_word(argc, argv, *first + 1);
    if (fa_verb_find(word) && (*second == argc || !find_second(cli, word, argv[*second]))) {
        *second = argc; /* "worker" is a verb, and begins "worker ls" */
        cli->verb = fa_verb_find(word);
        return -1;
    }
    if (*second == argc) {
        fa_help_noun(cli, word, has_help_flag(argc, argv) ? stdout : stderr);
        return has_help_flag(argc, argv) ? FA_EXIT_OK : FA_EXIT_USAGE;
    }
    cli->verb = find_second(cli, word, argv[*second]);
    return cli->verb ? -1 : unknown_verb(cli, word, argv[*second]);
}

/* ------------------------------------------------------------------------------------------
 * The flags
 */

static int unknown_flag(struct fa_cli *cli, const char *name)
{
    const char *names[64];
    const char *nearest;
    size_t count = 0;

    for (const struct fa_flag *f = cli->verb->flags; f && f->name; f++)
        names[count++] = f->name;
    for (const struct fa_flag *f = fa_common_flags; f->name; f++)
        names[count++] = f->name;
    assert(count < FA_COUNT(names));
    names[count] = NULL;
    nearest = fa_wire_nearest(name, names);
    if (nearest)
        return fa_cli_usage(cli, "%s has no flag --%s; did you mean --%s?", cli->verb->name, name,
                            nearest);
    return fa_cli_usage(cli, "%s has no flag --%s", cli->verb->name, name);
}

/* Whether `value` is among the words of `choices`. */
static bool is_choice(const char *choices, const char *value)
{
    size_t len = strlen(value);

    for (const char *at = choices; *at; at += strspn(at, " ")) {
        size_t word = strcspn(at, " ");
        if (word == len && memcmp(at, value, len) == 0)
            return true;
        at += word;
    }
    return false;
}

static int take_common(struct fa_cli *cli, const struct fa_flag *flag, const char *value)
{
    if (strcmp(flag->name, "help") == 0) {
        cli->is_help = true;
    } else if (strcmp(flag->name, "url") == 0) {
        cli->url = value;
    } else if (strcmp(flag->name, "namespace") == 0) {
        cli->ns = value;
    } else if (strcmp(flag->name, "reason") == 0) {
        cli->reason = value;
    } else {
        assert(strcmp(flag->name, "output") == 0);
        cli->has_format = true;
        cli->format = strcmp(value, "table") == 0  ? FA_CLI_TABLE
                      : strcmp(value, "json") == 0 ? FA_CLI_JSON
                                                   : FA_CLI_JSONL;
    }
    return FA_EXIT_OK;
}

static int take_flag(struct fa_cli *cli, const struct fa_flag *flag, const char *value)
{
    /* A list is split at commas later, and each of its values is checked there. */
    if (value && flag->choices && !flag->is_repeatable && !is_choice(flag->choices, value))
        return fa_cli_usage(cli, "--%s is one of: %s; not \"%.100s\"", flag->name, flag->choices,
                            value);
    for (const struct fa_flag *f = fa_common_flags; f->name; f++)
        if (f == flag)
            return take_common(cli, flag, value);
    for (size_t i = 0; i < cli->given_count; i++)
        if (cli->given[i].flag == flag && !flag->is_repeatable && flag->value)
            return fa_cli_usage(cli, "--%s is given twice", flag->name);
    cli->given[cli->given_count++] = (struct fa_given){flag, value};
    return FA_EXIT_OK;
}

/* Parses the flag at argv[*i] and its value, which may be the next word. */
static int parse_flag(struct fa_cli *cli, int argc, char **argv, int *i, int first, int second)
{
    const char *word = argv[*i], *value = NULL;
    const struct fa_flag *flag;
    char name[64];

    if (word[1] == '-') {
        flag_name(word, name);
        flag = fa_verb_flag(cli->verb, name);
        value = strchr(word, '=');
        value = value ? value + 1 : NULL;
    } else {
        flag = fa_verb_letter(cli->verb, word[1]);
        snprintf(name, sizeof(name), "%c", word[1]);
        value = word[2] ? word + 2 + (word[2] == '=') : NULL;
    }
    if (!flag && word[1] != '-')
        return fa_cli_usage(cli, "%s has no flag -%s", cli->verb->name, name);
    if (!flag)
        return unknown_flag(cli, name);
    if (!flag->value && value)
        return fa_cli_usage(cli, "--%s takes no value", flag->name);
    if (flag->value && !value) {
        int next = *i + 1;
        bool has_next = next < argc && next != first && next != second;

        if (flag->is_optional)
            has_next = has_next && !fa_word_is_flag(argv[next]);
        if (has_next) {
            value = argv[next];
            (*i)++;
        } else if (!flag->is_optional) {
            return fa_cli_usage(cli, "--%s needs a value: --%s %s", flag->name, flag->name,
                                flag->value);
        }
    }
    return take_flag(cli, flag, value);
}

/* Arguments are printed and put into JSON, so they must be UTF-8. */
static int check_utf8(struct fa_cli *cli, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (!fa_utf8_is_valid(fa_str(argv[i])))
            return fa_cli_usage(cli, "argument %d is not UTF-8 text", i);
    return FA_EXIT_OK;
}

static int check_words(struct fa_cli *cli)
{
    const struct fa_verb *verb = cli->verb;

    if ((int)cli->arg_count < verb->arg_min)
        return fa_cli_usage(cli, "an argument is missing: faina %s %s", verb->name,
                            verb->arguments);
    if (verb->arg_max >= 0 && (int)cli->arg_count > verb->arg_max)
        return fa_cli_usage(cli, "\"%.100s\" is one argument too many: faina %s%s%s",
                            cli->args[verb->arg_max], verb->name, verb->arguments[0] ? " " : "",
                            verb->arguments);
    return FA_EXIT_OK;
}

static int parse_words(struct fa_cli *cli, int argc, char **argv, int first, int second)
{
    bool is_over = false; /* "--" was seen */

    cli->args = fa_arena_zero(&cli->arena, (size_t)argc + 1, sizeof(*cli->args));
    cli->given = fa_arena_zero(&cli->arena, (size_t)argc + 1, sizeof(*cli->given));
    for (int i = 1; i < argc; i++) {
        if (i == first || i == second)
            continue;
        if (cli->verb->is_raw && i > first) {
            cli->args[cli->arg_count++] = argv[i];
        } else if (!is_over && strcmp(argv[i], "--") == 0) {
            is_over = true;
        } else if (is_over || !fa_word_is_flag(argv[i])) {
            cli->args[cli->arg_count++] = argv[i];
        } else if (first < argc || !is_version_flag(argv[i])) {
            int code = parse_flag(cli, argc, argv, &i, first, second);
            if (code != FA_EXIT_OK)
                return code;
        }
    }
    return FA_EXIT_OK;
}

int fa_cli_parse(struct fa_cli *cli, int argc, char **argv)
{
    int first = argc, second = argc;
    int code = check_utf8(cli, argc, argv);

    if (code != FA_EXIT_OK)
        return code;
    code = find_verb(cli, argc, argv, &first, &second);
    if (code >= 0)
        return code;
    code = parse_words(cli, argc, argv, first, second);
    if (code != FA_EXIT_OK)
        return code;
    if (cli->is_help) {
        fa_help_verb(cli, cli->verb, stdout);
        return FA_EXIT_OK;
    }
    code = check_words(cli);
    return code == FA_EXIT_OK ? -1 : code;
}

/* ------------------------------------------------------------------------------------------
 * Values of flags
 */

const char *fa_flag(const struct fa_cli *cli, const char *name)
{
    assert(fa_verb_flag(cli->verb, name));
    for (size_t i = cli->given_count; i > 0; i--)
        if (strcmp(cli->given[i - 1].flag->name, name) == 0)
            return cli->given[i - 1].value;
    return NULL;
}

bool fa_flag_is_given(const struct fa_cli *cli, const char *name)
{
    assert(fa_verb_flag(cli->verb, name));
    for (size_t i = 0; i < cli->given_count; i++)
        if (strcmp(cli->given[i].flag->name, name) == 0)
            return true;
    return false;
}

/* Copies the parts between commas to `out` unless it is NULL. Returns how many there are; empty
 * parts don't count. */
static size_t split(struct fa_cli *cli, const char *text, const char **out)
{
    size_t count = 0;

    while (*text) {
        size_t len = strcspn(text, ",");
        if (len > 0) {
            if (out)
                out[count] = fa_arena_copy(&cli->arena, text, len);
            count++;
        }
        text += len + (text[len] == ',');
    }
    return count;
}

const char *const *fa_flag_list(struct fa_cli *cli, const char *name, size_t *count)
{
    const char **list;
    size_t total = 0;

    if (!fa_flag_is_given(cli, name)) {
        *count = 0;
        return NULL;
    }
    for (size_t i = 0; i < cli->given_count; i++)
        if (strcmp(cli->given[i].flag->name, name) == 0)
            total += split(cli, cli->given[i].value, NULL);
    list = fa_arena_zero(&cli->arena, total + 1, sizeof(*list));
    *count = 0;
    for (size_t i = 0; i < cli->given_count; i++)
        if (strcmp(cli->given[i].flag->name, name) == 0)
            *count += split(cli, cli->given[i].value, list + *count);
    return list;
}

int fa_flag_names(struct fa_cli *cli, const char *name, const char *const **out, size_t *count)
{
    *out = fa_flag_list(cli, name, count);
    if (*out && *count == 0)
        return fa_cli_usage(cli, "--%s names nothing", name);
    return FA_EXIT_OK;
}

int fa_flag_where(struct fa_cli *cli, struct faina_query *query)
{
    for (size_t i = 0; i < cli->given_count; i++) {
        const char *text = cli->given[i].value, *equals;
        struct faina_error err;

        if (strcmp(cli->given[i].flag->name, "where") != 0)
            continue;
        equals = strchr(text, '=');
        if (!equals)
            return fa_cli_usage(cli, "--where is NAME=VALUE, not \"%.100s\"", text);
        fa_error_clear(&err);
        if (fa_filter_add(query, fa_arena_copy(&cli->arena, text, (size_t)(equals - text)),
                          equals + 1, &cli->arena, &err) != FAINA_OK)
            return fa_cli_usage(cli, "--where: %s", err.message);
    }
    return FA_EXIT_OK;
}

int fa_flag_int(struct fa_cli *cli, const char *name, int64_t min, int64_t max, int64_t *out)
{
    const char *text = fa_flag(cli, name);
    long long number;
    char *end;

    if (!text)
        return FA_EXIT_OK;
    errno = 0;
    number = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || isspace((unsigned char)text[0]) ||
        number < min || number > max) {
        if (max == INT64_MAX)
            return fa_cli_usage(cli, "--%s is a whole number from %lld on, not \"%.100s\"", name,
                                (long long)min, text);
        return fa_cli_usage(cli, "--%s is a whole number from %lld to %lld, not \"%.100s\"", name,
                            (long long)min, (long long)max, text);
    }
    *out = number;
    return FA_EXIT_OK;
}

int fa_flag_duration(struct fa_cli *cli, const char *name, int64_t *out_ms)
{
    const char *text = fa_flag(cli, name);
    struct faina_error err;
    char flag[64];

    if (!text)
        return FA_EXIT_OK;
    snprintf(flag, sizeof(flag), "--%s", name);
    if (fa_duration_parse(text, flag, out_ms, &err) == FAINA_OK)
        return FA_EXIT_OK;
    return fa_cli_fail(cli, &err);
}

int fa_flag_time(struct fa_cli *cli, const char *name, bool may_be_ago, int64_t *out_us)
{
    const char *text = fa_flag(cli, name);
    struct faina_error err;
    int64_t ago_ms;
    char flag[64];

    if (!text)
        return FA_EXIT_OK;
    snprintf(flag, sizeof(flag), "--%s", name);
    if (may_be_ago && fa_duration_parse(text, flag, &ago_ms, NULL) == FAINA_OK) {
        *out_us = fa_clock_now_us() - ago_ms * 1000;
        return FA_EXIT_OK;
    }
    if (fa_time_parse(text, flag, out_us, &err) == FAINA_OK)
        return FA_EXIT_OK;
    return fa_cli_fail(cli, &err);
}

int fa_flag_when(struct fa_cli *cli, const char *name, int64_t *out_ms, int64_t *out_us)
{
    const char *text = fa_flag(cli, name);
    int code;

    if (!text)
        return FA_EXIT_OK;
    if (fa_text_is_time(text))
        return fa_flag_time(cli, name, false, out_us);
    code = fa_flag_duration(cli, name, out_ms);
    if (code == FA_EXIT_OK && *out_ms == 0)
        *out_ms = 1; /* given, so it isn't unset */
    return code;
}

/* A duration in --retry. 0 would mean the default. */
static int retry_duration(struct fa_cli *cli, const char *text, const char *name, int64_t *out_ms)
{
    struct faina_error err;
    char field[32];

    snprintf(field, sizeof(field), "%s of --retry", name);
    if (fa_duration_parse(text, field, out_ms, &err) != FAINA_OK)
        return fa_cli_fail(cli, &err);
    if (*out_ms == 0)
        return fa_cli_usage(cli, "%s is 1ms at least, not \"%.40s\"", field, text);
    return FA_EXIT_OK;
}

static int retry_factor(struct fa_cli *cli, const char *text, double *out)
{
    char *end;

    *out = strtod(text, &end);
    if (end == text || *end != '\0' || !isdigit((unsigned char)text[0]) || *out < 1 ||
        !isfinite(*out))
        return fa_cli_usage(cli, "FACTOR of --retry is a number from 1 on, not \"%.40s\"", text);
    return FA_EXIT_OK;
}

int fa_flag_retry(struct fa_cli *cli, struct faina_retry_policy *out)
{
    const char *text = fa_flag(cli, "retry"), *parts[3] = {NULL};
    struct faina_retry_policy policy = {0}, effective;
    size_t count = 0;
    int code;

    if (!text)
        return FA_EXIT_OK;
    for (const char *at = text; at; count++) {
        size_t len = strcspn(at, ",");

        if (len == 0 || count == FA_COUNT(parts))
            return fa_cli_usage(
                cli, "--retry is BASE[,FACTOR[,MAX]] such as 10s,3,1h, not \"%.60s\"", text);
        parts[count] = fa_arena_copy(&cli->arena, at, len);
        at = at[len] ? at + len + 1 : NULL;
    }
    code = retry_duration(cli, parts[0], "BASE", &policy.base_ms);
    if (code == FA_EXIT_OK && count > 1)
        code = retry_factor(cli, parts[1], &policy.factor);
    if (code == FA_EXIT_OK && count > 2)
        code = retry_duration(cli, parts[2], "MAX", &policy.max_ms);
    if (code != FA_EXIT_OK)
        return code;
    effective = fa_backoff_policy(policy);
    if (effective.base_ms > effective.max_ms)
        return fa_cli_usage(cli, "BASE of --retry, %.40s, is longer than MAX, %.40s", parts[0],
                            count > 2 ? parts[2] : "6h by default");
    *out = policy;
    return FA_EXIT_OK;
}

int fa_flag_statuses(struct fa_cli *cli, unsigned *out)
{
    const char *const *names;
    size_t count;
    int code = fa_flag_names(cli, "status", &names, &count);

    if (code != FA_EXIT_OK)
        return code;
    for (size_t i = 0; i < count; i++) {
        const char *known[FAINA_STATUS_COUNT + 1] = {NULL};
        const char *nearest;
        enum faina_status status;

        if (fa_status_parse(names[i], &status)) {
            *out |= 1u << status;
            continue;
        }
        for (enum faina_status s = 0; s < FAINA_STATUS_COUNT; s++)
            known[s] = faina_status_name(s);
        nearest = fa_other_status(names[i]);
        if (nearest && !fa_status_parse(nearest, &status))
            return fa_cli_usage(cli, "there is no status \"%.100s\"; here it is %s", names[i],
                                nearest);
        if (!nearest)
            nearest = fa_wire_nearest(names[i], known);
        if (nearest)
            return fa_cli_usage(cli, "there is no status \"%.100s\"; did you mean \"%s\"?",
                                names[i], nearest);
        return fa_cli_usage(cli, "there is no status \"%.100s\"; there are %s", names[i],
                            fa_verb_flag(cli->verb, "status")->choices);
    }
    return FA_EXIT_OK;
}

static int json_of(struct fa_cli *cli, const char *arg, const char *what, const char **out)
{
    struct fa_bytes text;
    int code = fa_input_read(cli, arg, what, &text);

    if (code == FA_EXIT_OK)
        code = fa_input_check(cli, text, what);
    if (code == FA_EXIT_OK)
        *out = text.ptr;
    return code;
}

int fa_flag_json(struct fa_cli *cli, const char *name, const char **out)
{
    const char *text = fa_flag(cli, name);

    return text ? json_of(cli, text, name, out) : FA_EXIT_OK;
}

int fa_arg_json(struct fa_cli *cli, size_t index, const char *what, const char **out)
{
    return index < cli->arg_count ? json_of(cli, cli->args[index], what, out) : FA_EXIT_OK;
}

int fa_flag_by(struct fa_cli *cli, struct faina_by *out)
{
    int code = fa_flag_int(cli, "fence", 1, INT64_MAX, &out->fence);

    if (code == FA_EXIT_OK)
        code = fa_flag_int(cli, "if-version", 1, INT64_MAX, &out->version);
    out->worker_id = fa_flag(cli, "worker");
    return code;
}
