/*
 * verbs.h - the table of verbs. Parsing, help, completions and "did you mean" are derived from it.
 *
 * A new verb needs a row in verbs.c, its function and a section in docs/faina.1.scd. A test
 * compares them.
 */
#ifndef FA_CLI_VERBS_H
#define FA_CLI_VERBS_H

#include "cli/cli.h"

/* What a flag's value or a verb's arguments may be, for the completions. */
enum fa_takes {
    FA_TAKES_TEXT, /* no completion */
    FA_TAKES_FILE,
    FA_TAKES_FOLDER,
    FA_TAKES_JSON, /* JSON, or @FILE */
    FA_TAKES_URL,  /* an engine: sqlite:FILE and others */
    FA_TAKES_TYPE, /* these four are names that the engine has */
    FA_TAKES_SCHEDULE,
    FA_TAKES_WORKFLOW,
    FA_TAKES_RESOURCE,
    FA_TAKES_COUNT
};

/* Flags of the same name in different verbs all take a value or all don't, so that flags before
 * the verb can be parsed. A test checks that. */
struct fa_flag {
    const char *name;  /* without its dashes; NULL ends a list */
    char letter;       /* 0: no short form */
    const char *value; /* the value's name in the help; NULL: a switch */
    const char *help;
    const char *choices; /* the possible values, separated by spaces; NULL: anything */
    bool is_repeatable;
    bool is_optional; /* the value may be omitted */
    enum fa_takes takes;
};

enum fa_verb_group {
    FA_GROUP_TASKS,
    FA_GROUP_WORK,
    FA_GROUP_MANAGE,
    FA_GROUP_ADMIN,
    FA_GROUP_OPERATE,
    FA_GROUP_COUNT
};

struct fa_verb {
    const char *name; /* "submit", "resource set" */
    enum fa_verb_group group;
    const char *arguments; /* for the usage line */
    const char *help;      /* one line */
    const char *details;   /* paragraphs; NULL: none */
    const char *examples;  /* lines; NULL: none */
    int arg_min, arg_max;  /* how many arguments; arg_max -1: any number */
    int (*run)(struct fa_cli *cli);
    const struct fa_flag *flags; /* NULL: none of its own */
    const char *arg_choices;     /* possible first arguments, for completion; NULL: anything */
    bool is_raw;                 /* parses its own flags: all after the verb are arguments */
    enum fa_takes takes;         /* its arguments */
    enum fa_takes first;         /* the first of them, where that is another; TEXT: it isn't */
    bool makes_store;            /* creates a missing store; the others need one that exists */
};

extern const struct fa_verb fa_verbs[];
extern const size_t fa_verb_count;
/* The flags that every verb has. */
extern const struct fa_flag fa_common_flags[];

/* The flag with this name, of the verb or common; NULL: none. */
const struct fa_flag *fa_verb_flag(const struct fa_verb *verb, const char *name);
const struct fa_flag *fa_verb_letter(const struct fa_verb *verb, char letter);
const struct fa_verb *fa_verb_find(const char *name);
/* Whether verbs such as "resource set" begin with this word. */
bool fa_verb_is_noun(const char *word);
/* args.c: whether the word is a flag. "-5" is a number and "-" is stdin; neither is a flag. */
bool fa_word_is_flag(const char *word);
/* The flag of the verb, else of any verb, that the word begins with; NULL: none. */
const struct fa_flag *fa_word_flag(const struct fa_verb *verb, const char *word);
/* How many words the flag takes, itself included. */
int fa_word_count(const char *word);
const char *fa_verb_group_title(enum fa_verb_group group);

/* guess.c: the verb that an unknown word may mean, after `noun` unless that is NULL. Quoted for a
 * message: "ls", or "get" or "stats". NULL: none. */
const char *fa_verb_guess(struct fa_arena *arena, const char *noun, const char *word);

/* help.c */
void fa_help_general(struct fa_cli *cli, FILE *to);
void fa_help_verb(struct fa_cli *cli, const struct fa_verb *verb, FILE *to);
void fa_help_noun(struct fa_cli *cli, const char *noun, FILE *to);

/* verb_manage.c: counts the tasks of the type (NULL: any) in the statuses; ns "*": in all. */
FA_MUST_CHECK int fa_count_matches(struct fa_cli *cli, const char *ns, unsigned statuses,
                                   const char *type, int64_t *out);

