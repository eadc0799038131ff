/*
 * test_verbs.c - the table of verbs keeps the promises that parsing, help and completions rest on.
 */
#include "unit/base/unit.h"

#include "cli/verbs.h"

#include <ctype.h>

/* Calls `check` for each flag of each verb; the common ones come with every verb. */
static void each_flag(void (*check)(const struct fa_verb *verb, const struct fa_flag *flag))
{
    for (size_t i = 0; i < fa_verb_count; i++) {
        for (const struct fa_flag *f = fa_verbs[i].flags; f && f->name; f++)
            check(&fa_verbs[i], f);
        for (const struct fa_flag *f = fa_common_flags; f->name; f++)
            check(&fa_verbs[i], f);
    }
}

/* Whether a flag takes a value must not depend on the verb: it may come before it. */
static void same_shape_everywhere(const struct fa_verb *verb, const struct fa_flag *flag)
{
    for (size_t i = 0; i < fa_verb_count; i++) {
        const struct fa_flag *by_name = fa_verb_flag(&fa_verbs[i], flag->name);
        const struct fa_flag *by_letter =
            flag->letter ? fa_verb_letter(&fa_verbs[i], flag->letter) : NULL;

        if (by_name)
            check_true(flag->name, !by_name->value == !flag->value);
        if (by_name)
            check_int(flag->name, by_name->is_optional, flag->is_optional);
        if (by_letter)
            check_true(flag->name, !by_letter->value == !flag->value);
    }
}

static void test_verbs__a_flag_has_one_shape(void **state)
{
    each_flag(same_shape_everywhere);
}

static void found_as_itself(const struct fa_verb *verb, const struct fa_flag *flag)
{
    check_true(flag->name, fa_verb_flag(verb, flag->name) == flag);
    if (flag->letter)
        check_true(flag->name, fa_verb_letter(verb, flag->letter) == flag);
}

static void test_verbs__names_and_letters_are_unique(void **state)
{
    each_flag(found_as_itself);
    for (size_t i = 0; i < fa_verb_count; i++)
        check_true(fa_verbs[i].name, fa_verb_find(fa_verbs[i].name) == &fa_verbs[i]);
}

static void reads_well(const struct fa_verb *verb, const struct fa_flag *flag)
{
    size_t len = strlen(flag->help);

    check_true(flag->name, len > 0 && flag->help[len - 1] != '.');
    check_true(flag->name, !isupper((unsigned char)flag->help[0]));
    for (const char *at = flag->name; *at; at++)
        check_true(flag->name, islower((unsigned char)*at) || *at == '-');
}

static void test_verbs__help_is_in_one_style(void **state)
{
    each_flag(reads_well);
    for (size_t i = 0; i < fa_verb_count; i++) {
        const struct fa_verb *verb = &fa_verbs[i];

        /* help.c makes the first letter a capital and adds the full stop. */
        check_true(verb->name, islower((unsigned char)verb->help[0]));
        check_true(verb->name, verb->help[strlen(verb->help) - 1] != '.');
        /* A paragraph that begins with a dash is a list in the manual page. */
        check_true(verb->name, !verb->details || verb->details[0] != '-');
        check_true(verb->name, verb->run != NULL);
        check_true(verb->name, verb->arg_max < 0 || verb->arg_min <= verb->arg_max);
    }
}

/* The name of a value determines what completes it. */
static void names_what_it_takes(const struct fa_verb *verb, const struct fa_flag *flag)
{
    static const char *const names[FA_TAKES_COUNT] = {
        [FA_TAKES_FILE] = "FILE",
        [FA_TAKES_FOLDER] = "DIR",
        [FA_TAKES_JSON] = "JSON",
        [FA_TAKES_URL] = "URL",
    };

    for (enum fa_takes takes = FA_TAKES_FILE; takes <= FA_TAKES_URL; takes++)
        check_true(flag->name,
                   (flag->takes == takes) == (flag->value && !strcmp(flag->value, names[takes])));
}

static void test_verbs__what_takes_a_file_says_so(void **state)
{
    each_flag(names_what_it_takes);
    for (size_t i = 0; i < fa_verb_count; i++)
        check_true(fa_verbs[i].name,
                   !strstr(fa_verbs[i].arguments, "FILE") || fa_verbs[i].takes != FA_TAKES_TEXT);
}

static void test_verbs__nouns(void **state)
{
    check_true("resource", fa_verb_is_noun("resource"));
    check_true("res", !fa_verb_is_noun("res"));
    check_true("submit", !fa_verb_is_noun("submit"));
    check_true("worker", fa_verb_is_noun("worker") && fa_verb_find("worker") != NULL);
    check_true("a noun alone is no verb", fa_verb_find("resource") == NULL);
    /* Verbs of one noun are adjacent: the completions rely on it. */
    for (size_t i = 1; i < fa_verb_count; i++) {
        size_t len = strcspn(fa_verbs[i].name, " ");
        bool is_first = strncmp(fa_verbs[i - 1].name, fa_verbs[i].name, len) != 0;

        for (size_t j = 0; fa_verbs[i].name[len] == ' ' && is_first && j < i; j++)
            check_true(fa_verbs[i].name, strncmp(fa_verbs[j].name, fa_verbs[i].name, len + 1) != 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verbs__a_flag_has_one_shape),
        cmocka_unit_test(test_verbs__names_and_letters_are_unique),
        cmocka_unit_test(test_verbs__help_is_in_one_style),
        cmocka_unit_test(test_verbs__what_takes_a_file_says_so),
        cmocka_unit_test(test_verbs__nouns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
