/*
 * bench_serve.c - the server against its upper bounds: its rate without a store, and the engine's
 * rates; the cost of many waiting clients, and the start time.
 *
 * The server is a process of its own (bench_served.h). The client connects over TCP on this
 * machine: bench_load.h, which shares the processors with the server, or the remote engine.
 */
#include "bench/bench_driver.h"
#include "bench/bench_engine.h"
#include "bench/bench_load.h"
#include "bench/bench_served.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define API "/api/v1"
#define CONNECTIONS 64
#define CALLERS 4 /* of serve-batch and serve-life, on both sides */
#define BATCH 1000
#define LIFE_BATCH 100
#define TURN_MS 800
#define QUICK_TURN_MS 60
#define OTHER_TYPE "bench.other" /* never submitted: clients that wait for it wait for ever */
#define POLLS 5000
#define STREAMS 1000
#define QUICK_POLLS 50
#define QUICK_STREAMS 10
#define STORED 1000000
#define QUICK_STORED 10000
#define MB_IDLE_MAX 15
#define MB_WAITED_ON_MAX 100
#define READY_MS_MAX 100

/* The state of a part. */
struct part {
    struct fa_bench *bench;
    char dir[4100];
    struct fa_arena arena;
};

static enum faina_code start(const struct part *part, const char *name, struct fa_bench_served *out,
                             struct faina_error *err)
{
    char url[4200];

    snprintf(url, sizeof url, "sqlite:%s/%s.db", part->dir, name);
    return fa_bench_served_start(out, url, err);
}

static int64_t turn_ms(const struct part *part)
{
    return part->bench->is_quick ? QUICK_TURN_MS : TURN_MS;
}

static const char *task_text(struct part *part, size_t number)
{
    return fa_arena_printf(&part->arena, "{\"type\":\"" FA_BENCH_TYPE "\",\"input\":%s}",
                           fa_bench_input(&part->bench->inputs, number));
}

static struct fa_bench_request_row *add_row(struct fa_bench *bench, const char *name,
                                            int connections)
{
    struct fa_bench_request_row *row =
        &bench->report.request_rows[bench->report.request_row_count++];

    row->name = name;
    row->connections = connections;
    return row;
}

/* A turn of the client, recorded in `row` (NULL: a warm-up). */
static enum faina_code take_turn(struct fa_bench_load *load, struct fa_bytes request, int status,
                                 int64_t ms, struct fa_bench_request_row *row,
                                 struct faina_error *err)
{
    struct fa_bench_loaded loaded;
    enum faina_code code = fa_bench_load_run(load, request, status, ms, &loaded, err);

    if (code == FAINA_OK && row) {
        fa_bench_rounds_add(&row->per_second, loaded.per_second);
        fa_bench_rounds_add(&row->medians_us, loaded.median_us);
        fa_bench_rounds_add(&row->p99s_us, loaded.p99_us);
    }
    return code;
}

/* ------------------------------------------------------------------------------------------
 * One task at a time
 */

static enum faina_code post_tasks(struct part *part, struct faina_error *err)
{
    struct fa_bench *bench = part->bench;
    struct fa_bytes check =
        fa_bench_request(&part->arena, "POST", API "/tasks:check", task_text(part, 0));
    struct fa_bytes submit =
        fa_bench_request(&part->arena, "POST", API "/tasks", task_text(part, 0));
    struct fa_bench_request_row *checks =
        add_row(bench, "POST /tasks:check (no store)", CONNECTIONS);
    struct fa_bench_request_row *submits = add_row(bench, "POST /tasks", CONNECTIONS);
    struct fa_bench_served served;
    struct fa_bench_load *load = NULL;
    enum faina_code code = start(part, "post", &served, err);

    if (code == FAINA_OK)
        code = fa_bench_load_open(&load, served.port, CONNECTIONS, err);
    for (int round = 0; code == FAINA_OK && round <= bench->rounds; round++) {
        fa_bench_progress_bar(bench, "serve-post", round, bench->rounds + 1);
        code = take_turn(load, check, 200, turn_ms(part), round ? checks : NULL, err);
        if (code == FAINA_OK)
            code = take_turn(load, submit, 201, turn_ms(part), round ? submits : NULL, err);
    }
    fa_bench_load_close(load);
    fa_bench_served_stop(&served);
    if (code != FAINA_OK)
        return code;
    fa_bench_ratio_add(&bench->report, &submits->per_second, &checks->per_second, FA_BENCH_AT_LEAST,
                       0.7, "server: POST /tasks / the same body without the store");
    fa_bench_ratio_add(&bench->report, &submits->p99s_us, &submits->medians_us, FA_BENCH_AT_MOST,
                       10, "server: POST /tasks, 99 of 100 / median");
    return FAINA_OK;
}

