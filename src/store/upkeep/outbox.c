/* outbox.c - see outbox.h. */
#include "store/upkeep/outbox.h"

#include "model/limits.h"
#include "store/queue/ops.h"
#include "store/txn/row_check.h"
#include "store/txn/writer.h"
#include "store/upkeep/chores.h"

#define COUNT_MAX 10000  /* more rows than this are estimated by their positions */
#define TRIM_US 10000000 /* how often the size is checked */
#define TRIM_ROWS 10000  /* removed in one transaction */
#define LEAD_US 15000000 /* a publisher that doesn't renew is replaced after this time */

/* Noting ----------------------------------------------------------------------------------- */

static void note(struct fa_unit *unit, const struct fa_row *row, enum faina_status status,
                 int64_t attempt)
{
    unit->has_messages = true;
    if (unit->outbox_setting == FA_OUTBOX_OFF)
        return;
    unit->messages =
        fa_grow(unit->messages, unit->message_count, &unit->message_size, sizeof(*unit->messages));
    unit->messages[unit->message_count++] = (struct fa_unit_message){.id = row->id,
                                                                     .lane = row->lane,
                                                                     .status = status,
                                                                     .attempt = attempt,
                                                                     .priority = -row->rank,
                                                                     .version = row->version};
}

void fa_outbox_note_ready(struct fa_unit *unit, const struct fa_row *row)
{
    note(unit, row, FAINA_PENDING, row->attempts + !(row->flags & FA_FLAG_CONTINUES));
}

void fa_outbox_note_end(struct fa_unit *unit, const struct fa_row *row)
{
    note(unit, row, row->status, row->attempts);
}

void fa_outbox_forget(struct fa_unit *unit)
{
    unit->outbox_setting = FA_OUTBOX_UNKNOWN;
}

/* Storing ---------------------------------------------------------------------------------- */

/* Columns of broker_get. */
enum { IS_ON, SIZE_MAX_ROWS, UNROUTABLE, DROPPED, PUBLISHER, UNTIL };

static void sink_setting(void *ctx, size_t row, const struct fa_value *c)
{
    (void)row;
    *(enum fa_outbox_setting *)ctx = fa_value_as_int(&c[IS_ON]) != 0 ? FA_OUTBOX_ON : FA_OUTBOX_OFF;
}

/* Q2. */
static enum faina_code learn_setting(struct fa_unit *unit, struct faina_error *err)
{
    struct fa_value known = fa_value_int(unit->outbox_setting == FA_OUTBOX_ON);
    struct fa_db *db = unit->source.db;

    if (unit->outbox_setting == FA_OUTBOX_UNKNOWN) {
        enum fa_outbox_setting setting = FA_OUTBOX_OFF;
        enum faina_code code =
            fa_db_one(db, FA_SQL_BROKER_GET, NULL, 0, sink_setting, &setting, err);

        if (code == FAINA_OK) {
            unit->outbox_setting = setting;
            unit->outbox_epoch = unit->epoch;
        }
        return code;
    }
    if (!fa_db_has(db, FA_DB_MANY_WRITERS) || unit->outbox_epoch == unit->epoch)
        return FAINA_OK;
    unit->outbox_epoch = unit->epoch;
    return fa_db_one(db, FA_SQL_BROKER_CHECK, &known, 1, NULL, NULL, err);
}

static void bind_message(void *ctx, size_t n, struct fa_value *v)
{
    const struct fa_unit *unit = ctx;
    const struct fa_unit_message *message = &unit->messages[n];

    v[0] = fa_value_int(message->id.key);
    v[1] = fa_value_int(message->id.tail);
    v[2] = fa_value_text(message->lane->ns);
    v[3] = fa_value_text(message->lane->type);
    v[4] = fa_value_int((int64_t)message->status);
    v[5] = fa_value_int(message->attempt);
    v[6] = fa_value_int(message->priority);
    v[7] = fa_value_int(message->version);
    v[8] = fa_value_int(unit->now_us);
}

