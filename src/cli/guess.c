/*
 * guess.c - which verb did they mean? By the words of other programs first, then by spelling.
 */
#include "cli/verbs.h"

#include "service/wire.h"

/* What a word means to people who know other programs. It is also good behind a noun ("token
 * list"), where that noun has the verb. A word may mean several. */
static const struct {
    const char *word, *verb;
} habits[] = {
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

/* All verbs that begin with `noun` and a space, without them; or, with no noun, the first words. */
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

    for (size_t i = 0; i < FA_COUNT(habits); i++) {
        const char *name = full_name(arena, noun, habits[i].verb);

        if (strcmp(habits[i].word, word) == 0 && fa_verb_find(name))
            guess =
                fa_arena_printf(arena, "%s%s\"%s\"", guess ? guess : "", guess ? " or " : "", name);
    }
    if (guess)
        return guess;
    nearest = fa_wire_nearest(word, verb_names(arena, noun));
    return nearest ? fa_arena_printf(arena, "\"%s\"", full_name(arena, noun, nearest)) : NULL;
}
