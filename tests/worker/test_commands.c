/*
 * test_commands.c - every row of the contract about command handlers, with real processes.
 */
#include "worker/world.h"

#include "base/clock.h"

#include <ctype.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------------------
 * Exit
 */

static void test_commands__exits(struct fa_t *t)
{
    static const struct {
        const char *script;
        enum faina_status status;
        const char *error; /* a part of it; NULL: none */
    } cases[] = {
        {"echo '{\"a\":1}'", FAINA_COMPLETED, NULL},
        {"exit 75", FAINA_DEAD_LETTER, "exited with code 75"},
        {"exit 64", FAINA_FAILED, "exited with code 64"},
        {"exit 65", FAINA_FAILED, "exited with code 65"},
        {"exit 78", FAINA_FAILED, "exited with code 78"},
        {"exit 126", FAINA_FAILED, "exited with code 126"},
        {"exit 127", FAINA_FAILED, "exited with code 127"},
        {"exit 1", FAINA_DEAD_LETTER, "exited with code 1"},
        {"exit 255", FAINA_DEAD_LETTER, "exited with code 255"},
        {"kill -SEGV $$", FAINA_DEAD_LETTER, "ended by signal 11"},
        {"echo this went wrong >&2; exit 2", FAINA_DEAD_LETTER, "code 2: this went wrong"},
        {"echo '{\"error\":{\"message\":\"mine\",\"kind\":\"k\",\"retryable\":false}}' >&3; exit 1",
         FAINA_FAILED, "\"message\":\"mine\",\"kind\":\"k\""},
        {"echo '{\"error\":{\"message\":\"mine\",\"retryable\":true}}' >&3; exit 64",
         FAINA_DEAD_LETTER, "mine"},
        {"echo '{\"error\":\"mine\"}' >&3; exit 64", FAINA_FAILED, "mine"},
        {"echo '{\"error\":\"mine\"}' >&3; exit 0", FAINA_DEAD_LETTER, "mine"},
        {"echo rubbish >&3; exit 75", FAINA_DEAD_LETTER,
         "exited with code 75; line 1 on descriptor 3 is invalid: "},
        {"echo '{}' >&3; echo rubbish >&3; echo words >&2; exit 64", FAINA_FAILED, "; line 2 on"},
        {"echo rubbish >&3; echo words >&2; exit 1", FAINA_DEAD_LETTER, "; it logged: words\""},
        {"echo rubbish >&3; kill -SEGV $$", FAINA_DEAD_LETTER,
         "11 (Segmentation fault); line 1 on"},
        {"echo '{\"error\":\"mine\"}' >&3; echo rubbish >&3; exit 64", FAINA_FAILED,
         "mine; line 2 on descriptor 3"},
        {"echo '{\"error\":{\"kind\":\"k\"}}' >&3; exit 1", FAINA_DEAD_LETTER,
         "exited with code 1; line 1 on descriptor 3 is invalid: error.message is missing"},
        {"echo '{\"error\":\"mine\"}{}' >&3; exit 65", FAINA_FAILED, "code 65; line 1 on"},
        {"echo not json", FAINA_FAILED, "it begins: not json\""},
        {"echo '{\"a\":1} {\"b\":2}'", FAINA_FAILED, "the output can't be taken"},
        {"printf '\\000'", FAINA_FAILED, "the output can't be taken"},
        {"printf '\\377'", FAINA_FAILED, "the output can't be taken"},
        {"head -c 3000000 /dev/zero | tr '\\0' 1", FAINA_FAILED, "printed more than"},
        {"yes", FAINA_FAILED, "printed more than"},
    };
    struct world w;

    world_open(&w, t);
    for (size_t i = 0; i < FA_COUNT(cases); i++)
        world_script(&w, fa_arena_printf(&t->arena, "case%zu", i), cases[i].script);
    world_start(&w);
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        const char *type = fa_arena_printf(&t->arena, "case%zu", i);
        struct faina_task *task = world_try(&w, type, NULL, 1, cases[i].status);

        if (cases[i].error)
            CHECK_HAS(task->error, cases[i].error);
        else
            CHECK_STR(task->error, NULL);
    }
    world_close(&w);
}

static void test_commands__output_is_what_was_printed(struct fa_t *t)
{
    static const struct {
        const char *script, *output;
    } cases[] = {
        {"cat", "{\"n\":[1,2]}"},  {"cat; echo; echo", "{\"n\":[1,2]}"},
        {"cat > /dev/null", NULL}, {"echo null", "null"},
        {"printf '  7\\n'", "7"},
    };
    struct world w;

    world_open(&w, t);
    for (size_t i = 0; i < FA_COUNT(cases); i++)
        world_script(&w, fa_arena_printf(&t->arena, "case%zu", i), cases[i].script);
    world_start(&w);
    for (size_t i = 0; i < FA_COUNT(cases); i++)
        CHECK_STR(world_try(&w, fa_arena_printf(&t->arena, "case%zu", i), "{\"n\":[1,2]}", 1,
                            FAINA_COMPLETED)
                      ->output,
                  cases[i].output);
    world_close(&w);
}

static void test_commands__a_retry_is_another_attempt(struct fa_t *t)
{
    const char *id;
    struct world w;

    world_open(&w, t);
    world_script(&w, "again", "test \"$FAINA_ATTEMPT\" = 3 || exit 75; echo $FAINA_ATTEMPT");
    world_start(&w);
    id = fa_t_submit(t, .type = "again", .retry.base_ms = 1, .retry.max_ms = 5);
    CHECK_STR(world_await(&w, id, FAINA_COMPLETED)->output, "3");
    CHECK_INT(fa_t_task(t, id)->attempts, 3);
    world_close(&w);
}

/* ------------------------------------------------------------------------------------------
 * Input and environment
 */