/* ------------------------------------------------------------------------------------------
 * Batches
 */

static const char *batch_text(struct part *part)
{
    struct fa_buf text;
    const char *copy;

    fa_buf_init(&text, (size_t)16 * 1024 * 1024);
    fa_buf_add_str(&text, "{\"tasks\":[");
    for (size_t i = 0; i < BATCH; i++)
        fa_buf_printf(&text, "%s%s", i > 0 ? "," : "", task_text(part, i));
    fa_buf_add_str(&text, "]}");
    copy = fa_arena_strdup(&part->arena, text.ptr);
    fa_buf_finish(&text);
    return copy;
}

/* About as long as a turn of the client, with the same work, so both have as many checkpoints. */
static enum faina_code engine_turn(struct fa_bench_engine *engine, int64_t tasks,
                                   struct fa_bench_rounds *out, struct faina_error *err)
{
    int64_t ns;
    enum faina_code code = fa_bench_engine_submit(engine, &ns, err);

    if (code == FAINA_OK && out)
        fa_bench_rounds_add(out, (double)tasks * 1e9 / (double)ns);
    return code;
}

static enum faina_code post_batches(struct part *part, struct faina_error *err)
{
    struct fa_bench *bench = part->bench;
    struct fa_bytes request =
        fa_bench_request(&part->arena, "POST", API "/tasks:batch", batch_text(part));
    struct fa_bench_request_row *batches = add_row(bench, "POST /tasks:batch of 1,000", CALLERS);
    const struct fa_bench_speed speed = {.subject = FA_BENCH_ENGINE,
                                         .callers = CALLERS,
                                         .batch = BATCH,
                                         .tasks = CALLERS * BATCH * (bench->is_quick ? 1 : 80)};
    struct fa_bench_rounds above = {0}, below = {0};
    struct fa_bench_engine *engine = NULL;
    struct fa_bench_load *load = NULL;
    struct fa_bench_served served;
    enum faina_code code = start(part, "batch", &served, err);

    if (code == FAINA_OK)
        code = fa_bench_load_open(&load, served.port, CALLERS, err);
    if (code == FAINA_OK)
        code = fa_bench_engine_open(&engine, bench, part->dir, "own", &speed, err);
    for (int round = 0; code == FAINA_OK && round <= bench->rounds; round++) {
        fa_bench_progress_bar(bench, "serve-batch", round, bench->rounds + 1);
        code = engine_turn(engine, speed.tasks, round ? &below : NULL, err);
        if (code == FAINA_OK)
            code = take_turn(load, request, 200, turn_ms(part), round ? batches : NULL, err);
    }
    fa_bench_engine_close(engine);
    fa_bench_load_close(load);
    fa_bench_served_stop(&served);
    if (code != FAINA_OK)
        return code;
    for (size_t i = 0; i < batches->per_second.count; i++)
        fa_bench_rounds_add(&above, batches->per_second.values[i] * BATCH);
    fa_bench_ratio_add(&bench->report, &above, &below, FA_BENCH_AT_LEAST, 0.8,
                       "server: tasks by POST /tasks:batch of 1,000 / the engine's by 1,000");
    return FAINA_OK;
}

/* ------------------------------------------------------------------------------------------
 * Submit, claim and complete
 */

static enum faina_code life_turn(struct fa_bench_engine *engine, struct fa_bench_speed *speed,
                                 bool is_kept, struct faina_error *err)
{
    int64_t ns[FA_BENCH_STEPS];
    enum faina_code code = fa_bench_engine_round(engine, ns, err);

    if (code == FAINA_OK && is_kept)
        fa_bench_speed_add(speed, ns);
    return code;
}

static struct fa_bench_speed *add_speed(struct fa_bench *bench, enum fa_bench_subject subject)
{
    struct fa_bench_speed *speed = &bench->report.speeds[bench->report.speed_count++];

    *speed = (struct fa_bench_speed){.part = "serve-life",
                                     .subject = subject,
                                     .callers = CALLERS,
                                     .batch = LIFE_BATCH,
                                     .tasks = CALLERS * LIFE_BATCH * (bench->is_quick ? 1 : 30)};
    return speed;
}

static enum faina_code live_over_http(struct part *part, struct faina_error *err)
{
    struct fa_bench *bench = part->bench;
    struct fa_bench_speed *own = add_speed(bench, FA_BENCH_ENGINE);
    struct fa_bench_speed *remote = add_speed(bench, FA_BENCH_HTTP);
    struct fa_bench_engine *engine = NULL, *client = NULL;
    struct fa_service *service;
    struct fa_bench_served served;
    char url[64];
    enum faina_code code = start(part, "life", &served, err);

