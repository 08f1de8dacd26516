/* SPDX-License-Identifier: Apache-2.0 */
/* xsched cdi: a specification for the Container Device Interface. By it podman, docker and Kubernetes give a
 * container the shims, the server's socket and a priority when it requests a device by name. The format is
 * that of the CDI specification (github.com/cncf-tags/container-device-interface, SPEC.md), version 0.5.0,
 * which every runtime with CDI understands. An executable of its own, as xsched-doctor. */
#include "base/env.h"
#include "base/str.h"
#include "query/find_xserver.h"
#include "launcher/commands.h"
#include "launcher/preload.h"
#include "launcher/say.h"

#include <argp.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CDI_VERSION  "0.5.0"
#define INSIDE       "/opt/xsched/lib" /* where the libraries are in the container */
#define DEVICES_MAX  64
#define NAME_BYTES   64
#define SPACE_SUFFIX "-space"          /* after the name of a device by which programs share in space */
#define SOCKET_PLACE "/run/xsched" /* where programs look for the server by themselves */

struct cdi_device {
    char name[NAME_BYTES];
    int64_t priority;
};

static const struct cdi_device k_default_devices[] = {
    {"urgent", 100}, {"high", 10}, {"normal", 0}, {"low", -10}, {"background", -100},
};

struct cdi_arguments {
    const char *output, *kind, *folder, *space;
    struct cdi_device devices[DEVICES_MAX];
    size_t count;
};

static const struct argp_option k_options[] = {
    {"output", 'o', "FILE", 0,
     "write there, in one step; for example /etc/cdi/xsched.json. Default: standard output", 1},
    {"device", 'd', "NAME=PRIORITY", 0,
     "a device name and the priority that it gives; again for more. Default: urgent=100, high=10, normal=0, "
     "low=-10, "
     "background=-100",
     1},
    {"kind", 'k', "VENDOR/CLASS", 0, "kind of the devices; default xsched.dev/queue", 1},
    {"socket-folder", 's', "DIR", 0,
     "folder of the server's socket on this host; default: where one answers, else " SOCKET_PLACE, 1},
    {"space", 'm', "DIR", 0,
     "add for each device another one, NAME" SPACE_SUFFIX
     ", by which a container shares in space: with the MPS daemon whose "
     "pipes are in this folder",
     1},
    {NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0},
    {0},
};

/* Names that the CDI specification allows: letters and digits, and between them _ - . : */
static bool is_name(const char *text, size_t length, const char *between)
{
    if (length == 0 || length >= NAME_BYTES || !isalnum((unsigned char)text[0]) ||
        !isalnum((unsigned char)text[length - 1]))
        return false;
    for (size_t i = 0; i < length; i++) {
        if (!isalnum((unsigned char)text[i]) && !strchr(between, text[i]))
            return false;
    }
    return true;
}

static void add_device(struct argp_state *state, struct cdi_arguments *a, const char *text)
{
    const char *equals = strchr(text, '=');
    struct cdi_device *d = &a->devices[a->count];

    if (!equals || !is_name(text, (size_t)(equals - text), "_-.:"))
        argp_error(state, "--device takes NAME=PRIORITY, a name of letters, digits and _ - . : between them, not \"%s\"",
                   text);
    if (xs_str_parse_i64(equals + 1, &d->priority) < 0 || d->priority < -256 || d->priority > 255)
        argp_error(state, "--device %.*s: a priority is -256..255, not \"%s\"", (int)(equals - text), text, equals + 1);
    snprintf(d->name, sizeof(d->name), "%.*s", (int)(equals - text), text);
    for (size_t i = 0; i < a->count; i++) {
        if (strcmp(a->devices[i].name, d->name) == 0)
            argp_error(state, "--device %s is there twice", d->name);
    }
    if (++a->count == DEVICES_MAX)
        argp_error(state, "at most %d devices", DEVICES_MAX - 1);
}

