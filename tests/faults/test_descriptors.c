/*
 * test_descriptors.c - no descriptor is left (EMFILE), for every number of them that there is.
 *
 * One round allows the process so many descriptors more than it has, opens a new file and does
 * the moves of moves.c. A refusal is UNAVAILABLE with a sentence; then the limit goes away, and the
 * same handle works on. Nothing acknowledged is lost, the file is sound, and no descriptor stays
 * behind.
 */
#include "faults/inspect.h"
#include "support/moves.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#define ROUNDS_MAX 64

struct round {
    struct fa_t t;
    struct fa_moves moves;
    struct rlimit before;
    char path[FA_T_PATH_SIZE];
    int refusals;
};

static int count_open(int *highest)
{
    DIR *folder = opendir("/proc/self/fd");
    struct dirent *entry;
    int count = 0;

    CHECK(folder != NULL, "no /proc");
    *highest = 0;
    while ((entry = readdir(folder))) {
        int fd = entry->d_name[0] == '.' ? -1 : (int)fa_t_int(entry->d_name);

        count += fd >= 0 && fd != dirfd(folder);
        *highest = fd > *highest ? fd : *highest;
    }
    closedir(folder);
    return count;
}

/* New descriptors take the lowest free number, so the limit is found by trying. */
static void allow(struct round *round, int more)
{
    struct rlimit limit = round->before;
    int fds[ROUNDS_MAX + 1];

    for (int i = 0; i <= more; i++) {
        fds[i] = dup(0);
        CHECK(fds[i] >= 0, "no descriptor");
    }
    limit.rlim_cur = (rlim_t)fds[more];
    for (int i = 0; i <= more; i++)
        close(fds[i]);
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void allow_all(struct round *round)
{
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &round->before), 0);
}

static void on_refusal(void *ctx, struct fa_moves *moves)
{
    struct round *round = ctx;

    (void)moves;
    round->refusals++;
    allow_all(round);
}

/* Whether the limit was in the way. */
static bool run_round(struct round *round, int more)
{
    struct faina_error err = {0};
    enum faina_code code;

    round->refusals = 0;
    round->moves = (struct fa_moves){.t = &round->t, .on_refusal = on_refusal, .ctx = round};
    allow(round, more);
    code = fa_t_try_open(&round->t, &err);
    if (code != FAINA_OK) {
        CHECK(code == FAINA_UNAVAILABLE && err.message[0], "can't open: %s (%s)",
              faina_code_name(code), err.message);
        round->refusals++;
        allow_all(round);
        fa_t_open(&round->t);
    }
    fa_moves_run(&round->moves);
    fa_t_close(&round->t);
    allow_all(round);
    fa_t_open(&round->t);
    fa_l_check(&round->moves.ledger, &round->t);
    fa_t_close(&round->t);
    fa_f_check_sound(round->path, "after a lack of descriptors");
    fa_l_clear(&round->moves.ledger);
    return round->refusals > 0;
}

static void test_descriptors__none_left(void **state)
{
    struct round round = {0};
    int highest, before, struck = 0, calm = 0, more = 0;

    (void)state;
    fa_t_init(&round.t);
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &round.before), 0);
    for (; more < ROUNDS_MAX && calm < 3; more++) {
        snprintf(round.path, sizeof round.path, "%.400s/fd%d.db", round.t.dir, more);
        snprintf(round.t.url, sizeof round.t.url, "sqlite:%.500s", round.path);
        before = count_open(&highest);
        if (run_round(&round, more)) {
            struck++;
            calm = 0;
        } else {
            calm++;
        }
        /* The first opening may keep some for the process, for example of random numbers. */
        CHECK(more == 0 || count_open(&highest) <= before, "%d descriptors before, %d after",
              before, count_open(&highest));
    }
    print_message("%d limits tried, %d with a refusal\n", more, struck);
    CHECK(struck > 2 && calm == 3, "the limits were never, or always, in the way");
    fa_t_finish(&round.t);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_descriptors__none_left),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("descriptors", tests, NULL, NULL);
}