/* Without a traceparent in the metadata it is made from the task, and valid. */
static void check_own_trace(struct world *w)
{
    static const char shape[] = "\"00-____________7___________________-________________-00\"";
    struct faina_task *task = world_try(w, "trace", NULL, 1, FAINA_COMPLETED);
    char id[FAINA_ID_SIZE] = "", *end = id;

    CHECK_INT(strlen(task->output), strlen(shape));
    for (size_t i = 0; i < strlen(shape) && task->output[i]; i++)
        CHECK_TRUE(shape[i] == '_' ? isxdigit((unsigned char)task->output[i]) != 0
                                   : shape[i] == task->output[i]);
    for (const char *at = task->id; *at; at++)
        if (*at != '-')
            *end++ = *at;
    CHECK_HAS(task->output, id);
}

static void test_commands__environment(struct fa_t *t)
{
    struct faina_task *task;
    const char *id, *fact;
    struct world w;

    setenv("FAINA_TOKEN", "secret", 1);
    setenv("FA_TEST_LEAK", "secret", 1);
    world_open(&w, t);
    world_script(&w, "env",
                 "env | sort >&2; printf '{\"id\":\"%s\",\"type\":\"%s\",\"ns\":\"%s\","
                 "\"attempt\":%s,\"phase\":\"%s\",\"fence\":%s,\"trace\":\"%s\",\"extra\":\"%s\"}' "
                 "$FAINA_TASK_ID $FAINA_TASK_TYPE $FAINA_NAMESPACE $FAINA_ATTEMPT $FAINA_PHASE "
                 "$FAINA_FENCE $FAINA_TRACEPARENT \"$EXTRA\"");
    world_script(&w, "trace", "set -u; echo \"\\\"$FAINA_TRACEPARENT\\\"\"");
    world_file(&w, "env.json", "{\"env\":{\"EXTRA\":\"a b\"}}", 0644);
    world_start(&w);
    id = fa_t_submit(t, .type = "env", .ns = "other",
                     .metadata = "{\"traceparent\":\"00-abc-def-01\"}");
    task = world_await(&w, id, FAINA_COMPLETED);
    fact = fa_arena_printf(&t->arena,
                           "{\"id\":\"%s\",\"type\":\"env\",\"ns\":\"other\",\"attempt\":1,"
                           "\"phase\":\"start\",\"fence\":%lld,\"trace\":\"00-abc-def-01\","
                           "\"extra\":\"a b\"}",
                           id, (long long)task->fence);
    CHECK_STR(task->output, fact);
    check_own_trace(&w);
    CHECK_HAS(world_event(&w, id, "attempt"), "PATH=");
    CHECK_TRUE(strstr(world_event(&w, id, "attempt"), "secret") == NULL);
    world_close(&w);
    unsetenv("FAINA_TOKEN");
    unsetenv("FA_TEST_LEAK");
}

/* A shell would hide a duplicate name; a C program uses the first. */
static void test_commands__settings_go_before_the_workers_environment(struct fa_t *t)
{
    struct world w;

    setenv("TZ", "Europe/Rome", 1);
    world_open(&w, t);
    world_script(&w, "clock",
                 "tr '\\0' '\\n' < /proc/$$/environ | grep -E '^(TZ|PATH|HOME.*)=' | sort >&2");
    world_file(&w, "clock.json",
               "{\"env\":{\"TZ\":\"Asia/Tokyo\",\"PATH\":\"/usr/bin:/bin\",\"HOME\":\"/\","
               "\"HOMELY\":\"1\"}}",
               0644);
    world_start(&w);
    CHECK_HAS(world_event(&w, world_try(&w, "clock", NULL, 1, FAINA_COMPLETED)->id, "attempt"),
              "\"log\":\"HOME=/\\nHOMELY=1\\nPATH=/usr/bin:/bin\\nTZ=Asia/Tokyo\\n\"");
    world_close(&w);
    unsetenv("TZ");
}

static void test_commands__the_environment_is_complete(struct fa_t *t)
{
    struct world w;

    setenv("FA_TEST_ONE", "1", 1);
    setenv("FA_TEST_TWO", "2", 1);
    setenv("FA_OTHER", "3", 1);
    setenv("LC_ALL", "C", 1);
    setenv("USER", "ann", 1);
    world_open(&w, t);
    world_script(&w, "seen", "tr '\\0' '\\n' < /proc/$$/environ | sed 's/=.*//' | sort >&2");
    world_script(&w, "order", "echo $FA_TEST_ONE $FA_TEST_TWO $FA_OTHER $QUOTED >&2");
    world_file(
        &w, "order.json",
        "{\"passEnv\":[\"FA_TEST_*\"],\"envFile\":\"order.env\",\"env\":{\"FA_TEST_TWO\":\"env\"}}",
        0644);
    world_file(&w, "order.env",
               "# a comment\n\nFA_TEST_ONE=file\nexport FA_TEST_TWO=file\nQUOTED=\"a = b\"\n",
               0600);
    w.config.pass_env = (const char *const[]){"FA_OTHER"};
    w.config.pass_env_count = 1;
    world_start(&w);
    CHECK_HAS(world_event(&w, world_try(&w, "order", NULL, 1, FAINA_COMPLETED)->id, "attempt"),
              "\"log\":\"file env 3 a = b\\n\"");
    CHECK_HAS(
        world_event(&w, world_try(&w, "seen", NULL, 1, FAINA_COMPLETED)->id, "attempt"),
        "\"log\":\"FAINA_ATTEMPT\\nFAINA_FENCE\\nFAINA_NAMESPACE\\nFAINA_PHASE\\nFAINA_TASK_ID\\n"
        "FAINA_TASK_TYPE\\nFAINA_TRACEPARENT\\nFA_OTHER\\n");
    CHECK_TRUE(
        strstr(world_event(&w, world_try(&w, "seen", NULL, 1, FAINA_COMPLETED)->id, "attempt"),
               "LC_ALL") == NULL);
    world_close(&w);
    unsetenv("FA_TEST_ONE");
    unsetenv("FA_TEST_TWO");
    unsetenv("FA_OTHER");
    unsetenv("LC_ALL");
    unsetenv("USER");
}