/* A user's device may have the name that another one would get for space. */
static void check_space_names(const struct argp_state *state, const struct cdi_arguments *a)
{
    char name[NAME_BYTES + sizeof(SPACE_SUFFIX)];

    for (size_t i = 0; a->space && i < a->count; i++) {
        snprintf(name, sizeof(name), "%s" SPACE_SUFFIX, a->devices[i].name);
        if (strlen(name) >= NAME_BYTES)
            argp_error(state, "--device %s is too long a name with --space", a->devices[i].name);
        for (size_t k = 0; k < a->count; k++) {
            if (strcmp(a->devices[k].name, name) == 0)
                argp_error(state, "--device %s has the name that --space gives another", name);
        }
    }
}

static const char *folder_arg(const struct argp_state *state, const char *option, const char *arg)
{
    json_t *text = json_string(arg);
    struct stat st;

    if (arg[0] != '/')
        argp_error(state, "--%s takes an absolute path, not \"%s\"", option, arg);
    if (!text)
        argp_error(state, "--%s takes a path in UTF-8, since JSON has no other, not \"%s\"", option, arg);
    json_decref(text);
    if (stat(arg, &st) < 0 || !S_ISDIR(st.st_mode))
        argp_failure(state, 1, 0, "--%s: %s: %s", option, arg,
                     strerror(stat(arg, &st) < 0 ? errno : ENOTDIR));
    return arg;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct cdi_arguments *a = state->input;
    const char *slash;

    switch (key) {
    case 'o':
        if (!arg[0])
            argp_error(state, "--output takes the name of a file");
        a->output = arg;
        return 0;
    case 'd':
        add_device(state, a, arg);
        return 0;
    case 'k':
        slash = strchr(arg, '/');
        if (!slash || !is_name(arg, (size_t)(slash - arg), "_-.") || !is_name(slash + 1, strlen(slash + 1), "_-"))
            argp_error(state, "--kind takes VENDOR/CLASS, for example xsched.dev/queue, not \"%s\"", arg);
        a->kind = arg;
        return 0;
    case 's':
        a->folder = folder_arg(state, "socket-folder", arg);
        return 0;
    case 'm':
        a->space = folder_arg(state, "space", arg);
        return 0;
    case ARGP_KEY_END:
        check_space_names(state, a);
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "\"%s\" is one argument too many", arg);
        return 0;
    case 'h': /* as --help */
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static json_t *mount_of(const char *host, const char *inside)
{
    return json_pack("{s:s, s:s, s:[s,s,s,s]}", "hostPath", host, "containerPath", inside, "options", "bind", "ro", "nosuid",
                     "nodev");
}

/* @return 0, or -EILSEQ: JSON has no way to write names that are not UTF-8 */
static int add_mount(json_t *mounts, const char *host, const char *inside)
{
    if (json_array_append_new(mounts, mount_of(host, inside)) == 0)
        return 0;
    xs_say_error("%s: the name is not UTF-8, so no specification can have it", host);
    return -EILSEQ;
}

/* libpreempt.so.1 and libhal*.so.1, by the name that the loader wants: libNAME.so.MAJOR */
static int is_our_library(const struct dirent *e)
{
    size_t n = strlen(e->d_name);

    return n > 5 && strncmp(e->d_name + n - 5, ".so.", 4) == 0 &&
           (strncmp(e->d_name, "libpreempt.", 11) == 0 || strncmp(e->d_name, "libhal", 6) == 0);
}

static int is_private_object(const struct dirent *e)
{
    size_t n = strlen(e->d_name);

    return (n > 3 && strcmp(e->d_name + n - 3, ".so") == 0) || (n > 5 && strcmp(e->d_name + n - 5, ".json") == 0);
}

/* @return how many it mounted, or -errno */
static int add_folder(json_t *mounts, const char *folder, int (*wanted)(const struct dirent *), const char *inside)
{
    char path[2 * PATH_MAX], real[PATH_MAX], there[PATH_MAX];
    struct dirent **list;
    int count = scandir(folder, &list, wanted, alphasort), added = 0;

    if (count < 0)
        return -errno;
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, list[i]->d_name);
        snprintf(there, sizeof(there), "%s/%s", inside, list[i]->d_name);
        if (added >= 0 && realpath(path, real))
            added = add_mount(mounts, real, there) < 0 ? -EILSEQ : added + 1;
        free(list[i]);
    }
    free(list);
    return added;
}

