/* values.c - see values.h. */
#include "store/db/postgres/values.h"

#include <arpa/inet.h>
#include <assert.h>
#include <endian.h>

enum oid { OID_BOOL = 16, OID_INT8 = 20, OID_INT2 = 21, OID_INT4 = 23, OID_TEXT = 25 };
enum array_oid { OID_FLOAT8 = 701, OID_TEXTS = 1009, OID_INT8S = 1016, OID_FLOAT8S = 1022 };

static int64_t read_int(const char *data, int len)
{
    uint64_t bits = 0;

    for (int i = 0; i < len; i++)
        bits = bits << 8 | (unsigned char)data[i];
    if (len == 2)
        return (int16_t)bits;
    if (len == 4)
        return (int32_t)bits;
    return (int64_t)bits;
}

struct fa_value fa_pg_read_value(const PGresult *result, int row, int column)
{
    struct fa_value value = {.kind = FA_NULL, .text = FA_LIT("")};
    const char *data = PQgetvalue(result, row, column);
    int len = PQgetlength(result, row, column);

    if (PQgetisnull(result, row, column))
        return value;
    switch (PQftype(result, column)) {
    case OID_BOOL:
    case OID_INT2:
    case OID_INT4:
    case OID_INT8:
        value.kind = FA_INT;
        value.i = read_int(data, len);
        return value;
    case OID_FLOAT8: {
        int64_t bits = read_int(data, len);

        value.kind = FA_REAL;
        memcpy(&value.d, &bits, sizeof(value.d));
        return value;
    }
    default:
        value.kind = FA_TEXT;
        value.text = (struct fa_bytes){data, (size_t)len};
        return value;
    }
}

static void add_bits(struct fa_buf *buf, uint32_t bits)
{
    bits = htonl(bits);
    fa_buf_add(buf, (const char *)&bits, sizeof(bits));
}

static void add_element(struct fa_buf *buf, const struct fa_value *value)
{
    uint64_t bits;

    switch (value->kind) {
    case FA_NULL:
        add_bits(buf, UINT32_MAX);
        break;
    case FA_TEXT:
        add_bits(buf, (uint32_t)value->text.len);
        fa_buf_add(buf, value->text.ptr, value->text.len);
        break;
    case FA_INT:
    case FA_REAL:
        memcpy(&bits, &value->i, sizeof(bits));
        bits = htobe64(bits);
        add_bits(buf, sizeof(bits));
        fa_buf_add(buf, (const char *)&bits, sizeof(bits));
        break;
    }
}

static Oid element_type(char letter)
{
    return letter == 'i' ? OID_INT8 : letter == 't' ? OID_TEXT : OID_FLOAT8;
}

static Oid array_type(char letter)
{
    return letter == 'i' ? OID_INT8S : letter == 't' ? OID_TEXTS : OID_FLOAT8S;
}

/* All rows as one binary array per parameter. */
void fa_pg_bind_arrays(const struct fa_db_call *call, struct fa_buf *columns,
                       struct fa_pg_params *out)
{
    const char *types = fa_statement(call->sql)->types;
    struct fa_value values[FA_VALUES_MAX];

    out->count = (int)call->param_count;
    for (int i = 0; i < out->count; i++) {
        struct fa_buf *buf = &columns[i];

        fa_buf_clear(buf);
        add_bits(buf, 1); /* dimensions */
        add_bits(buf, 1); /* may have nulls */
        add_bits(buf, element_type(types[i]));
        add_bits(buf, (uint32_t)call->rows);
        add_bits(buf, 1); /* the first index */
    }
    for (size_t row = 0; row < call->rows; row++) {
        fa_db_bind(call, row, values);
        for (int i = 0; i < out->count; i++)
            add_element(&columns[i], &values[i]);
    }
    for (int i = 0; i < out->count; i++) {
        out->values[i] = columns[i].ptr;
        out->lengths[i] = (int)columns[i].len;
        out->formats[i] = 1;
        out->types[i] = array_type(types[i]);
    }
}

/* One row, as text: the server infers the types. */
void fa_pg_bind_row(const struct fa_db_call *call, size_t row, struct fa_arena *scratch,
                    struct fa_pg_params *out)
{
    const char *types = fa_statement(call->sql)->types;
    struct fa_value values[FA_VALUES_MAX];

    fa_db_bind(call, row, values);
    out->count = (int)strlen(types);
    assert(out->count <= (int)call->param_count);
    for (int i = 0; i < out->count; i++) {
        const struct fa_value *value = &values[i];

        out->formats[i] = out->lengths[i] = 0;
        out->types[i] = types[i] == '-' ? OID_TEXT : 0;
        out->values[i] = NULL;
        if (value->kind == FA_INT)
            out->values[i] = fa_arena_printf(scratch, "%lld", (long long)value->i);
        else if (value->kind == FA_REAL)
            out->values[i] = fa_arena_printf(scratch, "%.17g", value->d);
        else if (value->kind == FA_TEXT)
            out->values[i] = fa_arena_copy(scratch, value->text.ptr, value->text.len);
    }
}
