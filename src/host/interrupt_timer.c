/* SPDX-License-Identifier: Apache-2.0 */
#include "host/interrupt_timer.h"

#include "base/xs_base.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static void nothing(int number)
{
    (void)number;
}

void xs_interrupt_timer_init(struct xs_interrupt_timer *h)
{
    struct sigaction act = {.sa_handler = nothing}; /* without SA_RESTART: a wait ends */
    struct sigevent event;

    memset(&event, 0, sizeof(event));
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGURG;
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    h->usable = sigaction(SIGURG, &act, NULL) == 0 && timer_create(CLOCK_MONOTONIC, &event, &h->timer) == 0;
}

static struct timespec from_us(unsigned us)
{
    return (struct timespec){.tv_sec = us / 1000000, .tv_nsec = (long)(us % 1000000) * (long)XS_NS_PER_US};
}

static void set(struct xs_interrupt_timer *h, unsigned first_us, unsigned period_us)
{
    struct itimerspec spec = {.it_value = from_us(first_us), .it_interval = from_us(period_us)};

    if (h->usable)
        timer_settime(h->timer, 0, &spec, NULL);
}

void xs_interrupt_timer_begin(struct xs_interrupt_timer *h, unsigned period_us)
{
    set(h, period_us, period_us);
}

void xs_interrupt_timer_once(struct xs_interrupt_timer *h, unsigned delay_us)
{
    set(h, delay_us, 0);
}

void xs_interrupt_timer_end(struct xs_interrupt_timer *h)
{
    set(h, 0, 0);
}

void xs_interrupt_timer_fini(struct xs_interrupt_timer *h)
{
    if (h->usable)
        timer_delete(h->timer);
    h->usable = false;
}
