/* SPDX-License-Identifier: Apache-2.0 */
/* Gets at the runtime as a package does: program RUNTIME WAY FILE [ARGUMENT]
 *
 *   open FILE            as Python imports an extension, ctypes and XLA open a plugin, ggml a back end
 *   opens OPENER FILE    a library opens another by its bare name
 *   dlsym FILE           the runtime itself, and each name of the standard input by dlsym
 *   given FILE           the same by hipGetProcAddress
 *
 * RUNTIME: the name by which the program then finds the runtime for a stream. Prints which object each function is of, and
 * for each that launches its result and how many commands XSched counted. */
#include <dlfcn.h>
#include <stdlib.h>

#include "launches.h"

static void *s_runtime, *s_functions[600];
static char s_names[600][80];
static unsigned s_count;

static void fail(const char *what)
{
    printf("FAILED: %s\n", what);
    exit(1);
}

static void say(const char *name, const void *address)
{
    Dl_info of;
    const char *base = dladdr(address, &of) ? strrchr(of.dli_fname, '/') : NULL;

    printf("bound %s %s\n", name, base ? base + 1 : "nothing");
}

static void *given(const char *name)
{
    int (*give)(const char *, P *, int, uint64_t, int *);
    P fn = NULL, p = dlsym(s_runtime, "hipGetProcAddress");

    memcpy(&give, &p, sizeof(give));
    return p && give(name, &fn, 71500000, 0, NULL) == 0 ? fn : NULL;
}

static void *find(const char *name)
{
    for (unsigned i = 0; i < s_count; i++)
        if (strcmp(s_names[i], name) == 0)
            return s_functions[i];
    return NULL;
}

static void look_up(void *(*by)(const char *name))
{
    for (char *n; s_count < 600 && scanf("%79s", n = s_names[s_count]) == 1; s_count++) {
        s_functions[s_count] = by ? by(n) : dlsym(s_runtime, n);
        say(n, s_functions[s_count]);
    }
    packages_register(find);
}

#define CALL(name, types, ...)                                    \
    do {                                                          \
        int (*fn) types;                                          \
        P found = dlsym(s_runtime, #name);                        \
        memcpy(&fn, &found, sizeof(fn));                          \
        if (!found || fn(__VA_ARGS__) != 0)                           \
            fail(#name);                                          \
    } while (0)

static void make(struct things *t)
{
    P module, graph, count = dlsym(RTLD_DEFAULT, "xsched_priv_scheduled_count");

    memcpy(&t->scheduled, &count, sizeof(t->scheduled));
    CALL(hipInit, (unsigned), 0);
    CALL(hipModuleLoadData, (P *, const void *), &module, "code");
    CALL(hipModuleGetFunction, (P *, P, const char *), &t->function, module, "nop");
    CALL(hipMalloc, (P *, size_t), &t->memory, 64);
    CALL(hipStreamCreateWithFlags, (P *, unsigned), &t->stream, 1);
    CALL(hipStreamBeginCapture, (P, int), t->stream, 2);
    CALL(hipMemsetAsync, (P, int, size_t, P), t->memory, 1, 64, t->stream);
    CALL(hipStreamEndCapture, (P, P *), t->stream, &graph);
    CALL(hipGraphInstantiate, (P *, P, P, char *, size_t), &t->graph, graph, NULL, NULL, 0);
}

int main(int argc, char **argv)
{
    const char *runtime = argc > 3 ? argv[1] : "", *way = argc > 3 ? argv[2] : "";
    void *lib, *p;
    void *(*opens)(const char *);
    void (*bound)(void (*)(const char *, const void *)), (*launch)(const struct things *);
    struct things t;

    lib = argc > 3 ? dlopen(argv[3], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!lib)
        fail(argc > 3 ? dlerror() : "no way is named");
    if (strcmp(way, "opens") == 0) {
        p = dlsym(lib, "opens"), memcpy(&opens, &p, sizeof(opens));
        lib = opens(argv[4]);
        if (!lib)
            fail(dlerror());
    }
    s_runtime = way[0] == 'o' ? dlopen(runtime, RTLD_NOW | RTLD_NOLOAD) : lib;
    if (!s_runtime)
        fail("the runtime is not there");
    if (way[0] == 'o') {
        p = dlsym(lib, "bound"), memcpy(&bound, &p, sizeof(bound));
        p = dlsym(lib, "launch"), memcpy(&launch, &p, sizeof(launch));
        bound(say);
        make(&t);
        launch(&t);
    } else {
        look_up(way[0] == 'g' ? given : NULL);
        make(&t);
        packages_launch(find, &t);
    }
    CALL(hipStreamSynchronize, (P), t.stream);
    fflush(stdout);
    _Exit(0);
}
