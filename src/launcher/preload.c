/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/preload.h"

#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int xs_own_folder(char *ret, size_t size)
{
    char exe[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    char *slash;

    if (n < 0)
        return -errno;
    exe[n] = 0;
    slash = strrchr(exe, '/');
    if (!slash)
        return -ENOENT;
    *slash = 0;
    return xs_str_copy(ret, size, exe) ? 0 : -ENAMETOOLONG;
}

#define VALUES_MAX 8 /* entries of one layer's value */

static bool is_shim_name(const char *name)
{
    size_t n = strlen(name);

    return strncmp(name, "libshim", 7) == 0 && n > 10 && strcmp(name + n - 3, ".so") == 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static bool look_into(struct xs_shims *s, const char *folder)
{
    char real[PATH_MAX];
    const struct dirent *e;
    size_t used = strlen(s->tried);
    DIR *dir;

    snprintf(s->tried + used, sizeof(s->tried) - used, "%s%s", used ? ", " : "", folder);
    if (!realpath(folder, real) || !(dir = opendir(real)))
        return false;
    while ((e = readdir(dir)) && s->count < XS_SHIMS_MAX) {
        if (is_shim_name(e->d_name) &&
            (size_t)snprintf(s->paths[s->count], PATH_MAX, "%s/%s", real, e->d_name) < PATH_MAX)
            s->count++;
    }
    closedir(dir);
    if (!s->count)
        return false;
    qsort(s->paths, s->count, sizeof(s->paths[0]), by_name);
    xs_str_copy(s->folder, sizeof(s->folder), real);
    return true;
}

void xs_shims_find(struct xs_shims *ret)
{
    char own[PATH_MAX], folder[PATH_MAX + 64];

    memset(ret, 0, sizeof(*ret));
    if (xs_own_folder(own, sizeof(own)) == 0) {
        static const char *const beside[] = {"../lib/xsched", "../" XSCHED_LIBDIR "/xsched"};

        for (size_t i = 0; i < XS_ARRAY_LEN(beside); i++) {
            if (i && strcmp(beside[i], beside[0]) == 0)
                break;
            snprintf(folder, sizeof(folder), "%s/%s", own, beside[i]);
            if (look_into(ret, folder))
                return;
        }
    }
#ifdef XSCHED_FULL_LIBDIR
    look_into(ret, XSCHED_FULL_LIBDIR "/xsched");
#endif
}

void xs_shims_find_in(struct xs_shims *ret, const char *folder)
{
    memset(ret, 0, sizeof(*ret));
    look_into(ret, folder);
}

const char *xs_shims_get(const struct xs_shims *s, const struct xs_platform *platform)
{
    size_t n = strlen(platform->stem);

    for (size_t i = 0; i < s->count; i++) {
        const char *name = strrchr(s->paths[i], '/') + 1 + strlen("libshim");

        if (strncmp(name, platform->stem, n) == 0 && strcmp(name + n, ".so") == 0)
            return s->paths[i];
    }
    return NULL;
}

size_t xs_shims_preloaded(const struct xs_shims *s, const char *ret_paths[XS_SHIMS_MAX])
{
    size_t count = 0;

    for (size_t i = 0; i < s->count; i++) {
        bool wanted = true;

        for (size_t k = 0; k < XS_PLATFORM_COUNT; k++)
            wanted &= xs_platform_is_preloaded(&xs_platforms[k]) || xs_shims_get(s, &xs_platforms[k]) != s->paths[i];
        if (wanted)
            ret_paths[count++] = s->paths[i];
    }
    return count;
}

/* The index-th VARIABLE=VALUE of a row's column. NULL: there are no more */
static const char *layer_cell(const struct xs_platform *platform, size_t index)
{
    const char *at = platform->layers;

    if (!xs_platform_is_preloaded(platform))
        at += strlen("only ");
    while (index-- && at) {
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    return at && *at ? at : NULL;
}

/* How long the name is. A comma behind it is not part of it. */
static size_t layer_name_length(const char *cell)
{
    return strcspn(cell, ",=");
}

/* Whether ld.so.cache names this library. */
static bool in_cache(const char *name)
{
    int fd = open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC);
    bool found = false;
    struct stat st;

    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0) {
        size_t size = (size_t)st.st_size;
        const char *text = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0), *at = text;

        while (text != MAP_FAILED && !found && (at = memmem(at, size - (size_t)(at - text), name, strlen(name) + 1))) {
            found = at > text && at[-1] == 0; /* a name of its own, not the end of a path */
            at++;
        }
        if (text != MAP_FAILED)
            munmap((void *)(uintptr_t)text, size);
    }
    if (fd >= 0)
        close(fd);
    return found;
}

