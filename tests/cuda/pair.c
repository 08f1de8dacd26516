/* SPDX-License-Identifier: Apache-2.0 */
/* One of two programs that share a device: pair SECONDS BUSY_MS IDLE_MS KERNEL_MS. Keeps a stream busy for BUSY_MS
 * (0: always) with kernels of 1 ms (or KERNEL_MS), a few at a time, then sleeps. Prints "SUBMIT_MS END_MS" for each
 * busy stretch, or the time of each kernel's end when it is always busy; CLOCK_MONOTONIC. */
#include "../stream/begin.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 1, busy = argc > 2 ? atof(argv[2]) : 0, idle = argc > 3 ? atof(argv[3]) : 0;
    void *lib = dlopen(LIBRARY, RTLD_NOW), *p;
    int (*create)(P *, unsigned), (*sync)(P), (*query)(P), (*event)(P *, unsigned), (*record)(P, P), (*reached)(P);
    int (*function)(P *, P, const char *);
    int (*launch)(P, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, P, P *, P *);
    uint32_t *log = NULL, tag = 0;
    uint64_t ns = argc > 4 ? (uint64_t)atoi(argv[4]) * 1000000 : 1000000;
    void *params[] = {&ns, &log, &tag};
    double end;
    unsigned round = 0;
    P s, f, e;

    if (!lib || begin_device(lib, 0))
        return 1;
    GET(create, STREAM_CREATE);
    GET(sync, PREFIX "StreamSynchronize");
    GET(query, PREFIX "StreamQuery");
    GET(event, EVENT_CREATE);
    GET(record, PREFIX "EventRecord");
    GET(reached, PREFIX "EventSynchronize");
    GET(launch, LAUNCH);
    GET(function, PREFIX "ModuleGetFunction");
    if (create(&s, 1) || event(&e, 0) || function(&f, NULL, "work"))
        return 1;
    end = now_ms() + seconds * 1e3;
    while (now_ms() < end) {
        double begin = now_ms();

        do {
            int n = busy > 0 ? 4 : 1;

            for (int i = 0; i < n; i++)
                if (launch(f, 1, 1, 1, 1, 1, 1, 0, s, params, NULL))
                    return 1;
            if (round++ % 2 ? sync(s) : record(e, s) || reached(e))
                return 1;
            if (query(s)) {       /* as natively: nothing of ours makes it busy again */
                fprintf(stderr, "a stream that was synchronised is busy\n");
                return 1;
            }
        } while (busy > 0 && now_ms() - begin < busy);
        printf("%.3f %.3f\n", begin, now_ms());
        fflush(stdout);
        if (idle > 0)
            usleep((useconds_t)(idle * 1e3));
    }
    return 0;
}
