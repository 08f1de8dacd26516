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

int xs_find_beside(const char *program, char *ret, size_t size)
{
    static const char *const folders[] = {"", "/../sbin"};
    char own[PATH_MAX];

    for (size_t i = 0; xs_own_folder(own, sizeof(own)) == 0 && i < XS_ARRAY_LEN(folders); i++) {
        if ((size_t)snprintf(ret, size, "%s%s/%s", own, folders[i], program) < size && access(ret, X_OK) == 0)
            return 0;
    }
    return -ENOENT;
}

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

/* The length of the name, which ends at one of the characters > ! ? , and =. */
static size_t layer_name_length(const char *cell)
{
    return strcspn(cell, ">!?,=");
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
            /* a name of its own, or the end of a path: a text that is the end of another one stands there
             * once */
            found = at > text && (at[-1] == 0 || at[-1] == '/');
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
bool xs_library_is_installed(const char *name)
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

/* The entries with a !, which are the last ones. @return the length of their text */
static size_t stand_ins(const char *text, const char *folder, struct xs_layer *ret)
{
    size_t length = strcspn(text, " "), used = 0;

    for (const char *at = text; at < text + length && used < sizeof(ret->instead);) {
        size_t n = (at += strlen("!{folder}"), strcspn(at, ",: "));

        used += (size_t)snprintf(ret->instead + used, sizeof(ret->instead) - used, "%s%s%.*s", used ? "," : "", folder,
                                 (int)n, at);
        at += n + (at[n] == ret->joint);
    }
    if (used >= sizeof(ret->instead)) /* cut off: there are none */
        ret->instead[0] = 0;
    return length;
}

bool xs_shims_layer(const struct xs_shims *s, const struct xs_platform *platform, size_t index, const char *folder,
                    struct xs_layer *ret)
{
    const char *cell = layer_cell(platform, index), *shim = xs_shims_get(s, platform), *at;
    size_t n = cell ? layer_name_length(cell) : 0, used = 0, entry = 0;
    bool elsewhere = strcmp(folder, s->folder) != 0; /* a container has libraries of its own */

    if (!n || !shim || n >= sizeof(ret->variable))
        return false;
    memcpy(ret->variable, cell, n);
    ret->variable[n] = 0;
    at = strchr(cell, '=');
    if (!at)
        return false;
    ret->where_set = at[-1] == '?';
    ret->joint = at[-1] == ',' || at[-1] == '!' ? at[-1] : ':';
    at++;
    ret->value[0] = ret->kept[0] = ret->instead[0] = 0;
    if (cell[n] == '>')
        snprintf(ret->kept, sizeof(ret->kept), "%.*s", (int)strcspn(cell + n + 1, ",="), cell + n + 1);
    while (*at && *at != ' ' && used < sizeof(ret->value)) {
        char *to = ret->value + used;
        size_t room = sizeof(ret->value) - used;

        if (strncmp(at, "{shim}", 6) == 0) {
            used += (size_t)snprintf(to, room, "%s%s", folder, strrchr(shim, '/'));
            at += 6;
        } else if (strncmp(at, "{folder}", 8) == 0) {
            used += (size_t)snprintf(to, room, "%s", folder);
            at += 8;
        } else if (*at == '!') {
            at += stand_ins(at, folder, ret);
        } else if (*at == '?') {  /* without that library there is no such entry */
            char name[128];
            size_t length = strcspn(++at, ",: ");

            snprintf(name, sizeof(name), "%.*s", (int)length, at);
            at += length;
            if (!elsewhere && !xs_library_is_installed(name)) {
                used = entry;
                ret->value[used] = 0;
            }
        } else {
            bool between = *at == ret->joint;

            if (between && (at++, used == 0 || *at == '!')) /* nothing stands before it, or no entry behind */
                continue;
            used += (size_t)snprintf(to, room, "%c", between ? ret->joint : *at++);
            if (between)
                entry = used - 1;
        }
    }
    return used < sizeof(ret->value);
}

static int set_joined(const char *variable, const char *const *ours, size_t count, const char *separators,
                      char joint)
{
    char *value = xs_list_join(ours, count, getenv(variable), separators, joint);
    int err = value && setenv(variable, value, 1) == 0 ? 0 : -ENOMEM;

    free(value);
    return err;
}

static int set_layer(const struct xs_layer *layer)
{
    char *kept, *value = xs_layer_join(layer, getenv(layer->variable), *layer->kept ? getenv(layer->kept) : NULL, &kept);
    int err = value ? 0 : -ENOMEM;

    if (err == 0 && *value)
        err = setenv(layer->variable, value, 1);
    if (err == 0 && kept)
        err = setenv(layer->kept, kept, 1);
    free(value);
    free(kept);
    return err == 0 ? 0 : -ENOMEM;
}

int xs_shims_apply(const struct xs_shims *s, bool words)
{
    static char entries[XS_SHIMS_MAX][PATH_MAX]; /* large, and stacks may be small */
    const char *paths[XS_SHIMS_MAX];
    struct xs_layer layer;
    size_t preloaded;
    int err;

    if (!s->count)
        return 0;
    if (strpbrk(s->folder, " :\t"))
        return -EINVAL;
    preloaded = xs_shims_entries(s, words, entries);
    for (size_t i = 0; i < preloaded; i++)
        paths[i] = entries[i];
    err = preloaded ? set_joined("LD_PRELOAD", paths, preloaded, " :", ':') : 0;
    for (size_t i = 0; i < XS_PLATFORM_COUNT; i++) {
        for (size_t k = 0; err == 0 && xs_shims_layer(s, &xs_platforms[i], k, s->folder, &layer); k++)
            err = set_layer(&layer);
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
