/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of recordings that never were, for test_picture.py: picture_scenes svg|html SCENE */
#include "launcher/record/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MS     UINT64_C(1000000)
#define DEVICE UINT64_C(0x200003b00)

static const struct record_writer *g_to;

static void queue(unsigned number, int64_t pid, uint64_t device, int64_t priority)
{
    char name[64];

    snprintf(name, sizeof(name), "GPU %" PRIx64, device);
    g_to->queue(stdout, number, pid, 0xabc000 + number, device, name, priority, 0);
}

static void slice(unsigned number, int64_t pid, enum record_state state, uint64_t from_ms, uint64_t to_ms)
{
    g_to->slice(stdout, number, pid, state, 0, 0, "", from_ms * MS, to_ms * MS);
}

static void empty(void)
{
    g_to->process(stdout, 7, "idle");
    queue(1, 7, DEVICE, 0);
    g_to->end(stdout, 1000 * MS, 0);
}

/* It ended before anything came. */
static void nothing(void)
{
    g_to->end(stdout, 0, 0);
}

/* Two programs, times that a test knows. */
static void two(void)
{
    g_to->process(stdout, 100, "serve --port 1");
    g_to->process(stdout, 200, "train");
    queue(1, 200, DEVICE, 1);
    queue(2, 100, DEVICE, 10);
    queue(3, 200, DEVICE, 1);
    slice(1, 200, RECORD_RUN, 0, 400);
    g_to->decision(stdout, 1, 200, false, true, 400 * MS);
    slice(2, 100, RECORD_RUN, 400, 600);
    slice(1, 200, RECORD_PREEMPTED, 400, 600);
    slice(1, 200, RECORD_RUN, 600, 700);
    slice(3, 200, RECORD_WAIT, 500, 600);
    slice(3, 200, RECORD_BESIDE, 600, 700);
    g_to->priority(stdout, 1, 3, 700 * MS);
    slice(1, 200, RECORD_SUSPENDED, 700, 1000);
    g_to->policy(stdout, "CFS", 800 * MS);
    g_to->share(stdout, 200, 50, 0, 1000 * MS);
    g_to->end(stdout, 1000 * MS, 0);
}

static void hostile(void)
{
    static const char *const k_names[] = {
        "</text><script>alert(1)</script>",
        "\" onload=\"alert(1)\" x='&amp;&#0;]]><!--",
        "\x1b[31mred \x07 \x7f \xc2\x9b",
        "turned \xe2\x80\xae around \xe2\x81\xa6 \xe2\x80\x8f",
        "no UTF-8: \xff\xfe \xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80 \xe2\x82",
        "noncharacters \xef\xbf\xbe \xef\xbf\xbf",
        "\xe6\xbc\xa2\xe5\xad\x97 \xf0\x9f\x9a\x80 \xc3\xa9",
        "", /* and a very long one */
    };
    char name[4096];

    for (unsigned i = 0; i < XS_ARRAY_LEN(k_names); i++) {
        snprintf(name, sizeof(name), "%s", k_names[i]);
        if (!name[0])
            for (unsigned k = 0; k + 4 < sizeof(name); k += 3)
                memcpy(name + k, "\xe6\xbc\xa2", 4);
        g_to->process(stdout, 10 + i, name);
        g_to->queue(stdout, i + 1, 10 + i, i + 1, DEVICE + i, name, 0, 0);
        slice(i + 1, 10 + i, RECORD_RUN, 0, 100);
        g_to->policy(stdout, k_names[i], 50 * MS);
    }
    g_to->end(stdout, 100 * MS, 3);
}

/* More programs, queues, devices and changes than it draws, and each always changing. */
static void many(void)
{
    const unsigned programs = 2000, queues = 6000;

    for (unsigned i = 1; i <= programs; i++) {
        char name[64];

        snprintf(name, sizeof(name), "program %u", i);
        g_to->process(stdout, i, name);
    }
    for (unsigned i = 1; i <= queues; i++)
        queue(i, i % 90 + 1, DEVICE + i % 40, i % 90);
    for (unsigned t = 0; t < 300; t++)
        for (unsigned i = 1; i <= queues; i++) {
            uint64_t at = t * 100 * MS + i % 7 * MS / 3;
            unsigned state = RECORD_RUN + (t + i) % 5;

            g_to->slice(stdout, i, i % 90 + 1, state, 0, 0, "", at, at + MS + i);
            g_to->slice(stdout, i, i % 90 + 1, RECORD_RUN + (state + t) % 5, 0, 0, "", at + MS + i, at + 50 * MS);
        }
    for (unsigned t = 0; t < 1000; t++)
        g_to->policy(stdout, t % 2 ? "HPF" : "CFS", t * 30 * MS + 1);
    g_to->end(stdout, 30000 * MS, 12345);
}

/* A day, and a moment in it. */
static void day(void)
{
    const uint64_t hour = 3600 * 1000;

    g_to->process(stdout, 1, "night");
    queue(1, 1, DEVICE, 0);
    slice(1, 1, RECORD_RUN, 6 * hour, 12 * hour);
    g_to->slice(stdout, 1, 1, RECORD_WAIT, 0, 0, "", 18 * hour * MS, 18 * hour * MS + 1000);
    g_to->end(stdout, 24 * hour * MS, 0);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*play)(void);
    } k_scenes[] = {{"empty", empty},     {"nothing", nothing}, {"two", two},
                    {"hostile", hostile}, {"many", many},       {"day", day}};

    if (argc != 3)
        return 64;
    g_to = strcmp(argv[1], "svg") ? &record_html : &record_svg;
    g_to->begin(stdout, 0);
    if (strcmp(argv[2], "nothing"))
        g_to->policy(stdout, "HPF", 0);
    for (size_t i = 0; i < XS_ARRAY_LEN(k_scenes); i++)
        if (!strcmp(k_scenes[i].name, argv[2])) {
            k_scenes[i].play();
            return fflush(stdout) ? 1 : 0;
        }
    return 64;
}
