/*
 * test_cuts.c - the connection is cut around each COMMIT, at each message, in the middle of the
 * migrations: whatever was answered is true, the same request again gives the same answer, and the
 * engine finds its way back by itself.
 *
 * Each round does the moves of support/moves.c through a proxy that acts once, the nth time that
 * its rule fits; rounds end when there is no nth time.
 *
 * FA_CUT_STEP sets how many messages are left out between two that are cut at, FA_COMMIT_STEP the
 * same for COMMITs, and FA_CUT_COMMITS how many COMMITs are cut at least.
 */
#include "support/moves.h"
#include "base/clock.h"
#include "support/proxy.h"
#include "support/psql.h"

#include <setjmp.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define ROUNDS_MAX 2000
#define STEP_DEFAULT 37

struct round {
    struct fa_proxy *proxy;
    struct fa_t t;       /* through the proxy */
    struct fa_t *direct; /* past it; owns the schema */
    struct fa_moves moves;
};

/* What leads through a proxy to the schema of `direct`. */
static void begin_on(struct round *round, struct fa_t *direct)
{
    memset(round, 0, sizeof *round);
    round->proxy = fa_proxy_start(fa_psql_port(fa_psql_url()));
    round->direct = direct;
    fa_t_init(&round->t);
    fa_psql_through(direct->url, fa_proxy_port(round->proxy), round->t.url);
    round->moves = (struct fa_moves){.t = &round->t, .is_remote = true};
}

static void end_on(struct round *round)
{
    fa_l_clear(&round->moves.ledger);
    fa_t_finish(&round->t);
    fa_proxy_stop(round->proxy);
}

/* The same with a schema of its own. */
static void begin(struct round *round)
{
    struct fa_t *direct = fa_alloc_zero(1, sizeof *direct);

    fa_t_init(direct);
    fa_t_set_url(direct, FA_T_POSTGRES);
    begin_on(round, direct);
}

static void end(struct round *round)
{
    end_on(round);
    fa_t_finish(round->direct);
    free(round->direct);
}

/* So that the next round finds nothing; making a schema takes longer than the moves, which end all
 * that they begin. */
static void remove_all(struct fa_t *t)
{
    CHECK_OK(t, fa_t_purge(t, .ns = NULL));
    CHECK_OK(t, fa_t_list(t, .ns = "*"));
    CHECK_INT(t->op.tasks->count, 0);
}

/* After a refusal: nothing to repair, the next try comes by itself. */
static void go_on(void *ctx, struct fa_moves *moves)
{
    (void)ctx;
    (void)moves;
}

/* One round with the rule acting the nth time. False: there was no nth time. */
static bool cut_once(struct fa_t *direct, const struct fa_proxy_rule *rule, int nth, int *refused)
{
    struct fa_proxy_rule armed = *rule;
    struct round round;
    bool has_acted;

    begin_on(&round, direct);
    fa_t_open(&round.t);
    armed.skip = nth;
    armed.times = 1;
    fa_proxy_add(round.proxy, &armed);
    round.moves.on_refusal = go_on;
    fa_moves_run(&round.moves);
    has_acted = fa_proxy_hits(round.proxy) > 0;
    *refused += round.moves.refused;
    fa_proxy_clear(round.proxy);
    fa_l_check(&round.moves.ledger, direct);
    end_on(&round);
    remove_all(direct);
    return has_acted;
}

/* How many cuts there were. */
static int cut_everywhere(const char *name, const struct fa_proxy_rule *rule, int step)
{
    int rounds = 0, refused = 0, first = (int)(fa_t_seed() % (uint64_t)step);
    struct fa_t direct;

    fa_t_init(&direct);
    fa_t_set_url(&direct, FA_T_POSTGRES);
    fa_t_open(&direct);
    while (rounds < ROUNDS_MAX && cut_once(&direct, rule, first + rounds * step, &refused))
        rounds++;
    fa_t_finish(&direct);
    print_message("%s: %d rounds, %d refusals\n", name, rounds, refused);
    CHECK_TRUE(rounds > 2 && rounds < ROUNDS_MAX);
    return rounds;
}

static void test_cuts__around_each_commit(void **state)
{
    static const struct {
        const char *name;
        struct fa_proxy_rule rule;
    } cases[] = {
        {"before COMMIT", {FA_PROXY_CLIENT, FA_PROXY_CUT_BEFORE, .sql = "COMMIT"}},
        {"COMMIT sent, no answer", {FA_PROXY_CLIENT, FA_PROXY_CUT_AFTER, .sql = "COMMIT"}},
        {"answer lost", {FA_PROXY_SERVER, FA_PROXY_CUT_BEFORE, 'C', "COMMIT"}},
        {"half an answer", {FA_PROXY_SERVER, FA_PROXY_CUT_INSIDE, 'C', "COMMIT"}},
        {"after the answer", {FA_PROXY_SERVER, FA_PROXY_CUT_AFTER, 'C', "COMMIT"}},
    };

    int wanted = (int)fa_t_env_int("FA_CUT_COMMITS", 1), cuts = 0;

    (void)state;
    fa_psql_need_engine();
    while (cuts < wanted)
        for (size_t i = 0; i < FA_COUNT(cases); i++)
            cuts += cut_everywhere(cases[i].name, &cases[i].rule,
                                   (int)fa_t_env_int("FA_COMMIT_STEP", 1));
    print_message("%d COMMITs cut\n", cuts);
}

