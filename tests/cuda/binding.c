/* SPDX-License-Identifier: Apache-2.0 */
/* How programs get at the driver: binding HOW. Prints what each way gives; no result depends on time. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef int (*get_t)(const char *, void **, int, uint64_t, int *);

static const char *object_of(void *p)
{
    const char *slash;
    Dl_info info;

    if (!p || !dladdr(p, &info))
        return "nothing";
    slash = strrchr(info.dli_fname, '/');
    return slash ? slash + 1 : info.dli_fname;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "plain";
    int flags = RTLD_NOW | RTLD_LOCAL | (strcmp(how, "deepbind") == 0 ? RTLD_DEEPBIND : 0), v = -1, r;
    void *lib = dlopen("libcuda.so.1", flags), *p, *q = NULL;
    int (*one)(int) = NULL;
    get_t get;

    if (!lib) {
        printf("no library\n");
        return 0;
    }
    p = dlsym(lib, "cuInit");
    r = p ? ((int (*)(unsigned))p)(0) : -1;
    printf("cuInit in %s: %d\n", object_of(p), r);
    p = dlsym(RTLD_DEFAULT, "cuInit");
    printf("default: %s\n", object_of(p));
    p = dlsym(lib, "cuDriverGetVersion");
    r = ((int (*)(int *))p)(&v);
    printf("version %d %d\n", r, v);
    p = dlsym(lib, "cuGetProcAddress_v2");
    memcpy(&get, &p, sizeof(p));
    r = get("cuLaunchKernel", &q, 12000, 1, NULL);
    printf("cuLaunchKernel %d in %s\n", r, r ? "-" : object_of(q));
    r = get("cuNewerThanUs", &q, 12000, 1, NULL);
    memcpy(&one, &q, sizeof(q));
    printf("newer %d: %d in %s\n", r, r ? -1 : one(41), r ? "-" : object_of(q));
    for (int i = 0; i < 3; i++) { /* a function that the driver lacks, through the table of jumps */
        p = dlsym(lib, "cuTexObjectCreate");
        r = p ? ((int (*)(void *, void *, void *, void *))p)(NULL, NULL, NULL, NULL) : -1;
    }
    printf("lacking: %d\n", r);
    return 0;
}
