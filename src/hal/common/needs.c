/* SPDX-License-Identifier: Apache-2.0 */
#include "hal/common/needs.h"

#include "base/lock.h"
#include "base/map.h"
#include "base/str.h"
#include "hal/common/mapped.h"
#include "hal/common/objects.h"

#include <stdlib.h>
#include <string.h>

#define NONE       UINT32_MAX
#define TEXT_BYTES 65536u
#define RETRIES    64
#define ROOM_MORE  16u            /* objects that may come between the count and the look */
#define OPENED_MAX 32u

/* One mapped object. Pointers lead into it. */
struct object {
    const ElfW(Dyn) *dyn;         /* NULL: none */
    const char *strings, *path, *base, *soname; /* base: the path without folders */
    uint32_t root;                /* the object that brought it; NONE: not known yet */
    bool ours, vendor;
};

/* A file that the program opened with RTLD_DEEPBIND, or RTLD_GLOBAL. */
struct opened {
    uint32_t name;                /* its hash; 0: free */
    bool deep, visible;
};

struct walk {
    struct opened opened[OPENED_MAX];
    struct xs_needs *out;
    const char *stem;
    uintptr_t caller;
    struct object *objects;
    uint32_t *names;              /* hash table: index + 1 of the first object of a SONAME or file name */
    uint32_t *queue;
    uint8_t *seen;
    uint32_t count, room, filled, libc, names_mask;
    uint64_t adds, subs;
    char *text;
    size_t text_used;
    bool done;
};

static uint32_t hash_name(const char *s)
{
    uint64_t h = 14695981039346656037ull; /* FNV-1a */

    for (; *s; s++)
        h = (h ^ (uint8_t)*s) * 1099511628211ull;
    return (uint32_t)xs_hash_u64(h);
}

/* ---- what the program opened in a way that changes scopes ---- */

/* Lock 7: the objects that the program opened with RTLD_DEEPBIND. A thread that opens one, or that asks for
 * the copy of a new caller, holds it. */
static struct xs_lock g_lock;
static struct opened g_opened[OPENED_MAX]; /* under g_lock, as the next */
static unsigned g_opened_next;

void xs_needs_opened(const char *file, bool deep, bool visible)
{
    uint32_t name = file ? hash_name(file) : 0;
    unsigned i = 0;

    xs_lock_acquire(&g_lock);
    while (i < OPENED_MAX && g_opened[i].name != name)
        i++;
    if (i == OPENED_MAX && name) {
        i = g_opened_next++ % OPENED_MAX;
        g_opened[i] = (struct opened){name, false, false};
    }
    if (i < OPENED_MAX) {
        g_opened[i].deep |= deep;
        g_opened[i].visible |= visible;
    }
    xs_lock_release(&g_lock);
}

/* By its path as the program wrote it, or by a name. */
static bool was_opened(const struct walk *w, const struct object *o, bool deep)
{
    uint32_t path = hash_name(o->path), base = hash_name(o->base), soname = o->soname ? hash_name(o->soname) : base;

    for (unsigned i = 0; i < OPENED_MAX; i++)
        if ((deep ? w->opened[i].deep : w->opened[i].visible) &&
            (w->opened[i].name == path || w->opened[i].name == base || w->opened[i].name == soname))
            return true;
    return false;
}

/* ---- the graph, while nobody unmaps an object ---- */

/* @return the place of the name in the table, or the free place for it */
static uint32_t *slot_of(const struct walk *w, const char *name, bool soname)
{
    for (uint32_t i = hash_name(name) & w->names_mask;; i = (i + 1) & w->names_mask) {
        const struct object *o = w->names[i] ? &w->objects[w->names[i] - 1] : NULL;
        const char *known = o ? soname ? o->soname : o->base : NULL;

        if (!o || (known && strcmp(known, name) == 0))
            return &w->names[i];
    }
}

static void add_name(struct walk *w, uint32_t i, const char *name, bool soname)
{
    uint32_t *slot = slot_of(w, name, soname);

    if (!*slot)
        *slot = i + 1;
}

