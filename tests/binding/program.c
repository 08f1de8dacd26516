/* SPDX-License-Identifier: Apache-2.0 */
/* Does what its arguments say and prints what came of it, one word each:
 *   load FILE FLAGS   dlopen; FLAGS of n(ow), l(azy), g(lobal), d(eep), h(ave it only); handles count from 0
 *   go HANDLE NAME    calls a library's function NAME
 *   opens HANDLE FILE the library opens FILE itself, and calls it
 *   call HANDLE       looks the vendor's function up and calls it
 *   jit HANDLE        the same, from code in no object
 *   has HANDLE NAME   whether dlsym finds NAME; HANDLE may be default, next, program
 *   says HANDLE NAME  dlerror after that
 *   thread HANDLE     as call, from another thread
 *   fork              the rest happens in a child
 *   race H NAME H NAME  calls both at the same time, often; prints what each of them gave
 *   cd FOLDER
 *   close HANDLE
 *   space FILE NAME   in a namespace of its own (dlmopen), calls NAME
 *   main              calls what the program is linked with
 *   weak              whether a weak reference of the program leads anywhere
 *   path VALUE        sets LD_LIBRARY_PATH, which the dynamic linker has read */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "caller.h"

static void *s_handles[16];
static int s_count;

#ifdef LINKED
function FUNCTION;
#endif
#ifdef WEAK
extern int WEAK(void) __attribute__((weak));
#endif

static void *handle(const char *text)
{
    if (strcmp(text, "default") == 0)
        return RTLD_DEFAULT;
    if (strcmp(text, "next") == 0)
        return RTLD_NEXT;
    return strcmp(text, "program") == 0 ? dlopen(NULL, RTLD_NOW) : s_handles[atoi(text)];
}

static void load(const char *file, const char *flags)
{
    int mode = strchr(flags, 'l') ? RTLD_LAZY : RTLD_NOW;

    if (strchr(flags, 'g'))
        mode |= RTLD_GLOBAL;
    if (strchr(flags, 'd'))
        mode |= RTLD_DEEPBIND;
    if (strchr(flags, 'h'))
        mode |= RTLD_NOLOAD;
    s_handles[s_count] = dlopen(file, mode);
    printf("%s ", s_handles[s_count++] ? "loaded" : "absent");
}

static void go(void *p)
{
    int (*fn)(void);

    memcpy(&fn, &p, sizeof(fn));
    printf("%d ", p ? fn() : -7777);
}

static int ask(function *fn)
{
    int v = -1, r = CALL(fn, &v);

    return r ? -r : v;
}

/* The call instruction stands in memory of no object. */
static int ask_from_nowhere(function *fn)
{
    static const unsigned char code[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd0, 0x48, 0x83, 0xc4, 0x08, 0xc3};
    unsigned char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char jump[12] = {0x48, 0xb8}; /* mov $fn, %rax */
    function *jit;
    int r;

    memcpy(jump + 2, &fn, 8);
    memcpy(at, jump, 10);
    memcpy(at + 10, code, sizeof(code));
    memcpy(&jit, &at, sizeof(jit));
    r = ask(jit);
    munmap(at, 4096);
    return r;
}

static void call(void *p, int (*by)(function *fn))
{
    function *fn;

    memcpy(&fn, &p, sizeof(fn));
    printf("%d ", p ? by(fn) : -7777);
}

#define OFTEN 3000

struct racer {
    int (*fn)(void);
    int results[4], count;        /* different ones */
};

static void *run(void *data)
{
    struct racer *r = data;

    for (int i = 0; i < OFTEN; i++) {
        int v = r->fn(), known = 0;

        for (int k = 0; k < r->count; k++)
            known |= r->results[k] == v;
        if (!known && r->count < 4)
            r->results[r->count++] = v;
    }
    return NULL;
}

static void race(void *a, void *b)
{
    struct racer r[2] = {{.count = 0}};
    pthread_t t[2];

    memcpy(&r[0].fn, &a, sizeof(a));
    memcpy(&r[1].fn, &b, sizeof(b));
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, run, &r[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < r[i].count; k++)
            printf("%d ", r[i].results[k]);
}

static void *call_it(void *p)
{
    call(p, ask);
    return NULL;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *verb = argv[i], *a = i + 1 < argc ? argv[i + 1] : "", *b = i + 2 < argc ? argv[i + 2] : "";

        if (strcmp(verb, "load") == 0) {
            load(a, b);
            i += 2;
        } else if (strcmp(verb, "go") == 0) {
            go(handle(a) ? dlsym(handle(a), b) : NULL);
            i += 2;
        } else if (strcmp(verb, "opens") == 0) {
            void *p = handle(a) ? dlsym(handle(a), "opens") : NULL;
            int (*fn)(const char *);

            memcpy(&fn, &p, sizeof(fn));
            printf("%d ", p ? fn(b) : -7777);
            i += 2;
        } else if (strcmp(verb, "call") == 0 || strcmp(verb, "jit") == 0) {
            call(dlsym(handle(a), NAME), verb[0] == 'j' ? ask_from_nowhere : ask);
            i += 1;
        } else if (strcmp(verb, "thread") == 0) {
            pthread_t t;

            pthread_create(&t, NULL, call_it, dlsym(handle(a), NAME));
            pthread_join(t, NULL);
            i += 1;
        } else if (strcmp(verb, "race") == 0) {
            race(dlsym(handle(a), b), i + 4 < argc ? dlsym(handle(argv[i + 3]), argv[i + 4]) : NULL);
            i += 4;
        } else if (strcmp(verb, "cd") == 0) {
            if (chdir(a) != 0)
                printf("no folder ");
            i += 1;
        } else if (strcmp(verb, "fork") == 0) {
            int status = 1;
            pid_t pid;

            fflush(stdout);
            pid = fork();
            if (pid) {
                waitpid(pid, &status, 0);
                return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
            }
        } else if (strcmp(verb, "has") == 0) {
            printf("%s ", dlsym(handle(a), b) ? "yes" : "no");
            i += 2;
        } else if (strcmp(verb, "says") == 0) {
            const char *text;

            dlsym(handle(a), b);
            text = dlerror();
            printf("%s ", text && strstr(text, b) ? "undefined" : text ? text : "nothing");
            i += 2;
        } else if (strcmp(verb, "close") == 0) {
            dlclose(handle(a));
            i += 1;
        } else if (strcmp(verb, "space") == 0) {
            void *lib = dlmopen(LM_ID_NEWLM, a, RTLD_NOW);

            go(lib ? dlsym(lib, b) : NULL);
            i += 2;
        } else if (strcmp(verb, "path") == 0) {
            setenv("LD_LIBRARY_PATH", a, 1);
            i += 1;
#ifdef LINKED
        } else if (strcmp(verb, "main") == 0) {
            printf("%d ", ask(FUNCTION));
#endif
#ifdef WEAK
        } else if (strcmp(verb, "weak") == 0) {
            printf("%s ", WEAK ? "yes" : "no");
#endif
        } else {
            printf("what is %s?\n", verb);
            return 2;
        }
    }
    printf("\n");
    return 0;
}
