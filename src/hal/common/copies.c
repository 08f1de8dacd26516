/* SPDX-License-Identifier: Apache-2.0 */
#include "hal/common/copies.h"

#include "base/str.h"
#include "hal/common/objects.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 64u
#define NAMES_MAX  6u

/* A file of the vendor's library that the process has, or would have without us. */
struct file {
    char path[XS_PATH_MAX];
    char soname[NAME_BYTES];
    char names[NAMES_MAX][NAME_BYTES]; /* by which it came */
    size_t name_count;
};

struct xs_copies {
    const struct xs_needs *needs;
    const char *instead;
    struct file *files[XS_COPIES_MAX + XS_NEEDS_MAX];
    size_t file_count;
    size_t copies_known, needs_known;  /* so many have their place in `files` */
    struct file *of_need[XS_NEEDS_MAX]; /* NULL: the name leads nowhere */
};

struct xs_copies *xs_copies_new(const struct xs_needs *needs, const char *instead)
{
    struct xs_copies *c = calloc(1, sizeof(*c));

    if (c) {
        c->needs = needs;
        c->instead = instead && xs_object_usable_file(instead) ? instead : NULL;
    }
    return c;
}

void xs_copies_free(struct xs_copies *c)
{
    for (size_t i = 0; c && i < c->file_count; i++)
        free(c->files[i]);
    free(c);
}

static struct file *file_at(struct xs_copies *c, const char *path)
{
    for (size_t i = 0; i < c->file_count; i++)
        if (xs_object_same_file(c->files[i]->path, path))
            return c->files[i];
    return NULL;
}

static struct file *add_file(struct xs_copies *c, const char *path, const char *soname)
{
    struct file *f = file_at(c, path);

    if (f || c->file_count == XS_ARRAY_LEN(c->files))
        return f;
    f = calloc(1, sizeof(*f));
    if (!f)
        xs_object_look_failed();
    if (!f || !xs_str_copy(f->path, sizeof(f->path), path)) {
        free(f);
        return NULL;
    }
    if (soname)
        xs_str_copy(f->soname, sizeof(f->soname), soname);
    else if (!xs_object_file_text(path, DT_SONAME, NULL, f->soname, sizeof(f->soname)))
        f->soname[0] = 0;
    c->files[c->file_count++] = f;
    return f;
}

