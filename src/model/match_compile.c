/*
 * match_compile.c - from the text of a match expression to its program.
 *
 * A lexer with one token of look-ahead, a recursive descent parser that makes a tree of AND, OR and
 * NOT over numbered clauses, and a walk over that tree that sets the successors of each clause.
 * Chains of AND and OR are lists, so the depth is that of the nesting in the source.
 */
#include "base/source_position.h"
#include "base/utf8.h"
#include "model/limits.h"
#include "model/match_inner.h"

#include <assert.h>
#include <strings.h>

enum token {
    END,
    PATH,
    TEXT,
    NUMBER,
    TRUE,
    FALSE,
    NULL_WORD,
    OPERATOR, /* `op` has which one */
    AND,
    OR,
    NOT,
    OPEN,
    CLOSE,
    COMMA,
};

enum node_kind { CLAUSE, ALL, ANY, NONE };

struct node {
    enum node_kind kind;
    size_t first; /* the first clause below it */
    struct node *children, *next;
};

struct parser {
    struct fa_bytes source; /* a copy */
    struct fa_arena *arena;
    struct faina_error *err;

    size_t at; /* behind the present token */
    enum token token;
    size_t from, to, last_to; /* the present token, and the end of the one before */
    enum fa_match_op op;
    struct fa_path path;
    struct fa_bytes text;

    struct fa_match_clause *clauses;
    size_t count, size;
    unsigned depth;
    bool is_refused;
};

/* ------------------------------------------------------------------------------------------
 * Refusals
 */

static bool refuse_at(struct parser *p, size_t offset, const char *why)
{
    struct fa_source_position position = fa_source_position_find(p->source, offset);

    if (p->is_refused)
        return false;
    p->is_refused = true;
    fa_error_field(p->err, FAINA_INVALID_REQUEST, "match", "match: %s at line %d, column %d", why,
                   position.line, position.column);
    fa_error_position(p->err, position.line, position.column);
    return false;
}

/* Something else was expected than the bytes from `from` to `to`. */
static bool refuse_found(struct parser *p, const char *expected, size_t from, size_t to)
{
    struct fa_bytes found = {p->source.ptr + from, to - from};
    char shown[FA_SNIPPET_SIZE];

    if (from == p->source.len)
        return refuse_at(
            p, from, fa_arena_printf(p->arena, "expected %s, found the end of the text", expected));
    return refuse_at(
        p, from,
        fa_arena_printf(p->arena, "expected %s, found %s", expected, fa_snippet(found, shown)));
}

static bool refuse_token(struct parser *p, const char *expected)
{
    return refuse_found(p, expected, p->from, p->to);
}

/* ------------------------------------------------------------------------------------------
 * The lexer
 */

static const struct {
    const char *text;
    enum token token;
    enum fa_match_op op;
} words[] = {
    {"and", AND, 0},
    {"or", OR, 0},
    {"not", NOT, 0},
    {"true", TRUE, 0},
    {"false", FALSE, 0},
    {"null", NULL_WORD, 0},
    {"in", OPERATOR, FA_MATCH_IN},
    {"startsWith", OPERATOR, FA_MATCH_STARTS},
    {"endsWith", OPERATOR, FA_MATCH_ENDS},
    {"contains", OPERATOR, FA_MATCH_CONTAINS},
};

/* Longer ones first. */
static const struct {
    const char *text;
    enum token token;
    enum fa_match_op op;
} signs[] = {
    {"!=", OPERATOR, FA_MATCH_NE},
    {"<=", OPERATOR, FA_MATCH_LE},
    {">=", OPERATOR, FA_MATCH_GE},
    {"=", OPERATOR, FA_MATCH_EQ},
    {"<", OPERATOR, FA_MATCH_LT},
    {">", OPERATOR, FA_MATCH_GT},
    {"(", OPEN, 0},
    {")", CLOSE, 0},
    {",", COMMA, 0},
};

