/*
 * test_settings.c - settings of the whole store.
 */
#include "support/ops.h"

static enum faina_code set_redact(struct fa_t *t, const char *const *paths, size_t count)
{
    struct fa_op op = {.kind = FA_OP_SETTINGS_SET};

    op.settings.redact = (struct fa_texts){paths, count};
    return fa_t_run(t, &op);
}

static const struct fa_texts *get_redact(struct fa_t *t)
{
    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_SETTINGS_GET}));
    return &t->op.settings_answer->redact;
}

static void test_settings__paths_are_kept(struct fa_t *t)
{
    static const char *const paths[] = {"password", "*.secret"}, *const bad[] = {"a", "b."};

    CHECK_INT(get_redact(t)->count, 0);
    CHECK_OK(t, set_redact(t, paths, 2));
    CHECK_INT(t->op.settings_answer->redact.count, 2);
    CHECK_CODE(t, set_redact(t, bad, 2), FAINA_INVALID_REQUEST);
    CHECK_STR(t->op.error.field, "redact");
    CHECK_INT(get_redact(t)->count, 2);
    CHECK_STR(get_redact(t)->items[1], "*.secret");
    CHECK_OK(t, set_redact(t, NULL, 0));
    CHECK_INT(get_redact(t)->count, 0);
}

static void test_settings__other_engines_refuse_them(struct fa_t *t)
{
    if (t->is_sql)
        return;
    CHECK_CODE(t, set_redact(t, NULL, 0), FAINA_NOT_SUPPORTED);
    CHECK_CODE(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_SETTINGS_GET}), FAINA_NOT_SUPPORTED);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE_SQL(test_settings__paths_are_kept),
        FA_T_CASE(test_settings__other_engines_refuse_them),
    };

    return fa_t_main(argc, argv, "settings", cases, FA_COUNT(cases));
}