static const char *socket_folder(const struct cdi_arguments *a, struct xs_places *places)
{
    int first;

    if (a->folder)
        return a->folder;
    xs_places_get(places);
    first = xs_places_first(places);
    if (first < 0)
        return SOCKET_PLACE;
    *strrchr(places->items[first].path, '/') = 0;
    return places->items[first].path;
}

/* The folder has the same name inside: by it xserver knows which programs are in one MPS server. CUDA_VISIBLE_DEVICES
 * is the container's own affair (decision 0043). */
static json_t *space_device(const struct cdi_arguments *a, const struct cdi_device *d)
{
    json_t *env = json_array();

    json_array_append_new(env, json_sprintf("XSCHED_PRIORITY=%lld", (long long)d->priority));
    json_array_append_new(env, json_string("XSCHED_SHARE=SPACE"));
    json_array_append_new(env, json_sprintf("CUDA_MPS_PIPE_DIRECTORY=%s", a->space));
    json_array_append_new(env, json_sprintf("CUDA_MPS_CLIENT_PRIORITY=%d", d->priority > 0 ? 0 : 1));
    return json_pack("{s:o, s:{s:o, s:[o]}}", "name", json_sprintf("%s" SPACE_SUFFIX, d->name), "containerEdits", "env", env,
                     "mounts", mount_of(a->space, a->space));
}

/* A program that asks for space where no daemon serves shares in time, and xserver would take it for one in space. */
static void look_for_daemon(const char *folder)
{
    if (!xs_mps_has_pipes(folder))
        xs_say("no MPS daemon has its pipes in %s yet: start one before a container that shares in space", folder);
}

static json_t *specification(const struct cdi_arguments *a, const struct xs_shims *shims)
{
    json_t *mounts = json_array(), *env = json_array(), *devices = json_array();
    char preload[XS_SHIMS_MAX * 128] = "LD_PRELOAD=", inside[PATH_MAX];
    const char *paths[XS_SHIMS_MAX];
    size_t preloaded;
    static struct xs_places places; /* large, and stacks may be small */
    struct stat st;
    char above[PATH_MAX + 4];
    size_t used = strlen(preload);
    int added;

    snprintf(above, sizeof(above), "%s/..", shims->folder);
    added = add_folder(mounts, above, is_our_library, INSIDE);
    if (added <= 0) {
        if (added != -EILSEQ)
            xs_say_error("libpreempt is not in the folder above %s", shims->folder);
        return NULL;
    }
    if (add_folder(mounts, shims->folder, is_private_object, INSIDE "/xsched") == -EILSEQ)
        return NULL;
    preloaded = xs_shims_preloaded(shims, paths);
    for (size_t i = 0; i < preloaded; i++) {
        snprintf(inside, sizeof(inside), INSIDE "/xsched/%s", strrchr(paths[i], '/') + 1);
        used += (size_t)snprintf(preload + used, sizeof(preload) - used, "%s%s", i ? ":" : "", inside);
        if (used >= sizeof(preload))
            return NULL;
    }
    for (size_t i = 0; i < XS_PLATFORM_COUNT; i++) {
        struct xs_layer layer;

        for (size_t k = 0; xs_shims_layer(shims, &xs_platforms[i], k, INSIDE "/xsched", &layer); k++) {
            if (*layer.value && !layer.where_set) /* nobody knows what a container sets */
                json_array_append_new(env, json_sprintf("%s=%s", layer.variable, layer.value));
        }
    }
    json_array_append_new(env, json_string(preload));
    /* the folder and not the socket: a mounted socket is dead after the server's next start */
    if (add_mount(mounts, socket_folder(a, &places), SOCKET_PLACE) < 0)
        return NULL;
    if (stat(socket_folder(a, &places), &st) < 0) /* the check of an explicit one came before */
        xs_say("%s is not there yet: a container that starts before xserver fails", socket_folder(a, &places));
    for (size_t i = 0; i < a->count; i++)
        json_array_append_new(devices, json_pack("{s:s, s:{s:[o]}}", "name", a->devices[i].name, "containerEdits", "env",
                                                 json_sprintf("XSCHED_PRIORITY=%lld", (long long)a->devices[i].priority)));
    for (size_t i = 0; a->space && i < a->count; i++)
        json_array_append_new(devices, space_device(a, &a->devices[i]));
    if (a->space)
        look_for_daemon(a->space);
    return json_pack("{s:s, s:s, s:o, s:{s:o, s:o}}", "cdiVersion", CDI_VERSION, "kind", a->kind, "devices", devices,
                     "containerEdits", "env", env, "mounts", mounts);
}