enum faina_code fa_outbox_flush(struct fa_unit *unit, struct faina_error *err)
{
    struct fa_db_call call = {.sql = FA_SQL_OUTBOX_INSERT,
                              .rows = unit->message_count,
                              .param_count = 9,
                              .bind = bind_message,
                              .bind_ctx = unit};
    enum faina_code code = learn_setting(unit, err);

    if (code == FAINA_OK && unit->outbox_setting == FA_OUTBOX_ON && call.rows > 0)
        code = fa_db_run(unit->source.db, &call, err);
    unit->message_count = 0;
    unit->has_messages = false;
    return code;
}

/* The setting and the counts ---------------------------------------------------------------- */

struct reading {
    struct fa_broker *out;
    struct fa_arena *arena;
    int64_t now_us;
};

static void sink_broker(void *ctx, size_t row, const struct fa_value *c)
{
    struct reading *reading = ctx;
    struct fa_broker *out = reading->out;

    (void)row;
    out->is_on = fa_value_as_int(&c[IS_ON]) != 0;
    out->size_max = fa_value_as_int(&c[SIZE_MAX_ROWS]);
    out->unroutable = fa_value_as_int(&c[UNROUTABLE]);
    out->dropped = fa_value_as_int(&c[DROPPED]);
    if (c[PUBLISHER].kind == FA_TEXT && fa_value_as_int(&c[UNTIL]) > reading->now_us)
        out->publisher = fa_value_dup(&c[PUBLISHER], reading->arena);
}

static void sink_size(void *ctx, size_t row, const struct fa_value *c)
{
    struct fa_broker *out = ctx;
    int64_t few = fa_value_as_int(&c[0]), low = fa_value_as_int(&c[1]);
    int64_t high = fa_value_as_int(&c[2]);

    (void)row;
    out->depth = few;
    if (few > COUNT_MAX && high >= low && high - low < INT64_MAX / 2 && high - low + 1 > few)
        out->depth = high - low + 1;
    out->oldest_us = fa_value_as_int(&c[3]);
}

static enum faina_code read_size(struct fa_db *db, struct fa_broker *out, struct faina_error *err)
{
    struct fa_value most = fa_value_int(COUNT_MAX + 1);

    return fa_db_one(db, FA_SQL_OUTBOX_SIZE, &most, 1, sink_size, out, err);
}

static enum faina_code read_broker(struct fa_db *db, struct fa_arena *arena, struct fa_broker *out,
                                   struct faina_error *err)
{
    struct reading reading = {out, arena, fa_db_now(db)};
    enum faina_code code = fa_db_one(db, FA_SQL_BROKER_GET, NULL, 0, sink_broker, &reading, err);

    return code == FAINA_OK ? read_size(db, out, err) : code;
}

enum faina_code fa_read_broker(struct fa_source *source, struct fa_op *op)
{
    struct fa_broker *out = fa_arena_zero(op->arena, 1, sizeof(*out));
    enum faina_code code = read_broker(source->db, op->arena, out, &op->error);

    if (code == FAINA_OK)
        op->broker_answer = out;
    return code;
}

enum faina_code fa_do_broker_set(struct fa_unit *unit, struct fa_op *op)
{
    struct fa_value params[2] = {fa_value_int(op->broker.is_on),
                                 fa_value_int_or_null(op->broker.size_max)};
    enum faina_code code = fa_unit_flush(unit, &op->error);

    if (code == FAINA_OK)
        code = fa_db_one(unit->source.db, FA_SQL_BROKER_SET, params, 2, NULL, NULL, &op->error);
    if (code != FAINA_OK)
        return code;
    unit->outbox_setting = op->broker.is_on ? FA_OUTBOX_ON : FA_OUTBOX_OFF;
    unit->outbox_epoch = unit->epoch;
    unit->outbox_due_us = 0;
    unit->next_us = unit->now_us; /* fa_chore_outbox */
    return fa_read_broker(&unit->source, op);
}

/* Q4 --------------------------------------------------------------------------------------- */

