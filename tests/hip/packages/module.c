/* SPDX-License-Identifier: Apache-2.0 */
/* Stands for an object of a package: refers to the same functions of the runtime, under the same versions (references.h, made
 * from the package's facts), and needs the same libraries. */
#include "launches.h"

#define X(name) extern const char name[];
#include "references.h"
#undef X

#define EXPORT __attribute__((visibility("default")))
EXPORT void bound(void (*say)(const char *name, const void *address));
EXPORT void launch(const struct things *t);

static void *find(const char *name)
{
#define X(function)                          \
    if (strcmp(name, #function) == 0)        \
        return (void *)(uintptr_t)function;
#include "references.h"
#undef X
    return NULL;
}

__attribute__((constructor)) static void register_kernel(void)
{
    packages_register(find);
}

void bound(void (*say)(const char *name, const void *address))
{
#define X(function) say(#function, function);
#include "references.h"
#undef X
    (void)say;
}

void launch(const struct things *t)
{
    packages_launch(find, t);
}
