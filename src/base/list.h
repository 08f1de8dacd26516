/* SPDX-License-Identifier: Apache-2.0 */
/* A doubly linked list through the elements themselves. */
#ifndef XS_LIST_H
#define XS_LIST_H

#include "base/xs_base.h"

struct xs_list {
    struct xs_list *next, *prev;
};

static inline void xs_list_init(struct xs_list *l)
{
    l->next = l->prev = l;
}

static inline bool xs_list_empty(const struct xs_list *l)
{
    return l->next == l;
}

/** Adds e at the end. */
static inline void xs_list_add(struct xs_list *l, struct xs_list *e)
{
    e->prev = l->prev;
    e->next = l;
    l->prev->next = e;
    l->prev = e;
}

/** Takes e out of its list; harmless when it is in none (initialised). */
static inline void xs_list_remove(struct xs_list *e)
{
    e->prev->next = e->next;
    e->next->prev = e->prev;
    xs_list_init(e);
}

/* Only the address shows the end: no element contains the head, so the loop must not access it as one. */
#define XS_LIST_LINK_OF(it, type, member) ((struct xs_list *)(void *)((char *)(it) + offsetof(type, member)))

#define XS_LIST_FOR(it, head, type, member)                                                    \
    for (type *it = XS_CONTAINER_OF((head)->next, type, member);                                \
         XS_LIST_LINK_OF(it, type, member) != (head);                                           \
         it = XS_CONTAINER_OF(it->member.next, type, member))
/** The body may remove the element. */
#define XS_LIST_FOR_SAFE(it, head, type, member)                                               \
    for (type *it = XS_CONTAINER_OF((head)->next, type, member),                                \
              *it##_next = XS_CONTAINER_OF(XS_LIST_LINK_OF(it, type, member)->next, type, member); \
         XS_LIST_LINK_OF(it, type, member) != (head);                                           \
         it = it##_next, it##_next = XS_CONTAINER_OF(XS_LIST_LINK_OF(it, type, member)->next, type, member))

#endif
