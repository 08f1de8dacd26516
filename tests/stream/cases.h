/* SPDX-License-Identifier: Apache-2.0 */
/* What a program does with streams, whatever their vendor calls them: the part of the suites of CUDA and HIP that is the
 * same. Whoever includes this has declared the functions of its platform and, as functions or macros that give the
 * vendor's code:
 *
 *   api_stream(&s) api_blocking(&s) api_destroy(s) api_synchronize(s) api_query(s) api_synchronize_all()
 *   api_event(&e) api_record(e, s) api_wait(s, e) api_event_synchronize(e)
 *   api_capture(s) api_end_capture(s, &graph) api_instantiate(&exec, graph) api_graph(exec, s) api_host(s, fn, arg)
 *   api_copy_back(to, from, bytes) api_free(p)
 *
 * and before the cases new_log(), work(stream, us, log, tag) and on_thread(log). */
#ifndef TESTS_STREAM_CASES_H
#define TESTS_STREAM_CASES_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef void *P;

static void fail(const char *what, int line, int r)
{
    printf("FAILED line %d: %s -> %d\n", line, what, r);
    fflush(stdout);
    _Exit(1);
}
#define OK(call)                                  \
    do {                                          \
        int r_ = (call);                          \
        if (r_)                                   \
            fail(#call, __LINE__, r_);            \
    } while (0)
#define TRUE(what)                                \
    do {                                          \
        if (!(what))                              \
            fail(#what, __LINE__, 0);             \
    } while (0)

#endif

#ifdef STREAM_CASES

static void show(const char *title, uint32_t *log)
{
    uint32_t copy[64];

    OK(api_copy_back(copy, log, sizeof(copy)));
    printf("%s:", title);
    for (uint32_t i = 0; i < copy[0] && i < 60; i++)
        printf(" %u", copy[1 + i]);
    printf("\n");
    OK(api_free(log));
}

/* Each does a long and a short command and is waited for; then all end. */
static void in_turn(P *s, unsigned n, uint32_t *log)
{
    for (unsigned i = 0; i < n; i++) {
        work(s[i], 300, log, 10 * i + 1);
        work(s[i], 100, log, 10 * i + 2);
        OK(api_synchronize(s[i]));
    }
    show("created", log);
    for (unsigned i = 0; i < n; i++)
        OK(api_destroy(s[i]));
}

static void default_ordering(void)
{
    uint32_t *log = new_log();
    P blocking;

    OK(api_blocking(&blocking));
    for (uint32_t i = 0; i < 4; i++) { /* the null stream orders all blocking ones */
        work(blocking, 400, log, 100 + i);
        work(i % 2 ? NULL : (P)1, 100, log, 200 + i);
    }
    OK(api_synchronize_all());
    TRUE(api_query(blocking) == 0 && api_query(NULL) == 0);
    show("null", log);
    OK(api_destroy(blocking));
}

static void per_thread(void)
{
    uint32_t *log = new_log();
    pthread_t t[3];

    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, on_thread, log);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    show("per thread", log);
}

/* What b does comes behind what a does. */
static void behind_an_event(P *ret_a, P *ret_b, uint32_t *log)
{
    P a, b, e;

    OK(api_stream(&a));
    OK(api_stream(&b));
    OK(api_event(&e));
    work(a, 2000, log, 1);
    OK(api_record(e, a));
    OK(api_wait(b, e));
    work(b, 10, log, 2);
    OK(api_event_synchronize(e));
    OK(api_synchronize(b));
    *ret_a = a;
    *ret_b = b;
}

static void host_function(void *arg)
{
    *(volatile int *)arg += 1;
}

static int host_functions_on(P s)
{
    static int ran;

    for (int i = 0; i < 5; i++)
        OK(api_host(s, host_function, &ran));
    OK(api_synchronize(s));
    return ran;
}

/* A second stream joins the capture by an event; a third one works on meanwhile. */
static void graphs(void)
{
    uint32_t *log = new_log(), *other = new_log();
    P a, b, c, e, f, graph, exec;

    OK(api_stream(&a));
    OK(api_stream(&b));
    OK(api_stream(&c));
    OK(api_event(&e));
    OK(api_event(&f));
    OK(api_capture(a));
    work(a, 10, log, 1);
    OK(api_record(e, a));
    OK(api_wait(b, e));
    work(b, 10, log, 2);
    for (uint32_t i = 0; i < 20; i++)
        work(c, 20, other, i);
    OK(api_synchronize(c));
    OK(api_record(f, b));
    OK(api_wait(a, f));
    work(a, 10, log, 3);
    OK(api_end_capture(a, &graph));
    OK(api_instantiate(&exec, graph));
    for (int i = 0; i < 5; i++)
        OK(api_graph(exec, a));
    work(a, 10, log, 4);
    OK(api_synchronize(a));
    show("graph", log);
    show("beside a capture", other);
    OK(api_destroy(a));
    OK(api_destroy(b));
    OK(api_destroy(c));
}

/* Many commands, more than can be in flight, and then none lost. */
static void many(void)
{
    uint32_t *log = new_log(), count;
    P s;

    OK(api_stream(&s));
    for (uint32_t i = 0; i < 3000; i++)
        work(s, i % 100 ? 2 : 300, log, i);
    OK(api_synchronize(s));
    OK(api_copy_back(&count, log, 4));
    for (uint32_t i = 0, tag; i < count; i += 37) {
        OK(api_copy_back(&tag, log + 1 + i, 4));
        TRUE(tag == i);
    }
    printf("many: %u\n", count);
    OK(api_destroy(s));
}

/* Streams end with work pending. */
static void end_early(uint32_t *log)
{
    P s;

    for (int i = 0; i < 30; i++) {
        OK(api_stream(&s));
        work(s, 50, log, 1);
        work(s, 50, log, 1);
        OK(api_destroy(s));
    }
    OK(api_synchronize_all());
}

#endif