/* Whether a name that is needed is one of the vendor's. It may be a path. */
static bool is_vendors(const struct walk *w, const char *name)
{
    const char *slash = strrchr(name, '/');

    return xs_object_name_fits(slash ? slash + 1 : name, w->stem);
}

/* The object that the dynamic linker has for a name that is needed. */
static uint32_t object_named(const struct walk *w, const char *name)
{
    const char *slash = strrchr(name, '/');
    uint32_t i;

    for (i = 0; slash && i < w->count; i++)
        if (strcmp(w->objects[i].path, name) == 0)
            return i;
    if (!slash && (i = *slot_of(w, name, true)))
        return i - 1;
    i = *slot_of(w, slash ? slash + 1 : name, false);
    return i ? i - 1 : NONE;
}

static const char *keep_text(struct walk *w, const char *text)
{
    size_t n = text ? strlen(text) + 1 : 0;
    char *to = w->text + w->text_used;

    if (!n || n > TEXT_BYTES - w->text_used)
        return NULL;
    memcpy(to, text, n);
    w->text_used += n;
    return to;
}

static const char *text_of(const struct object *o, ElfW(Sxword) tag)
{
    for (const ElfW(Dyn) *d = o->dyn; d && d->d_tag != DT_NULL; d++)
        if (d->d_tag == tag)
            return o->strings + d->d_un.d_val;
    return NULL;
}

/* All that one object needs, in its order. @return false at the end */
static bool next_needed(const struct object *o, const ElfW(Dyn) **at, const char **ret_name)
{
    const ElfW(Dyn) *d = *at ? *at + 1 : o->dyn;

    if (o->ours)                  /* what we need is not the program's */
        return false;
    for (; d && d->d_tag != DT_NULL; d++) {
        if (d->d_tag != DT_NEEDED)
            continue;
        *at = d;
        *ret_name = o->strings + d->d_un.d_val;
        return true;
    }
    return false;
}

static void find_roots(struct walk *w)
{
    for (uint32_t r = 0; r < w->count; r++) {
        uint32_t from = 0, to = 0;

        if (w->objects[r].root != NONE)
            continue;
        w->objects[r].root = r;
        w->queue[to++] = r;
        for (; from < to; from++) {
            const ElfW(Dyn) *at = NULL;
            const char *name;

            while (next_needed(&w->objects[w->queue[from]], &at, &name)) {
                uint32_t i = object_named(w, name);

                if (i == NONE || w->objects[i].root != NONE)
                    continue;
                w->objects[i].root = r;
                w->queue[to++] = i;
            }
        }
    }
}

/* Whether an object was there before the program ran: then it belongs to the global scope. */
static bool is_early(const struct walk *w, uint32_t i)
{
    return w->objects[i].root == 0 || w->objects[i].root < w->libc;
}

static uint16_t copy_index(const struct walk *w, uint32_t object)
{
    for (size_t i = 0; i < w->out->copy_count; i++)
        if (w->out->copies[i].object == object)
            return (uint16_t)(XS_NEEDS_MAX + i);
    return UINT16_MAX;
}

static uint16_t need_index(const struct walk *w, uint32_t object, const char *name)
{
    for (size_t i = 0; i < w->out->need_count; i++)
        if (w->out->needs[i].object == object && strcmp(w->out->needs[i].name, name) == 0)
            return (uint16_t)i;
    return UINT16_MAX;
}

static void visit_scope(struct walk *w, uint32_t i, uint32_t *to)
{
    if (i == NONE || w->seen[i])
        return;
    w->seen[i] = 1;
    w->queue[(*to)++] = i;
}

/* Breadth first from the objects that the queue has. */
static size_t walk_scope(struct walk *w, uint32_t to, uint16_t *ret, bool with_caller)
{
    size_t n = 0, most = XS_NEEDS_MAX + XS_COPIES_MAX;

    for (uint32_t from = 0; from < to; from++) {
        const struct object *o = &w->objects[w->queue[from]];
        const ElfW(Dyn) *at = NULL;
        const char *name;
        uint16_t k;

        if (o->vendor && !o->ours && n < most && (k = copy_index(w, w->queue[from])) != UINT16_MAX)
            ret[n++] = k;
        while (next_needed(o, &at, &name)) {
            if (!is_vendors(w, name)) {
                visit_scope(w, object_named(w, name), &to);
                continue;
            }
            k = need_index(w, w->queue[from], name);
            if (k == UINT16_MAX || n == most)
                continue;
            ret[n++] = k;
            w->out->needs[k].with_caller |= with_caller;
        }
    }
    return n;
}

