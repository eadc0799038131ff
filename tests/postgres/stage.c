/*
 * stage.c - races with named sessions and steps, in every order.
 */
#include "postgres/stage.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <libpq-fe.h>

/* One session. The stage hands it a step; it runs it on its thread. */
struct actor {
    struct fa_stage *stage;
    struct fa_t t;
    pthread_t thread;
    size_t index;
    fa_stage_step *step; /* NULL: idle */
    struct fa_told *told;
};

struct fa_stage {
    char url[FA_T_PATH_SIZE], database[64];
    struct fa_t main;
    PGconn *raw, *locker, *watch;
    struct fa_scene scene;
    int scenes;
    struct actor actors[FA_STAGE_SESSIONS];

    pthread_mutex_t mutex; /* guards `step` of the actors and is_over */
    pthread_cond_t changed;
    bool is_over;
};

static const char letters[] = "abcl";

/* ------------------------------------------------------------------------------------------
 * Sessions
 */

static void *act(void *arg)
{
    struct actor *actor = arg;
    struct fa_stage *stage = actor->stage;

    pthread_mutex_lock(&stage->mutex);
    while (!stage->is_over) {
        if (actor->step == NULL) {
            pthread_cond_wait(&stage->changed, &stage->mutex);
            continue;
        }
        pthread_mutex_unlock(&stage->mutex);
        actor->told->begin_us = fa_clock_mono_us();
        actor->step(&stage->scene, actor->index == LOCKER ? NULL : &actor->t, stage->locker,
                    actor->told);
        actor->told->end_us = fa_clock_mono_us();
        pthread_mutex_lock(&stage->mutex);
        actor->step = NULL;
        pthread_cond_broadcast(&stage->changed);
    }
    pthread_mutex_unlock(&stage->mutex);
    return NULL;
}

void fa_stage_lock(struct fa_scene *scene, struct fa_t *mine, PGconn *conn, struct fa_told *told)
{
    char sql[512];

    (void)mine;
    (void)told;
    fa_psql_exec(conn, "BEGIN");
    /* The format is the play's own. */
    snprintf(sql, sizeof sql, "%.*s%s%s",
             (int)(strstr(scene->play->lock, "%s") - scene->play->lock), scene->play->lock,
             scene->id, strstr(scene->play->lock, "%s") + 2);
    fa_psql_exec(conn, "%s", sql);
}

void fa_stage_unlock(struct fa_scene *scene, struct fa_t *mine, PGconn *conn, struct fa_told *told)
{
    (void)scene;
    (void)mine;
    (void)told;
    fa_psql_exec(conn, "COMMIT");
}

/* ------------------------------------------------------------------------------------------
 * A stage
 */

struct fa_stage *fa_stage_create(void)
{
    struct fa_stage *stage = fa_alloc_zero(1, sizeof *stage);
    const char *path = strrchr(fa_psql_url(), '/');
    PGconn *conn = fa_psql_connect(fa_psql_url());

    snprintf(stage->database, sizeof stage->database, "stage_%d_%lld", (int)getpid(),
             (long long)fa_clock_mono_us());
    fa_psql_exec(conn, "CREATE DATABASE %s", stage->database);
    fa_psql_close(conn);
    snprintf(stage->url, sizeof stage->url, "%.*s/%s?schema=stage&application_name=%s",
             (int)(path - fa_psql_url()), fa_psql_url(), stage->database, stage->database);
    fa_t_init(&stage->main);
    snprintf(stage->main.url, sizeof stage->main.url, "%s", stage->url);
    fa_t_open(&stage->main);
    stage->raw = fa_psql_connect(stage->url);
    stage->locker = fa_psql_connect(stage->url);
    stage->watch = fa_psql_connect(stage->url);
    pthread_mutex_init(&stage->mutex, NULL);
    pthread_cond_init(&stage->changed, NULL);
    for (size_t i = 0; i < FA_STAGE_SESSIONS; i++) {
        struct actor *actor = &stage->actors[i];

        actor->stage = stage;
        actor->index = i;
        snprintf(actor->t.url, sizeof actor->t.url, "%s", stage->url);
        if (i != LOCKER)
            fa_t_open(&actor->t);
        CHECK(pthread_create(&actor->thread, NULL, act, actor) == 0, "can't start a thread");
    }
    return stage;
}

void fa_stage_destroy(struct fa_stage *stage)
{
    PGconn *conn;

    pthread_mutex_lock(&stage->mutex);
    stage->is_over = true;
    pthread_cond_broadcast(&stage->changed);
    pthread_mutex_unlock(&stage->mutex);
    for (size_t i = 0; i < FA_STAGE_SESSIONS; i++) {
        pthread_join(stage->actors[i].thread, NULL);
        fa_t_close(&stage->actors[i].t);
        fa_arena_finish(&stage->actors[i].t.arena);
    }
    fa_psql_close(stage->raw);
    fa_psql_close(stage->locker);
    fa_psql_close(stage->watch);
    fa_t_finish(&stage->main);
    conn = fa_psql_connect(fa_psql_url());
    fa_psql_drop_database(conn, stage->database);
    fa_psql_close(conn);
    pthread_mutex_destroy(&stage->mutex);
    pthread_cond_destroy(&stage->changed);
    free(stage);
}

