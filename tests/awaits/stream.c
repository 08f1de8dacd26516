/* SPDX-License-Identifier: Apache-2.0 */
/* A program whose work waits for the host, on CUDA and, with HIP defined, on HIP, fakes and cards: stream SECONDS MODE.
 *
 *   value  a stream waits for a value, which the host writes 2 ms later
 *   batch  the same by a batch of operations on memory (CUDA)
 *   other  the same, and another stream waits for an event behind that
 *   host   a host function of 2 ms
 *
 * Each round has two commands more, and waits for them. Prints how many rounds a second it did. */
#include "../stream/begin.h"
#include "rounds.h"

#include <stdint.h>
#include <stdlib.h>

#define PAGE 4096

#ifdef HIP
#define ALLOC    "hipMalloc"
#define FILL     "hipMemsetAsync"
#define REGISTER "hipHostRegister"
#define DEVICE   "hipHostGetDevicePointer"
static int (*g_wait_value)(P, P, uint32_t, unsigned, uint32_t);
static int (*g_fill_async)(P, int, size_t, P);
#define wait_value(s, at, value) g_wait_value(s, at, value, 0, 0xffffffffu) /* 0: greater or equal */
#define fill(at, value, n, s)    g_fill_async(at, value, n, s)
#define GET_WAIT_VALUE GET(g_wait_value, "hipStreamWaitValue32")
#else
#define ALLOC    "cuMemAlloc_v2"
#define FILL     "cuMemsetD8Async"
#define REGISTER "cuMemHostRegister_v2"
#define DEVICE   "cuMemHostGetDevicePointer_v2"
static int (*g_wait_value)(P, P, uint32_t, unsigned);
static int (*g_fill_async)(P, unsigned char, size_t, P);
#define wait_value(s, at, value) g_wait_value(s, at, value, 0)
#define fill(at, value, n, s)    g_fill_async(at, value, n, s)
#define GET_WAIT_VALUE GET(g_wait_value, "cuStreamWaitValue32_v2")
#endif

static void pause_function(void *none)
{
    (void)none;
    rounds_pause();
}

int main(int argc, char **argv)
{
    const char *mode = argc > 2 ? argv[2] : "";
    void *lib = dlopen(LIBRARY, RTLD_NOW), *p;
    int (*alloc)(P *, size_t), (*create)(P *, unsigned), (*event)(P *, unsigned), (*record)(P, P), (*wait)(P, P, unsigned);
    int (*sync)(P), (*host)(P, void (*)(void *), void *), (*reg)(void *, size_t, unsigned), (*pointer)(P *, void *, unsigned);
    int (*batch)(P, unsigned, void *, unsigned);
    volatile uint32_t *word = aligned_alloc(PAGE, PAGE);
    P s, other, e, memory, at;
    int r = 0;

    if (!lib || begin_device(lib, 0))
        return 1;
    GET(alloc, ALLOC);
    GET(create, STREAM_CREATE);
    GET(event, EVENT_CREATE);
    GET(record, PREFIX "EventRecord");
    GET(wait, PREFIX "StreamWaitEvent");
    GET(sync, PREFIX "StreamSynchronize");
    GET(host, PREFIX "LaunchHostFunc");
    GET(reg, REGISTER);
    GET(pointer, DEVICE);
    GET(batch, PREFIX "StreamBatchMemOp_v2");
    GET(g_fill_async, FILL);
    GET_WAIT_VALUE;
    if (!word || create(&s, 1) || create(&other, 1) || event(&e, 2) || alloc(&memory, PAGE) ||
        reg((void *)(uintptr_t)word, PAGE, 2) || pointer(&at, (void *)(uintptr_t)word, 0))
        return 1;
    *word = 0;
    while (!r && rounds_go_on(argc > 1 ? atof(argv[1]) : 1)) {
        uint32_t n = (uint32_t)g_rounds;
        struct {
            uint32_t operation;   /* 1: wait for 32 bits */
            P address;
            uint64_t value;
            uint32_t flags;
            uint64_t rest[2];
        } one = {1, at, n, 0, {0, 0}};
        P rest = s;

        switch (mode[0]) {
        case 'h': r = host(s, pause_function, NULL); break;
        case 'b': r = batch(s, 1, &one, 0); break;
        default: r = wait_value(s, at, n); break;
        }
        r |= fill(memory, 1, 64, s);
        if (mode[0] == 'o') {
            r |= record(e, s) | wait(other, e, 0);
            rest = other;
        }
        r |= fill(memory, 2, 64, rest) | fill(memory, 3, 64, rest);
        if (mode[0] != 'h')
            rounds_pause();
        *word = n;
        r |= sync(rest);
    }
    return rounds_end(r);
}