/* The scope that one object brings with all that it needs. @return whether the caller is among that */
static bool walk_from(struct walk *w, uint32_t root, uint32_t caller, uint16_t *ret, size_t *ret_count)
{
    uint32_t to = 0;

    memset(w->seen, 0, w->count);
    visit_scope(w, root, &to);
    *ret_count = walk_scope(w, to, ret, root == w->objects[caller].root);
    return w->seen[caller];
}

static void append(uint16_t *scope, size_t *count, const uint16_t *more, size_t n)
{
    for (size_t i = 0; i < n && *count < XS_NEEDS_MAX + XS_COPIES_MAX; i++)
        scope[(*count)++] = more[i];
}

/* What the program made visible to all before the caller came; what comes later does not change the symbols that an
 * object has already. */
static void walk_visible(struct walk *w, uint32_t caller)
{
    uint16_t more[XS_NEEDS_MAX + XS_COPIES_MAX];
    size_t n;

    for (uint32_t r = 0; r < w->objects[caller].root; r++) {
        if (w->objects[r].root != r || is_early(w, r) || !was_opened(w, &w->objects[r], false))
            continue;
        walk_from(w, r, caller, more, &n);
        append(w->out->global, &w->out->global_count, more, n);
    }
}

static void walk_global(struct walk *w, bool with_caller)
{
    uint32_t to = 0;

    memset(w->seen, 0, w->count);
    visit_scope(w, 0, &to);
    for (uint32_t i = 1; i < w->libc; i++) /* preloaded */
        if (w->objects[i].root == i)
            visit_scope(w, i, &to);
    w->out->global_count = walk_scope(w, to, w->out->global, with_caller);
}

static void walk_local(struct walk *w, uint32_t caller)
{
    uint16_t more[XS_NEEDS_MAX + XS_COPIES_MAX];
    struct xs_needs *out = w->out;
    size_t n;

    walk_from(w, w->objects[caller].root, caller, out->local, &out->local_count);
    /* whoever opened an object that needs this one later has added its scope to this one's */
    for (uint32_t r = w->objects[caller].root + 1; r < w->count; r++) {
        if (w->objects[r].root != r || !walk_from(w, r, caller, more, &n))
            continue;
        append(out->local, &out->local_count, more, n);
    }
}

/* The vendor's names among all that is mapped. */
static void collect(struct walk *w)
{
    struct xs_needs *out = w->out;

    for (uint32_t i = 0; i < w->count; i++) {
        const struct object *o = &w->objects[i];
        const ElfW(Dyn) *at = NULL;
        const char *name;

        if (o->vendor && out->copy_count < XS_COPIES_MAX)
            out->copies[out->copy_count++] =
                (struct xs_copy){i, o->ours, keep_text(w, o->path), keep_text(w, o->soname)};
        while (next_needed(o, &at, &name)) {
            struct xs_need *need = &out->needs[out->need_count];

            if (out->need_count == XS_NEEDS_MAX || !is_vendors(w, name))
                continue;
            *need = (struct xs_need){i, false, keep_text(w, i ? o->path : ""), keep_text(w, text_of(o, DT_RPATH)),
                                     keep_text(w, text_of(o, DT_RUNPATH)), keep_text(w, name)};
            if (need->name && need->path)
                out->need_count++;
        }
    }
}

/* ---- reading ---- */

static int visit_count(struct dl_phdr_info *info, size_t size, void *data)
{
    struct walk *w = data;

    if (size < offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs))
        return 1;
    w->adds = info->dlpi_adds;
    w->subs = info->dlpi_subs;
    w->count++;
    return 0;
}

