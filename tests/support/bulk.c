/* bulk.c - see bulk.h. */
#include "support/bulk.h"

#include <stdlib.h>

enum faina_code fa_t_bulk_try(struct fa_t *t, const struct fa_bulk_request *request)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_BULK, .bulk = {request, NULL}});
}

const struct fa_bulk *fa_t_bulk_start(struct fa_t *t, const struct fa_bulk_request *request)
{
    CHECK_OK(t, fa_t_bulk_try(t, request));
    return t->op.bulk_answer;
}

int64_t fa_t_bulk_count(struct fa_t *t, const struct fa_bulk_request *request)
{
    struct fa_op op = {.kind = FA_OP_BULK_COUNT, .bulk = {request, NULL}};
    int64_t count = 0;

    do {
        CHECK_OK(t, fa_t_run(t, &op));
        count += t->op.count;
        op.bulk.cursor = t->op.next_cursor;
    } while (op.bulk.cursor != NULL);
    return count;
}

const struct fa_bulk *fa_t_bulk_get(struct fa_t *t, const char *id)
{
    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_BULK_LIST, .id = id}));
    CHECK_INT(t->op.bulks->count, 1);
    CHECK_STR(t->op.bulks->items[0].id, id);
    return &t->op.bulks->items[0];
}

static bool has_ended(struct fa_t *t, void *arg)
{
    const struct fa_bulk *bulk = fa_t_bulk_get(t, arg);

    CHECK((bulk->ended_us != 0) == (bulk->status != FA_BULK_RUNNING), "%s, ended at %lld",
          fa_bulk_status_word((int)bulk->status), (long long)bulk->ended_us);
    return bulk->status != FA_BULK_RUNNING;
}

const struct fa_bulk *fa_t_bulk_end(struct fa_t *t, const char *id)
{
    fa_t_wait_until(has_ended, t, (void *)(uintptr_t)id, "the operation doesn't end");
    return &t->op.bulks->items[0];
}

void fa_t_bulk_completes(struct fa_t *t, const struct fa_bulk *bulk, int64_t done, int64_t failed)
{
    const struct fa_bulk *end = fa_t_bulk_end(t, bulk->id);

    CHECK(end->status == FA_BULK_COMPLETED && end->done == done && end->failed == failed &&
              end->matched == done + failed,
          "%s %s: %lld matched, %lld done, %lld failed, not %lld and %lld: %s",
          fa_bulk_kind_word((int)end->kind), fa_bulk_status_word((int)end->status),
          (long long)end->matched, (long long)end->done, (long long)end->failed, (long long)done,
          (long long)failed, end->error ? end->error : "no error");
}

void fa_t_submit_many(struct fa_t *t, const char *type, int64_t count)
{
    struct faina_submit submit = {.type = type};
    struct fa_op *ops = fa_alloc_zero((size_t)count, sizeof(*ops));

    for (int64_t i = 0; i < count; i++)
        ops[i] = (struct fa_op){.kind = FA_OP_SUBMIT, .submit = &submit, .arena = &t->arena};
    for (int64_t at = 0; at < count; at += 1000)
        fa_service_run(t->svc, ops + at, (size_t)(count - at < 1000 ? count - at : 1000));
    for (int64_t i = 0; i < count; i++)
        CHECK_INT(ops[i].code, FAINA_OK);
    free(ops);
}

int64_t fa_t_count_status(struct fa_t *t, enum faina_status status)
{
    CHECK_OK(t, fa_t_stats(t, NULL));
    return t->op.stats->by_status[status];
}
