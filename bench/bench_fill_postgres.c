/*
 * bench_fill_postgres.c - the ids of the copies are an hour old, 64 per millisecond, so they can't
 * collide with ids of the engine. Both rows of a task and the counts are written in one
 * transaction, for up to 100,000 tasks.
 */
#include "bench/bench_fill_postgres.h"

#define CHUNK 100000
#define FIRST_ID "((extract(epoch FROM now())::bigint - 3600) * 1000 << 12)"

/* Of the statements' %s: id of copy number g; the numbers; the task that is copied. */
struct copies {
    char id[64], numbers[64], model[32];
};

static void add_tasks(struct fa_buf *sql, const struct copies *copies)
{
    fa_buf_printf(sql,
                  "INSERT INTO task (id, tail, created_us, lane, rank, max_attempts, input)"
                  " SELECT %s, m.tail # g, m.created_us - 3600000000, m.lane, m.rank,"
                  " m.max_attempts, m.input FROM %s, task m WHERE m.id = %s;",
                  copies->id, copies->numbers, copies->model);
}

static void add_ready(struct fa_buf *sql, const struct copies *copies)
{
    fa_buf_printf(sql,
                  "INSERT INTO ready (lane, rank, id) SELECT m.lane, m.rank, %s FROM %s, task m"
                  " WHERE m.id = %s;",
                  copies->id, copies->numbers, copies->model);
}

static void add_ended(struct fa_buf *sql, const struct copies *copies)
{
    fa_buf_printf(sql,
                  "INSERT INTO ended (id, version, fence, attempts, flags, updated_us, claimed_us,"
                  " started_us, completed_us, lane, progress, status, worker, state, output)"
                  " SELECT %s, m.version, m.fence, m.attempts, m.flags, m.updated_us - 3600000000,"
                  " m.claimed_us - 3600000000, m.started_us - 3600000000,"
                  " m.completed_us - 3600000000, m.lane, m.progress, m.status, m.worker, m.state,"
                  " m.output FROM %s, ended m WHERE m.id = %s;",
                  copies->id, copies->numbers, copies->model);
}

struct filling {
    const struct fa_bench *bench;
    struct fa_bench_session *session;
    const char *what;
    void (*add)(struct fa_buf *sql, const struct copies *copies);
    enum faina_status status;
    int64_t count;
};

static enum faina_code fill_chunk(const struct filling *filling, int64_t first_id, int64_t model,
                                  int64_t from, int64_t to, struct faina_error *err)
{
    struct copies copies;
    struct fa_buf sql;
    enum faina_code code;

    snprintf(copies.id, sizeof copies.id, "%lld + g * 64", (long long)first_id);
    snprintf(copies.numbers, sizeof copies.numbers, "generate_series(%lld, %lld) g",
             (long long)from, (long long)to - 1);
    snprintf(copies.model, sizeof copies.model, "%lld", (long long)model);
    fa_buf_init(&sql, 8192);
    fa_buf_add_str(&sql, "BEGIN;");
    add_tasks(&sql, &copies);
    filling->add(&sql, &copies);
    fa_buf_printf(&sql,
                  "INSERT INTO tally (lane, status, shard, n) SELECT m.lane, %d, 0, %lld"
                  " FROM task m WHERE m.id = %s ON CONFLICT (lane, status, shard)"
                  " DO UPDATE SET n = tally.n + excluded.n; COMMIT",
                  (int)filling->status, (long long)(to - from), copies.model);
    code = fa_bench_session_run(filling->session, sql.ptr, NULL, err);
    fa_buf_finish(&sql);
    return code;
}

static enum faina_code fill(const struct filling *filling, const char *find_model,
                            struct faina_error *err)
{
    int64_t first_id, model;
    enum faina_code code =
        fa_bench_session_run(filling->session, "SELECT " FIRST_ID, &first_id, err);

    if (code == FAINA_OK)
        code = fa_bench_session_run(filling->session, find_model, &model, err);
    if (code == FAINA_OK && model == 0)
        return fa_error_set(err, FAINA_INTERNAL, "there is no task to copy");
    for (int64_t done = 0; code == FAINA_OK && done < filling->count; done += CHUNK) {
        int64_t to = done + CHUNK < filling->count ? done + CHUNK : filling->count;

        fa_bench_progress_bar(filling->bench, filling->what, done, filling->count);
        code = fill_chunk(filling, first_id, model, done, to, err);
    }
    return code;
}

enum faina_code fa_bench_fill_waiting(const struct fa_bench *bench,
                                      struct fa_bench_session *session, int priority, int64_t count,
                                      const char *what, struct faina_error *err)
{
    const struct filling filling = {bench, session, what, add_ready, FAINA_PENDING, count};
    char sql[100];

    snprintf(sql, sizeof sql, "SELECT min(id) FROM ready WHERE rank = %d", -priority);
    return fill(&filling, sql, err);
}

enum faina_code fa_bench_fill_ended(const struct fa_bench *bench, struct fa_bench_session *session,
                                    int64_t count, const char *what, struct faina_error *err)
{
    const struct filling filling = {bench, session, what, add_ended, FAINA_COMPLETED, count};

    return fill(&filling, "SELECT min(id) FROM ended", err);
}

enum faina_code fa_bench_fill_settle(struct fa_bench_session *session, struct faina_error *err)
{
    static const char *const tables[] = {"task", "ready", "ended", "tally"};
    enum faina_code code = FAINA_OK;
    char sql[64];

    for (size_t i = 0; code == FAINA_OK && i < FA_COUNT(tables); i++) {
        snprintf(sql, sizeof sql, "VACUUM (ANALYZE) %s", tables[i]);
        code = fa_bench_session_run(session, sql, NULL, err);
    }
    return code;
}