/* The handler is used once its file is right; the message has no value. */
static void test_commands__a_bad_env_file(struct fa_t *t)
{
    struct world w;

    world_open(&w, t);
    world_script(&w, "late", "echo \"\\\"$SECRET\\\"\"");
    world_file(&w, "late.json", "{\"envFile\":\"late.env\"}", 0644);
    world_start(&w);
    CHECK_TRUE(world_has_logged(&w, "late is not used"));
    CHECK_TRUE(world_has_logged(&w, "late.env can't be read"));
    world_file(&w, "late.env", "SECRET hunter2\n", 0600);
    world_await_log(&w, "line 1 of the envFile");
    CHECK_TRUE(!world_has_logged(&w, "hunter2"));
    world_file(&w, "late.env", "SECRET=hunter2\n", 0600);
    CHECK_STR(world_try(&w, "late", NULL, 1, FAINA_COMPLETED)->output, "\"hunter2\"");
    world_file(&w, "late.env", "SECRET=other\n", 0600);
    CHECK_STR(world_try(&w, "late", NULL, 1, FAINA_COMPLETED)->output, "\"other\"");
    CHECK_TRUE(!world_has_logged(&w, "hunter2"));
    world_close(&w);
}

/* TYPE before TYPE.EXT; the settings are always TYPE.json. */
static void test_commands__files_with_an_ending(struct fa_t *t)
{
    struct world w;
    char path[FA_T_PATH_SIZE + 32];

    world_open(&w, t);
    world_script(&w, "resize.sh", "echo \"\\\"sh $X\\\"\"");
    world_script(&w, "resize.py", "echo '\"py\"'");
    world_file(&w, "resize.json", "{\"env\":{\"X\":\"1\"}}", 0644);
    world_file(&w, "helper.py", "print(1)", 0644);
    world_start(&w);
    CHECK_STR(world_try(&w, "resize", NULL, 1, FAINA_COMPLETED)->output, "\"sh 1\"");
    CHECK_TRUE(!world_has_logged(&w, "helper"));
    world_script(&w, "resize", "echo '\"own\"'");
    world_await_log(&w, "/resize\n");
    CHECK_STR(world_try(&w, "resize", NULL, 1, FAINA_COMPLETED)->output, "\"own\"");
    snprintf(path, sizeof(path), "%s/resize", w.handlers);
    CHECK_INT(unlink(path), 0);
    while (strcmp(world_try(&w, "resize", NULL, 3, FAINA_COMPLETED)->output, "\"own\"") == 0)
        continue;
    CHECK_STR(world_try(&w, "resize", NULL, 1, FAINA_COMPLETED)->output, "\"sh 1\"");
    world_close(&w);
}

static void test_commands__an_output_that_is_no_json(struct fa_t *t)
{
    struct world w;
    struct faina_task *task;

    world_open(&w, t);
    world_script(&w, "chatty", "echo Resizing now");
    world_start(&w);
    task = world_try(&w, "chatty", NULL, 1, FAINA_FAILED);
    CHECK_HAS(task->error, "print to stderr, or");
    CHECK_HAS(task->error, "it begins: Resizing now");
    world_close(&w);
}

static void test_commands__surroundings(struct fa_t *t)
{
    static const char script[] =
        "nnp=$(awk '/NoNewPrivs/ {print $2}' /proc/self/status)\n"
        "core=$(ulimit -c); files=$(ulimit -n)\n"
        "sid=$(cut -d' ' -f6 /proc/$$/stat); group=$(cut -d' ' -f5 /proc/$$/stat)\n"
        "blocked=$(awk '/SigBlk/ {print $2}' /proc/self/status)\n"
        "ignored=$(awk '/SigIgn/ {print $2}' /proc/self/status)\n"
        "test $sid = $$ && test $group = $$ && own=1\n"
        "echo \"{\\\"nnp\\\":$nnp,\\\"core\\\":$core,\\\"files\\\":$files,"
        "\\\"own\\\":$own,\\\"cwd\\\":\\\"$(pwd)\\\",\\\"blocked\\\":\\\"$blocked\\\","
        "\\\"ignored\\\":\\\"$ignored\\\"}\"";
    const char *output;
    struct world w;
    char *real;

    world_open(&w, t);
    real = realpath(w.handlers, NULL);
    world_script(&w, "look", script);
    world_script(&w, "fds", "exec ls /proc/self/fd >&2");
    world_file(&w, "look.json", "{\"limits\":{\"files\":77}}", 0644);
    signal(SIGPIPE, SIG_IGN);
    world_start(&w);
    /* ls itself has the folder open. */
    CHECK_HAS(world_event(&w, world_try(&w, "fds", NULL, 1, FAINA_COMPLETED)->id, "attempt"),
              "\"log\":\"0\\n1\\n2\\n3\\n4\\n\"");
    output = world_try(&w, "look", NULL, 1, FAINA_COMPLETED)->output;
    CHECK_HAS(output, "\"nnp\":1,\"core\":0,\"files\":77,\"own\":1");
    CHECK_HAS(output, fa_arena_printf(&t->arena, "\"cwd\":\"%s\"", real));
    CHECK_HAS(output, "\"blocked\":\"0000000000000000\"");
    CHECK_HAS(output, "0000000\"}"); /* no standard signal is ignored */
    signal(SIGPIPE, SIG_DFL);
    free(real);
    world_close(&w);
}

static void test_commands__limits(struct fa_t *t)
{
    struct world w;

    world_open(&w, t);
    world_script(&w, "spin", "echo here >&2; while :; do :; done");
    world_file(&w, "spin.json", "{\"limits\":{\"cpu\":\"1s\"}}", 0644);
    world_script(&w, "look", "echo \"[$(ulimit -St),$(ulimit -Ht)]\"");
    world_file(&w, "look.json", "{\"limits\":{\"cpu\":\"7s\"}}", 0644);
    world_script(&w, "other", "kill -XCPU $$");
    world_start(&w);
    CHECK_HAS(world_try(&w, "spin", NULL, 1, FAINA_DEAD_LETTER)->error,
              "ended by signal 24 (CPU time limit exceeded), since it used more CPU time than its "
              "limit of 1 s: here\"");
    CHECK_STR(world_try(&w, "look", NULL, 1, FAINA_COMPLETED)->output, "[7,8]");
    CHECK_HAS(world_try(&w, "other", NULL, 1, FAINA_DEAD_LETTER)->error,
              "ended by signal 24 (CPU time limit exceeded)\"");
    world_close(&w);
}