    snprintf(url, sizeof url, "http://127.0.0.1:%d", served.port);
    if (code == FAINA_OK)
        code = fa_service_open(&service, url, NULL, err);
    if (code == FAINA_OK)
        client = fa_bench_engine_create(service, bench, remote);
    if (code == FAINA_OK)
        code = fa_bench_engine_open(&engine, bench, part->dir, "own", own, err);
    for (int round = 0; code == FAINA_OK && round <= bench->rounds; round++) {
        fa_bench_progress_bar(bench, "serve-life", round, bench->rounds + 1);
        code = life_turn(engine, own, round > 0, err);
        if (code == FAINA_OK)
            code = life_turn(client, remote, round > 0, err);
    }
    fa_bench_engine_close(engine);
    fa_bench_engine_close(client);
    fa_bench_served_stop(&served);
    if (code == FAINA_OK)
        fa_bench_ratio_add(&bench->report, &remote->rates[FA_BENCH_LIFE],
                           &own->rates[FA_BENCH_LIFE], FA_BENCH_AT_LEAST, 0.6,
                           "server: submit, claim and complete by 100 over HTTP / the engine's");
    return code;
}

/* ------------------------------------------------------------------------------------------
 * Many waiting clients
 */

static bool raise_limit(rlim_t wanted)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return false;
    if (limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    return limit.rlim_cur >= wanted;
}

/* The number after `name` on a line of /metrics; -1: there is none. */
static double metric(struct part *part, int port, const char *name)
{
    struct fa_bytes request = fa_bench_request(&part->arena, "GET", "/metrics", NULL);
    struct fa_buf text;
    double value = -1;
    const char *at;
    int status;

    fa_buf_init(&text, (size_t)16 * 1024 * 1024);
    fa_bench_request_once(port, request, &status, &text);
    at = text.ptr ? strstr(text.ptr, name) : NULL;
    if (at && at[strlen(name)] == ' ')
        value = strtod(at + strlen(name), NULL);
    fa_buf_finish(&text);
    return value;
}

/* Opens connections with a waiting request each, and waits until the server counts them. */
static enum faina_code open_waiting(struct part *part, int port, int count, struct fa_bytes request,
                                    const char *gauge, struct fa_bench_load **out,
                                    struct faina_error *err)
{
    enum faina_code code = fa_bench_load_open(out, port, count, err);

    if (code == FAINA_OK)
        code = fa_bench_load_send(*out, request, err);
    for (int i = 0; code == FAINA_OK && metric(part, port, gauge) < count; i++) {
        if (i == 1000)
            return fa_error_set(err, FAINA_TIMEOUT, "not all of %d requests wait in time", count);
        usleep(10000);
    }
    return code;
}

struct waiting {
    struct fa_bench_load *polls, *streams;
};

static enum faina_code open_all_waiting(struct part *part, int port, struct waiting *waiting,
                                        struct faina_error *err)
{
    bool is_quick = part->bench->is_quick;
    struct fa_bytes poll =
        fa_bench_request(&part->arena, "POST", API "/claims",
                         "{\"workerId\":\"w\",\"types\":[\"" OTHER_TYPE "\"],\"waitSeconds\":600}");
    struct fa_bytes stream =
        fa_bench_request(&part->arena, "GET", API "/stream?type=" OTHER_TYPE, NULL);
    enum faina_code code = open_waiting(part, port, is_quick ? QUICK_POLLS : POLLS, poll,
                                        "\nfaina_waits", &waiting->polls, err);

    if (code == FAINA_OK)
        code = open_waiting(part, port, is_quick ? QUICK_STREAMS : STREAMS, stream,
                            "\nfaina_streams", &waiting->streams, err);
    return code;
}

/* Two servers that alternate: one with waiting clients, one without. */
static enum faina_code serve_many(struct part *part, struct faina_error *err)
{
    struct fa_bench *bench = part->bench;
    struct fa_bytes submit =
        fa_bench_request(&part->arena, "POST", API "/tasks", task_text(part, 0));
    struct fa_bench_request_row *alone = add_row(bench, "POST /tasks, none wait", CONNECTIONS);
    struct fa_bench_request_row *beside = add_row(bench, "POST /tasks, 6,000 wait", CONNECTIONS);
    struct fa_bench_served served[2] = {{0}};
    struct fa_bench_load *loads[2] = {NULL};
    struct waiting waiting = {0};
    struct fa_bench_rounds mb = {0};
    enum faina_code code = FAINA_OK;