static void test_cuts__at_any_message(void **state)
{
    const struct fa_proxy_rule from_client = {FA_PROXY_CLIENT, FA_PROXY_CUT_INSIDE, 0, NULL};
    const struct fa_proxy_rule from_server = {FA_PROXY_SERVER, FA_PROXY_CUT_INSIDE, 0, NULL};
    int step = (int)fa_t_env_int("FA_CUT_STEP", STEP_DEFAULT);

    (void)state;
    fa_psql_need_engine();
    cut_everywhere("inside a message of ours", &from_client, step);
    cut_everywhere("inside an answer", &from_server, step);
}

/* A step of the migrations is lost: opening fails cleanly or goes on, and works the next time. */
static void test_cuts__while_opening(void **state)
{
    int step = (int)fa_t_env_int("FA_CUT_STEP", STEP_DEFAULT);
    int nth = 0;
    bool has_acted = true;

    (void)state;
    fa_psql_need_engine();
    for (; has_acted && nth < ROUNDS_MAX; nth += step) {
        struct fa_proxy_rule rule = {FA_PROXY_CLIENT, FA_PROXY_CUT_AFTER, 0, NULL};
        struct faina_error err = {0};
        struct round round;
        enum faina_code code;

        begin(&round);
        rule.skip = nth;
        rule.times = 1;
        fa_proxy_add(round.proxy, &rule);
        code = fa_t_try_open(&round.t, &err);
        CHECK(code == FAINA_OK || fa_l_is_away(code), "opening: %s (%s)", faina_code_name(code),
              err.message);
        has_acted = fa_proxy_hits(round.proxy) > 0;
        if (code != FAINA_OK)
            fa_t_open(&round.t);
        fa_moves_run(&round.moves);
        fa_l_check(&round.moves.ledger, &round.t);
        end(&round);
    }
    CHECK_TRUE(nth > 2 * step && nth < ROUNDS_MAX);
}

/* No answer, no end: the engine gives up on the connection by itself, and says so. */
static void test_cuts__network_that_goes_silent(void **state)
{
    struct fa_proxy_rule silent = {FA_PROXY_SERVER,  FA_PROXY_STALL, 0, NULL,
                                   .stall_ms = 3000, .times = 1};
    struct round round;

    (void)state;
    fa_psql_need_engine();
    begin(&round);
    fa_t_open(&round.t);
    fa_proxy_add(round.proxy, &silent);
    round.moves.on_refusal = go_on;
    fa_moves_run(&round.moves); /* slow, but right */
    CHECK_INT(fa_proxy_hits(round.proxy), 1);
    fa_t_open(round.direct);
    fa_l_check(&round.moves.ledger, round.direct);
    end(&round);
}

/* A farewell that nobody answers keeps nobody. */
static void test_cuts__silent_network_at_the_end(void **state)
{
    struct round round;
    int64_t began_us;

    (void)state;
    fa_psql_need_engine();
    begin(&round);
    fa_t_open(&round.t);
    fa_t_submit(&round.t, .type = "x");
    usleep(1000000); /* what a node begins with is over: it is the farewell that meets silence */
    fa_proxy_freeze(round.proxy, true);
    began_us = fa_clock_mono_us();
    fa_t_close(&round.t);
    CHECK(fa_clock_mono_us() - began_us < 15000000, "closing took %lld ms",
          (long long)(fa_clock_mono_us() - began_us) / 1000);
    fa_proxy_freeze(round.proxy, false);
    end(&round);
}

/* While nobody answers, callers are told so; afterwards the same handle works. */
static void test_cuts__database_is_away(void **state)
{
    struct round round;
    enum faina_code code;
    const char *id;

    (void)state;
    fa_psql_need_engine();
    begin(&round);
    fa_t_open(&round.t);
    id = fa_t_submit(&round.t, .type = "x", .idempotency_key = "before");
    fa_proxy_refuse(round.proxy, true);
    fa_proxy_cut_all(round.proxy);
    code = fa_t_try_submit(&round.t, .type = "x", .idempotency_key = "meanwhile");
    CHECK(fa_l_is_away(code), "a submit without a database: %s (%s)", faina_code_name(code),
          round.t.op.error.message);
    for (int i = 0; i < 3; i++) { /* over a connection that was there, and over a new one */
        code = fa_t_get(&round.t, id);
        CHECK(code == FAINA_UNAVAILABLE || code == FAINA_OVERLOADED,
              "a look without a database: %s", faina_code_name(code));
    }
    fa_proxy_refuse(round.proxy, false);
    while (fa_l_is_away(fa_t_get(&round.t, id)))
        ;
    CHECK_OK(&round.t, round.t.op.code);
    fa_t_submit(&round.t, .type = "x", .idempotency_key = "after");
    CHECK_CODE(&round.t, fa_t_get_by_key(&round.t, NULL, "x", "meanwhile"), FAINA_TASK_NOT_FOUND);
    end(&round);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuts__around_each_commit),
        cmocka_unit_test(test_cuts__at_any_message),
        cmocka_unit_test(test_cuts__while_opening),
        cmocka_unit_test(test_cuts__network_that_goes_silent),
        cmocka_unit_test(test_cuts__silent_network_at_the_end),
        cmocka_unit_test(test_cuts__database_is_away),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("cuts", tests, NULL, NULL);
}