static void all_read(struct walk *w)
{
    struct xs_needs *out = w->out;
    uint32_t caller = out->found ? out->object : NONE;

    find_roots(w);
    collect(w);
    walk_global(w, caller != NONE && is_early(w, caller));
    if (caller != NONE) {
        const struct object *o = &w->objects[caller];

        out->path = keep_text(w, caller ? o->path : "");
        out->rpath = keep_text(w, text_of(o, DT_RPATH));
        out->runpath = keep_text(w, text_of(o, DT_RUNPATH));
        if (!is_early(w, caller)) {
            walk_visible(w, caller);
            walk_local(w, caller);
            out->deep = was_opened(w, &w->objects[o->root], true);
        }
    }
    w->done = true;
}

/* Objects that came and went since they were counted. @return false: they do not fit */
static bool as_many_now(struct walk *w, const struct dl_phdr_info *info)
{
    uint64_t count = w->count + (info->dlpi_adds - w->adds) - (info->dlpi_subs - w->subs);

    if (count == 0 || count > w->room)
        return false;
    w->count = (uint32_t)count;
    w->adds = info->dlpi_adds;
    w->subs = info->dlpi_subs;
    return true;
}

/* The last object completes the picture. Inside this callback nobody unmaps one. */
static int visit_read(struct dl_phdr_info *info, size_t size, void *data)
{
    struct walk *w = data;
    struct object *o = &w->objects[w->filled];
    const char *slash;

    (void)size;
    if (w->filled == 0 && !as_many_now(w, info))
        return 1;
    if (info->dlpi_adds != w->adds || info->dlpi_subs != w->subs || w->filled == w->count) {
        w->done = false;
        return 1;
    }
    o->path = info->dlpi_name ? info->dlpi_name : "";
    slash = strrchr(o->path, '/');
    o->base = slash ? slash + 1 : o->path;
    o->root = NONE;
    if (xs_mapped_dynamic(info, &o->dyn, &o->strings))
        o->soname = text_of(o, DT_SONAME);
    o->ours = xs_mapped_is_ours(info);
    o->vendor = xs_object_name_fits(o->base, w->stem) || (o->soname && xs_object_name_fits(o->soname, w->stem));
    if (!w->libc && o->soname && strcmp(o->soname, "libc.so.6") == 0)
        w->libc = w->filled;
    if (!w->out->found && xs_mapped_holds(info, w->caller)) {
        w->out->found = true;
        w->out->object = w->filled;
        xs_mapped_range(info, &w->out->from, &w->out->to);
    }
    if (o->soname)
        add_name(w, w->filled, o->soname, true);
    if (*o->base)
        add_name(w, w->filled, o->base, false);
    if (++w->filled == w->count)
        all_read(w);
    return 0;
}

static bool try_to_read(struct walk *w)
{
    uint32_t names = 64;
    char *memory;

    w->count = w->filled = w->libc = 0;
    dl_iterate_phdr(visit_count, w);
    if (!w->count)
        return false;
    w->room = w->count + ROOM_MORE;
    while (names < w->room * 4)
        names *= 2;
    w->names_mask = names - 1;
    /* one piece: objects, names, queue, seen */
    memory = calloc(1, w->room * (sizeof(struct object) + sizeof(uint32_t) + 1) + names * sizeof(uint32_t));
    w->out = calloc(1, sizeof(*w->out) + TEXT_BYTES);
    if (memory && w->out) {
        w->objects = (struct object *)(void *)memory;
        w->names = (uint32_t *)(void *)(w->objects + w->room);
        w->queue = w->names + names;
        w->seen = (uint8_t *)(w->queue + w->room);
        w->text = (char *)(w->out + 1);
        w->text_used = 0;
        dl_iterate_phdr(visit_read, w);
    }
    free(memory);
    if (!w->done)
        free(w->out);
    return w->done;
}

struct xs_needs *xs_needs_read(const char *stem, const void *caller)
{
    struct walk w = {.stem = stem, .caller = (uintptr_t)caller};

    xs_lock_acquire(&g_lock);
    memcpy(w.opened, g_opened, sizeof(g_opened));
    xs_lock_release(&g_lock);
    for (int i = 0; i < RETRIES; i++) { /* other threads load and unload objects */
        if (try_to_read(&w))
            return w.out;
    }
    return NULL;
}
