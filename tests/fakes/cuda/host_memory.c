/* SPDX-License-Identifier: Apache-2.0 */
/* Registered host memory: what a context's device may wait for and write to. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "internal.h"

#define ALREADY_REGISTERED 712
#define NOT_REGISTERED     713

static struct range {
    char *from, *to;
    struct CUctx_st *ctx;
    struct range *next;
} *g_ranges; /* under fake_lock */

static struct range **find(const void *p)
{
    struct range **r;

    for (r = &g_ranges; *r; r = &(*r)->next)
        if ((const char *)p >= (*r)->from && (const char *)p < (*r)->to)
            break;
    return r;
}

static void (*_Atomic g_on_register)(void);

/* Calls fn, NULL: nothing, in each thread that has registered memory, before it is told so. */
void fake_cuda_on_register(void (*fn)(void)) __attribute__((visibility("default")));
void fake_cuda_on_register(void (*fn)(void))
{
    atomic_store(&g_on_register, fn);
}

API cuMemHostRegister_v2(void *p, size_t n, unsigned flags)
{
    void (*fn)(void) = atomic_load(&g_on_register);
    struct range *r;

    (void)flags;
    FAKE_MAY_FAIL();
    if (fake_without("no_register"))
        return XS_CU_NOT_SUPPORTED;
    if (!fake_current())
        return INVALID_CONTEXT;
    pthread_mutex_lock(&fake_lock);
    fake_context_enter_locked(fake_current());
    if (*find(p)) {
        pthread_mutex_unlock(&fake_lock);
        return ALREADY_REGISTERED;
    }
    r = malloc(sizeof(*r));
    *r = (struct range){p, (char *)p + n, fake_current(), g_ranges};
    g_ranges = r;
    pthread_mutex_unlock(&fake_lock);
    if (fn)
        fn();
    return 0;
}

/* A device that waits for memory that is gone reads what somebody else has there. */
static void nobody_waits(const struct range *r)
{
    for (struct CUctx_st *c = fake_contexts; c; c = c->next)
        for (struct CUstream_st *s = c->streams; s; s = s->next)
            for (struct fake_op *op = s->head; op; op = op->next)
                if ((op->kind == FAKE_WAIT || op->kind == FAKE_WRITE) && (char *)op->dst >= r->from &&
                    (char *)op->dst < r->to) {
                    fprintf(stderr, "fake CUDA: memory is unregistered that a stream uses\n");
                    abort();
                }
}

API cuMemHostUnregister(void *p)
{
    struct range **at, *r;

    pthread_mutex_lock(&fake_lock);
    if (fake_current())
        fake_context_wait_locked(fake_current());
    at = find(p);
    r = *at;
    if (r) {
        nobody_waits(r);
        *at = r->next;
        free(r);
    }
    pthread_mutex_unlock(&fake_lock);
    return r ? 0 : NOT_REGISTERED;
}

API cuMemHostGetDevicePointer_v2(CUdeviceptr *d, void *p, unsigned flags)
{
    bool known;

    (void)flags;
    pthread_mutex_lock(&fake_lock);
    known = *find(p) != NULL;
    pthread_mutex_unlock(&fake_lock);
    *d = (CUdeviceptr)(uintptr_t)p;
    return known ? 0 : XS_CU_INVALID_VALUE;
}

void fake_host_memory_of_context_ends_locked(struct CUctx_st *c)
{
    for (struct range **at = &g_ranges; *at;) {
        struct range *r = *at;

        if (r->ctx != c) {
            at = &r->next;
            continue;
        }
        *at = r->next;
        free(r);
    }
}

int fake_cuda_registered(void) __attribute__((visibility("default")));
int fake_cuda_registered(void)
{
    int n = 0;

    pthread_mutex_lock(&fake_lock);
    for (struct range *r = g_ranges; r; r = r->next)
        n++;
    pthread_mutex_unlock(&fake_lock);
    return n;
}