static void add_name(struct file *f, const char *name)
{
    if (f && f->name_count < NAMES_MAX)
        xs_str_copy(f->names[f->name_count++], NAME_BYTES, name);
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Those that were mapped before this object have their place now. */
static void know_copies_before(struct xs_copies *c, uint32_t object)
{
    while (c->copies_known < c->needs->copy_count && c->needs->copies[c->copies_known].object < object) {
        const struct xs_copy *copy = &c->needs->copies[c->copies_known++];

        if (!copy->ours && copy->path)
            add_file(c, copy->path, copy->soname);
    }
}

/* The first one that the dynamic linker knows by this name. */
static struct file *known_file(struct xs_copies *c, const char *name)
{
    for (size_t i = 0; i < c->file_count; i++) {
        struct file *f = c->files[i];

        if (strcmp(f->soname, name) == 0)
            return f;
        for (size_t k = 0; k < f->name_count; k++)
            if (strcmp(f->names[k], name) == 0)
                return f;
    }
    return NULL;
}

/* Whether the dynamic linker gave a mapped copy for this need, and no name of ours stands before it. */
static const struct xs_copy *given_copy(const struct xs_copies *c, const char *name, bool *ret_ours)
{
    const struct xs_copy *by_file = NULL;
    bool several = false;

    *ret_ours = false;
    for (size_t i = 0; i < c->needs->copy_count; i++) {
        const struct xs_copy *copy = &c->needs->copies[i];

        if (strchr(name, '/')) {  /* nobody takes the place of a path */
            if (copy->path && !copy->ours && xs_object_same_file(copy->path, name))
                return copy;
            continue;
        }
        if (copy->soname && strcmp(copy->soname, name) == 0) {
            *ret_ours = copy->ours;
            return copy->ours ? NULL : copy;
        }
        if (!copy->path || strcmp(base_of(copy->path), name) != 0)
            continue;
        several |= by_file != NULL;
        by_file = by_file ? by_file : copy;
    }
    /* one that a program opened by its path is not known by the name of its file: then the folders tell */
    if (!by_file || several)
        return NULL;
    *ret_ours = by_file->ours;
    return by_file->ours ? NULL : by_file;
}

static struct file *find_file(struct xs_copies *c, const struct xs_searcher *by, const char *name)
{
    char *path = malloc(XS_PATH_MAX);
    struct file *f = NULL;

    if (!path)
        xs_object_look_failed();
    if (path && xs_search_first(by, name, path)) {
        f = add_file(c, path, NULL);
        add_name(f, name);
    }
    free(path);
    for (size_t i = 0; i < c->file_count && !f; i++) /* by a way that we do not know */
        if (strcmp(base_of(c->files[i]->path), name) == 0)
            f = c->files[i];
    return f;
}

static struct file *file_for(struct xs_copies *c, const struct xs_need *need)
{
    struct xs_searcher by = {need->path, need->rpath, need->runpath, false};
    const struct xs_copy *given;
    struct file *f;
    bool ours;

    know_copies_before(c, need->object);
    given = given_copy(c, need->name, &ours);
    if (given && given->path) {
        f = add_file(c, given->path, given->soname);
        add_name(f, need->name);
        return f;
    }
    f = known_file(c, need->name);
    if (!f && c->instead) {
        f = add_file(c, c->instead, NULL);
        add_name(f, need->name);
    }
    return f ? f : find_file(c, &by, need->name);
}

/* All up to this one, in the order in which the dynamic linker met them. */
static void know_needs(struct xs_copies *c, size_t count)
{
    for (; c->needs_known < count; c->needs_known++)
        c->of_need[c->needs_known] = file_for(c, &c->needs->needs[c->needs_known]);
}

/* @return the file that comes first in a scope */
static const char *first_of(struct xs_copies *c, const uint16_t *scope, size_t count)
{
    if (!count)
        return NULL;
    if (scope[0] >= XS_NEEDS_MAX)
        return c->needs->copies[scope[0] - XS_NEEDS_MAX].path;
    know_needs(c, scope[0] + 1u);
    return c->of_need[scope[0]] ? c->of_need[scope[0]]->path : NULL;
}

/* An object keeps the symbols that it was bound to, whatever becomes visible later. */
static bool was_visible(const struct xs_needs *n, const char *path)
{
    for (size_t i = 0; path && i < n->copy_count; i++)
        if (n->copies[i].path && strcmp(n->copies[i].path, path) == 0)
            return n->copies[i].object < n->object;
    return false;
}

const char *xs_copies_of_caller(struct xs_copies *c, const char *visible, const char **ret_absent)
{
    const struct xs_needs *n = c->needs;
    const char *global, *local;

    *ret_absent = NULL;
    for (size_t i = 0; i < n->need_count; i++) {
        if (!n->needs[i].with_caller)
            continue;
        know_needs(c, i + 1);
        if (!c->of_need[i]) {
            *ret_absent = n->needs[i].name;
            return NULL;
        }
    }
    global = first_of(c, n->global, n->global_count);
    local = first_of(c, n->local, n->local_count);
    if (n->deep && local)
        return local;
    if (!global && n->found && was_visible(n, visible))
        global = visible;
    return global ? global : local;
}

const char *xs_copies_opened(struct xs_copies *c, const char *name, bool mapped_only)
{
    const struct xs_needs *n = c->needs;
    struct xs_searcher by = {n->found ? n->path : "", n->rpath, n->runpath, false};
    struct file *f;
    size_t before;

    know_needs(c, n->need_count);
    know_copies_before(c, UINT32_MAX);
    f = known_file(c, name);
    before = c->file_count;
    if (!f)
        f = find_file(c, &by, name);
    if (!f || (mapped_only && c->file_count > before))
        return NULL;
    return f->path;
}

bool xs_copies_all_are(struct xs_copies *c, const char *path)
{
    const struct xs_needs *n = c->needs;

    know_needs(c, n->need_count);
    know_copies_before(c, UINT32_MAX);
    for (size_t i = 0; i < n->need_count; i++)
        if (!c->of_need[i])
            return false;
    return c->file_count == 0 || (c->file_count == 1 && xs_object_same_file(c->files[0]->path, path));
}
