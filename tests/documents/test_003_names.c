/*
 * test_003_names.c - document 003: names of types and resources are CITEXT.
 *
 * They keep their spelling, and are compared without regard to the case of ASCII letters.
 */
#include "support/ops.h"

static const char *submit_with(struct fa_t *t, const char *type, const char *resource)
{
    return fa_t_submit(t, .type = type, .resources = &resource, .resource_count = 1);
}

/* "type CITEXT NOT NULL" */
static void test_003__a_type_keeps_its_spelling(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "Ingest.Container");
    const char *other = fa_t_submit(t, .type = "INGEST.container");

    CHECK_STR(fa_t_task(t, id)->type, "Ingest.Container");
    CHECK_STR(fa_t_task(t, id)->name, "Ingest.Container");
    CHECK_STR(fa_t_task(t, other)->type, "INGEST.container");
}

static void test_003__a_claim_names_a_type_in_any_spelling(struct fa_t *t)
{
    const char *const lower = "ingest.container", *const both[] = {"OTHER", "INGEST.CONTAINER"};
    const char *first = fa_t_submit(t, .type = "Ingest.Container");
    const char *second = fa_t_submit(t, .type = "ingest.container", .priority = 9);

    fa_t_submit(t, .type = "ingest.containers");
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .types = &lower, .type_count = 1, .limit = 1));
    CHECK_INT(t->op.tasks->count, 1);
    CHECK_STR(t->op.tasks->items[0].id, second); /* priority counts over all spellings */
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .types = both, .type_count = 2, .limit = 9));
    CHECK_INT(t->op.tasks->count, 1);
    CHECK_STR(t->op.tasks->items[0].id, first);
}

static void test_003__other_letters_are_different(struct fa_t *t)
{
    const char *const upper = "\xc3\x84rger"; /* a capital A with two dots */

    fa_t_submit(t, .type = "\xc3\xa4rger");
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .types = &upper, .type_count = 1, .limit = 1));
    CHECK_INT(t->op.tasks->count, 0);
}

static void test_003__filters_by_type(struct fa_t *t)
{
    fa_t_submit(t, .type = "Mail", .name = "a");
    fa_t_submit(t, .type = "mail", .name = "b");
    fa_t_submit(t, .type = "mails", .name = "c");
    CHECK_OK(t, fa_t_list(t, .type = "MAIL"));
    CHECK_STR(fa_t_names(t, t->op.tasks), "b a");
    CHECK_OK(t, fa_t_list(t, .ns = "*", .type = "mAIL"));
    CHECK_STR(fa_t_names(t, t->op.tasks), "b a");
}

/* The scope of a key is namespace and type. */
static void test_003__keys_by_type(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "Mail", .idempotency_key = "k");

    CHECK_STR(fa_t_submit(t, .type = "mAIL", .idempotency_key = "k"), id);
    CHECK_TRUE(t->op.existing);
    CHECK_OK(t, fa_t_get_by_key(t, NULL, "mail", "k"));
    CHECK_STR(t->task->id, id);
    CHECK_STR(t->task->type, "Mail");
    CHECK_OK(t, fa_t_list(t, .type = "MAIL", .idempotency_key = "k"));
    CHECK_INT(t->op.tasks->count, 1);
    CHECK_CODE(t, fa_t_get_by_key(t, NULL, "mail", "K"), FAINA_TASK_NOT_FOUND); /* keys are exact */
    id = fa_t_submit(t, .type = "Mail", .input = "{\"a\":1}", .dedupe_input = true);
    CHECK_STR(fa_t_submit(t, .type = "mail", .input = "{\"a\":1}", .dedupe_input = true), id);
    fa_t_finish_task(t, id);
    CHECK_OK(t, fa_t_delete(t, id));
    fa_t_submit(t, .type = "MAIL", .input = "{\"a\":1}", .dedupe_input = true);
    CHECK_TRUE(!t->op.existing);
}

