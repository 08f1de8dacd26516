/* SPDX-License-Identifier: Apache-2.0 */
/* Vulkan's loader has two more ways by which it leaves our folder out, both written by vkconfig:
 *
 * - an override layer with override_paths: the loader then looks for explicit layers in these folders alone, whatever
 *   VK_LAYER_PATH and VK_ADD_LAYER_PATH say. It looks for implicit layers as always, so ours becomes one as well;
 * - vk_loader_settings.json (loaders since 1.3.255) with a list of layers that has no place for others. Nothing in the
 *   environment changes that. */
#include "launcher/vulkan_layers.h"

#include "launcher/say.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define DATA_DIRS     "/usr/local/share:/usr/share" /* without XDG_DATA_DIRS */
#define FILE_BYTES    (1u << 20) /* of a file that is worth a look */

static const char k_name[] = "VK_LAYER_XSCHED_schedule";

/* The texts of a small file, each a string of JSON; false where it cannot be read. */
static bool has_texts(const char *path, const char *const *texts, bool *ret)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    const char *text = MAP_FAILED;
    struct stat st;

    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 && st.st_size < FILE_BYTES)
        text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (fd >= 0)
        close(fd);
    if (text == MAP_FAILED)
        return false;
    for (size_t i = 0; texts[i]; i++)
        ret[i] = memmem(text, (size_t)st.st_size, texts[i], strlen(texts[i])) != NULL;
    munmap((void *)(uintptr_t)text, (size_t)st.st_size);
    return true;
}

static bool is_override(const char *path)
{
    static const char *const texts[] = {"\"VK_LAYER_LUNARG_override\"", "\"override_paths\"", NULL};
    bool has[2];

    return has_texts(path, texts, has) && has[0] && has[1];
}

/* Lists layers and has no place for others. */
static bool is_closed_list(const char *path)
{
    static const char *const texts[] = {"\"layers\"", "\"unordered_layer_location\"", k_name, NULL};
    bool has[3];

    return has_texts(path, texts, has) && has[0] && !has[1] && !has[2];
}

struct look {
    bool override;
    char settings[PATH_MAX]; /* "": none */
};

static void look_below(const char *folder, size_t length, struct look *l)
{
    char path[PATH_MAX], file[PATH_MAX + 256];
    const struct dirent *e;
    DIR *dir;

    snprintf(path, sizeof(path), "%.*s/vulkan/loader_settings.d/vk_loader_settings.json", (int)length, folder);
    if (!l->settings[0] && access(path, R_OK) == 0)
        memcpy(l->settings, path, sizeof(path));
    snprintf(path, sizeof(path), "%.*s/vulkan/implicit_layer.d", (int)length, folder);
    dir = opendir(path);
    while (dir && !l->override && (e = readdir(dir))) {
        snprintf(file, sizeof(file), "%s/%s", path, e->d_name);
        l->override = e->d_name[0] != '.' && is_override(file);
    }
    if (dir)
        closedir(dir);
}

/* The folders of a list. */
static void look_into(const char *list, struct look *l)
{
    for (size_t n; list && *list; list += n + (list[n] == ':')) {
        n = strcspn(list, ":");
        if (n)
            look_below(list, n, l);
    }
}

/* $variable, or $HOME/below where it is not set. */
static void look_at_home(const char *variable, const char *below, struct look *l)
{
    const char *value = getenv(variable), *home = getenv("HOME");
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/%s", home ? home : "", below);
    look_into(value && *value ? value : home ? path : NULL, l);
}

static const char *or_else(const char *variable, const char *otherwise)
{
    const char *value = getenv(variable);

    return value && *value ? value : otherwise;
}

int xs_vulkan_layers(const struct xs_shims *s)
{
    const char *data = or_else("XDG_DATA_DIRS", DATA_DIRS);
    static struct look l;          /* large, and stacks may be small */
    char ours[PATH_MAX + 16];
    const char *const list[] = {ours};
    bool here = false;
    char *value;
    int err;

    for (size_t i = 0; i < XS_PLATFORM_COUNT; i++)
        here |= strcmp(xs_platforms[i].stem, "vulkan") == 0 && xs_shims_get(s, &xs_platforms[i]);
    if (!here)
        return 0;
    look_at_home("XDG_CONFIG_HOME", ".config", &l);
    look_at_home("XDG_DATA_HOME", ".local/share", &l);
    look_into(or_else("XDG_CONFIG_DIRS", "/etc/xdg"), &l);
    look_into("/etc", &l);
    look_into(data, &l);
    if (l.settings[0] && is_closed_list(l.settings))
        xs_say("%s lists the layers of Vulkan programs, and XSched's is not among them: XSched does not schedule such programs",
               l.settings);
    if (!l.override)
        return 0;
    snprintf(ours, sizeof(ours), "%s/share", s->folder);
    value = xs_list_join(list, 1, data, ":", ':');
    err = value && setenv("XDG_DATA_DIRS", value, 1) == 0 ? 0 : -ENOMEM;
    free(value);
    return err;
}