static enum faina_code trim(struct fa_unit *unit, bool *has_more, struct faina_error *err)
{
    struct fa_broker broker = {0};
    struct fa_value counts[2] = {fa_value_int(0)}, rows;
    enum faina_code code = read_broker(unit->source.db, &unit->arena, &broker, err);
    int64_t over = broker.depth - broker.size_max;

    unit->outbox_setting = broker.is_on ? FA_OUTBOX_ON : FA_OUTBOX_OFF;
    unit->outbox_epoch = unit->epoch;
    *has_more = over > TRIM_ROWS;
    if (code != FAINA_OK || over <= 0)
        return code;
    rows = fa_value_int(over < TRIM_ROWS ? over : TRIM_ROWS);
    code = fa_db_one(unit->source.db, FA_SQL_OUTBOX_DROP, &rows, 1, NULL, NULL, err);
    counts[1] = rows;
    if (code == FAINA_OK)
        code = fa_db_one(unit->source.db, FA_SQL_BROKER_COUNT, counts, 2, NULL, NULL, err);
    return code;
}

enum faina_code fa_chore_outbox(struct fa_unit *unit, int64_t *next_us, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;
    bool has_more = false;

    if (unit->now_us >= unit->outbox_due_us || unit->outbox_due_us > unit->now_us + TRIM_US) {
        code = trim(unit, &has_more, err);
        unit->outbox_due_us = unit->now_us + (has_more ? 0 : TRIM_US);
    }
    /* While it is off, nothing grows, and switching it on makes this due. */
    if (unit->outbox_setting == FA_OUTBOX_ON && unit->outbox_due_us < *next_us)
        *next_us = unit->outbox_due_us;
    return code;
}

/* The publisher's operations ---------------------------------------------------------------- */

struct outbox_chore {
    struct fa_chore chore;
    /* Lead: */
    const char *node;
    bool leads;
    /* Read: */
    int64_t after;
    size_t limit;
    struct fa_arena *arena;
    struct fa_outbox *out;
    /* Remove: */
    const struct fa_outbox *what;
    size_t unroutable;
};

static struct fa_engine *downcast(struct fa_service *service)
{
    return FA_CONTAINER_OF(service, struct fa_engine, base);
}

static enum faina_code run_lead(struct fa_writer *writer, struct fa_chore *chore)
{
    struct outbox_chore *lead = FA_CONTAINER_OF(chore, struct outbox_chore, chore);
    struct fa_broker broker = {0};
    int64_t now_us = writer->unit.now_us;
    struct fa_value params[3] = {fa_value_text(lead->node), fa_value_int(now_us),
                                 fa_value_int(now_us + LEAD_US)};
    enum faina_code code = fa_unit_flush(&writer->unit, &chore->error);

    if (code == FAINA_OK)
        code = fa_db_one(writer->db, FA_SQL_BROKER_HOLD, params, 3, NULL, NULL, &chore->error);
    if (code == FAINA_OK)
        code = read_broker(writer->db, &writer->unit.arena, &broker, &chore->error);
    lead->leads = broker.publisher != NULL && strcmp(broker.publisher, lead->node) == 0;
    return code;
}

enum faina_code fa_engine_outbox_lead(struct fa_service *service, const char *node, bool *leads,
                                      struct faina_error *err)
{
    struct outbox_chore lead = {.chore = {.run = run_lead}, .node = node};
    enum faina_code code = FAINA_OK;

    *leads = true; /* a store with one writer belongs to one process */
    if (downcast(service)->fleet == NULL)
        return FAINA_OK;
    code = fa_writers_run_chore(downcast(service), &lead.chore, 1, err);
    *leads = code == FAINA_OK && lead.leads;
    return code;
}

struct messages {
    struct fa_arena *arena;
    struct fa_outbox *out;
};

/* Columns of outbox_read. */
enum { SEQ, TASK, TAIL, NAMESPACE, TYPE, STATUS, ATTEMPT, PRIORITY, VERSION, AT };