const char *fa_stage_url(const struct fa_stage *stage)
{
    return stage->url;
}

/* ------------------------------------------------------------------------------------------
 * Playing
 */

static bool is_busy(struct fa_stage *stage, size_t index)
{
    bool busy;

    pthread_mutex_lock(&stage->mutex);
    busy = stage->actors[index].step != NULL;
    pthread_mutex_unlock(&stage->mutex);
    return busy;
}

static void hand_out(struct fa_stage *stage, size_t index, size_t step)
{
    pthread_mutex_lock(&stage->mutex);
    stage->actors[index].told = &stage->scene.told[index][step];
    stage->actors[index].step = stage->scene.play->steps[index][step];
    pthread_cond_broadcast(&stage->changed);
    pthread_mutex_unlock(&stage->mutex);
}

/* Somebody in this database waits for a lock. */
static bool somebody_waits(struct fa_stage *stage)
{
    return fa_psql_int(stage->watch, "SELECT count(*) FROM pg_stat_activity WHERE datname = "
                                     "current_database() AND wait_event_type = 'Lock'") > 0;
}

/* Until the session is idle; or, when it `may_block`, until it waits for a lock. True: idle. */
static bool settle(struct fa_stage *stage, size_t index, bool may_block)
{
    const struct timespec pause = {.tv_nsec = 200000};
    int64_t begin_us = fa_clock_mono_us();
    int looks = 0;

    while (is_busy(stage, index)) {
        int64_t waited_us = fa_clock_mono_us() - begin_us;

        CHECK(waited_us < FA_T_DEADLINE_MS * 1000LL, "%s, order %s: session %c hangs",
              stage->scene.play->name, stage->scene.order, letters[index]);
        if (may_block && waited_us > 5000 && somebody_waits(stage) && ++looks == 3)
            return false;
        nanosleep(&pause, NULL);
    }
    return true;
}

/* Plays one order: `order` names the session of each step. Returns how many had to wait. */
static int play_order(struct fa_stage *stage, const struct fa_play *play, const char *order)
{
    size_t next[FA_STAGE_SESSIONS] = {0};
    int blocked = 0;

    memset(&stage->scene, 0, sizeof stage->scene);
    stage->scene.t = &stage->main;
    stage->scene.raw = stage->raw;
    stage->scene.play = play;
    snprintf(stage->scene.name, sizeof stage->scene.name, "s%d", ++stage->scenes);
    snprintf(stage->scene.order, sizeof stage->scene.order, "%s", order);
    play->prepare(&stage->scene);
    for (const char *at = order; *at; at++) {
        size_t index = (size_t)(strchr(letters, *at) - letters);

        /* It may still wait for a lock that only a later step gives back. */
        if (is_busy(stage, index) && !settle(stage, index, strchr(at, 'l') != NULL)) {
            size_t locker = LOCKER;

            CHECK(play->steps[locker][next[locker]] == fa_stage_unlock, "%s, order %s: stuck",
                  play->name, order);
            hand_out(stage, locker, next[locker]++);
            settle(stage, locker, false);
            settle(stage, index, false);
        }
        if (play->steps[index][next[index]] == NULL)
            continue; /* the unlocking came early */
        hand_out(stage, index, next[index]);
        if (!settle(stage, index, strchr(at, 'l') != NULL)) {
            stage->scene.told[index][next[index]].was_blocked = true;
            blocked++;
        }
        next[index]++;
    }
    for (size_t i = 0; i < FA_STAGE_SESSIONS; i++)
        settle(stage, i, false);
    play->check(&stage->scene);
    fa_t_forget(&stage->main);
    for (size_t i = 0; i < LOCKER; i++)
        fa_t_forget(&stage->actors[i].t);
    return blocked;
}

/* Every order: extends `order` by a step of each session that has one left. */
static int play_all(struct fa_stage *stage, const struct fa_play *play, char *order, size_t len,
                    size_t left[FA_STAGE_SESSIONS], int *blocked)
{
    int played = 0;
    bool is_whole = true;

    for (size_t i = 0; i < FA_STAGE_SESSIONS; i++) {
        if (left[i] == 0)
            continue;
        is_whole = false;
        left[i]--;
        order[len] = letters[i];
        played += play_all(stage, play, order, len + 1, left, blocked);
        left[i]++;
    }
    if (!is_whole)
        return played;
    order[len] = '\0';
    *blocked += play_order(stage, play, order);
    return 1;
}

int fa_stage_run(struct fa_stage *stage, const struct fa_play *play, int *blocked)
{
    size_t left[FA_STAGE_SESSIONS] = {0};
    char order[FA_STAGE_SESSIONS * FA_STAGE_STEPS + 1];

    for (size_t i = 0; i < FA_STAGE_SESSIONS; i++)
        while (left[i] < FA_STAGE_STEPS && play->steps[i][left[i]])
            left[i]++;
    *blocked = 0;
    return play_all(stage, play, order, 0, left, blocked);
}
