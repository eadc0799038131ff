/* readers.c - see readers.h. */
#include "sql/readers.h"

#include "sql/sqlite/db_sqlite.h"

#include <pthread.h>
#include <stdlib.h>

#define IDLE_MAX 8
#define CACHE_KIB 4096

struct fa_readers {
    char *path;
    pthread_mutex_t mutex;
    struct fa_reader *idle;
    size_t idle_count;
};

struct fa_readers *fa_readers_create(const char *path)
{
    struct fa_readers *readers = fa_alloc_zero(1, sizeof(*readers));

    readers->path = strdup(path);
    pthread_mutex_init(&readers->mutex, NULL);
    return readers;
}

static void destroy_reader(struct fa_reader *reader)
{
    fa_db_close(reader->source.db);
    fa_lanes_destroy(reader->source.lanes);
    free(reader);
}

void fa_readers_destroy(struct fa_readers *readers)
{
    if (readers == NULL)
        return;
    while (readers->idle != NULL) {
        struct fa_reader *next = readers->idle->next;

        destroy_reader(readers->idle);
        readers->idle = next;
    }
    pthread_mutex_destroy(&readers->mutex);
    free(readers->path);
    free(readers);
}

static enum faina_code open_reader(struct fa_readers *readers, struct fa_reader **out,
                                   struct faina_error *err)
{
    struct fa_sqlite_options options = {
        .path = readers->path, .is_reader = true, .cache_kib = CACHE_KIB};
    struct fa_reader *reader = fa_alloc_zero(1, sizeof(*reader));
    enum faina_code code = fa_sqlite_open(&reader->source.db, &options, err);

    if (code != FAINA_OK) {
        free(reader);
        return code;
    }
    reader->source.lanes = fa_lanes_create();
    *out = reader;
    return FAINA_OK;
}

enum faina_code fa_readers_begin(struct fa_readers *readers, struct fa_reader **out,
                                 struct faina_error *err)
{
    struct fa_reader *reader;
    enum faina_code code = FAINA_OK;

    pthread_mutex_lock(&readers->mutex);
    reader = readers->idle;
    if (reader != NULL) {
        readers->idle = reader->next;
        readers->idle_count--;
    }
    pthread_mutex_unlock(&readers->mutex);
    if (reader == NULL)
        code = open_reader(readers, &reader, err);
    if (code != FAINA_OK)
        return code;
    code = fa_db_begin(reader->source.db, false, err);
    if (code != FAINA_OK) {
        destroy_reader(reader);
        return code;
    }
    *out = reader;
    return FAINA_OK;
}

void fa_readers_end(struct fa_readers *readers, struct fa_reader *reader)
{
    bool is_kept;

    fa_db_rollback(reader->source.db);
    pthread_mutex_lock(&readers->mutex);
    is_kept = readers->idle_count < IDLE_MAX;
    if (is_kept) {
        reader->next = readers->idle;
        readers->idle = reader;
        readers->idle_count++;
    }
    pthread_mutex_unlock(&readers->mutex);
    if (!is_kept)
        destroy_reader(reader);
}
