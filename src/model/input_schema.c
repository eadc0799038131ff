/*
 * input_schema.c - see input_schema.h.
 *
 * A schema is compiled to a tree of nodes. Keys of objects are kept with their escapes resolved, as
 * fa_json_next gives them raw.
 */
#include "model/input_schema.h"

#include "model/limits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REFUSED FAINA_INVALID_REQUEST
#define ROOT "inputSchema"
#define REF_CHAIN_MAX 32

/* The names of `type`, as a set. */
enum type_bit {
    IS_NULL = 1 << 0,
    IS_BOOLEAN = 1 << 1,
    IS_INTEGER = 1 << 2,
    IS_NUMBER = 1 << 3,
    IS_STRING = 1 << 4,
    IS_ARRAY = 1 << 5,
    IS_OBJECT = 1 << 6,
};

static const struct {
    const char *name;
    unsigned bit;
} type_names[] = {
    {"null", IS_NULL},     {"boolean", IS_BOOLEAN}, {"integer", IS_INTEGER}, {"number", IS_NUMBER},
    {"string", IS_STRING}, {"array", IS_ARRAY},     {"object", IS_OBJECT},
};

struct property {
    const char *name;
    struct fa_input_schema *schema; /* NULL: only required */
    bool is_required;
};

struct fa_input_schema {
    bool is_false;             /* the schema `false`: nothing is valid */
    unsigned types;            /* a set; 0: any */
    const char *const *values; /* canonical JSON of enum, or of const; NULL: any */
    size_t value_count;
    bool is_const;
    struct fa_json bounds[4]; /* by enum bound; an empty text: none */
    int64_t counts[6];        /* by enum counted; -1: none */
    struct property *properties;
    size_t property_count, property_size, required_count;
    struct fa_input_schema *additional, *items; /* NULL: any value */
    const char *ref;                /* the name of a definition, "" for the root; NULL: none */
    struct fa_input_schema *target; /* of `ref` */
    bool has_rules;                 /* it has keywords that an input can violate */
};

enum bound { MINIMUM, MAXIMUM, EXCLUSIVE_MINIMUM, EXCLUSIVE_MAXIMUM };
static const char *const bound_names[] = {"minimum", "maximum", "exclusiveMinimum",
                                          "exclusiveMaximum"};

enum counted { MIN_LENGTH, MAX_LENGTH, MIN_ITEMS, MAX_ITEMS, MIN_PROPERTIES, MAX_PROPERTIES };
static const char *const counted_names[] = {"minLength", "maxLength",     "minItems",
                                            "maxItems",  "minProperties", "maxProperties"};

/* The place of a value: the parts from the root on. */
struct place {
    const struct place *outer;
    const char *key; /* resolved; NULL: an index */
    size_t index;
};