/* ------------------------------------------------------------------------------------------
 * Messages on descriptor 3
 */

static void test_commands__log_and_usage(struct fa_t *t)
{
    const char *id, *event;
    struct world w;

    world_open(&w, t);
    world_script(&w, "small", "echo one >&2; printf '\\377\\000x' >&2");
    world_script(&w, "large",
                 "i=0; while [ $i -lt 4000 ]; do echo \"line $i and some more text, so "
                 "that it is long\" >&2; i=$((i+1)); done");
    world_start(&w);
    id = world_try(&w, "small", NULL, 1, FAINA_COMPLETED)->id;
    event = world_event(&w, id, "attempt");
    CHECK_HAS(event, "\"exitCode\":0,\"signal\":null,\"seconds\":");
    CHECK_HAS(event, "\"cpuSeconds\":0.");
    CHECK_HAS(event, "\"memoryBytes\":");
    CHECK_HAS(event, "\"log\":\"one\\n\xEF\xBF\xBD\xEF\xBF\xBDx\",\"logIsCut\":false");
    id = world_try(&w, "large", NULL, 1, FAINA_COMPLETED)->id;
    event = world_event(&w, id, "attempt");
    CHECK_HAS(event, "line 3999 and");
    CHECK_HAS(event, "\"logIsCut\":true");
    CHECK_TRUE(strstr(event, "line 100 and") == NULL);
    CHECK_TRUE(strlen(event) > 64 * 1024 && strlen(event) < 70 * 1024);
    world_close(&w);
}

static bool has_progress(struct fa_t *t, void *arg)
{
    struct faina_task *task = fa_t_task(t, arg);

    return task->progress == 40 && strcmp(task->metadata, "{}") != 0;
}

static void test_commands__progress_while_it_runs(struct fa_t *t)
{
    const char *id;
    struct world w;

    world_open(&w, t);
    world_script(&w, "slow",
                 "echo '{\"progress\":40,\"state\":\"decoding\"}' >&3\n"
                 "echo '{\"metadata\":{\"size\":7}}' >&3\n"
                 "while [ ! -e go ]; do sleep 0.02; done; rm go");
    world_start(&w);
    id = fa_t_submit(t, .type = "slow");
    fa_t_wait_until(has_progress, t, (void *)(uintptr_t)id, "progress");
    CHECK_STR(fa_t_task(t, id)->state, "decoding");
    CHECK_STR(fa_t_task(t, id)->metadata, "{\"size\":7}");
    CHECK_NOW(t, id, FAINA_RUNNING);
    world_file(&w, "go", "", 0644);
    CHECK_INT(world_await(&w, id, FAINA_COMPLETED)->progress, 100);
    world_close(&w);
}

static void test_commands__much_progress_is_few_events(struct fa_t *t)
{
    const char *id;
    struct world w;

    world_open(&w, t);
    world_script(&w, "chatty",
                 "i=0; while [ $i -lt 20000 ]; do echo '{\"progress\":50}'; "
                 "i=$((i+1)); done >&3");
    world_start(&w);
    id = world_try(&w, "chatty", NULL, 1, FAINA_COMPLETED)->id;
    CHECK_OK(t, fa_t_events(t, id, 1000));
    CHECK(t->op.events->count < 100, "%zu events", t->op.events->count);
    world_close(&w);
}

/* The task is due much later, whatever the exit code; only a snooze spends no attempt. */
static void test_commands__says_when_to_try_again(struct fa_t *t)
{
    static const struct {
        const char *script, *event;
        int64_t attempts, hours;
    } cases[] = {
        {"echo '{\"snooze\":\"2h\"}' >&3; echo 1", "snoozed", 0, 2},
        {"echo '{\"snooze\":7200}' >&3; exit 65", "snoozed", 0, 2},
        {"echo '{\"error\":{\"message\":\"busy\",\"retryAfter\":\"5h\"}}' >&3; exit 1",
         "retry_scheduled", 1, 5},
        {"echo '{\"snooze\":\"2h\"}' >&3; echo '{\"error\":\"bad\"}' >&3; exit 1",
         "retry_scheduled", 1, 0},
    };
    struct world w;

    world_open(&w, t);
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        char name[8] = {'t', (char)('0' + i)};

        world_script(&w, name, cases[i].script);
    }
    world_start(&w);
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        char name[8] = {'t', (char)('0' + i)};
        const char *id = fa_t_submit(t, .type = name, .max_attempts = 2);
        struct faina_task *task;

        world_await_event(&w, id, cases[i].event);
        task = fa_t_task(t, id);
        CHECK_STATUS(task->status, FAINA_PENDING);
        CHECK_INT(task->attempts, cases[i].attempts);
        CHECK_INT((task->run_at_us - task->updated_us + 1000000) / 3600000000, cases[i].hours);
    }
    world_close(&w);
}