/* Whether the dynamic linker would find a library by this name. */
static bool is_installed(const char *name)
{
    static const char folders[] = "/lib:/usr/lib:/lib64:/usr/lib64:/usr/local/lib:/usr/local/lib64";
    const char *lists[] = {getenv("LD_LIBRARY_PATH"), folders};
    char path[PATH_MAX];

    for (size_t i = 0; i < XS_ARRAY_LEN(lists); i++) {
        for (const char *at = lists[i]; at && *at; at += *at ? 1 : 0) {
            size_t n = strcspn(at, ":;");

            snprintf(path, sizeof(path), "%.*s/%s", (int)n, at, name);
            if (n && access(path, R_OK) == 0)
                return true;
            at += n;
        }
    }
    return in_cache(name);
}

bool xs_shims_layer(const struct xs_shims *s, const struct xs_platform *platform, size_t index, const char *folder,
                    struct xs_layer *ret)
{
    const char *cell = layer_cell(platform, index), *shim = xs_shims_get(s, platform), *at;
    size_t n = cell ? layer_name_length(cell) : 0, used = 0, entry = 0;

    if (!n || !shim || n >= sizeof(ret->variable))
        return false;
    memcpy(ret->variable, cell, n);
    ret->variable[n] = 0;
    ret->joint = cell[n] == ',' ? ',' : ':';
    ret->value[0] = 0;
    for (at = strchr(cell, '=') + 1; *at && *at != ' ' && used < sizeof(ret->value);) {
        char *to = ret->value + used;
        size_t room = sizeof(ret->value) - used;

        if (strncmp(at, "{shim}", 6) == 0) {
            used += (size_t)snprintf(to, room, "%s%s", folder, strrchr(shim, '/'));
            at += 6;
        } else if (strncmp(at, "{folder}", 8) == 0) {
            used += (size_t)snprintf(to, room, "%s", folder);
            at += 8;
        } else if (*at == '?') {  /* without that library there is no such entry */
            char name[128];
            size_t length = strcspn(++at, ",: ");

            snprintf(name, sizeof(name), "%.*s", (int)length, at);
            at += length;
            if (!is_installed(name)) {
                used = entry;
                ret->value[used] = 0;
            }
        } else {
            bool between = *at == ret->joint;

            if (between && (at++, used == 0)) /* nothing stands before it */
                continue;
            used += (size_t)snprintf(to, room, "%c", between ? ret->joint : *at++);
            if (between)
                entry = used - 1;
        }
    }
    return used < sizeof(ret->value);
}

