/* test_audit_entry.c - the hash of an entry, and what a check of a chain finds. */
#include "unit/base/unit.h"

#include "model/audit_entry.h"

#include <stdio.h>

enum { ENTRIES = 6 };

struct chain {
    struct fa_audit_entry entries[ENTRIES + 1];
    char hashes[ENTRIES + 1][FA_SHA256_HEX_SIZE];
    bool is_gone[ENTRIES + 1];
    size_t count;
    int64_t total;
    const char *last_hash;
};

static void set_hash(struct chain *chain, size_t at)
{
    fa_audit_hash(&chain->entries[at], chain->hashes[at]);
    chain->entries[at].hash = chain->hashes[at];
}

/* Links the entries from `at` on anew. */
static void link_from(struct chain *chain, size_t at)
{
    for (size_t i = at; i < chain->count; i++) {
        chain->entries[i].previous_hash = i > 0 ? chain->hashes[i - 1] : NULL;
        set_hash(chain, i);
    }
}

static void make(struct chain *chain)
{
    *chain = (struct chain){.count = ENTRIES, .total = ENTRIES};
    for (size_t i = 0; i < ENTRIES; i++)
        chain->entries[i] = (struct fa_audit_entry){.id = (int64_t)i + 1,
                                                    .at_us = 1700000000000000 + (int64_t)i,
                                                    .who = i % 2 ? "ci" : NULL,
                                                    .act = "pause",
                                                    .target = "mail"};
    link_from(chain, 0);
    chain->last_hash = chain->hashes[ENTRIES - 1];
}

static void add_sentence(void *ctx, const char *sentence)
{
    char *text = ctx;
    size_t len = strlen(text);

    snprintf(text + len, 1000 - len, "%s%s", len > 0 ? "; " : "", sentence);
}

static const char *findings(const struct chain *chain)
{
    static char text[1000];
    struct fa_audit_check check = {.found = add_sentence, .ctx = text};

    text[0] = '\0';
    for (size_t i = 0; i < chain->count; i++)
        if (!chain->is_gone[i])
            fa_audit_check_entry(&check, &chain->entries[i]);
    fa_audit_check_end(&check, chain->total, chain->last_hash);
    return text;
}

static void test_audit_entry__a_whole_chain(void **state)
{
    struct chain chain;

    (void)state;
    make(&chain);
    assert_string_equal(findings(&chain), "");
    chain.count = 0;
    chain.total = 0;
    chain.last_hash = NULL;
    assert_string_equal(findings(&chain), "");
}

/* AE1: the text that is hashed is fixed. */
static void test_audit_entry__the_hash(void **state)
{
    static const char json[] = "{\"id\":7,\"at\":\"2023-11-14T22:13:20.000001Z\",\"who\":\"ann "
                               "\\\"x\\\"\",\"act\":\"cancel\","
                               "\"target\":\"t\",\"reason\":\"a\\nb "
                               "\xc3\xbc\",\"requestId\":null,\"previousHash\":\"ab\"}";
    const struct fa_audit_entry entry = {.id = 7,
                                         .at_us = 1700000000000001,
                                         .who = "ann \"x\"",
                                         .act = "cancel",
                                         .target = "t",
                                         .reason = "a\nb \xc3\xbc",
                                         .previous_hash = "ab",
                                         .hash = "not a part of it"};
    char hash[FA_SHA256_HEX_SIZE], want[FA_SHA256_HEX_SIZE];
    uint8_t digest[FA_SHA256_SIZE];

    (void)state;
    fa_audit_hash(&entry, hash);
    fa_sha256((struct fa_bytes){json, sizeof(json) - 1}, digest);
    fa_hex(digest, sizeof(digest), want);
    assert_string_equal(hash, want);
}

