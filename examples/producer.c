/*
 * producer.c - submits tasks and prints their ids.
 *
 *     producer URL COUNT
 *
 * Build: cc producer.c $(pkg-config --cflags --libs faina)
 *
 * Each task has an idempotency key, so the program may be killed and run again: what was stored is
 * found again, and nothing is stored twice.
 */
#include <faina.h>

#include <stdio.h>
#include <stdlib.h>

#define BATCH 1000 /* one call is one transaction */

/* Submits the tasks `first` .. `first + count - 1`. */
static enum faina_code submit_batch(struct faina *engine, int first, int count,
                                    struct faina_error *err)
{
    char inputs[BATCH][64], keys[BATCH][64];
    struct faina_submit tasks[BATCH] = {{0}};
    struct faina_items *answer;
    enum faina_code code;

    for (int i = 0; i < count; i++) {
        snprintf(inputs[i], sizeof(inputs[i]), "{\"number\":%d}", first + i);
        snprintf(keys[i], sizeof(keys[i]), "example-%d", first + i);
        tasks[i].type = "square";
        tasks[i].input = inputs[i];
        tasks[i].idempotency_key = keys[i];
        tasks[i].retry.base_ms = 10; /* soon, so that the example ends soon */
    }
    code = faina_submit_many(engine, tasks, (size_t)count, &answer, err);
    if (code != FAINA_OK)
        return code;
    for (size_t i = 0; i < answer->count; i++) {
        const struct faina_item *item = &answer->items[i];

        if (item->code == FAINA_OK)
            printf("%s%s\n", item->id, item->existing ? " (was there already)" : "");
        else
            fprintf(stderr, "task %zu was refused: %s\n", (size_t)first + i, item->error.message);
    }
    faina_free(answer);
    return FAINA_OK;
}

int main(int argc, char **argv)
{
    struct faina_error err;
    struct faina *engine;
    enum faina_code code = FAINA_OK;
    int count = argc == 3 ? (int)strtol(argv[2], NULL, 10) : 0;

    if (count <= 0) {
        fprintf(stderr, "usage: producer URL COUNT, such as: producer sqlite:faina.db 10\n");
        return 2;
    }
    if (faina_open(&engine, argv[1], NULL, &err) != FAINA_OK) {
        fprintf(stderr, "producer: %s\n", err.message);
        return 1;
    }
    for (int first = 1; first <= count && code == FAINA_OK; first += BATCH) {
        int left = count - first + 1;
        code = submit_batch(engine, first, left < BATCH ? left : BATCH, &err);
    }
    if (code != FAINA_OK)
        fprintf(stderr, "producer: %s\n", err.message);
    faina_close(engine);
    return code == FAINA_OK ? 0 : 1;
}