static void sink_message(void *ctx, size_t row, const struct fa_value *c)
{
    static const struct fa_form form = {
        "outbox", "nkixxSnrnt",
        "seq task tail namespace type status attempt priority version at_us"};
    struct messages *messages = ctx;
    struct fa_outbox_message *message = &messages->out->items[messages->out->count++];

    (void)row;
    message->seq = fa_value_as_int(&c[SEQ]);
    message->is_damaged = fa_form_check(&form, c, messages->arena) != NULL;
    if (message->is_damaged)
        return;
    fa_id_format((struct fa_id){.key = c[TASK].i, .tail = c[TAIL].i}, message->id);
    message->ns = fa_value_dup(&c[NAMESPACE], messages->arena);
    message->type = fa_value_dup(&c[TYPE], messages->arena);
    message->status = (enum faina_status)c[STATUS].i;
    message->attempt = c[ATTEMPT].i;
    message->priority = c[PRIORITY].i;
    message->version = c[VERSION].i;
}

static enum faina_code read_messages(struct fa_db *db, const struct outbox_chore *read,
                                     struct faina_error *err)
{
    struct messages messages = {read->arena, read->out};
    struct fa_value params[2] = {fa_value_int(read->after), fa_value_int((int64_t)read->limit)};

    *read->out = (struct fa_outbox){
        .items = fa_arena_zero(read->arena, read->limit + 1, sizeof(struct fa_outbox_message))};
    return fa_db_one(db, FA_SQL_OUTBOX_READ, params, 2, sink_message, &messages, err);
}

static enum faina_code run_read(struct fa_writer *writer, struct fa_chore *chore)
{
    struct outbox_chore *read = FA_CONTAINER_OF(chore, struct outbox_chore, chore);
    enum faina_code code = fa_unit_flush(&writer->unit, &chore->error);

    return code == FAINA_OK ? read_messages(writer->db, read, &chore->error) : code;
}

enum faina_code fa_engine_outbox_read(struct fa_service *service, int64_t after, size_t limit,
                                      struct fa_arena *arena, struct fa_outbox *out,
                                      struct faina_error *err)
{
    struct fa_engine *engine = downcast(service);
    struct outbox_chore read = {
        .chore = {.run = run_read}, .after = after, .limit = limit, .arena = arena, .out = out};
    struct fa_reader *reader = NULL;
    enum faina_code code;

    if (engine->readers == NULL)
        return fa_writers_run_chore(engine, &read.chore, 1, err);
    code = fa_readers_begin(engine->readers, &reader, err);
    if (code != FAINA_OK)
        return code;
    code = read_messages(reader->source.db, &read, err);
    fa_readers_end(engine->readers, reader);
    return code;
}

static void bind_seq(void *ctx, size_t n, struct fa_value *v)
{
    v[0] = fa_value_int(((const struct fa_outbox *)ctx)->items[n].seq);
}

static enum faina_code run_remove(struct fa_writer *writer, struct fa_chore *chore)
{
    struct outbox_chore *remove = FA_CONTAINER_OF(chore, struct outbox_chore, chore);
    struct fa_outbox what = *remove->what;
    struct fa_value counts[2] = {fa_value_int((int64_t)remove->unroutable), fa_value_int(0)};
    struct fa_db_call call = {.sql = FA_SQL_OUTBOX_DELETE,
                              .rows = what.count,
                              .param_count = 1,
                              .bind = bind_seq,
                              .bind_ctx = &what};
    enum faina_code code = fa_unit_flush(&writer->unit, &chore->error);

    if (code == FAINA_OK)
        code = fa_db_run(writer->db, &call, &chore->error);
    if (code == FAINA_OK && remove->unroutable > 0)
        code = fa_db_one(writer->db, FA_SQL_BROKER_COUNT, counts, 2, NULL, NULL, &chore->error);
    return code;
}

enum faina_code fa_engine_outbox_remove(struct fa_service *service, const struct fa_outbox *what,
                                        size_t unroutable, struct faina_error *err)
{
    struct outbox_chore remove = {
        .chore = {.run = run_remove}, .what = what, .unroutable = unroutable};

    return fa_writers_run_chore(downcast(service), &remove.chore, 1, err);
}