    if (!raise_limit(POLLS + STREAMS + 500))
        return fa_error_set(err, FAINA_UNAVAILABLE,
                            "serve-waits needs %d open files; see `ulimit -n`",
                            POLLS + STREAMS + 500);
    for (int i = 0; code == FAINA_OK && i < 2; i++) {
        code = start(part, i ? "beside" : "alone", &served[i], err);
        if (code == FAINA_OK)
            code = fa_bench_load_open(&loads[i], served[i].port, CONNECTIONS, err);
    }
    if (code == FAINA_OK)
        code = open_all_waiting(part, served[1].port, &waiting, err);
    if (code == FAINA_OK)
        fa_bench_rounds_add(&mb, fa_bench_served_mb(&served[1]));
    for (int round = 0; code == FAINA_OK && round <= bench->rounds; round++) {
        fa_bench_progress_bar(bench, "serve-waits", round, bench->rounds + 1);
        code = take_turn(loads[0], submit, 201, turn_ms(part), round ? alone : NULL, err);
        if (code == FAINA_OK)
            code = take_turn(loads[1], submit, 201, turn_ms(part), round ? beside : NULL, err);
    }
    fa_bench_load_close(waiting.polls);
    fa_bench_load_close(waiting.streams);
    for (int i = 0; i < 2; i++) {
        fa_bench_load_close(loads[i]);
        fa_bench_served_stop(&served[i]);
    }
    if (code != FAINA_OK)
        return code;
    fa_bench_ratio_add(&bench->report, &alone->per_second, &beside->per_second, FA_BENCH_AT_MOST,
                       1.5, "server: POST /tasks alone / beside 5,000 long polls, 1,000 streams");
    fa_bench_value_add(&bench->report, &mb, FA_BENCH_AT_MOST, MB_WAITED_ON_MAX,
                       "server: MB resident with 5,000 long polls and 1,000 streams");
    return FAINA_OK;
}

/* ------------------------------------------------------------------------------------------
 * Starting
 */

static enum faina_code store_many(const struct part *part, struct faina_error *err)
{
    static const struct faina_submit like = {.type = FA_BENCH_TYPE};
    const struct fa_bench *bench = part->bench;
    int64_t tasks = bench->is_quick ? QUICK_STORED : STORED;
    struct fa_bench_driver driver;
    struct fa_service *service;
    enum faina_code code = fa_bench_service_open(&service, bench, part->dir, "start", err);

    if (code != FAINA_OK)
        return code;
    fa_bench_driver_init(&driver, service, &bench->inputs, 1, BATCH, 0);
    for (int64_t done = 0; code == FAINA_OK && done < tasks; done += BATCH) {
        fa_bench_progress_bar(bench, "serve-start", done, tasks);
        code = fa_bench_driver_submit(&driver, &like, BATCH, false, err);
    }
    fa_bench_driver_finish(&driver);
    fa_service_close(service);
    return code;
}

static enum faina_code start_often(struct part *part, struct faina_error *err)
{
    struct fa_bench *bench = part->bench;
    struct fa_bench_rounds ms = {0}, mb = {0};
    enum faina_code code = store_many(part, err);

    for (int round = 0; code == FAINA_OK && round <= bench->rounds; round++) {
        struct fa_bench_served served;

        code = start(part, "start", &served, err);
        if (code == FAINA_OK && round > 0) {
            fa_bench_rounds_add(&ms, (double)served.ready_us / 1e3);
            fa_bench_rounds_add(&mb, fa_bench_served_mb(&served));
        }
        fa_bench_served_stop(&served);
    }
    if (code != FAINA_OK)
        return code;
    fa_bench_value_add(&bench->report, &ms, FA_BENCH_AT_MOST, READY_MS_MAX,
                       "server: ms until it is ready, with 1,000,000 tasks");
    fa_bench_value_add(&bench->report, &mb, FA_BENCH_AT_MOST, MB_IDLE_MAX,
                       "server: MB resident when it is ready, with 1,000,000 tasks");
    return FAINA_OK;
}

/* ------------------------------------------------------------------------------------------
 * Parts
 */

static const struct {
    const char *name;
    enum faina_code (*run)(struct part *part, struct faina_error *err);
} parts[] = {
    {"serve-post", post_tasks},  {"serve-batch", post_batches}, {"serve-life", live_over_http},
    {"serve-waits", serve_many}, {"serve-start", start_often},
};

enum faina_code fa_bench_serve(struct fa_bench *bench, const char *name, struct faina_error *err)
{
    struct part part = {.bench = bench};
    enum faina_code code = fa_bench_location_make(bench, name, part.dir, sizeof part.dir, err);
    size_t which = 0;

    if (code != FAINA_OK)
        return code;
    while (strcmp(parts[which].name, name) != 0)
        which++;
    fa_bench_progress(bench, "%s", name);
    code = parts[which].run(&part, err);
    fa_bench_progress_clear(bench);
    fa_arena_finish(&part.arena);
    fa_bench_location_remove(bench, part.dir);
    return code;
}
