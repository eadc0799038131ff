/*
 * match.c - running a compiled match expression.
 */
#include "model/match.h"

#include "model/limits.h"
#include "model/match_inner.h"

#include <assert.h>

/* What an operand turned out to be. */
struct operand {
    enum fa_json_type type;
    struct fa_json_chars text; /* of a text, or the token of a number */
    struct fa_json json;       /* of a field: for what is inside an array */
    bool is_null_word;         /* the literal null, not a field without a value */
};

struct run {
    const struct fa_match_data *data;
    int64_t budget;
};

struct fa_bytes fa_match_source(const struct fa_match *match)
{
    return match->source;
}

/* The value of the whole text. For an object or array that is the text without the space around it:
 * to walk to its end would cost as much as the index itself. */
static struct fa_json whole_value(struct fa_bytes json)
{
    while (json.len > 0 && strchr(" \t\r\n", json.ptr[json.len - 1]))
        json.len--;
    while (json.len > 0 && strchr(" \t\r\n", *json.ptr)) {
        json.ptr++;
        json.len--;
    }
    if (json.len > 0 && *json.ptr == '{')
        return (struct fa_json){FA_JSON_OBJECT, json};
    if (json.len > 0 && *json.ptr == '[')
        return (struct fa_json){FA_JSON_ARRAY, json};
    return fa_json_value(json);
}

void fa_match_data_init(struct fa_match_data *data, struct fa_bytes json)
{
    data->root = whole_value(json);
    data->count = 0;
    data->rest = (struct fa_json_iter){0};
    if (data->root.type != FA_JSON_OBJECT)
        return;
    data->rest = fa_json_iter(data->root);
    while (data->count < FA_MATCH_INDEX_SIZE &&
           fa_json_next(&data->rest, &data->keys[data->count], &data->values[data->count])) {
        data->hashes[data->count] = fa_json_chars_hash(fa_json_chars_raw(data->keys[data->count]));
        data->count++;
    }
}

/* ------------------------------------------------------------------------------------------
 * Operands
 */

static struct operand from_json(struct fa_json json)
{
    struct operand result = {.type = json.type, .json = json};

    if (json.type == FA_JSON_STRING)
        result.text = fa_json_chars_string(json);
    else if (json.type == FA_JSON_NUMBER)
        result.text = fa_json_chars_plain(json.raw);
    return result;
}

/* The member of the data that a path begins with. */
static bool find_first(struct run *run, const struct fa_path_step *step, struct fa_json *out)
{
    const struct fa_match_data *data = run->data;
    struct fa_json_chars name = fa_json_chars_plain(step->name);
    struct fa_json_iter rest = data->rest;
    struct fa_bytes key;

    if (step->is_index || data->root.type != FA_JSON_OBJECT)
        return fa_path_step_find(step, data->root, &run->budget, out);
    for (size_t i = 0; i < data->count; i++) {
        if (data->hashes[i] == step->hash &&
            fa_json_chars_equal(fa_json_chars_raw(data->keys[i]), name)) {
            *out = data->values[i];
            return true;
        }
    }
    if (data->count < FA_MATCH_INDEX_SIZE)
        return false;
    while (run->budget > 0 && fa_json_next(&rest, &key, out)) {
        run->budget -= 1 + (int64_t)(out->raw.len / FA_PATH_BYTES_PER_STEP);
        if (fa_json_chars_equal(fa_json_chars_raw(key), name))
            return true;
    }
    return false;
}

static struct operand read_value(struct run *run, const struct fa_match_value *value)
{
    struct operand result = {.type = FA_JSON_NULL};
    struct fa_path rest;
    struct fa_json json;

    if (!value->is_field) {
        result.type = value->type;
        result.text = fa_json_chars_plain(value->text);
        result.is_null_word = value->type == FA_JSON_NULL;
        return result;
    }
    assert(value->path.count > 0);
    rest = (struct fa_path){value->path.steps + 1, value->path.count - 1};
    if (!find_first(run, value->path.steps, &json) ||
        !fa_path_find(&rest, json, &run->budget, &json))
        return result; /* missing */
    result = from_json(json);
    run->budget -= (int64_t)(result.text.bytes.len / FA_PATH_BYTES_PER_STEP);
    return result;
}

/* ------------------------------------------------------------------------------------------
 * Clauses
 */

/* Neither is null. */
static bool is_equal(const struct operand *a, const struct operand *b)
{
    if (a->type != b->type)
        return false;
    switch (a->type) {
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

/* Whether the two are of a kind that has an order, and which. */
static bool put_order(const struct operand *a, const struct operand *b, int *order)
{
    if (a->type != b->type || (a->type != FA_JSON_STRING && a->type != FA_JSON_NUMBER))
        return false;
    *order = a->type == FA_JSON_STRING ? fa_json_chars_compare(a->text, b->text)
                                       : fa_json_number_compare(a->text.bytes, b->text.bytes);
    return true;
}

/* = != < <= > >= */
static bool compare(enum fa_match_op op, const struct operand *a, const struct operand *b)
{
    int order = 0;

    if (a->type == FA_JSON_NULL || b->type == FA_JSON_NULL) {
        bool is_same = a->type == b->type;

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

static bool is_element(struct run *run, struct fa_json array, const struct operand *wanted)
{
    struct fa_json_iter it = fa_json_iter(array);
    struct fa_json item;

    while (run->budget > 0 && fa_json_next(&it, NULL, &item)) {
        struct operand element = from_json(item);

        run->budget -= 1 + (int64_t)(item.raw.len / FA_PATH_BYTES_PER_STEP);
        if (is_equal(&element, wanted))
            return true;
    }
    return false;
}

/* startsWith endsWith contains */
static bool search(struct run *run, enum fa_match_op op, const struct operand *a,
                   const struct fa_match_value *right)
{
    struct operand wanted = {.type = FA_JSON_STRING, .text = fa_json_chars_plain(right->text)};

    if (op == FA_MATCH_CONTAINS && a->type == FA_JSON_ARRAY)
        return is_element(run, a->json, &wanted);
    if (a->type != FA_JSON_STRING)
        return false;
    if (op == FA_MATCH_STARTS)
        return fa_json_chars_start_with(a->text, right->text);
    if (op == FA_MATCH_ENDS)
        return fa_json_chars_end_with(a->text, &right->needle);
    return fa_json_chars_contain(a->text, &right->needle);
}

static bool run_clause(struct run *run, const struct fa_match_clause *clause)
{
    struct operand left = read_value(run, &clause->left), right;

    switch (clause->op) {
    case FA_MATCH_STARTS:
    case FA_MATCH_ENDS:
    case FA_MATCH_CONTAINS:
        return search(run, clause->op, &left, clause->right);
    case FA_MATCH_IN:
        for (size_t i = 0; i < clause->right_count; i++) {
            right = read_value(run, &clause->right[i]);
            run->budget -= 1 + (int64_t)(left.text.bytes.len / FA_PATH_BYTES_PER_STEP);
            if (run->budget <= 0)
                return false;
            if (compare(FA_MATCH_EQ, &left, &right))
                return true;
        }
        return false;
    case FA_MATCH_EQ:
    case FA_MATCH_NE:
    case FA_MATCH_LT:
    case FA_MATCH_LE:
    case FA_MATCH_GT:
    case FA_MATCH_GE:
        break;
    }
    right = read_value(run, clause->right);
    return compare(clause->op, &left, &right);
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
    *out = verdict;
    return FAINA_OK;
}