static void test_commands__rubbish_on_descriptor_3(struct fa_t *t)
{
    static const struct {
        const char *script, *error;
    } cases[] = {
        {"echo rubbish >&3; echo 1", "line 1 on descriptor 3 is invalid"},
        {"echo '{\"progress\":10}' >&3; echo '[]' >&3", "line 2 on descriptor 3"},
        {"echo '{\"progres\":10}' >&3", "did you mean \\\"progress\\\"?"},
        {"echo '{\"progress\":101}' >&3", "from 0 to 100"},
        {"echo '{\"progress\":\"x\"}' >&3", "from 0 to 100"},
        {"echo '{\"state\":1}' >&3", "state must be a string"},
        {"echo '{\"metadata\":[]}' >&3", "metadata"},
        {"echo '{\"subtask\":{\"priority\":1}}' >&3", "type"},
        {"echo '{\"subtask\":{\"type\":\"a\",\"status\":\"x\"}}' >&3", "set by the engine"},
        {"echo '{\"snooze\":\"soon\"}' >&3", "snooze"},
        {"echo '{\"background\":1}' >&3", "background must be an object"},
        {"echo '{\"background\":{\"timeout\":\"soon\"}}' >&3", "background.timeout"},
        {"echo '{\"error\":1}' >&3", "error must be"},
        {"echo '{\"error\":{\"kind\":\"x\"}}' >&3", "error.message is missing"},
        {"echo '{\"failFast\":1}' >&3", "failFast"},
        {"echo '{\"background\":{}}{\"subtask\":{\"type\":\"a\"}}' >&3", "descriptor 3"},
        {"echo '{\"background\":{}}' >&3; echo '{\"subtask\":{\"type\":\"a\"}}' >&3", "not both"},
        {"head -c 2000000 /dev/zero | tr '\\0' x >&3; echo >&3", "is longer than"},
        {"head -c 2000000 /dev/zero | tr '\\0' x >&3", "is longer than"},
        {"head -c 100000 /dev/urandom >&3", "descriptor 3"},
    };
    struct world w;

    world_open(&w, t);
    for (size_t i = 0; i < FA_COUNT(cases); i++)
        world_script(&w, fa_arena_printf(&t->arena, "case%zu", i), cases[i].script);
    world_script(&w, "closes", "exec 3>&-; echo '\"fine\"'");
    world_script(&w, "unfinished", "printf '{\"state\":\"no newline\"}' >&3");
    world_start(&w);
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        const char *type = fa_arena_printf(&t->arena, "case%zu", i);

        CHECK_HAS(world_try(&w, type, NULL, 1, FAINA_FAILED)->error, cases[i].error);
    }
    CHECK_STR(world_try(&w, "closes", NULL, 1, FAINA_COMPLETED)->output, "\"fine\"");
    world_try(&w, "unfinished", NULL, 1, FAINA_COMPLETED);
    world_close(&w);
}

/* ------------------------------------------------------------------------------------------
 * Stopping
 */

static bool is_there(struct fa_t *t, void *arg)
{
    (void)t;
    return access(arg, F_OK) == 0;
}

static void await_file(struct world *w, const char *name)
{
    char path[FA_T_PATH_SIZE * 2];

    snprintf(path, sizeof(path), "%s/%s", w->handlers, name);
    fa_t_wait_until(is_there, w->t, path, name);
}

static bool is_gone(struct fa_t *t, void *arg)
{
    (void)t;
    return kill((pid_t) * (int64_t *)arg, 0) != 0;
}

/* The id of the process that wrote it to this file. */
static int64_t read_pid(struct world *w, const char *name)
{
    char path[FA_T_PATH_SIZE * 2], text[32] = "";
    FILE *file;

    await_file(w, name);
    snprintf(path, sizeof(path), "%s/%s", w->handlers, name);
    file = fopen(path, "r");
    CHECK_TRUE(file && fscanf(file, "%31s", text) == 1);
    fclose(file);
    return fa_t_int(text);
}

/* Waits until the process that wrote its id to this file has ended. */
static void await_death(struct world *w, const char *name)
{
    int64_t pid = read_pid(w, name);

    fa_t_wait_until(is_gone, w->t, &pid, "the death of a process");
}

static void test_commands__timeout(struct fa_t *t)
{
    const char *id;
    struct world w;

    world_open(&w, t);
    world_script(&w, "slow", "echo $$ > .pid.tmp; mv .pid.tmp pid; sleep 100 & wait");
    world_file(&w, "slow.json", "{\"timeout\":\"200ms\"}", 0644);
    world_script(&w, "deaf",
                 "trap '' TERM; echo $$ > .pid2.tmp; mv .pid2.tmp pid2\n"
                 "while :; do sleep 1; done");
    world_file(&w, "deaf.json", "{\"timeout\":0.2}", 0644);
    world_script(&w, "own", "sleep 1000");
    world_file(&w, "own.json", "{\"timeout\":\"1h\"}", 0644);
    world_start(&w);
    CHECK_HAS(world_try(&w, "slow", NULL, 1, FAINA_DEAD_LETTER)->error,
              "the attempt took longer than 0.2 s\",\"kind\":\"timeout\"");
    await_death(&w, "pid");
    CHECK_HAS(world_try(&w, "deaf", NULL, 1, FAINA_DEAD_LETTER)->error, "timeout");
    /* The task's own, which the engine knows too: the process ends with the attempt. */
    id = fa_t_submit(t, .type = "own", .timeout_ms = 200, .max_attempts = 1);
    CHECK_HAS(world_await(&w, id, FAINA_DEAD_LETTER)->error, "\"kind\":\"timeout\"");
    while (world_stats(&w).held > 0)
        usleep(1000);
    await_death(&w, "pid2");
    world_close(&w);
}

/* Well before the next regular heartbeat, after a third of the lease. */
static void test_commands__cancellation_reaches_the_child(struct fa_t *t)
{
    int64_t cancelled_us;
    const char *id;
    struct world w;

    world_open(&w, t);
    world_script(
        &w, "slow",
        "trap 'echo bye >&2; touch told; exit 1' TERM; echo $$ > .pid.tmp; mv .pid.tmp pid\n"
        "sleep 100 & wait");
    w.config.lease_ms = 90000;
    world_start(&w);
    id = fa_t_submit(t, .type = "slow");
    await_file(&w, "pid");
    cancelled_us = fa_clock_mono_us();
    CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
    await_file(&w, "told");
    CHECK_TRUE(fa_clock_mono_us() - cancelled_us < 8000000);
    await_death(&w, "pid");
    world_stop(&w, 10000);
    CHECK_NOW(t, id, FAINA_CANCELLED);
    CHECK_TRUE(world_event(&w, id, "late_result") == NULL);
    CHECK_HAS(world_event(&w, id, "attempt"), "\"exitCode\":1");
    CHECK_HAS(world_event(&w, id, "attempt"), "bye\\n\"");
    world_close(&w);
}