/* The verbs. Each returns the exit code. */
int fa_verb_serve(struct fa_cli *cli);  /* verb_serve.c */
int fa_verb_submit(struct fa_cli *cli); /* verb_submit.c */
int fa_verb_get(struct fa_cli *cli);    /* verb_read.c */
int fa_verb_ls(struct fa_cli *cli);
int fa_verb_children(struct fa_cli *cli);
int fa_verb_events(struct fa_cli *cli);
int fa_verb_result(struct fa_cli *cli);
int fa_verb_wait(struct fa_cli *cli);
int fa_verb_explain(struct fa_cli *cli);
int fa_verb_graph(struct fa_cli *cli); /* verb_graph.c */
int fa_verb_logs(struct fa_cli *cli);  /* verb_logs.c */
int fa_verb_watch(struct fa_cli *cli); /* verb_watch.c */
int fa_verb_claim(struct fa_cli *cli); /* verb_work.c */
int fa_verb_start(struct fa_cli *cli);
int fa_verb_complete(struct fa_cli *cli);
int fa_verb_fail(struct fa_cli *cli);
int fa_verb_progress(struct fa_cli *cli);
int fa_verb_heartbeat(struct fa_cli *cli);
int fa_verb_block(struct fa_cli *cli);
int fa_verb_background(struct fa_cli *cli);
int fa_verb_release(struct fa_cli *cli);
int fa_verb_snooze(struct fa_cli *cli);
int fa_verb_update(struct fa_cli *cli);
int fa_verb_promote(struct fa_cli *cli);
int fa_verb_worker(struct fa_cli *cli); /* verb_worker.c */
int fa_verb_cancel(struct fa_cli *cli); /* verb_manage.c */
int fa_verb_retry(struct fa_cli *cli);
int fa_verb_rm(struct fa_cli *cli);
int fa_verb_operations_ls(struct fa_cli *cli); /* verb_operations.c */
int fa_verb_operations_get(struct fa_cli *cli);
int fa_verb_operations_cancel(struct fa_cli *cli);
int fa_verb_pause(struct fa_cli *cli); /* verb_admin.c */
int fa_verb_resume(struct fa_cli *cli);
int fa_verb_broker_on(struct fa_cli *cli);
int fa_verb_broker_off(struct fa_cli *cli);
int fa_verb_broker_status(struct fa_cli *cli);
int fa_verb_redact_ls(struct fa_cli *cli);
int fa_verb_redact_set(struct fa_cli *cli);
int fa_verb_redact_rm(struct fa_cli *cli);
int fa_verb_resource_ls(struct fa_cli *cli);
int fa_verb_resource_set(struct fa_cli *cli);
int fa_verb_resource_rm(struct fa_cli *cli);
int fa_verb_type_ls(struct fa_cli *cli); /* verb_type.c */
int fa_verb_type_set(struct fa_cli *cli);
int fa_verb_type_rm(struct fa_cli *cli);
int fa_verb_team_ls(struct fa_cli *cli);
int fa_verb_team_get(struct fa_cli *cli);
int fa_verb_team_create(struct fa_cli *cli);
int fa_verb_team_set(struct fa_cli *cli);
int fa_verb_team_rm(struct fa_cli *cli);
int fa_verb_cron_ls(struct fa_cli *cli); /* verb_schedule.c */
int fa_verb_cron_set(struct fa_cli *cli);
int fa_verb_cron_pause(struct fa_cli *cli);
int fa_verb_cron_resume(struct fa_cli *cli);
int fa_verb_cron_rm(struct fa_cli *cli);
int fa_verb_cron_run(struct fa_cli *cli);
int fa_verb_cron_next(struct fa_cli *cli);
int fa_verb_worker_list(struct fa_cli *cli); /* verb_admin.c */
int fa_verb_stats(struct fa_cli *cli);
int fa_verb_history(struct fa_cli *cli);  /* verb_history.c */
int fa_verb_failures(struct fa_cli *cli); /* verb_failures.c */
int fa_stats_errors(struct fa_cli *cli);  /* stats --errors */
int fa_verb_audit_ls(struct fa_cli *cli); /* verb_audit.c */
int fa_verb_audit_verify(struct fa_cli *cli);
int fa_verb_audit_export(struct fa_cli *cli);
int fa_verb_emit(struct fa_cli *cli); /* verb_workflow.c */
int fa_verb_workflow_ls(struct fa_cli *cli);
int fa_verb_workflow_get(struct fa_cli *cli);
int fa_verb_workflow_apply(struct fa_cli *cli);
int fa_verb_workflow_rm(struct fa_cli *cli);
int fa_verb_workflow_enable(struct fa_cli *cli);
int fa_verb_workflow_disable(struct fa_cli *cli);
int fa_verb_workflow_joins(struct fa_cli *cli);
int fa_verb_workflow_test(struct fa_cli *cli); /* verb_workflow_test.c */
int fa_verb_workflow_why(struct fa_cli *cli);
int fa_verb_token_create(struct fa_cli *cli); /* verb_token.c */
int fa_verb_token_ls(struct fa_cli *cli);
int fa_verb_token_revoke(struct fa_cli *cli);
int fa_verb_db_status(struct fa_cli *cli); /* verb_operate.c */
int fa_verb_db_migrate(struct fa_cli *cli);
int fa_verb_db_copy(struct fa_cli *cli);
int fa_verb_db_purge(struct fa_cli *cli);
int fa_verb_backup(struct fa_cli *cli); /* verb_backup.c */
int fa_verb_restore(struct fa_cli *cli);
int fa_verb_bench(struct fa_cli *cli);
int fa_verb_doctor(struct fa_cli *cli);
int fa_verb_version(struct fa_cli *cli);
int fa_verb_completion(struct fa_cli *cli); /* verb_completion.c */
/* Not in the table: the scripts in completions/ run `faina complete-word WORD...` with the words
 * before the cursor and the one that is being typed. */
int fa_complete_word(struct fa_cli *cli, int argc, char **argv);
int fa_verb_help(struct fa_cli *cli); /* help.c */

#endif
