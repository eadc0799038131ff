/*
 * copy_rows.h - reads, checksums and writes the tables of a store page by page, for copy.c.
 *
 * Each store has its own numbers for lanes and resources. A checksum uses their names, and a copied
 * row gets the numbers of the other store.
 */
#ifndef FA_STORE_UPKEEP_COPY_ROWS_H
#define FA_STORE_UPKEEP_COPY_ROWS_H

#include "store/db/db.h"

#define FA_COPY_KEYS_MAX 3
#define FA_COPY_WORD_SIZE 64

enum fa_copy_names_of { FA_COPY_NO_NAMES, FA_COPY_LANES, FA_COPY_RESOURCES, FA_COPY_NAMES_COUNT };

/* A table that is copied. */
struct fa_copy_table {
    const char *name;      /* as it is in the schema */
    enum fa_sql page, put; /* reads the next rows; writes some */
    size_t column_count;   /* of a page */
    size_t put_count;      /* how many of them are written, from the first */
    size_t sum_count;      /* how many of them are the same in both engines */
    size_t key_count;      /* how many are the order of pages; 0: all rows are one page */
    int word_at;           /* the key that is text; -1: none */
    int name_at;           /* the column with the number of a lane or resource; -1: none */
    enum fa_copy_names_of names;
};

/* In the order they are copied; tables without keys come first. A new table of the schema needs a
 * row here, or the test of copy_rows fails. */
extern const struct fa_copy_table fa_copy_tables[];
extern const size_t fa_copy_table_count;
/* Tables that are not copied: they describe the running processes. */
extern const char *const fa_copy_left_out[];

/* The lanes or resources of a store. */
struct fa_copy_name {
    int64_t id;
    int64_t hash, more; /* of the name */
    int64_t other_id;   /* in the other store; 0: none */
};
struct fa_copy_names {
    struct fa_copy_name *items; /* by id */
    size_t count, size;
};

/* One of the two stores. */
struct fa_copy_side {
    struct fa_db *db;
    struct fa_arena arena;
    struct fa_copy_names names[FA_COPY_NAMES_COUNT];
};

FA_MUST_CHECK enum faina_code fa_copy_names_load(struct fa_copy_side *side,
                                                 struct faina_error *err);
/* Finds for each name of `side` its number in `other`. */
FA_MUST_CHECK enum faina_code fa_copy_names_match(struct fa_copy_side *side,
                                                  const struct fa_copy_side *other,
                                                  struct faina_error *err);

/* The row after which the next page begins. */
struct fa_copy_position {
    int64_t keys[FA_COPY_KEYS_MAX];
    char word[FA_COPY_WORD_SIZE];
};
void fa_copy_position_start(struct fa_copy_position *position);

/* Some rows of a table. */
struct fa_copy_page {
    const struct fa_copy_table *table;
    struct fa_arena arena;
    struct fa_value *values; /* column_count for each row */
    size_t count, size;
    size_t bytes; /* of texts */
    size_t limit; /* rows to read; grows and shrinks with their size */
};
void fa_copy_page_init(struct fa_copy_page *page, const struct fa_copy_table *table);
void fa_copy_page_finish(struct fa_copy_page *page);

/* Reads the rows after `position` and moves it. No rows: the table has no more. */
FA_MUST_CHECK enum faina_code fa_copy_page_read(struct fa_copy_page *page,
                                                struct fa_copy_side *from,
                                                struct fa_copy_position *position,
                                                struct faina_error *err);
/* Writes them with the numbers of the other side, which replace those in the page. */
FA_MUST_CHECK enum faina_code fa_copy_page_write(struct fa_copy_page *page,
                                                 const struct fa_copy_side *from, struct fa_db *to,
                                                 struct faina_error *err);
/* The sum of the rows' checksums. */
FA_MUST_CHECK enum faina_code fa_copy_page_sum(const struct fa_copy_page *page,
                                               const struct fa_copy_side *from, uint64_t *sum,
                                               struct faina_error *err);

#endif