static void test_commands__an_attempt_that_lost_its_lease_is_noted(struct fa_t *t)
{
    const char *id;
    struct world w;

    world_open(&w, t);
    world_script(&w, "slow",
                 "echo here >&2; echo $$ > .pid.tmp; mv .pid.tmp pid$FAINA_ATTEMPT\n"
                 "sleep 100 & wait");
    w.config.lease_ms = 6000; /* a heartbeat every 2 s */
    world_start(&w);
    id = fa_t_submit(t, .type = "slow");
    await_file(&w, "pid1");
    CHECK_OK(t, fa_t_pause(t, NULL, "slow"));
    CHECK_OK(t, fa_t_retry(t, id, NOBODY)); /* takes it away */
    await_death(&w, "pid1");
    world_stop(&w, 10000);
    CHECK_NOW(t, id, FAINA_PENDING);
    CHECK_HAS(world_event(&w, id, "attempt"), "\"log\":\"here\\n\"");
    world_close(&w);
}

static void test_commands__what_it_leaves_behind_is_killed(struct fa_t *t)
{
    struct world w;

    world_open(&w, t);
    world_script(&w, "leaves", "sleep 1000 & echo $! > .pid.tmp; mv .pid.tmp pid; echo 1");
    world_start(&w);
    CHECK_STR(world_try(&w, "leaves", NULL, 1, FAINA_COMPLETED)->output, "1");
    await_death(&w, "pid");
    world_close(&w);
}

/* The message is not enough: the next attempt would run at the same time as these processes. */
static void test_commands__only_what_went_into_the_background_lives_on(struct fa_t *t)
{
    static const struct {
        const char *script;
        enum faina_status status;
    } cases[] = {
        {"exit 75", FAINA_DEAD_LETTER},
        {"kill -SEGV $$", FAINA_DEAD_LETTER},
        {"echo rubbish >&3", FAINA_FAILED},
        {"echo '{\"error\":\"mine\"}' >&3", FAINA_DEAD_LETTER},
        {"echo '{\"subtask\":{\"type\":\"a\"}}' >&3", FAINA_FAILED},
        {"echo '{\"resource\":\"gpu\"}' >&3", FAINA_COMPLETED},
    };
    struct world w;
    int64_t pid;

    world_open(&w, t);
    for (size_t i = 0; i <= FA_COUNT(cases); i++)
        world_script(&w, fa_arena_printf(&t->arena, "case%zu", i),
                     fa_arena_printf(&t->arena,
                                     "[ -z \"$FAINA_RESOURCES\" ] || exit 0\n"
                                     "echo '{\"background\":{\"timeout\":\"1h\"}}' >&3\n"
                                     "sleep 1000 & echo $! > .pid%zu; mv .pid%zu pid%zu\n%s",
                                     i, i, i, i < FA_COUNT(cases) ? cases[i].script : ""));
    world_start(&w);
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        world_try(&w, fa_arena_printf(&t->arena, "case%zu", i), NULL, 1, cases[i].status);
        await_death(&w, fa_arena_printf(&t->arena, "pid%zu", i));
    }
    world_try(&w, fa_arena_printf(&t->arena, "case%zu", FA_COUNT(cases)), NULL, 1,
              FAINA_BACKGROUND);
    pid = read_pid(&w, fa_arena_printf(&t->arena, "pid%zu", FA_COUNT(cases)));
    CHECK_INT(kill((pid_t)pid, 0), 0);
    kill((pid_t)pid, SIGKILL);
    world_close(&w);
}

/* The task is in the background then; if its processes were killed it would never end. */
static void test_commands__a_stopped_worker_leaves_the_background_alone(struct fa_t *t)
{
    struct world w;
    const char *id;
    int64_t pid;

    world_open(&w, t);
    world_script(&w, "later",
                 "trap 'echo \"{\\\"background\\\":{}}\" >&3; exit 0' TERM\n"
                 "sh -c 'trap \"\" TERM; echo $$ > .pid; mv .pid pid; exec sleep 1000' &\n"
                 "while :; do sleep 0.02; done");
    world_start(&w);
    id = fa_t_submit(t, .type = "later", .max_attempts = 1);
    pid = read_pid(&w, "pid");
    world_stop(&w, 1);
    CHECK_NOW(t, id, FAINA_BACKGROUND);
    CHECK_INT(kill((pid_t)pid, 0), 0);
    kill((pid_t)pid, SIGKILL);
    world_close(&w);
}

/* ------------------------------------------------------------------------------------------
 * Many
 */

static void test_commands__sixty_four_at_once(struct fa_t *t)
{
    enum { COUNT = 64 };
    const char *ids[COUNT];
    struct world w;

    world_open(&w, t);
    /* Each waits until all have begun, so they run at once. */
    world_script(&w, "meet",
                 "touch here.$FAINA_TASK_ID\n"
                 "while [ $(ls | grep -c here.) -lt 64 ]; do sleep 0.1; done; echo 1");
    w.config.concurrency = COUNT;
    world_start(&w);
    for (int i = 0; i < COUNT; i++)
        ids[i] = fa_t_submit(t, .type = "meet");
    for (int i = 0; i < COUNT; i++)
        world_await(&w, ids[i], FAINA_COMPLETED);
    world_close(&w);
}

static void test_commands__concurrency_of_a_type(struct fa_t *t)
{
    enum { COUNT = 12 };
    const char *ids[COUNT];
    struct world w;

    world_open(&w, t);
    world_script(&w, "two",
                 "mkdir a 2>/dev/null && d=a || { mkdir b && d=b; } || exit 64\n"
                 "sleep 0.05; rmdir $d; echo 1");
    world_file(&w, "two.json", "{\"concurrency\":2}", 0644);
    world_script(&w, "free", "echo 1");
    world_start(&w);
    for (int i = 0; i < COUNT; i++)
        ids[i] = fa_t_submit(t, .type = i % 3 ? "two" : "free");
    for (int i = 0; i < COUNT; i++)
        world_await(&w, ids[i], FAINA_COMPLETED);
    world_close(&w);
}

/* ------------------------------------------------------------------------------------------
 * The folder
 */

