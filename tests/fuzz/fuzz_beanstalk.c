/*
 * fuzz_beanstalk.c - lines and bodies of the beanstalkd protocol: what a command says is within its
 * limits, a tube is the tube of its type, and a body comes back as it was.
 */
#include "server/beanstalk/protocol.h"

#include "json/json.h"
#include "model/limits.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool claim)
{
    if (!claim)
        abort();
}

static void check_tube(const char *tube)
{
    char type[FA_TYPE_SIZE_MAX + 1], again[FA_BEANSTALK_TUBE_SIZE];

    fa_beanstalk_type(tube, type);
    require(strlen(type) <= FA_TYPE_SIZE_MAX);
    require(fa_beanstalk_tube(type, again) && strcmp(tube, again) == 0);
}

static void check_body(struct fa_bytes body, struct fa_arena *arena)
{
    struct faina_submit submit = {0};
    struct faina_task task = {0};
    uint32_t ttr;

    fa_beanstalk_write(body, 77, "t", "t", arena, &submit);
    require(fa_json_check(fa_str(submit.input), FA_JSON_DEPTH_MAX, "input", FAINA_INVALID_TASK,
                          NULL) == FAINA_OK);
    task.input = submit.input;
    task.metadata = submit.metadata;
    require(fa_bytes_equal(fa_beanstalk_read(&task, arena, &ttr), body) && ttr == 77);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data, *end = size ? memchr(text, '\n', size) : NULL;
    struct fa_bytes line = {text, end ? (size_t)(end - text) : size};
    struct fa_beanstalk_command command;
    char tube[FA_BEANSTALK_TUBE_SIZE];
    struct fa_arena arena = {0};

    if (fa_beanstalk_parse(line, &command) == FA_BEANSTALK_OK) {
        require(command.kind < FA_BEANSTALK_KIND_COUNT);
        if (command.tube[0])
            check_tube(command.tube);
    }
    if (fa_beanstalk_tube(fa_arena_copy(&arena, line.ptr, line.len), tube))
        check_tube(tube);
    if (end)
        check_body((struct fa_bytes){end + 1, size - line.len - 1}, &arena);
    fa_arena_finish(&arena);
    return 0;
}