static void test_003__pauses_by_type(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "Mail");

    CHECK_OK(t, fa_t_pause(t, NULL, "mAIL"));
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 1));
    CHECK_INT(t->op.tasks->count, 0);
    CHECK_OK(t, fa_t_explain(t, id));
    CHECK_TRUE(strstr(t->op.explanation->summary, "paused") != NULL);
    CHECK_OK(t, fa_t_resume(t, NULL, "MAIL"));
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 1));
    CHECK_INT(t->op.tasks->count, 1);
}

static void test_003__counts_by_type(struct fa_t *t)
{
    fa_t_submit(t, .type = "Mail");
    fa_t_submit(t, .type = "mail");
    fa_t_submit(t, .type = "mail2");
    CHECK_OK(t, fa_t_pause(t, NULL, "MAIL"));
    CHECK_OK(t, fa_t_stats(t, NULL));
    CHECK_INT(t->op.stats->count, 2);
    for (size_t i = 0; i < 2; i++) {
        bool is_mail = strcmp(t->op.stats->types[i].type, "mail2") != 0;

        CHECK_INT(t->op.stats->types[i].by_status[FAINA_PENDING], is_mail ? 2 : 1);
        CHECK_INT(t->op.stats->types[i].is_paused, is_mail);
    }
}

/* "name CITEXT NOT NULL UNIQUE" */
static void test_003__a_resource_has_one_limit_for_all_spellings(struct fa_t *t)
{
    const char *first = submit_with(t, "enrichment", "Ollama");
    const char *second = submit_with(t, "enrichment", "ollama");

    CHECK_STR(fa_t_task(t, first)->resources[0], "Ollama");
    CHECK_STR(fa_t_task(t, second)->resources[0], "ollama");
    CHECK_OK(t, fa_t_resource_set(t, "OLLAMA", 1));
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 9));
    CHECK_INT(t->op.tasks->count, 1);
    CHECK_INT(fa_t_in_use(t, "Ollama"), 1);
    CHECK_OK(t, fa_t_resource_list(t, "oLLAMA"));
    CHECK_INT(t->op.resources->items[0].max_concurrency, 1);
    CHECK_OK(t, fa_t_resource_list(t, NULL));
    CHECK_INT(t->op.resources->count, 1);
    CHECK_OK(t, fa_t_complete(t, first, BY("w"), NULL));
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 9));
    CHECK_INT(t->op.tasks->count, 1);
    CHECK_STR(t->op.tasks->items[0].id, second);
    CHECK_OK(t, fa_t_resource_remove(t, "ollaMA"));
    CHECK_CODE(t, fa_t_resource_remove(t, "ollama"), FAINA_NOT_FOUND);
}

static void test_003__a_task_names_a_resource_once(struct fa_t *t)
{
    const char *const names[] = {"GPU", "Disk", "gpu", "disk"};
    const char *id = fa_t_submit(t, .type = "x", .resources = names, .resource_count = 4);

    CHECK_OK(t, fa_t_resource_set(t, "gpu", 1));
    CHECK_INT(fa_t_task(t, id)->resource_count, 2);
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_INT(fa_t_in_use(t, "GPU"), 1);
}

/* "the claiming node passes its set of available services" */
static void test_003__services_in_any_spelling(struct fa_t *t)
{
    const char *const other = "disk", *const service = "oLLama";

    submit_with(t, "enrichment", "Ollama");
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 1, .services = &other,
                                .service_count = 1));
    CHECK_INT(t->op.tasks->count, 0);
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 1, .services = &service,
                                .service_count = 1));
    CHECK_INT(t->op.tasks->count, 1);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE(test_003__a_type_keeps_its_spelling),
        FA_T_CASE(test_003__a_claim_names_a_type_in_any_spelling),
        FA_T_CASE(test_003__other_letters_are_different),
        FA_T_CASE(test_003__filters_by_type),
        FA_T_CASE(test_003__keys_by_type),
        FA_T_CASE(test_003__pauses_by_type),
        FA_T_CASE(test_003__counts_by_type),
        FA_T_CASE(test_003__a_resource_has_one_limit_for_all_spellings),
        FA_T_CASE(test_003__a_task_names_a_resource_once),
        FA_T_CASE(test_003__services_in_any_spelling),
    };

    return fa_t_main(argc, argv, "003_names", cases, FA_COUNT(cases));
}