static void test_commands__files_come_and_go(struct fa_t *t)
{
    char path[FA_T_PATH_SIZE * 2];
    struct world w;

    world_open(&w, t);
    world_start(&w);
    world_script(&w, "new", "echo 1");
    CHECK_STR(world_try(&w, "new", NULL, 1, FAINA_COMPLETED)->output, "1");
    world_script(&w, "new", "echo 22");
    world_await_log(&w, "handles new by");
    snprintf(path, sizeof(path), "%s/new", w.handlers);
    for (int i = 0; i < 200; i++) /* until the change was noticed */
        if (strcmp(world_try(&w, "new", NULL, 1, FAINA_COMPLETED)->output, "22") == 0)
            break;
    CHECK_STR(world_try(&w, "new", NULL, 1, FAINA_COMPLETED)->output, "22");
    unlink(path);
    world_await_log(&w, "no longer handles new");
    world_close(&w);
}

static void test_commands__bad_settings(struct fa_t *t)
{
    static const struct {
        const char *settings, *error;
    } cases[] = {
        {"{\"timeout\":\"soon\"}", "timeout"},
        {"{\"timeuot\":\"1s\"}", "unknown setting \"timeuot\"; did you mean \"timeout\"?"},
        {"{\"concurrency\":0}", "concurrency must be a whole number from 1"},
        {"{\n\"timeout\":}", "line 2"},
        {"[]", "must be a JSON object"},
        {"{\"limits\":{\"memory\":\"much\"}}", "limits.memory must be a size"},
        {"{\"limits\":{\"memry\":1}}", "did you mean \"memory\"?"},
        {"{\"retry\":{\"factor\":0.5}}", "retry.factor"},
        {"{\"maxAttempts\":-1}", "maxAttempts"},
        {"{\"resources\":\"gpu\"}", "resources must be an array"},
        {"{\"env\":{\"FAINA_X\":\"1\"}}", "env"},
    };
    struct world w;

    world_open(&w, t);
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        const char *type = fa_arena_printf(&t->arena, "case%zu", i);

        world_script(&w, type, "echo 1");
        world_file(&w, fa_arena_printf(&t->arena, "%s.json", type), cases[i].settings, 0644);
    }
    world_start(&w);
    for (size_t i = 0; i < FA_COUNT(cases); i++)
        CHECK(world_has_logged(&w, cases[i].error), "not logged: %s\n%s", cases[i].error,
              w.log.ptr);
    /* A corrected handler is used. */
    world_file(&w, "case0.json", "{\"timeout\":\"10s\"}", 0644);
    world_try(&w, "case0", NULL, 1, FAINA_COMPLETED);
    world_close(&w);
}

/* Opening a FIFO would block until there is a writer. */
static void test_commands__settings_that_are_no_file(struct fa_t *t)
{
    struct world w;

    world_open(&w, t);
    world_script(&w, "odd", "echo 1");
    world_script(&w, "good", "echo 1");
    CHECK_INT(mkfifo(fa_arena_printf(&t->arena, "%s/odd.json", w.handlers), 0600), 0);
    world_start(&w);
    CHECK_TRUE(world_has_logged(&w, "odd is not used:"));
    CHECK_TRUE(world_has_logged(&w, "odd.json is not a regular file"));
    CHECK_INT(mkdir(fa_arena_printf(&t->arena, "%s/good.json", w.handlers), 0700), 0);
    world_await_log(&w, "good.json is not a regular file");
    CHECK_INT(unlink(fa_arena_printf(&t->arena, "%s/odd.json", w.handlers)), 0);
    world_try(&w, "odd", NULL, 1, FAINA_COMPLETED);
    world_close(&w);
}

static void test_commands__settings_for_tasks(struct fa_t *t)
{
    struct faina_task *task;
    const char *ids[10];
    struct world w;

    world_open(&w, t);
    world_script(&w, "poor", "exit 75");
    world_file(&w, "poor.json", "{\"maxAttempts\":2,\"retry\":{\"base\":\"1ms\",\"max\":\"2ms\"}}",
               0644);
    world_script(&w, "greedy", "mkdir busy || exit 64; sleep 0.02; rmdir busy; echo 1");
    world_file(&w, "greedy.json", "{\"resources\":[\"lathe\"]}", 0644);
    CHECK_OK(t, fa_t_resource_set(t, "lathe", 1));
    for (int i = 0; i < 10; i++)
        ids[i] = fa_t_submit(t, .type = "greedy");
    world_start(&w);
    task = world_try(&w, "poor", NULL, 0, FAINA_DEAD_LETTER);
    CHECK_INT(task->attempts, 2);
    CHECK_INT(task->max_attempts, 2);
    CHECK_INT(world_try(&w, "poor", NULL, 3, FAINA_DEAD_LETTER)->attempts, 3); /* its own */
    for (int i = 0; i < 10; i++) {
        task = world_await(&w, ids[i], FAINA_COMPLETED);
        CHECK_STR(task->resources[0], "lathe");
        CHECK_INT(task->attempts, 1);
    }
    world_close(&w);
}

/* Contract 10: a policy comes from the task, else from its type, else from TYPE.json. */
static void test_commands__resources_of_settings_come_last(struct fa_t *t)
{
    static const char *const own[] = {"saw"};
    struct faina_task *task;
    struct world w;

    world_open(&w, t);
    world_script(&w, "cut", "echo 1");
    world_file(&w, "cut.json", "{\"resources\":[\"lathe\"]}", 0644);
    world_start(&w);
    task = world_await(&w, fa_t_submit(t, .type = "cut", .resources = own, .resource_count = 1),
                       FAINA_COMPLETED);
    CHECK_INT(task->resource_count, 1);
    CHECK_STR(task->resources[0], "saw");
    world_close(&w);
}

