/*
 * match.c - running a compiled match expression.
 */
#include "model/match.h"

#include "model/limits.h"
#include "model/match_inner.h"

#include <assert.h>

struct run {
    const struct fa_match_data *data;
    int64_t budget;
};

struct fa_bytes fa_match_source(const struct fa_match *match)
{
    return match->source;
}

/* Sets the text of an operand. Member by member: copying a struct that was just written in smaller
 * parts stalls the processor. */
static void set_text(const struct fa_match_data *data, struct fa_match_operand *operand)
{
    bool is_string = operand->value.type == FA_JSON_STRING;
    bool has_text = is_string || operand->value.type == FA_JSON_NUMBER;

    operand->text.bytes.ptr = operand->value.raw.ptr + is_string;
    operand->text.bytes.len = has_text ? operand->value.raw.len - 2 * (size_t)is_string : 0;
    operand->text.has_escapes =
        is_string && data->has_escapes && fa_json_chars_raw(operand->text.bytes).has_escapes;
    operand->is_null_word = false;
}

void fa_match_data_init(struct fa_match_data *data, struct fa_bytes json)
{
    data->root = fa_json_value(json);
    data->count = 0;
    data->rest = (struct fa_json_iter){0};
    data->has_escapes = json.len > 0 && memchr(json.ptr, '\\', json.len) != NULL;
    if (data->root.type != FA_JSON_OBJECT)
        return;
    data->rest = fa_json_iter(data->root);
    while (data->count < FA_MATCH_INDEX_SIZE) {
        struct fa_match_member *member = &data->members[data->count];

        if (!fa_json_next(&data->rest, &member->key.bytes, &member->operand.value))
            break;
        member->key.has_escapes =
            data->has_escapes && fa_json_chars_raw(member->key.bytes).has_escapes;
        set_text(data, &member->operand);
        data->count++;
    }
}

/* ------------------------------------------------------------------------------------------
 * Operands
 */

static const struct fa_match_operand missing = {.value = {.type = FA_JSON_NULL}};

static bool is_named(const struct fa_json_chars *key, const struct fa_bytes *name)
{
    if (key->has_escapes)
        return fa_json_chars_equal(*key, fa_json_chars_plain(*name));
    return key->bytes.len == name->len &&
           (name->len == 0 ||
            (*key->bytes.ptr == *name->ptr && memcmp(key->bytes.ptr, name->ptr, name->len) == 0));
}

/* The member of the data that a path begins with, or NULL when it isn't among the indexed ones. */
static const struct fa_match_operand *find_indexed(const struct fa_match_data *data,
                                                   const struct fa_path_step *step)
{
    if (step->is_index)
        return NULL;
    for (size_t i = 0; i < data->count; i++)
        if (is_named(&data->members[i].key, &step->name))
            return &data->members[i].operand;
    return NULL;
}

/* The same among the members that are not indexed. */
static bool find_unindexed(struct run *run, const struct fa_path_step *step, struct fa_json *out)
{
    const struct fa_match_data *data = run->data;
    struct fa_json_chars name = fa_json_chars_plain(step->name);
    struct fa_json_iter rest = data->rest;
    struct fa_bytes key;

    if (step->is_index || data->root.type != FA_JSON_OBJECT)
        return fa_path_step_find(step, data->root, &run->budget, out);
    if (data->count < FA_MATCH_INDEX_SIZE)
        return false;
    while (run->budget > 0 && fa_json_next(&rest, &key, out)) {
        run->budget -= 1 + (int64_t)(out->raw.len / FA_PATH_BYTES_PER_STEP);
        if (fa_json_chars_equal(fa_json_chars_raw(key), name))
            return true;
    }
    return false;
}

static const struct fa_match_operand *find_field(struct run *run, const struct fa_path *path,
                                                 struct fa_match_operand *scratch)
{
    const struct fa_match_operand *found;
    struct fa_path rest;

    assert(path->count > 0);
    found = find_indexed(run->data, path->steps);
    if (found && path->count == 1)
        return found;
    rest = (struct fa_path){path->steps + 1, path->count - 1};
    if (found)
        scratch->value = found->value;
    else if (!find_unindexed(run, path->steps, &scratch->value))
        return &missing;
    if (!fa_path_find(&rest, scratch->value, &run->budget, &scratch->value))
        return &missing;
    set_text(run->data, scratch);
    return scratch;
}

const struct fa_match_operand *fa_match_find(const struct fa_match_data *data,
                                             const struct fa_path *path,
                                             struct fa_match_operand *scratch)
{
    struct run run = {data, INT64_MAX};

    return find_field(&run, path, scratch);
}

bool fa_match_data_find(const struct fa_match_data *data, const struct fa_path *path,
                        int64_t *budget, struct fa_json *out)
{
    struct run run = {data, *budget};
    struct fa_match_operand scratch;
    const struct fa_match_operand *found;

    *out = data->root;
    if (path->count == 0)
        return true;
    found = find_field(&run, path, &scratch);
    *budget = run.budget - 1;
    *out = found->value;
    return found != &missing && *budget > 0;
}

/* The value, in place or in `scratch`. */
static const struct fa_match_operand *read_value(struct run *run,
                                                 const struct fa_match_value *value,
                                                 struct fa_match_operand *scratch)
{
    const struct fa_match_operand *found;

    if (!value->is_field)
        return &value->operand;
    found = find_field(run, &value->path, scratch);
    run->budget -= (int64_t)(found->text.bytes.len / FA_PATH_BYTES_PER_STEP);
    return found;
}

