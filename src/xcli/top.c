/* SPDX-License-Identifier: Apache-2.0 */
/* xcli top: programs and queues, again and again. This file: options, questions, plain text. */
#include "xcli/top.h"

#include "base/clock.h"
#include "base/str.h"

#include <argp.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void top_ask(struct top_facts *f)
{
    json_t *answer, *status = NULL;
    char why[sizeof(f->why)];

    f->state = xcli_try("GET", "/xqueues", NULL, f->why, sizeof(f->why), &answer);
    if (f->state != XCLI_OK)
        return;
    json_decref(f->before);
    f->before = f->queues;
    f->before_ns = f->at_ns;
    f->queues = answer;
    f->at_ns = xs_now_ns();
    if (xcli_try("GET", "/status", NULL, why, sizeof(why), &status) != XCLI_OK)
        status = NULL; /* it shows no policy then */
    json_decref(f->status);
    f->status = status;
}

void top_facts_free(struct top_facts *f)
{
    json_decref(f->queues);
    json_decref(f->before);
    json_decref(f->status);
}

static void print_round(struct top_facts *f, const struct top_options *o, bool first)
{
    struct top_rows rows;
    struct xs_table table;
    char text[256];

    if (g_xcli.json) {
        xcli_filter_apply(&o->only, f->queues);
        xcli_print_json(f->queues);
        return;
    }
    top_rows_make(f, o, &rows);
    top_summary(f, text, sizeof(text));
    printf("%s%s\n", first ? "" : "\n", text);
    top_table(&rows, &table);
    xs_table_print(&table, SIZE_MAX / 4);
    xs_table_free(&table);
    top_rows_free(&rows);
}

static int plain(struct top_facts *f, const struct top_options *o)
{
    uint64_t rounds = o->once ? 2 : o->rounds; /* shares need two looks */

    for (uint64_t round = 0; rounds == 0 || round < rounds; round++) {
        if (round)
            usleep((useconds_t)(o->interval_s * 1e6));
        top_ask(f);
        if (f->state != XCLI_OK) {
            fprintf(stderr, "xcli: %s\n", f->why);
            return f->state;
        }
        if (o->once && round == 0)
            continue;
        print_round(f, o, round == 0 || o->once);
        if (fflush(stdout) != 0)
            return XCLI_OK; /* the reader has gone */
    }
    return XCLI_OK;
}

enum { KEY_ONCE = 256, KEY_USER, KEY_DEVICE };

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct top_options *o = state->input;
    char *end;
    double fps;

    switch (key) {
    case 'f':
        fps = strtod(arg, &end);
        if (*end || !(fps >= 0.01 && fps <= 60))
            argp_error(state, "-f takes 0.01 to 60 times a second, not '%s'", arg);
        o->interval_s = 1 / fps;
        return 0;
    case 'n':
        if (xs_str_parse_u64(arg, 10, &o->rounds) < 0)
            argp_error(state, "-n takes a number, not '%s'", arg);
        return 0;
    case 'b':
        o->plain = true;
        return 0;
    case KEY_ONCE:
        o->once = true;
        return 0;
    case 'q':
        o->queues = true;
        return 0;
    case 'r':
        o->reverse = true;
        return 0;
    case 's':
        for (o->sort = 0; o->sort < TOP_SORTS; o->sort++)
            if (xs_str_equal_nocase(arg, top_sort_names[o->sort]))
                return 0;
        argp_error(state, "-s takes share, wait, preemptions, priority, pid, commands or command, not '%s'",
                   arg);
        return 0;
    case KEY_USER:
        if (!xcli_filter_user(&o->only, arg))
            argp_error(state, "there is no user '%s'", arg);
        return 0;
    case KEY_DEVICE:
        o->only.device = arg;
        return 0;
    case 'F':
        if (!xs_str_copy(o->filter, sizeof(o->filter), arg))
            argp_error(state, "the filter is too long");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Whether the terminal can do more than write lines. */
static bool can_draw(void)
{
    const char *term = getenv("TERM");

    return term && term[0] && strcmp(term, "dumb") != 0;
}

int xcli_top(int argc, char **argv)
{
    static const struct argp_option k_options[] = {
        {"frequency", 'f', "FPS", 0, "how often a second; default 2", 0},
        {"fps", 0, NULL, OPTION_ALIAS, NULL, 0},
        {"count", 'n', "COUNT", 0, "end after so many times", 0},
        {"batch", 'b', NULL, 0, "plain text on a terminal too, as top(1) has it", 0},
        {"once", KEY_ONCE, NULL, 0, "look twice, print once as plain text, end", 0},
        {"queues", 'q', NULL, 0, "the queues below their programs", 0},
        {"sort", 's', "COLUMN", 0, "share (default), wait, preemptions, priority, pid, commands or command",
         0},
        {"reverse", 'r', NULL, 0, "the other way round", 0},
        {"filter", 'F', "TEXT", 0, "only rows with TEXT in their command, user, device or pid", 0},
        {"user", KEY_USER, "USER", 0, "only of this user, by name or number", 0},
        {"device", KEY_DEVICE, "DEVICE", 0, "only on this device: the driver's number, UUID, a part of its address or model", 0},
        {0},
    };
    static const struct argp k_argp = {
        .options = k_options,
        .parser = parse,
        .children = xcli_json_child,
        .doc = "Shows programs and queues again and again: which ones run and wait, and their shares of device time.\v"
               "Plain text when the output is no terminal. On a terminal h lists the keys and q ends it."};
    struct top_options o = {.interval_s = 0.5};
    struct top_facts f = {0};
    int r = -1, code;

    argp_parse(&k_argp, argc, argv, ARGP_IN_ORDER, NULL, &o);
    code = xcli_filter_begin(&o.only, !o.once);
    if (code != XCLI_OK) {
        xcli_filter_end(&o.only);
        return code;
    }
    if (!o.once && !o.plain && !g_xcli.json && isatty(STDOUT_FILENO) && isatty(STDIN_FILENO) && can_draw())
        r = top_screen(&f, &o);
    if (r < 0)
        r = plain(&f, &o);
    top_facts_free(&f);
    xcli_filter_end(&o.only);
    return r;
}
