/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/policy_load.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct xs_policy_module {
    void *object;
    const struct xs_policy_ops *ops;
};

#define NAME_MAX_BYTES 32

static int refuse(void *object, int error_number, const char *path, const char *why, char *error,
                  size_t bytes)
{
    if (error && bytes)
        snprintf(error, bytes, "%s is no policy: %s", path, why);
    if (object)
        dlclose(object);
    return error_number;
}

static const char *fault(const struct xs_policy_ops *ops)
{
    if (!ops->name || !*ops->name || strnlen(ops->name, NAME_MAX_BYTES) == NAME_MAX_BYTES)
        return "a policy needs a name of 1 to 31 characters";
    if (!ops->decide)
        return "a policy needs a function decide";
    if (ops->type != 0)
        return "the type of a policy from outside is 0";
    if (ops->scope != XS_SCOPE_DEVICE && ops->scope != XS_SCOPE_HOST)
        return "the scope is neither a device nor the host";
    if (xs_policy_by_name(ops->name))
        return "there is a built-in policy of this name";
    return NULL;
}

/* The loader's reason, which mostly begins with the path. */
static const char *why_not(const char *path)
{
    const char *why = dlerror();
    size_t n = strlen(path);

    if (!why)
        return "the loader refuses it";
    return strncmp(why, path, n) == 0 && strncmp(why + n, ": ", 2) == 0 ? why + n + 2 : why;
}

int xs_policy_load(const char *path, struct xs_policy_module **ret, char *error, size_t error_bytes)
{
    const struct xs_policy_ops *ops;
    struct xs_policy_module *m;
    xs_policy_entry_fn entry;
    const char *why;
    void *object;

    if (!strchr(path, '/'))
        return refuse(NULL, -ENOENT, path, "give a path with a slash", error, error_bytes);
    object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!object)
        return refuse(NULL, -ENOENT, path, why_not(path), error, error_bytes);
    entry = (xs_policy_entry_fn)dlsym(object, XS_POLICY_ENTRY);
    if (!entry)
        return refuse(object, -ENOEXEC, path, "exports no " XS_POLICY_ENTRY, error, error_bytes);
    ops = entry();
    if (!ops)
        return refuse(object, -EINVAL, path, XS_POLICY_ENTRY " gave nothing", error, error_bytes);
    /* abi and size come first in every version; flags came last */
    if (ops->abi != XS_POLICY_ABI || ops->size < offsetof(struct xs_policy_ops, flags))
        return refuse(object, -EPROTO, path, "belongs to another version of xsched/policy.h", error,
                      error_bytes);
    why = fault(ops);
    if (why)
        return refuse(object, -EINVAL, path, why, error, error_bytes);
    m = malloc(sizeof(*m));
    if (!m)
        return refuse(object, -ENOMEM, path, "out of memory", error, error_bytes);
    m->object = object;
    m->ops = ops;
    *ret = m;
    return 0;
}

bool xs_policy_is_path(const char *text)
{
    size_t n = strlen(text);

    return strchr(text, '/') || (n > 3 && strcmp(text + n - 3, ".so") == 0);
}

const struct xs_policy_ops *xs_policy_find(const char *text, struct xs_policy_module **ret_module,
                                           char *error, size_t error_bytes)
{
    char path[PATH_MAX], names[XS_POLICY_NAMES_BYTES];
    const struct xs_policy_ops *ops;

    *ret_module = NULL;
    if (!xs_policy_is_path(text)) {
        ops = xs_policy_by_name(text);
        if (!ops && error && error_bytes)
            snprintf(error, error_bytes, "there is no policy '%.40s' (%s)", text,
                     xs_policy_names(names, sizeof(names), ", "));
        return ops;
    }
    snprintf(path, sizeof(path), "%s%s", strchr(text, '/') ? "" : "./", text);
    return xs_policy_load(path, ret_module, error, error_bytes) < 0 ? NULL
                                                                    : xs_policy_module_ops(*ret_module);
}

/* The flags that the writer's header had. The first three are older than flags_known. */
static uint64_t known_flags(const struct xs_policy_ops *ops)
{
    if (ops->size < offsetof(struct xs_policy_ops, flags) + sizeof(ops->flags))
        return XS_POLICY_USES_SERVICE;
    if (ops->size < offsetof(struct xs_policy_ops, flags_known) + sizeof(ops->flags_known))
        return XS_POLICY_USES_SERVICE | XS_POLICY_BY_RANK | XS_POLICY_TURNS;
    return ops->flags_known;
}

bool xs_policy_module_differs(const struct xs_policy_module *m, char *ret_text, size_t size)
{
    static const struct {
        uint32_t flag;
        const char *name;
    } k_flags[] = {
#define FLAG(flag) {flag, #flag}
        FLAG(XS_POLICY_USES_SERVICE), FLAG(XS_POLICY_BY_RANK), FLAG(XS_POLICY_TURNS), FLAG(XS_POLICY_CPU_CLASS),
#undef FLAG
    };
    uint64_t known = known_flags(m->ops);
    uint32_t unknown = xs_policy_flags(m->ops) & ~XS_POLICY_FLAGS_KNOWN;
    const char *before = "cannot set ";
    size_t at = 0;

    /* a policy that does not say what it reads works as before */
    if (!(XS_POLICY_FLAGS_KNOWN & ~(XS_POLICY_READS | XS_POLICY_READS_UID) & ~known) && !unknown)
        return false;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_flags) && at < size; i++) {
        if (known & k_flags[i].flag)
            continue;
        at += (size_t)snprintf(ret_text + at, size - at, "%s%s", before, k_flags[i].name);
        before = ", ";
    }
    if (unknown && at < size)
        snprintf(ret_text + at, size - at, "%ssets unknown flags 0x%x", at ? "; " : "", unknown);
    return true;
}

const struct xs_policy_ops *xs_policy_module_ops(const struct xs_policy_module *m)
{
    return m->ops;
}

void xs_policy_unload(struct xs_policy_module *m)
{
    if (!m)
        return;
    dlclose(m->object);
    free(m);
}