/* ------------------------------------------------------------------------------------------
 * Clauses
 */

/* Null equals nothing. */
static bool is_equal(const struct fa_match_operand *a, const struct fa_match_operand *b)
{
    if (a->value.type != b->value.type)
        return false;
    switch (a->value.type) {
    case FA_JSON_STRING:
        return fa_json_chars_equal(a->text, b->text);
    case FA_JSON_NUMBER:
        return fa_json_number_compare(a->text.bytes, b->text.bytes) == 0;
    case FA_JSON_TRUE:
    case FA_JSON_FALSE:
        return true;
    case FA_JSON_NULL:
    case FA_JSON_ARRAY:
    case FA_JSON_OBJECT:
        break;
    }
    return false;
}

/* Their order. False: values of these types have none. */
static bool put_order(const struct fa_match_operand *a, const struct fa_match_operand *b,
                      int *order)
{
    enum fa_json_type type = a->value.type;

    if (type != b->value.type || (type != FA_JSON_STRING && type != FA_JSON_NUMBER))
        return false;
    *order = type == FA_JSON_STRING ? fa_json_chars_compare(a->text, b->text)
                                    : fa_json_number_compare(a->text.bytes, b->text.bytes);
    return true;
}

/* = != < <= > >= */
static bool compare(enum fa_match_op op, const struct fa_match_operand *a,
                    const struct fa_match_operand *b)
{
    int order = 0;

    if (a->value.type == FA_JSON_NULL || b->value.type == FA_JSON_NULL) {
        bool is_same = a->value.type == b->value.type;

        if (!a->is_null_word && !b->is_null_word)
            return false;
        return op == FA_MATCH_EQ ? is_same : op == FA_MATCH_NE && !is_same;
    }
    if (op == FA_MATCH_EQ || op == FA_MATCH_NE)
        return is_equal(a, b) == (op == FA_MATCH_EQ);
    if (!put_order(a, b, &order))
        return false;
    switch (op) {
    case FA_MATCH_LT:
        return order < 0;
    case FA_MATCH_LE:
        return order <= 0;
    case FA_MATCH_GT:
        return order > 0;
    default:
        return order >= 0;
    }
}

static bool is_element(struct run *run, struct fa_json array, const struct fa_match_operand *wanted)
{
    struct fa_json_iter it = fa_json_iter(array);
    struct fa_match_operand element;

    while (run->budget > 0 && fa_json_next(&it, NULL, &element.value)) {
        set_text(run->data, &element);
        run->budget -= 1 + (int64_t)(element.value.raw.len / FA_PATH_BYTES_PER_STEP);
        if (is_equal(&element, wanted))
            return true;
    }
    return false;
}

/* startsWith endsWith contains */
static bool search(struct run *run, enum fa_match_op op, const struct fa_match_operand *a,
                   const struct fa_match_value *right)
{
    if (op == FA_MATCH_CONTAINS && a->value.type == FA_JSON_ARRAY)
        return is_element(run, a->value, &right->operand);
    if (a->value.type != FA_JSON_STRING)
        return false;
    if (op == FA_MATCH_STARTS)
        return fa_json_chars_start_with(a->text, right->operand.text.bytes);
    if (op == FA_MATCH_ENDS)
        return fa_json_chars_end_with(a->text, &right->needle);
    return fa_json_chars_contain(a->text, &right->needle);
}

static bool run_in(struct run *run, const struct fa_match_clause *clause,
                   const struct fa_match_operand *left)
{
    for (size_t i = 0; i < clause->right_count; i++) {
        run->budget -= 1 + (int64_t)(left->text.bytes.len / FA_PATH_BYTES_PER_STEP);
        if (run->budget <= 0)
            return false;
        if (is_equal(left, &clause->right[i].operand)) /* null is in no list */
            return true;
    }
    return false;
}

static bool run_clause(struct run *run, const struct fa_match_clause *clause)
{
    struct fa_match_operand room[2];
    const struct fa_match_operand *left = read_value(run, &clause->left, &room[0]);

    if (clause->op < FA_MATCH_STARTS)
        return compare(clause->op, left, read_value(run, clause->right, &room[1]));
    if (clause->op == FA_MATCH_IN)
        return run_in(run, clause, left);
    return search(run, clause->op, left, clause->right);
}

enum faina_code fa_match_run(const struct fa_match *match, const struct fa_match_data *data,
                             struct fa_match_verdict *out, struct faina_error *err)
{
    struct run run = {data, FA_MATCH_STEPS_MAX};
    struct fa_match_verdict verdict = {0};
    uint16_t at = 0;

    while (at < FA_MATCH_NO) {
        const struct fa_match_clause *clause = &match->clauses[at];

        assert(at < match->count);
        verdict.clause_holds = run_clause(&run, clause);
        if (--run.budget <= 0)
            return fa_error_field(err, FAINA_PAYLOAD_TOO_LARGE, "match",
                                  "match takes more than %d steps on this data",
                                  FA_MATCH_STEPS_MAX);
        verdict.from = clause->from;
        verdict.to = clause->to;
        at = verdict.clause_holds ? clause->if_true : clause->if_false;
    }
    verdict.is_match = at == FA_MATCH_YES;
    verdict.steps = FA_MATCH_STEPS_MAX - run.budget;
    *out = verdict;
    return FAINA_OK;
}