/* "input.items[3].to"; a key that is no plain word is quoted: input["a b"]. */
static void write_place(const char *root, const struct place *place, struct fa_buf *out)
{
    bool is_word = true;

    if (place == NULL) {
        fa_buf_add_str(out, root);
        return;
    }
    write_place(root, place->outer, out);
    if (place->key == NULL) {
        fa_buf_printf(out, "[%zu]", place->index);
        return;
    }
    for (const char *at = place->key; *at != '\0'; at++)
        is_word &= *at == '_' || *at == '$' || (*at >= '0' && *at <= '9') ||
                   (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z');
    if (is_word && place->key[0] != '\0')
        fa_buf_printf(out, ".%s", place->key);
    else
        fa_buf_printf(out, "[\"%s\"]", place->key);
}

static enum faina_code refuse_at(const char *root, const struct place *place, enum faina_code code,
                                 const char *sentence, struct faina_error *err)
{
    struct fa_buf text;

    fa_buf_init(&text, SIZE_MAX / 2);
    write_place(root, place, &text);
    code = fa_error_field(err, code, text.ptr, "%s %s", text.ptr, sentence);
    fa_buf_finish(&text);
    return code;
}

/* Compiling ------------------------------------------------------------------------------- */

struct compiler {
    struct fa_arena *arena;
    struct faina_error *err;
    struct fa_input_schema *root;
    struct property *defs; /* of the root */
    size_t def_count, def_size;
    struct fa_input_schema **refs; /* nodes with $ref */
    size_t ref_count, ref_size;
};

static enum faina_code refuse(const struct compiler *c, const struct place *place,
                              const char *sentence)
{
    return refuse_at(ROOT, place, REFUSED, sentence, c->err);
}

static enum faina_code compile(struct compiler *c, struct fa_json json, const struct place *place,
                               int depth, struct fa_input_schema **out);

static const char *canonical(struct fa_json value, struct fa_arena *arena)
{
    struct fa_buf buf;
    const char *text;

    fa_buf_init(&buf, SIZE_MAX / 2);
    fa_json_canonical(value.raw, &buf);
    text = fa_arena_copy(arena, buf.ptr, buf.len);
    fa_buf_finish(&buf);
    return text;
}

static enum faina_code add_type(struct compiler *c, struct fa_json name, const struct place *place,
                                unsigned *types)
{
    const char *text = name.type == FA_JSON_STRING ? fa_json_text(name, c->arena) : "";

    for (size_t i = 0; i < FA_COUNT(type_names); i++) {
        if (strcmp(text, type_names[i].name) != 0)
            continue;
        *types |= type_names[i].bit;
        return FAINA_OK;
    }
    return refuse(c, place,
                  "must be one of null, boolean, integer, number, string, array and object, or an "
                  "array of them");
}

static enum faina_code read_types(struct compiler *c, struct fa_json value,
                                  const struct place *place, unsigned *types)
{
    struct fa_json_iter it = fa_json_iter(value);
    enum faina_code code = FAINA_OK;
    struct fa_json name;

    if (value.type != FA_JSON_ARRAY)
        return add_type(c, value, place, types);
    while (code == FAINA_OK && fa_json_next(&it, NULL, &name))
        code = add_type(c, name, place, types);
    if (code == FAINA_OK && *types == 0)
        code = refuse(c, place, "must name a type");
    return code;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum faina_code read_values(struct compiler *c, struct fa_json value,
                                   const struct place *place, struct fa_input_schema *node)
{
    size_t count = fa_json_count(value);
    struct fa_json_iter it = fa_json_iter(value);
    const char **values;
    struct fa_json item;

    if (value.type != FA_JSON_ARRAY || count == 0)
        return refuse(c, place, "must be an array of values");
    if (count > FA_SCHEMA_VALUES_MAX)
        return refuse(c, place, "has too many values");
    if (node->values != NULL)
        return refuse(c, place, "and const are both set; only one of them can be");
    values = fa_arena_take(c->arena, count * sizeof(*values));
    for (size_t i = 0; fa_json_next(&it, NULL, &item); i++)
        values[i] = canonical(item, c->arena);
    qsort(values, count, sizeof(*values), compare_texts);
    node->values = values;
    node->value_count = count;
    return FAINA_OK;
}

static enum faina_code read_const(struct compiler *c, struct fa_json value,
                                  const struct place *place, struct fa_input_schema *node)
{
    const char **values = fa_arena_take(c->arena, sizeof(*values));

    if (node->values != NULL)
        return refuse(c, place, "and enum are both set; only one of them can be");
    values[0] = canonical(value, c->arena);
    node->values = values;
    node->value_count = 1;
    node->is_const = true;
    return FAINA_OK;
}

/* The property of this name, which is made if it isn't there. */
static struct property *property_of(struct compiler *c, struct fa_input_schema *node,
                                    const char *name)
{
    for (size_t i = 0; i < node->property_count; i++)
        if (strcmp(node->properties[i].name, name) == 0)
            return &node->properties[i];
    node->properties = fa_arena_grow(c->arena, node->properties, node->property_count,
                                     &node->property_size, sizeof(*node->properties));
    node->properties[node->property_count] = (struct property){.name = name};
    return &node->properties[node->property_count++];
}

static enum faina_code read_properties(struct compiler *c, struct fa_json value,
                                       const struct place *place, int depth,
                                       struct fa_input_schema *node)
{
    struct fa_json_iter it = fa_json_iter(value);
    enum faina_code code = FAINA_OK;
    struct fa_bytes raw;
    struct fa_json item;

    if (value.type != FA_JSON_OBJECT)
        return refuse(c, place, "must be an object of schemas");
    if (fa_json_count(value) > FA_SCHEMA_PROPERTIES_MAX)
        return refuse(c, place, "has too many properties");
    while (code == FAINA_OK && fa_json_next(&it, &raw, &item)) {
        struct place inner = {place, fa_json_unescape(raw, c->arena), 0};
        struct fa_input_schema *schema = NULL;

        code = compile(c, item, &inner, depth + 1, &schema);
        property_of(c, node, inner.key)->schema = schema;
    }
    return code;
}

static enum faina_code read_required(struct compiler *c, struct fa_json value,
                                     const struct place *place, struct fa_input_schema *node)
{
    const char *const *names;
    size_t count;

    if (!fa_json_texts(value, c->arena, &names, &count))
        return refuse(c, place, "must be an array of names");
    if (count > FA_SCHEMA_PROPERTIES_MAX)
        return refuse(c, place, "has too many names");
    for (size_t i = 0; i < count; i++) {
        struct property *property = property_of(c, node, names[i]);

        node->required_count += !property->is_required;
        property->is_required = true;
    }
    return FAINA_OK;
}

static enum faina_code read_defs(struct compiler *c, struct fa_json value,
                                 const struct place *place, int depth)
{
    struct fa_json_iter it = fa_json_iter(value);
    enum faina_code code = FAINA_OK;
    struct fa_bytes raw;
    struct fa_json item;

    if (value.type != FA_JSON_OBJECT)
        return refuse(c, place, "must be an object of schemas");
    if (depth > 0)
        return refuse(c, place, "must be at the top of the schema");
    while (code == FAINA_OK && fa_json_next(&it, &raw, &item)) {
        struct place inner = {place, fa_json_unescape(raw, c->arena), 0};
        struct property *def;

        c->defs = fa_arena_grow(c->arena, c->defs, c->def_count, &c->def_size, sizeof(*c->defs));
        def = &c->defs[c->def_count++];
        *def = (struct property){.name = inner.key};
        if (strpbrk(inner.key, "/~%") != NULL)
            return refuse(c, &inner, "is a name with /, ~ or %, which $ref can't name");
        code = compile(c, item, &inner, depth + 1, &c->defs[c->def_count - 1].schema);
    }
    return code;
}

static enum faina_code read_ref(struct compiler *c, struct fa_json value, const struct place *place,
                                struct fa_input_schema *node)
{
    static const char prefix[] = "#/$defs/";
    const char *text = value.type == FA_JSON_STRING ? fa_json_text(value, c->arena) : "";

    if (strcmp(text, "#") == 0)
        node->ref = "";
    else if (strncmp(text, prefix, sizeof(prefix) - 1) == 0 && text[sizeof(prefix) - 1] != '\0')
        node->ref = text + sizeof(prefix) - 1;
    else
        return refuse(c, place, "must be \"#\" or \"#/$defs/NAME\"");
    c->refs = fa_arena_grow(c->arena, c->refs, c->ref_count, &c->ref_size, sizeof(*c->refs));
    c->refs[c->ref_count++] = node;
    return FAINA_OK;
}

static int find_name(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return (int)i;
    return -1;
}

static enum faina_code read_count(struct compiler *c, struct fa_json value,
                                  const struct place *place, int64_t *out)
{
    if (value.type == FA_JSON_NUMBER && fa_json_int(value, out) && *out >= 0)
        return FAINA_OK;
    *out = -1;
    return refuse(c, place, "must be a whole number from 0 on");
}

static enum faina_code read_keyword(struct compiler *c, const char *key, struct fa_json value,
                                    const struct place *place, int depth,
                                    struct fa_input_schema *node)
{
    static const char *const descriptions[] = {"$schema",     "$id",       "$comment", "title",
                                               "description", "default",   "examples", "deprecated",
                                               "readOnly",    "writeOnly", "format"};
    int counted = find_name(counted_names, FA_COUNT(counted_names), key);
    int bound = find_name(bound_names, FA_COUNT(bound_names), key);
    double number;

    if (find_name(descriptions, FA_COUNT(descriptions), key) >= 0)
        return FAINA_OK;
    if (strcmp(key, "$ref") == 0)
        return read_ref(c, value, place, node);
    if (strcmp(key, "$defs") == 0)
        return read_defs(c, value, place, depth);
    node->has_rules = true;
    if (counted >= 0)
        return read_count(c, value, place, &node->counts[counted]);
    if (bound >= 0) {
        if (value.type != FA_JSON_NUMBER || !fa_json_double(value, &number))
            return refuse(c, place, "must be a number");
        node->bounds[bound] = value;
        return FAINA_OK;
    }
    if (strcmp(key, "type") == 0)
        return read_types(c, value, place, &node->types);
    if (strcmp(key, "enum") == 0)
        return read_values(c, value, place, node);
    if (strcmp(key, "const") == 0)
        return read_const(c, value, place, node);
    if (strcmp(key, "properties") == 0)
        return read_properties(c, value, place, depth, node);
    if (strcmp(key, "required") == 0)
        return read_required(c, value, place, node);
    if (strcmp(key, "additionalProperties") == 0)
        return compile(c, value, place, depth + 1, &node->additional);
    if (strcmp(key, "items") == 0)
        return compile(c, value, place, depth + 1, &node->items);
    return refuse(c, place,
                  "is a keyword that input schemas don't have (docs/policies.md lists "
                  "those that they have)");
}

static int compare_properties(const void *a, const void *b)
{
    return strcmp(((const struct property *)a)->name, ((const struct property *)b)->name);
}

static enum faina_code compile(struct compiler *c, struct fa_json json, const struct place *place,
                               int depth, struct fa_input_schema **out)
{
    struct fa_input_schema *node = fa_arena_zero(c->arena, 1, sizeof(*node));
    struct fa_json_iter it = fa_json_iter(json);
    enum faina_code code = FAINA_OK;
    struct fa_bytes raw;
    struct fa_json value;

    *out = node;
    if (c->root == NULL)
        c->root = node;
    memset(node->counts, -1, sizeof(node->counts));
    if (depth > FA_SCHEMA_DEPTH_MAX)
        return refuse(c, place, "is nested too deeply");
    if (json.type == FA_JSON_TRUE || json.type == FA_JSON_FALSE) {
        node->is_false = json.type == FA_JSON_FALSE;
        return FAINA_OK;
    }
    if (json.type != FA_JSON_OBJECT)
        return refuse(c, place, "must be a schema: an object, true or false");
    while (code == FAINA_OK && fa_json_next(&it, &raw, &value)) {
        struct place inner = {place, fa_json_unescape(raw, c->arena), 0};

        code = read_keyword(c, inner.key, value, &inner, depth, node);
    }
    if (code == FAINA_OK && node->ref != NULL && node->has_rules)
        code =
            refuse(c, place, "has $ref and other rules: put them into a schema of $defs"); /* S1 */
    if (node->property_count > 0)
        qsort(node->properties, node->property_count, sizeof(*node->properties),
              compare_properties);
    return code;
}

/* S1. */
static enum faina_code resolve(struct compiler *c)
{
    for (size_t i = 0; i < c->ref_count; i++) {
        struct fa_input_schema *node = c->refs[i];

        node->target = node->ref[0] == '\0' ? c->root : NULL;
        for (size_t k = 0; node->target == NULL && k < c->def_count; k++)
            if (strcmp(c->defs[k].name, node->ref) == 0)
                node->target = c->defs[k].schema;
        if (node->target == NULL)
            return fa_error_field(c->err, REFUSED, ROOT,
                                  ROOT ": $ref names #/$defs/%.200s, which is not there",
                                  node->ref);
    }
    for (size_t i = 0; i < c->ref_count; i++) {
        const struct fa_input_schema *at = c->refs[i];
        int steps = 0;

        for (; at != NULL && steps <= REF_CHAIN_MAX; at = at->target)
            steps++;
        if (at != NULL)
            return fa_error_field(c->err, REFUSED, ROOT,
                                  ROOT ": the $ref to \"#%s%.200s\" leads back to itself, or "
                                       "through more than %d others",
                                  c->refs[i]->ref[0] ? "/$defs/" : "", c->refs[i]->ref,
                                  REF_CHAIN_MAX);
    }
    return FAINA_OK;
}

enum faina_code fa_input_schema_compile(struct fa_bytes text, struct fa_arena *arena,
                                        const struct fa_input_schema **out, struct faina_error *err)
{
    struct compiler c = {.arena = arena, .err = err};
    struct fa_input_schema *root = NULL;
    enum faina_code code = compile(&c, fa_json_value(text), NULL, 0, &root);

    if (code == FAINA_OK)
        code = resolve(&c);
    if (code == FAINA_OK)
        *out = root;
    return code;
}

/* Checking -------------------------------------------------------------------------------- */

struct checker {
    struct fa_arena scratch;
    struct faina_error *err;
};

static enum faina_code reject(const struct checker *c, const struct place *place,
                              const char *sentence)
{
    return refuse_at("input", place, FAINA_INVALID_TASK, sentence, c->err);
}

static enum faina_code check(struct checker *c, const struct fa_input_schema *schema,
                             struct fa_json value, const struct place *place);

static unsigned types_of(struct fa_json value)
{
    int64_t whole;
    double number;

    switch (value.type) {
    case FA_JSON_NULL:
        return IS_NULL;
    case FA_JSON_FALSE:
    case FA_JSON_TRUE:
        return IS_BOOLEAN;
    case FA_JSON_STRING:
        return IS_STRING;
    case FA_JSON_ARRAY:
        return IS_ARRAY;
    case FA_JSON_OBJECT:
        return IS_OBJECT;
    case FA_JSON_NUMBER:
        break;
    }
    if (fa_json_int(value, &whole) || !fa_json_double(value, &number) || floor(number) == number)
        return IS_NUMBER | IS_INTEGER;
    return IS_NUMBER;
}

static enum faina_code reject_type(struct checker *c, const struct fa_input_schema *schema,
                                   const struct place *place)
{
    struct fa_buf text;
    enum faina_code code;
    const char *before = "must be of the type ";

    fa_buf_init(&text, SIZE_MAX / 2);
    for (size_t i = 0; i < FA_COUNT(type_names); i++) {
        if (!(schema->types & type_names[i].bit))
            continue;
        fa_buf_printf(&text, "%s%s", before, type_names[i].name);
        before = " or ";
    }
    code = reject(c, place, text.ptr);
    fa_buf_finish(&text);
    return code;
}

static enum faina_code check_values(struct checker *c, const struct fa_input_schema *schema,
                                    struct fa_json value, const struct place *place)
{
    const char *text = canonical(value, &c->scratch);

    if (bsearch(&text, schema->values, schema->value_count, sizeof(*schema->values),
                compare_texts) != NULL)
        return FAINA_OK;
    if (schema->value_count > 1)
        return reject(c, place, "is none of the values that enum lists");
    return reject(c, place,
                  fa_arena_printf(&c->scratch, "must be %.200s%s", schema->values[0],
                                  strlen(schema->values[0]) > 200 ? "..." : ""));
}

/* S2. -1, 0 or 1. */
static int compare_numbers(struct fa_json a, struct fa_json b)
{
    int64_t x, y;
    double u = 0, v = 0;

    if (fa_json_int(a, &x) && fa_json_int(b, &y))
        return (x > y) - (x < y);
    (void)fa_json_double(a, &u);
    (void)fa_json_double(b, &v);
    return (u > v) - (u < v);
}

static enum faina_code check_bounds(struct checker *c, const struct fa_input_schema *schema,
                                    struct fa_json value, const struct place *place)
{
    static const char *const words[] = {"at least", "at most", "more than", "less than"};

    for (size_t i = 0; i < FA_COUNT(schema->bounds); i++) {
        struct fa_json bound = schema->bounds[i];
        bool is_ok;
        int order;

        if (bound.raw.ptr == NULL)
            continue;
        order = compare_numbers(value, bound);
        is_ok = i == MINIMUM             ? order >= 0
                : i == MAXIMUM           ? order <= 0
                : i == EXCLUSIVE_MINIMUM ? order > 0
                                         : order < 0;
        if (!is_ok)
            return reject(c, place,
                          fa_arena_printf(&c->scratch, "must be %s %.*s", words[i],
                                          (int)(bound.raw.len < 100 ? bound.raw.len : 100),
                                          bound.raw.ptr));
    }
    return FAINA_OK;
}

/* The characters of a string: an escape is one, and so are the two of a surrogate pair. */
static int64_t count_characters(struct fa_json string)
{
    const char *at = string.raw.ptr + 1, *end = string.raw.ptr + string.raw.len - 1;
    int64_t count = 0;

    while (at < end) {
        size_t len = 1;

        if (*at == '\\')
            len = at[1] != 'u'                                                ? 2
                  : (at[2] == 'd' || at[2] == 'D') && strchr("89aAbB", at[3]) ? 12
                                                                              : 6;
        count += ((unsigned char)*at & 0xc0) != 0x80;
        at += len;
    }
    return count;
}

/* Whether a length is between two of the counts. */
static enum faina_code check_count(struct checker *c, const struct fa_input_schema *schema,
                                   enum counted least, int64_t count, const char *noun,
                                   const struct place *place)
{
    int64_t min = schema->counts[least], max = schema->counts[least + 1];

    if (min >= 0 && count < min)
        return reject(c, place,
                      fa_arena_printf(&c->scratch, "must have at least %lld %s, not %lld",
                                      (long long)min, noun, (long long)count));
    if (max >= 0 && count > max)
        return reject(c, place,
                      fa_arena_printf(&c->scratch, "must have at most %lld %s, not %lld",
                                      (long long)max, noun, (long long)count));
    return FAINA_OK;
}

static enum faina_code check_array(struct checker *c, const struct fa_input_schema *schema,
                                   struct fa_json value, const struct place *place)
{
    struct fa_json_iter it = fa_json_iter(value);
    struct place inner = {place, NULL, 0};
    enum faina_code code =
        check_count(c, schema, MIN_ITEMS, (int64_t)fa_json_count(value), "items", place);
    struct fa_json item;

    if (schema->items == NULL)
        return code;
    for (; code == FAINA_OK && fa_json_next(&it, NULL, &item); inner.index++)
        code = check(c, schema->items, item, &inner);
    return code;
}

static const struct property *find_property(const struct fa_input_schema *schema, const char *name)
{
    struct property key = {.name = name};

    if (schema->property_count == 0)
        return NULL;
    return bsearch(&key, schema->properties, schema->property_count, sizeof(key),
                   compare_properties);
}

/* The object has fewer of the required members than there are. */
static enum faina_code reject_missing(struct checker *c, const struct fa_input_schema *schema,
                                      struct fa_json object, const struct place *place)
{
    for (size_t i = 0; i < schema->property_count; i++) {
        struct fa_json_iter it = fa_json_iter(object);
        struct place inner = {place, schema->properties[i].name, 0};
        struct fa_bytes raw;
        struct fa_json value;
        bool is_there = !schema->properties[i].is_required;

        while (!is_there && fa_json_next(&it, &raw, &value))
            is_there = strcmp(fa_json_unescape(raw, &c->scratch), inner.key) == 0;
        if (!is_there)
            return reject(c, &inner, "is missing");
    }
    return FAINA_OK;
}

static enum faina_code check_object(struct checker *c, const struct fa_input_schema *schema,
                                    struct fa_json value, const struct place *place)
{
    struct fa_json_iter it = fa_json_iter(value);
    size_t required_count = 0;
    enum faina_code code =
        check_count(c, schema, MIN_PROPERTIES, (int64_t)fa_json_count(value), "members", place);
    struct fa_bytes raw;
    struct fa_json member;

    if (schema->property_count == 0 && schema->additional == NULL)
        return code;
    while (code == FAINA_OK && fa_json_next(&it, &raw, &member)) {
        struct place inner = {place, fa_json_unescape(raw, &c->scratch), 0};
        const struct property *property = find_property(schema, inner.key);

        required_count += property != NULL && property->is_required;
        if (property != NULL && property->schema != NULL)
            code = check(c, property->schema, member, &inner);
        else if (schema->additional != NULL && schema->additional->is_false)
            code = reject(c, &inner, "is not allowed here");
        else if (schema->additional != NULL)
            code = check(c, schema->additional, member, &inner);
    }
    if (code == FAINA_OK && required_count < schema->required_count)
        code = reject_missing(c, schema, value, place);
    return code;
}

static enum faina_code check(struct checker *c, const struct fa_input_schema *schema,
                             struct fa_json value, const struct place *place)
{
    unsigned types = types_of(value);
    enum faina_code code = FAINA_OK;

    while (schema->ref != NULL)
        schema = schema->target;
    if (schema->is_false)
        return reject(c, place, "is not allowed: its schema is false");
    if (schema->types != 0 && !(schema->types & types))
        return reject_type(c, schema, place);
    if (schema->values != NULL)
        code = check_values(c, schema, value, place);
    if (code == FAINA_OK && types & IS_NUMBER)
        code = check_bounds(c, schema, value, place);
    if (code == FAINA_OK && types & IS_STRING &&
        (schema->counts[MIN_LENGTH] >= 0 || schema->counts[MAX_LENGTH] >= 0))
        code = check_count(c, schema, MIN_LENGTH, count_characters(value), "characters", place);
    if (code == FAINA_OK && types & IS_ARRAY)
        code = check_array(c, schema, value, place);
    if (code == FAINA_OK && types & IS_OBJECT)
        code = check_object(c, schema, value, place);
    return code;
}

enum faina_code fa_input_schema_check(const struct fa_input_schema *schema, const char *input,
                                      struct faina_error *err)
{
    struct checker c = {.err = err};
    enum faina_code code = check(&c, schema, fa_json_value(fa_str(input ? input : "null")), NULL);

    fa_arena_finish(&c.scratch);
    return code;
}