/* Bare names are compared as text, paths as files. */
static bool same_entry(const char *a, const char *b)
{
    struct stat x, y;

    if (strcmp(a, b) == 0)
        return true;
    return strchr(a, '/') && strchr(b, '/') && stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

/* Whether an entry is the shim at LIBDIR/NAME, and ours the one of the same code at LIBDIR/xsched/NAME (decision 0028). */
static bool is_by_path(const char *entry, const char *ours)
{
    const char *name = strrchr(ours, '/'), *folder = name;
    char beside[PATH_MAX];

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

static void list_remove(struct list *l, size_t i)
{
    l->bytes -= strlen(l->items[i]) + 1;
    free(l->items[i]);
    memmove(&l->items[i], &l->items[i + 1], (--l->count - i) * sizeof(*l->items));
}

static int list_add(struct list *l, const char *item, size_t length)
{
    char *copy = strndup(item, length), **grown;
    size_t at = l->count;
    bool there = false;

    if (!copy)
        return -ENOMEM;
    for (size_t i = 0; i < l->count; i++)
        there |= same_entry(l->items[i], copy);
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

char *xs_list_join(const char *const *ours, size_t count, const char *old, const char *separators, char joint)
{
    struct list l = {NULL, 0, 0};
    char *text = NULL, *p;
    int err = 0;

    while (old && err == 0) {
        size_t length;

        old += strspn(old, separators);
        length = strcspn(old, separators);
        if (!length)
            break;
        err = list_add(&l, old, length);
        old += length;
    }
    for (size_t i = 0; i < count && err == 0; i++)
        err = list_add(&l, ours[i], strlen(ours[i]));
    if (err == 0 && (text = malloc(l.bytes + 1))) {
        p = text;
        *p = 0;
        for (size_t i = 0; i < l.count; i++) {
            if (i)
                *p++ = joint;
            p = stpcpy(p, l.items[i]);
        }
    }
    for (size_t i = 0; i < l.count; i++)
        free(l.items[i]);
    free(l.items);
    return text;
}

static int set_joined(const char *variable, const char *const *ours, size_t count, const char *separators,
                      char joint)
{
    char *value = xs_list_join(ours, count, getenv(variable), separators, joint);
    int err = value && setenv(variable, value, 1) == 0 ? 0 : -ENOMEM;

    free(value);
    return err;
}

/* The entries of a layer's value, which is cut into them, so that each is there once. @return how many */
static size_t split(char *value, char joint, const char *ret_values[VALUES_MAX])
{
    size_t count = 0;

    while (count < VALUES_MAX) {
        char *end = count + 1 < VALUES_MAX ? strchr(value, joint) : NULL; /* the last has the rest */

        ret_values[count++] = value;
        if (!end)
            break;
        *end = 0;
        value = end + 1;
    }
    return count;
}

int xs_shims_apply(const struct xs_shims *s)
{
    const char *paths[XS_SHIMS_MAX], *values[VALUES_MAX];
    struct xs_layer layer;
    size_t preloaded, count;
    int err;

    if (!s->count)
        return 0;
    if (strpbrk(s->folder, " :\t"))
        return -EINVAL;
    preloaded = xs_shims_preloaded(s, paths);
    err = preloaded ? set_joined("LD_PRELOAD", paths, preloaded, " :", ':') : 0;
    for (size_t i = 0; i < XS_PLATFORM_COUNT; i++) {
        for (size_t k = 0; err == 0 && xs_shims_layer(s, &xs_platforms[i], k, s->folder, &layer); k++) {
            count = split(layer.value, layer.joint, values);
            if (!*layer.value)
                continue;
            err = set_joined(layer.variable, values, count, layer.joint == ',' ? "," : ":", layer.joint);
        }
    }
    return err;
}

static bool sets(const char *entry, const char *variable, size_t length)
{
    return strncmp(entry, variable, length) == 0 && entry[length] == '=';
}

bool xs_shims_is_variable(const char *entry)
{
    const char *cell;

    for (size_t i = 0; i < XS_PLATFORM_COUNT; i++) {
        for (size_t k = 0; (cell = layer_cell(&xs_platforms[i], k)); k++) {
            if (sets(entry, cell, layer_name_length(cell)))
                return true;
        }
    }
    return sets(entry, "LD_PRELOAD", strlen("LD_PRELOAD"));
}

void xs_shims_unset(void)
{
    const char *cell;
    char name[64];

    for (size_t i = 0; i < XS_PLATFORM_COUNT; i++) {
        for (size_t k = 0; (cell = layer_cell(&xs_platforms[i], k)); k++) {
            snprintf(name, sizeof(name), "%.*s", (int)layer_name_length(cell), cell);
            unsetenv(name);
        }
    }
    unsetenv("LD_PRELOAD");
}
