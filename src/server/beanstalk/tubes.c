/* tubes.c - the tubes that connections use or watch. See beanstalk_inner.h. */
#include "server/beanstalk/beanstalk_inner.h"

#include <stdlib.h>

struct fa_beanstalk_tube *fa_beanstalk_tube_find(struct fa_beanstalk *listener, const char *name)
{
    return fa_map_get(&listener->tubes, name, NULL);
}

struct fa_beanstalk_tube *fa_beanstalk_tube_get(struct fa_beanstalk *listener, const char *name)
{
    struct fa_beanstalk_tube *tube = fa_beanstalk_tube_find(listener, name);

    if (tube || listener->tubes.count >= FA_BEANSTALK_TUBES_MAX)
        return tube;
    tube = fa_alloc_zero(1, sizeof(*tube));
    memcpy(tube->name, name, strlen(name) + 1);
    fa_beanstalk_type(name, tube->type);
    tube->link = &listener->tube_list;
    tube->next = listener->tube_list;
    if (tube->next)
        tube->next->link = &tube->next;
    listener->tube_list = tube;
    fa_map_put(&listener->tubes, tube->name, NULL, tube);
    return tube;
}

static void destroy(struct fa_beanstalk *listener, struct fa_beanstalk_tube *tube)
{
    fa_map_remove(&listener->tubes, tube->name, NULL, tube);
    *tube->link = tube->next;
    if (tube->next)
        tube->next->link = tube->link;
    free(tube);
}

void fa_beanstalk_tube_drop(struct fa_beanstalk *listener, struct fa_beanstalk_tube *tube)
{
    if (tube->using == 0 && tube->watching == 0 && tube->pause_until_us == 0 &&
        tube != listener->default_tube)
        destroy(listener, tube);
}

void fa_beanstalk_count_delete(struct fa_beanstalk *listener, const char *type)
{
    char name[FA_BEANSTALK_TUBE_SIZE];
    struct fa_beanstalk_tube *tube =
        fa_beanstalk_tube(type, name) ? fa_beanstalk_tube_find(listener, name) : NULL;

    if (tube)
        tube->deletes++;
}

void fa_beanstalk_tubes_finish(struct fa_beanstalk *listener)
{
    while (listener->tube_list)
        destroy(listener, listener->tube_list);
    fa_map_finish(&listener->tubes);
}
