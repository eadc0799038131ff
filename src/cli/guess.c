/*
 * guess.c - "did you mean": synonyms from other programs first, then the nearest spelling.
 */
#include "cli/verbs.h"

#include "wire/wire.h"

/* Verbs of other programs and ours. A row also applies after a noun ("token list") when that noun
 * has the verb. A word may have several rows. */
static const struct {
    const char *word, *verb;
} synonyms[] = {
    {"list", "ls"},
    {"show", "get"},
    {"describe", "get"},
    {"status", "get"},
    {"status", "stats"},
    {"delete", "rm"},
    {"remove", "rm"},
    {"delete", "revoke"},
    {"remove", "revoke"},
    {"rm", "revoke"},
    {"add", "submit"},
    {"create", "submit"},
    {"enqueue", "submit"},
    {"push", "submit"},
    {"put", "submit"},
    {"add", "create"},
    {"new", "create"},
    {"add", "set"},
    {"create", "set"},
    {"add", "apply"},
    {"create", "apply"},
    {"set", "apply"},
    {"run", "worker"},
    {"work", "worker"},
    {"consume", "worker"},
    {"workers", "worker-list"},
    {"node", "worker-list"},
    {"nodes", "worker-list"},
    {"leader", "worker-list"},
    {"publish", "emit"},
    {"publish", "submit"},
    {"fire", "emit"},
    {"notify", "emit"},
    {"schedule", "cron set"},
    {"schedule", "submit"},
    {"dispatch", "claim"},
    {"migrations", "db status"},
    {"server", "serve"},
    {"listen", "serve"},
    {"pop", "claim"},
    {"take", "claim"},
    {"ack", "complete"},
    {"finish", "complete"},
    {"nack", "fail"},
    {"kill", "cancel"},
    {"stop", "cancel"},
    {"requeue", "retry"},
    {"history", "events"},
    {"log", "logs"},
    {"stderr", "logs"},
    {"stdout", "result"},
    {"output", "result"},
    {"output", "logs"},
    {"tail", "watch"},
    {"why", "explain"},
    {"migrate", "db migrate"},
    {"purge", "db purge"},
    {"copy", "db copy"},
};

static const char *full_name(struct fa_arena *arena, const char *noun, const char *verb)
{
    return noun ? fa_arena_printf(arena, "%s %s", noun, verb) : verb;
}

/* With a noun: its verbs, without the noun. Without one: the first words of all verbs. */
static const char *const *verb_names(struct fa_arena *arena, const char *noun)
{
    const char **names = fa_arena_zero(arena, fa_verb_count + 1, sizeof(*names));
    size_t count = 0, skip = noun ? strlen(noun) + 1 : 0;

    for (size_t i = 0; i < fa_verb_count; i++) {
        const char *name = fa_verbs[i].name;
        const char *space = strchr(name, ' ');

        if (noun && (!space || strncmp(name, noun, skip - 1) != 0 || name[skip - 1] != ' '))
            continue;
        names[count++] =
            noun ? name + skip
                 : fa_arena_copy(arena, name, space ? (size_t)(space - name) : strlen(name));
    }
    return names;
}

const char *fa_verb_guess(struct fa_arena *arena, const char *noun, const char *word)
{
    const char *guess = NULL, *nearest;

    for (size_t i = 0; i < FA_COUNT(synonyms); i++) {
        const char *name = full_name(arena, noun, synonyms[i].verb);

        if (strcmp(synonyms[i].word, word) == 0 && fa_verb_find(name))
            guess =
                fa_arena_printf(arena, "%s%s\"%s\"", guess ? guess : "", guess ? " or " : "", name);
    }
    if (guess)
        return guess;
    nearest = fa_wire_nearest(word, verb_names(arena, noun));
    return nearest ? fa_arena_printf(arena, "\"%s\"", full_name(arena, noun, nearest)) : NULL;
}