/* A file, or nothing yet, gets its content in one step. To anything else (a link, a device, a pipe) xsched
 * writes. */
static bool is_replaced(const char *path)
{
    struct stat st;

    return lstat(path, &st) < 0 || S_ISREG(st.st_mode);
}

static int write_out(const char *path, const json_t *spec)
{
    bool replaced = path && is_replaced(path);
    char temporary[PATH_MAX];
    FILE *f = stdout;
    int err;

    if (path) {
        snprintf(temporary, sizeof(temporary), "%s.%d", path, (int)getpid());
        f = replaced ? fopen(temporary, "wxe") : fopen(path, "we");
        if (!f) {
            xs_say_error("%s: %s", path, strerror(errno));
            return 1;
        }
    }
    err = json_dumpf(spec, f, JSON_INDENT(2) | JSON_ENCODE_ANY) != 0;
    err |= fputc('\n', f) == EOF;
    err |= (path ? fclose(f) : fflush(f)) != 0;
    if (replaced && !err)
        err = rename(temporary, path) < 0;
    if (err) {
        xs_say_error("%s: %s", path ? path : "standard output", strerror(errno));
        if (replaced)
            unlink(temporary);
    }
    return err;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = k_options,
        .parser = parse,
        .doc = "Writes a Container Device Interface specification: a container with one of its devices runs under "
               "XSched with that device's priority.\v"
               "  xsched cdi --output /etc/cdi/xsched.json\n"
               "  podman run --device xsched.dev/queue=high ...\n\n"
               "Write it again after an upgrade. It replaces an LD_PRELOAD that the image sets; the priority is a request "
               "of the container's, which xcli can change."};
    struct cdi_arguments a = {.kind = "xsched.dev/queue"};
    char name[] = "xsched cdi";
    static struct xs_shims shims; /* large, and stacks may be small */
    json_t *spec;
    int status;

    argp_err_exit_status = XS_EXIT_USAGE;
    argv[0] = name;
    if (argp_parse(&argp, argc, argv, 0, NULL, &a) != 0)
        return XS_EXIT_USAGE;
    if (!a.count) {
        memcpy(a.devices, k_default_devices, sizeof(k_default_devices));
        a.count = XS_ARRAY_LEN(k_default_devices);
    }
    xs_shims_find(&shims);
    if (!shims.count) {
        xs_say_error("no shims are installed (looked in %s)", shims.tried);
        return 1;
    }
    spec = specification(&a, &shims);
    if (!spec)
        return 1;
    status = write_out(a.output, spec);
    json_decref(spec);
    return status;
}