static void test_commands__what_others_could_change_is_refused(struct fa_t *t)
{
    struct faina_error err;
    struct world w;

    world_open(&w, t);
    world_file(&w, "open", "#!/bin/sh\necho 1\n", 0777);
    world_script(&w, "half", "echo 1");
    world_file(&w, "half.json", "{}", 0666);
    world_file(&w, "plain", "no program\n", 0644);
    world_file(&w, "forgotten", "#!/bin/sh\necho 1\n", 0644);
    world_script(&w, "good", "echo 1");
    world_start(&w);
    CHECK_TRUE(world_has_logged(&w, "open is not used: the file"));
    CHECK_TRUE(world_has_logged(&w, "half is not used:"));
    CHECK_TRUE(world_has_logged(&w, "forgotten is not used: it is not executable; run: chmod +x"));
    CHECK_TRUE(world_has_logged(&w, "handles good"));
    CHECK_TRUE(!world_has_logged(&w, "plain") && !world_has_logged(&w, "handles forgotten"));
    chmod(fa_arena_printf(&t->arena, "%s/forgotten", w.handlers), 0755);
    CHECK_STR(world_try(&w, "forgotten", NULL, 1, FAINA_COMPLETED)->output, "1");
    CHECK_TRUE(!world_has_logged(&w, "handles plain") && !world_has_logged(&w, "handles half"));
    world_stop(&w, 0);
    chmod(w.handlers, 0777);
    CHECK_CODE(t, fa_runtime_start(&w.runtime, t->svc, &w.config, &err), FAINA_FORBIDDEN);
    CHECK_HAS(err.message, "chmod -R go-w");
    w.config.handlers = "/nonexistent/handlers";
    CHECK_CODE(t, fa_runtime_start(&w.runtime, t->svc, &w.config, &err), FAINA_UNAVAILABLE);
    w.runtime = NULL;
    world_close(&w);
}

static void test_commands__what_can_not_be_run(struct fa_t *t)
{
    struct world w;

    world_open(&w, t);
    world_file(&w, "lost", "#!/nonexistent/interpreter\n", 0755);
    world_file(&w, "crlf", "#! /bin/sh\r\necho 1\r\n", 0755);
    world_file(&w, "binary",
               "\x7f"
               "ELF rubbish",
               0755);
    world_start(&w);
    CHECK_HAS(world_try(&w, "lost", NULL, 3, FAINA_FAILED)->error, "code 127: faina: can't run");
    CHECK_HAS(world_try(&w, "crlf", NULL, 3, FAINA_FAILED)->error,
              "/crlf: there is no interpreter /bin/sh\\\\r, which its first line names");
    CHECK_HAS(world_try(&w, "binary", NULL, 3, FAINA_FAILED)->error, "code 126");
    world_close(&w);
}

/* The file is removed or replaced while tasks are about to run. */
static void test_commands__a_file_that_is_gone_fails_the_attempt_only(struct fa_t *t)
{
    struct faina_task *task;
    const char *ids[8];
    struct world w;

    world_open(&w, t);
    world_script(&w, "gone", "rm \"$0\"; exit 127");
    world_script(&w, "gone126", "rm \"$0\"; exit 126");
    world_script(&w, "other", "cp -p \"$0\" other~; mv other~ \"$0\"; exit 127");
    world_script(&w, "comes-back", "rm \"$0\"; echo 1");
    world_file(&w, "comes-back.json", "{\"concurrency\":1}", 0644);
    for (size_t i = 0; i < FA_COUNT(ids); i++)
        ids[i] = fa_t_submit(t, .type = "comes-back", .max_attempts = 500, .retry.base_ms = 100,
                             .retry.max_ms = 100);
    world_start(&w);
    task = world_try(&w, "gone", NULL, 1, FAINA_DEAD_LETTER);
    CHECK_HAS(task->error, "the handler's file is gone; it exited with code 127");
    task = world_try(&w, "gone126", NULL, 1, FAINA_DEAD_LETTER);
    CHECK_HAS(task->error, "the handler's file is gone; it exited with code 126");
    task = world_try(&w, "other", NULL, 1, FAINA_DEAD_LETTER);
    CHECK_HAS(task->error, "the handler's file has changed; it exited with code 127");
    world_await_log(&w, "no longer handles comes-back");
    world_script(&w, "comes-back", "echo 2");
    for (size_t i = 0; i < FA_COUNT(ids); i++)
        world_await(&w, ids[i], FAINA_COMPLETED);
    world_close(&w);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE(test_commands__exits),
        FA_T_CASE(test_commands__output_is_what_was_printed),
        FA_T_CASE(test_commands__a_retry_is_another_attempt),
        FA_T_CASE(test_commands__environment),
        FA_T_CASE(test_commands__settings_go_before_the_workers_environment),
        FA_T_CASE(test_commands__the_environment_is_complete),
        FA_T_CASE(test_commands__a_bad_env_file),
        FA_T_CASE(test_commands__files_with_an_ending),
        FA_T_CASE(test_commands__an_output_that_is_no_json),
        FA_T_CASE(test_commands__surroundings),
        FA_T_CASE(test_commands__limits),
        FA_T_CASE(test_commands__log_and_usage),
        FA_T_CASE(test_commands__progress_while_it_runs),
        FA_T_CASE(test_commands__much_progress_is_few_events),
        FA_T_CASE(test_commands__says_when_to_try_again),
        FA_T_CASE(test_commands__rubbish_on_descriptor_3),
        FA_T_CASE(test_commands__timeout),
        FA_T_CASE(test_commands__cancellation_reaches_the_child),
        FA_T_CASE(test_commands__an_attempt_that_lost_its_lease_is_noted),
        FA_T_CASE(test_commands__what_it_leaves_behind_is_killed),
        FA_T_CASE(test_commands__only_what_went_into_the_background_lives_on),
        FA_T_CASE(test_commands__a_stopped_worker_leaves_the_background_alone),
        FA_T_CASE(test_commands__sixty_four_at_once),
        FA_T_CASE(test_commands__concurrency_of_a_type),
        FA_T_CASE(test_commands__files_come_and_go),
        FA_T_CASE(test_commands__bad_settings),
        FA_T_CASE(test_commands__settings_that_are_no_file),
        FA_T_CASE(test_commands__settings_for_tasks),
        FA_T_CASE(test_commands__resources_of_settings_come_last),
        FA_T_CASE(test_commands__what_others_could_change_is_refused),
        FA_T_CASE(test_commands__what_can_not_be_run),
        FA_T_CASE(test_commands__a_file_that_is_gone_fails_the_attempt_only),
    };

    return fa_t_main(argc, argv, "commands", cases, FA_COUNT(cases));
}