/* Each member of an entry is covered by its hash. */
static void test_audit_entry__changed(void **state)
{
    struct chain chain;

    (void)state;
    for (int i = 0; i < 7; i++) {
        struct fa_audit_entry *entry = &chain.entries[2];

        make(&chain);
        if (i == 0)
            entry->at_us++;
        else if (i == 1)
            entry->who = "bob";
        else if (i == 2)
            entry->act = "resume";
        else if (i == 3)
            entry->target = NULL;
        else if (i == 4)
            entry->reason = "";
        else if (i == 5)
            entry->request_id = "r";
        else
            entry->hash = chain.hashes[1];
        assert_non_null(
            strstr(findings(&chain), "entry 3 was changed: its content doesn't have its hash"));
    }
    make(&chain);
    chain.entries[2].previous_hash = NULL;
    assert_string_equal(findings(&chain), "entry 3 was changed: its content doesn't have its hash");
    make(&chain);
    chain.entries[2].hash = NULL;
    assert_non_null(strstr(findings(&chain), "entry 3 was changed"));
}

/* Its hash was computed anew, but the next entry has the old one. */
static void test_audit_entry__replaced(void **state)
{
    char old[FA_SHA256_HEX_SIZE];
    struct chain chain;

    (void)state;
    make(&chain);
    memcpy(old, chain.hashes[2], sizeof(old));
    chain.entries[2].who = "bob";
    set_hash(&chain, 2);
    chain.entries[3].previous_hash = old;
    assert_string_equal(findings(&chain),
                        "entry 3 was replaced, or entry 4 inserted: the one doesn't have the hash "
                        "that the other names");
    make(&chain);
    chain.entries[0].previous_hash = "x";
    set_hash(&chain, 0);
    chain.entries[1].previous_hash = chain.hashes[0];
    assert_non_null(strstr(findings(&chain), "entry 1 was replaced: it is the first one"));
}

static void test_audit_entry__the_last_one_replaced(void **state)
{
    char old[FA_SHA256_HEX_SIZE];
    struct chain chain;

    (void)state;
    make(&chain);
    memcpy(old, chain.last_hash, sizeof(old));
    chain.last_hash = old;
    chain.entries[1].who = "bob"; /* and everything after it made anew */
    link_from(&chain, 1);
    assert_string_equal(findings(&chain),
                        "entry 6 was replaced: it doesn't have the hash that is stored beside the "
                        "entries");
}

static void test_audit_entry__removed(void **state)
{
    struct chain chain;

    (void)state;
    make(&chain);
    chain.is_gone[0] = true;
    assert_string_equal(findings(&chain), "entry 1 was removed");
    make(&chain);
    chain.is_gone[2] = chain.is_gone[3] = true;
    assert_string_equal(findings(&chain), "entries 3 to 4 were removed");
    make(&chain);
    chain.count -= 2; /* the end was cut off */
    assert_string_equal(findings(&chain), "entries 5 to 6 were removed");
    make(&chain);
    chain.count = 0;
    assert_string_equal(findings(&chain), "entries 1 to 6 were removed");
    make(&chain);
    chain.total = -1;
    assert_string_equal(findings(&chain),
                        "the number of entries, which is stored beside them, is not there");
}

static void test_audit_entry__inserted(void **state)
{
    struct chain chain;

    (void)state;
    make(&chain);
    chain.entries[ENTRIES] = chain.entries[0];
    chain.entries[ENTRIES].id = ENTRIES + 1;
    chain.entries[ENTRIES].previous_hash = chain.hashes[ENTRIES - 1];
    chain.count++;
    set_hash(&chain, ENTRIES);
    assert_string_equal(findings(&chain), "entry 7 was inserted: the store has counted 6");
    make(&chain);
    chain.total = 3;
    assert_string_equal(findings(&chain), "entries 4 to 6 were inserted: the store has counted 3");
    make(&chain);
    for (size_t i = ENTRIES; i > 0; i--)
        chain.entries[i] = chain.entries[i - 1];
    chain.count++;
    chain.entries[0].id = 0;
    assert_string_equal(findings(&chain), "entry 0 was inserted: no entry has this number");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_audit_entry__a_whole_chain),
        cmocka_unit_test(test_audit_entry__the_hash),
        cmocka_unit_test(test_audit_entry__changed),
        cmocka_unit_test(test_audit_entry__replaced),
        cmocka_unit_test(test_audit_entry__the_last_one_replaced),
        cmocka_unit_test(test_audit_entry__removed),
        cmocka_unit_test(test_audit_entry__inserted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
