/* SPDX-License-Identifier: Apache-2.0 */
/* Lists in variables: the old entries, and ours. */
#include "launcher/preload.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Compares bare names as text, paths as files. */
static bool same_entry(const char *a, const char *b)
{
    struct stat x, y;

    if (strcmp(a, b) == 0)
        return true;
    return strchr(a, '/') && strchr(b, '/') && stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

/* Whether an entry is the shim at LIBDIR/NAME, and ours the one of the same code at LIBDIR/xsched/NAME
 * (decision 0028). */
static bool is_by_path(const char *entry, const char *ours)
{
    char real[PATH_MAX], beside[PATH_MAX]; /* ours may have another path there (preload_entries.c) */
    const char *name, *folder;

    ours = realpath(ours, real) ? real : ours;
    name = folder = strrchr(ours, '/');

    while (folder && folder > ours && *--folder != '/')
        ;
    return name && folder > ours &&
           (size_t)snprintf(beside, sizeof(beside), "%.*s%s", (int)(folder - ours), ours, name) < sizeof(beside) &&
           strchr(entry, '/') && same_entry(entry, beside);
}

struct list {
    char **items;
    size_t count, bytes;
};

static bool list_has(const struct list *l, const char *entry)
{
    for (size_t i = 0; i < l->count; i++) {
        if (same_entry(l->items[i], entry))
            return true;
    }
    return false;
}

static void list_remove(struct list *l, size_t i)
{
    l->bytes -= strlen(l->items[i]) + 1;
    free(l->items[i]);
    memmove(&l->items[i], &l->items[i + 1], (--l->count - i) * sizeof(*l->items));
}

static int list_add(struct list *l, const char *item, size_t length)
{
    char *copy = strndup(item, length), **grown;
    bool there = copy && list_has(l, copy);
    size_t at = l->count;

    if (!copy)
        return -ENOMEM;
    for (size_t i = l->count; i-- > 0;) {
        if (is_by_path(l->items[i], copy)) { /* a process has one shim for a platform */
            list_remove(l, i);
            at = i;
        }
    }
    grown = there ? NULL : realloc(l->items, (l->count + 1) * sizeof(*grown));
    if (!grown) {
        free(copy);
        return there ? 0 : -ENOMEM;
    }
    l->items = grown;
    at = XS_MIN(at, l->count);
    memmove(&l->items[at + 1], &l->items[at], (l->count++ - at) * sizeof(*l->items));
    l->items[at] = copy;
    l->bytes += length + 1;
    return 0;
}

static int list_split(struct list *l, const char *text, const char *separators)
{
    int err = 0;

    while (text && err == 0) {
        size_t length;

        text += strspn(text, separators);
        length = strcspn(text, separators);
        if (!length)
            break;
        err = list_add(l, text, length);
        text += length;
    }
    return err;
}

static void list_free(struct list *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->items[i]);
    free(l->items);
}

static char *list_text(const struct list *l, char joint)
{
    char *text = malloc(l->bytes + 1), *p = text;

    if (!text)
        return NULL;
    *p = 0;
    for (size_t i = 0; i < l->count; i++) {
        if (i)
            *p++ = joint;
        p = stpcpy(p, l->items[i]);
    }
    return text;
}

char *xs_list_join(const char *const *ours, size_t count, const char *old, const char *separators, char joint)
{
    struct list l = {NULL, 0, 0};
    int err = list_split(&l, old, separators);
    char *text;

    for (size_t i = 0; i < count && err == 0; i++)
        err = list_add(&l, ours[i], strlen(ours[i]));
    text = err == 0 ? list_text(&l, joint) : NULL;
    list_free(&l);
    return text;
}

static const char k_ours[] = "libxsched-"; /* how our entries' names in a layer's variable begin */

static bool is_ours(const char *entry)
{
    const char *name = strrchr(entry, '/');

    return strncmp(name ? name + 1 : entry, k_ours, strlen(k_ours)) == 0;
}

/* Whether the program's loader will find it. Entries that it does not find stay as they are. */
static bool can_be_opened(const char *entry)
{
    return strchr(entry, '/') ? access(entry, R_OK) == 0 : xs_library_is_installed(entry);
}

/* Replaces the user's entries that the loader can open, and keeps them in `kept`. */
static int stand_for(struct list *l, struct list *kept, const struct list *instead)
{
    for (size_t i = 0; i < l->count; i++) {
        char *item = l->items[i], *copy;
        int err;

        if (is_ours(item) || !can_be_opened(item))
            continue;
        if (list_has(kept, item)) {   /* an entry stands for it already */
            list_remove(l, i--);
            continue;
        }
        if (kept->count == instead->count)
            break;
        copy = strdup(instead->items[kept->count]);
        err = copy ? list_add(kept, item, strlen(item)) : -ENOMEM;
        if (err < 0) {
            free(copy);
            return err;
        }
        l->bytes += strlen(copy) - strlen(item);
        l->items[i] = copy;
        free(item);
    }
    return 0;
}

char *xs_layer_join(const struct xs_layer *layer, const char *old, const char *kept, char **ret_kept)
{
    const char separators[] = {layer->joint, 0};
    struct list l = {NULL, 0, 0}, keeps = {NULL, 0, 0}, instead = {NULL, 0, 0}, ours = {NULL, 0, 0};
    bool stood = false, theirs = false;
    char *text = NULL;
    size_t before;
    int err = layer->joint == '!' ? 0 : list_split(&l, old, separators);

    *ret_kept = NULL;
    if (layer->where_set && !old)
        return strdup("");
    err = err ? err : list_split(&ours, layer->value, separators);
    err = err ? err : list_split(&instead, layer->instead, ",");
    for (size_t i = 0; i < l.count && instead.count; i++) {
        stood |= list_has(&instead, l.items[i]);
        theirs |= stood || !is_ours(l.items[i]);
    }
    if (stood)                        /* else `kept` belongs to another list */
        err = err ? err : list_split(&keeps, kept, ",");
    before = keeps.count;
    if (theirs)
        err = err ? err : stand_for(&l, &keeps, &instead);
    for (size_t i = l.count; theirs && i-- > 0;) {
        if (is_ours(l.items[i]) && !list_has(&instead, l.items[i])) /* the user wants the drivers that he names, and no others */
            list_remove(&l, i);
    }
    for (size_t i = 0; i < ours.count && err == 0 && !theirs; i++)
        err = list_add(&l, ours.items[i], strlen(ours.items[i]));
    if (err == 0 && keeps.count > before && !(*ret_kept = list_text(&keeps, ',')))
        err = -ENOMEM;
    text = err == 0 ? list_text(&l, layer->joint) : NULL;
    list_free(&l);
    list_free(&keeps);
    list_free(&instead);
    list_free(&ours);
    return text;
}
