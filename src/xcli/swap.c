/* SPDX-License-Identifier: Apache-2.0 */
/* xcli swap: the device memory of a program goes to host memory, or comes back. */
#include "xcli/xcli.h"

#include "base/clock.h"
#include "base/futex.h"

#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LOOK_NS (20 * XS_NS_PER_MS)

enum { KEY_PID = 256 };

struct swap {
    const char *way; /* "out" or "in" */
    int64_t pid;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct swap *w = state->input;

    switch (key) {
    case ARGP_KEY_ARG:
        if (!w->way) {
            if (strcmp(arg, "out") != 0 && strcmp(arg, "in") != 0)
                argp_error(state, "'%s' is no way to move memory: out or in", arg);
            w->way = arg;
            return 0;
        }
        /* fallthrough */
    case KEY_PID:
        if (w->pid)
            argp_error(state, "one process at a time");
        w->pid = xcli_pid_arg(state, arg);
        return 0;
    case ARGP_KEY_END:
        if (!w->way)
            argp_error(state, "give out or in, and a PID");
        if (!w->pid)
            argp_error(state, "give a PID");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The program's memory at last; the caller's. Each session of the process counts. */
static int await(int64_t pid, json_t **ret)
{
    for (;;) {
        json_t *answer, *c, *found = NULL;
        bool moving = false;
        size_t i;
        int r = xcli_ask("GET", "/clients", NULL, &answer);

        if (r)
            return r;
        json_array_foreach(json_object_get(answer, "clients"), i, c)
        {
            const json_t *swap = json_object_get(c, "swap");
            const char *state = xcli_text(swap, "state");

            if (xcli_int(c, "pid") != pid || !swap)
                continue;
            found = c;
            moving = moving || strcmp(state, "goes out") == 0 || strcmp(state, "comes in") == 0;
        }
        if (!moving) {
            *ret = json_incref(found);
            json_decref(answer);
            return XCLI_OK;
        }
        json_decref(answer);
        xs_futex_pause(LOOK_NS);
    }
}

static int judge(const struct swap *w, const json_t *program)
{
    const json_t *swap = json_object_get(program, "swap");
    double gib = (double)xcli_int(swap, "bytes") / (double)(1 << 30);

    if (!program) {
        fprintf(stderr, "xcli: process %" PRId64 " has ended\n", w->pid);
        return XCLI_REFUSED;
    }
    if (g_xcli.json)
        xcli_print_json(program);
    if (strcmp(xcli_text(swap, "state"), w->way) != 0) {
        fprintf(stderr, "xcli: the memory of process %" PRId64 " does not go %s: %s\n", w->pid, w->way,
                xcli_text(swap, "error")[0] ? xcli_text(swap, "error") : "a more important program has the device's");
        return XCLI_REFUSED;
    }
    if (!g_xcli.json)
        printf("Memory of process %" PRId64 " is %s (%.2f GiB)\n", w->pid, w->way, gib);
    return XCLI_OK;
}

int xcli_swap(int argc, char **argv)
{
    static const struct argp_option k_options[] = {
        {"pid", KEY_PID, "PID", 0, "the process, as xserver sees it; works without the option's name, too", 0},
        {0},
    };
    static const struct argp k_argp = {
        .options = k_options,
        .parser = parse,
        .args_doc = "out|in PID",
        .children = xcli_json_child,
        .doc = "Moves the device memory of a program that was started with `xsched run --swap` to host memory, or back. While it "
               "is out, the program's calls wait, until `xcli swap in`."};
    struct swap w = {0};
    char path[16], body[48];
    json_t *answer, *program;
    int r;

    argp_parse(&k_argp, argc, argv, 0, NULL, &w);
    snprintf(path, sizeof(path), "/swap/%s", w.way);
    snprintf(body, sizeof(body), "{\"pid\":%" PRId64 "}", w.pid);
    r = xcli_ask("POST", path, body, &answer);
    if (r)
        return r;
    json_decref(answer);
    r = await(w.pid, &program);
    if (r)
        return r;
    r = judge(&w, program);
    json_decref(program);
    return r;
}