static char byte_at(const struct parser *p, size_t at)
{
    return at < p->source.len ? p->source.ptr[at] : '\0';
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_space(struct parser *p)
{
    while (is_space(byte_at(p, p->at)) || byte_at(p, p->at) == '#') {
        if (byte_at(p, p->at) == '#')
            while (p->at < p->source.len && byte_at(p, p->at) != '\n')
                p->at++;
        else
            p->at++;
    }
}

/* The end of what looks like one word, for messages. */
static size_t word_end(const struct parser *p, size_t at)
{
    size_t end = at;

    while (end < p->source.len && !is_space(p->source.ptr[end]) &&
           !strchr("()',=<>!#", p->source.ptr[end]))
        end++;
    if (end == at && end < p->source.len) /* a sign: its whole character */
        for (end++; ((unsigned char)byte_at(p, end) & 0xc0) == 0x80;)
            end++;
    return end;
}

static bool lex_text(struct parser *p)
{
    if (!fa_quoted_read(p->source, &p->at, p->arena, &p->text))
        return refuse_at(p, p->from, "the text that begins with this quote has no closing quote");
    p->token = TEXT;
    return true;
}

static bool lex_number(struct parser *p)
{
    struct fa_bytes rest = {p->source.ptr + p->at, p->source.len - p->at};
    size_t len = fa_json_number_length(rest), end = word_end(p, p->at + (len ? len : 1));

    /* "1.", "01", "5kB": the rest belongs neither to a number nor to another token. */
    if (len == 0 || (p->at + len < p->source.len && end > p->at + len && !is_space(rest.ptr[len]) &&
                     !strchr("()',=<>!#", rest.ptr[len])))
        return refuse_found(p, "a number such as 10, -2.5 or 1e6", p->at, end);
    p->token = NUMBER;
    p->text = (struct fa_bytes){rest.ptr, len};
    p->at += len;
    return true;
}

/* A path; or a word of the language, when it is a single plain name. */
static bool lex_path(struct parser *p)
{
    struct fa_path_mistake mistake;

    if (!fa_path_read(p->source, &p->at, p->arena, &p->path, &mistake))
        return refuse_found(p, mistake.expected, mistake.offset, word_end(p, mistake.offset));
    p->token = PATH;
    for (size_t i = 0; i < FA_COUNT(words); i++) {
        size_t len = strlen(words[i].text);

        if (p->at - p->from == len &&
            strncasecmp(p->source.ptr + p->from, words[i].text, len) == 0) {
            p->token = words[i].token;
            p->op = words[i].op;
        }
    }
    return true;
}

static bool lex_sign(struct parser *p)
{
    for (size_t i = 0; i < FA_COUNT(signs); i++) {
        size_t len = strlen(signs[i].text);

        if (p->source.len - p->at >= len &&
            memcmp(p->source.ptr + p->at, signs[i].text, len) == 0) {
            p->token = signs[i].token;
            p->op = signs[i].op;
            p->at += len;
            return true;
        }
    }
    if (byte_at(p, p->at) == '"')
        return refuse_at(p, p->at, "text is written in single quotes ('), not in double ones,");
    return refuse_found(p, "a field, a value or an operator", p->at, word_end(p, p->at));
}

static bool advance(struct parser *p)
{
    bool is_fine;
    char c;

    p->last_to = p->to;
    skip_space(p);
    p->from = p->at;
    c = byte_at(p, p->at);
    if (p->at == p->source.len) {
        p->token = END;
        is_fine = true;
    } else if (c == '\'') {
        is_fine = lex_text(p);
    } else if (c == '-' || (c >= '0' && c <= '9')) {
        is_fine = lex_number(p);
    } else if (fa_path_is_start(c)) {
        is_fine = lex_path(p);
    } else {
        is_fine = lex_sign(p);
    }
    p->to = p->at;
    return is_fine;
}

/* ------------------------------------------------------------------------------------------
 * The parser
 */

static bool parse_any(struct parser *p, struct node **out);

/* For a word of the language the message adds how to write a field of that name. */
static bool refuse_operand(struct parser *p, const char *expected)
{
    if (p->token == OPERATOR && fa_path_is_start(byte_at(p, p->from)))
        expected = fa_arena_printf(p->arena, "%s (a field of this name is written ['%.*s'])",
                                   expected, (int)(p->to - p->from), p->source.ptr + p->from);
    return refuse_token(p, expected);
}

static bool parse_literal(struct parser *p, struct fa_match_value *out, const char *expected)
{
    static const enum fa_json_type types[] = {
        [TEXT] = FA_JSON_STRING, [NUMBER] = FA_JSON_NUMBER,  [TRUE] = FA_JSON_TRUE,
        [FALSE] = FA_JSON_FALSE, [NULL_WORD] = FA_JSON_NULL,
    };

    if (p->token < TEXT || p->token > NULL_WORD)
        return refuse_operand(p, expected);
    *out = (struct fa_match_value){
        .operand = {.value = {.type = types[p->token]}, .is_null_word = p->token == NULL_WORD}};
    if (p->token == TEXT || p->token == NUMBER)
        out->operand.text = fa_json_chars_plain(p->text);
    return advance(p);
}

static bool parse_value(struct parser *p, struct fa_match_value *out, const char *expected)
{
    if (p->token != PATH)
        return parse_literal(p, out, expected);
    *out = (struct fa_match_value){.is_field = true, .path = p->path};
    return advance(p);
}

static bool parse_list(struct parser *p, struct fa_match_clause *clause)
{
    struct fa_match_value *items = NULL;
    size_t size = 0;

    if (p->token != OPEN)
        return refuse_token(p, "( and a list of values after in");
    do {
        if (!advance(p))
            return false;
        items = fa_arena_grow(p->arena, items, clause->right_count, &size, sizeof(*items));
        if (!parse_literal(p, &items[clause->right_count], "a value of the list"))
            return false;
        clause->right_count++;
    } while (p->token == COMMA);
    clause->right = items;
    if (p->token != CLOSE)
        return refuse_token(p, ", or ) in the list");
    return advance(p);
}

static bool parse_right(struct parser *p, struct fa_match_clause *clause)
{
    struct fa_match_value *right = fa_arena_zero(p->arena, 1, sizeof(*right));
    bool is_search = clause->op >= FA_MATCH_STARTS && clause->op <= FA_MATCH_CONTAINS;
    struct fa_bytes text;

    if (clause->op == FA_MATCH_IN)
        return parse_list(p, clause);
    clause->right = right;
    clause->right_count = 1;
    if (!is_search)
        return parse_value(p, right, "a field or a value");
    if (p->token != TEXT)
        return refuse_token(p, "a text in single quotes");
    if (!parse_literal(p, right, ""))
        return false;
    text = right->operand.text.bytes;
    right->needle =
        fa_needle_init(text, fa_arena_take(p->arena, (text.len + 1) * sizeof(uint16_t)));
    return true;
}

static struct node *add_node(struct parser *p, enum node_kind kind, size_t first,
                             struct node *children)
{
    struct node *node = fa_arena_zero(p->arena, 1, sizeof(*node));

    *node = (struct node){.kind = kind, .first = first, .children = children};
    return node;
}

static bool parse_clause(struct parser *p, struct node **out)
{
    struct fa_match_clause clause = {.from = (uint32_t)p->from};
    bool is_field = p->token == PATH;

    if (!parse_value(p, &clause.left, "a field, a value, NOT or ("))
        return false;
    if (p->token != OPERATOR)
        return refuse_token(p, "one of = != < <= > >= in startsWith endsWith contains");
    clause.op = p->op;
    if (!is_field && clause.op >= FA_MATCH_STARTS)
        return refuse_at(p, clause.from, "a field is expected before this operator");
    if (!advance(p) || !parse_right(p, &clause))
        return false;
    clause.to = (uint32_t)p->last_to;
    p->clauses = fa_arena_grow(p->arena, p->clauses, p->count, &p->size, sizeof(*p->clauses));
    p->clauses[p->count] = clause;
    *out = add_node(p, CLAUSE, p->count++, NULL);
    return true;
}

static bool parse_nested(struct parser *p, struct node **out)
{
    size_t opened = p->from;

    if (!advance(p) || !parse_any(p, out))
        return false;
    if (p->token != CLOSE) {
        struct fa_source_position position = fa_source_position_find(p->source, opened);

        return refuse_token(
            p, fa_arena_printf(p->arena, "AND, OR or ) for the ( in column %d", position.column));
    }
    return advance(p);
}

static bool parse_one(struct parser *p, struct node **out)
{
    struct node *child;
    bool is_not = p->token == NOT, is_fine;

    if (!is_not && p->token != OPEN)
        return parse_clause(p, out);
    if (p->depth == FA_MATCH_DEPTH_MAX)
        return refuse_at(
            p, p->from,
            fa_arena_printf(p->arena, "nested deeper than %d levels", FA_MATCH_DEPTH_MAX));
    p->depth++;
    if (is_not) {
        is_fine = advance(p) && parse_one(p, &child);
        if (is_fine)
            *out = add_node(p, NONE, child->first, child);
    } else {
        is_fine = parse_nested(p, out);
    }
    p->depth--;
    return is_fine;
}

/* A chain: one { `joint` one }. */
static bool parse_chain(struct parser *p, enum token joint, enum node_kind kind,
                        bool (*parse)(struct parser *p, struct node **out), struct node **out)
{
    struct node *first, *last;

    if (!parse(p, &first))
        return false;
    *out = first;
    if (p->token != joint)
        return true;
    /* `next` of a child belongs to its parent's list, so a nested chain needs its own node. */
    *out = add_node(p, kind, first->first, first);
    for (last = first; p->token == joint; last = last->next)
        if (!advance(p) || !parse(p, &last->next))
            return false;
    return true;
}

static bool parse_all(struct parser *p, struct node **out)
{
    return parse_chain(p, AND, ALL, parse_one, out);
}

static bool parse_any(struct parser *p, struct node **out)
{
    return parse_chain(p, OR, ANY, parse_all, out);
}

/* ------------------------------------------------------------------------------------------
 * The program
 */

/* Sets the successors of the clauses below `node`. */
static void link_clauses(struct parser *p, const struct node *node, uint16_t if_true,
                         uint16_t if_false)
{
    switch (node->kind) {
    case CLAUSE:
        p->clauses[node->first].if_true = if_true;
        p->clauses[node->first].if_false = if_false;
        break;
    case NONE:
        link_clauses(p, node->children, if_false, if_true);
        break;
    case ALL:
    case ANY:
        for (const struct node *child = node->children; child; child = child->next) {
            uint16_t next = child->next ? (uint16_t)child->next->first : 0;
            bool is_all = node->kind == ALL;

            link_clauses(p, child, child->next && is_all ? next : if_true,
                         child->next && !is_all ? next : if_false);
        }
        break;
    }
}

/* ------------------------------------------------------------------------------------------
 * Needs
 */

struct needs {
    struct fa_match_need items[FA_MATCH_NEEDS_MAX];
    size_t count; /* 0: none found */
};

/* False: a value of this kind has several spellings, or there is no room. */
static bool add_need(struct needs *needs, enum fa_match_op op, const struct fa_match_value *field,
                     const struct fa_match_value *literal)
{
    const struct fa_match_operand *operand = &literal->operand;
    struct fa_match_need need = {.path = &field->path, .text = operand->text.bytes};

    if (!field->is_field || literal->is_field || needs->count == FA_MATCH_NEEDS_MAX)
        return false;
    if (op == FA_MATCH_STARTS || op == FA_MATCH_ENDS)
        need.part = op == FA_MATCH_STARTS ? FA_MATCH_START : FA_MATCH_END;
    if (operand->value.type == FA_JSON_NUMBER) {
        struct fa_json number = {.type = FA_JSON_NUMBER, .raw = need.text};

        need.is_number = true;
        need.text = (struct fa_bytes){0};
        if (!fa_json_int(number, &need.number))
            return false;
    } else if (operand->value.type != FA_JSON_STRING ||
               (need.part != FA_MATCH_WHOLE && need.text.len == 0)) {
        return false;
    }
    needs->items[needs->count++] = need;
    return true;
}

static bool find_clause_needs(const struct fa_match_clause *clause, struct needs *needs)
{
    switch (clause->op) {
    case FA_MATCH_EQ:
        return add_need(needs, clause->op, &clause->left, clause->right) ||
               add_need(needs, clause->op, clause->right, &clause->left);
    case FA_MATCH_STARTS:
    case FA_MATCH_ENDS:
        return add_need(needs, clause->op, &clause->left, clause->right);
    case FA_MATCH_IN:
        for (size_t i = 0; i < clause->right_count; i++)
            if (!add_need(needs, clause->op, &clause->left, &clause->right[i]))
                return false;
        return true;
    default:
        return false;
    }
}

static bool find_needs(const struct parser *p, const struct node *node, struct needs *needs);

/* For a chain of AND the needs of one part are enough: the part with the fewest. */
static bool find_fewest(const struct parser *p, const struct node *node, struct needs *needs)
{
    size_t first = needs->count, best = 0;

    for (const struct node *child = node->children; child; child = child->next) {
        size_t count;

        needs->count = first + best;
        if (!find_needs(p, child, needs))
            continue;
        count = needs->count - first - best;
        if (best == 0 || count < best) {
            memmove(&needs->items[first], &needs->items[first + best],
                    count * sizeof(needs->items[0]));
            best = count;
        }
    }
    needs->count = first + best;
    return best > 0;
}

/* Adds needs, of which one must hold when `node` does. False: there are none, and what was added is
 * to be ignored. */
static bool find_needs(const struct parser *p, const struct node *node, struct needs *needs)
{
    switch (node->kind) {
    case CLAUSE:
        return find_clause_needs(&p->clauses[node->first], needs);
    case NONE:
        return false;
    case ANY: /* the needs of all parts */
        for (const struct node *child = node->children; child; child = child->next)
            if (!find_needs(p, child, needs))
                return false;
        return true;
    case ALL:
        return find_fewest(p, node, needs);
    }
    return false;
}

static void keep_needs(struct parser *p, const struct node *root, struct fa_match *match)
{
    struct needs needs = {.count = 0};
    struct fa_match_need *items;

    if (!find_needs(p, root, &needs))
        return;
    items = fa_arena_take(p->arena, needs.count * sizeof(*items));
    memcpy(items, needs.items, needs.count * sizeof(*items));
    match->needs = items;
    match->need_count = needs.count;
}

static size_t weigh(const struct parser *p)
{
    size_t weight = 0;

    for (size_t i = 0; i < p->count; i++) {
        const struct fa_match_clause *clause = &p->clauses[i];

        weight += clause->left.path.count + clause->right->path.count + clause->right_count + 4;
    }
    return weight;
}

static bool check_source(struct parser *p)
{
    size_t valid;

    if (p->source.len > FA_MATCH_SIZE_MAX) {
        fa_error_field(p->err, FAINA_INVALID_REQUEST, "match",
                       "match is %zu bytes long; the limit is %d", p->source.len,
                       FA_MATCH_SIZE_MAX);
        return false;
    }
    valid = fa_utf8_valid_length(p->source);
    if (valid < p->source.len)
        return refuse_at(p, valid, "invalid UTF-8");
    if (p->source.len > 0 && memchr(p->source.ptr, '\0', p->source.len))
        return refuse_at(p, strlen(p->source.ptr), "a NUL byte is not allowed");
    return true;
}

enum faina_code fa_match_compile(struct fa_bytes source, struct fa_arena *arena,
                                 const struct fa_match **out, struct faina_error *err)
{
    struct parser p = {.source = source, .arena = arena, .err = err};
    struct fa_match *match;
    struct node *root;

    if (source.len <= FA_MATCH_SIZE_MAX)
        p.source.ptr = fa_arena_copy(arena, source.ptr ? source.ptr : "", source.len);
    if (!check_source(&p) || !advance(&p) || !parse_any(&p, &root))
        return FAINA_INVALID_REQUEST;
    if (p.token != END) {
        refuse_token(&p, "AND, OR or the end of the text");
        return FAINA_INVALID_REQUEST;
    }
    assert(p.count < FA_MATCH_NO);
    link_clauses(&p, root, FA_MATCH_YES, FA_MATCH_NO);
    match = fa_arena_zero(arena, 1, sizeof(*match));
    *match = (struct fa_match){
        .source = p.source, .clauses = p.clauses, .count = p.count, .weight = weigh(&p)};
    keep_needs(&p, root, match);
    *out = match;
    return FAINA_OK;
}
