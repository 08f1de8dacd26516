/* SPDX-License-Identifier: Apache-2.0 */
/* xcli top: the queues, again and again. */
#include "xcli/table.h"
#include "xcli/xcli.h"

#include "base/clock.h"
#include "base/str.h"

#include <argp.h>
#include <curses.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct top {
    double interval_s;
    uint64_t rounds; /* 0: for ever */
    json_t *answer, *before;
    uint64_t at_ns, before_ns;
    int state; /* of the last question: an exit code */
};

static void ask(struct top *t)
{
    json_t *answer;

    t->state = xcli_ask("GET", "/xqueues", NULL, true, &answer);
    if (t->state != XCLI_OK)
        return;
    json_decref(t->before);
    t->before = t->answer;
    t->before_ns = t->at_ns;
    t->answer = answer;
    t->at_ns = xs_now_ns();
}

static void make_table(const struct top *t, struct xs_table *table)
{
    xcli_queue_table(t->answer, t->before, (double)(t->at_ns - t->before_ns) / 1e9, table);
}

static void summary(const struct top *t, char *ret, size_t size)
{
    const json_t *queues = json_object_get(t->answer, "xqueues");
    size_t i, ready = 0, suspended = 0;
    json_t *q;

    if (t->state != XCLI_OK) {
        snprintf(ret, size, "no xserver answers");
        return;
    }
    json_array_foreach(queues, i, q)
    {
        ready += xcli_true(q, "ready");
        suspended += xcli_true(q, "suspended");
    }
    snprintf(ret, size, "%zu programs, %zu queues, %zu ready, %zu suspended",
             json_array_size(json_object_get(t->answer, "processes")), json_array_size(queues), ready,
             suspended);
}

static int plain(struct top *t)
{
    for (uint64_t round = 0; t->rounds == 0 || round < t->rounds; round++) {
        struct xs_table table;
        char text[160];

        if (round)
            usleep((useconds_t)(t->interval_s * 1e6));
        ask(t);
        if (t->state != XCLI_OK) {
            fputs("xcli: no xserver answers\n", stderr);
            return t->state;
        }
        summary(t, text, sizeof(text));
        printf("%s%s\n", round ? "\n" : "", text);
        make_table(t, &table);
        xs_table_print(&table, SIZE_MAX / 4);
        xs_table_free(&table);
        if (fflush(stdout) != 0)
            return XCLI_OK; /* nobody reads any more */
    }
    return XCLI_OK;
}

static void draw(const struct top *t)
{
    int height, width;
    char text[160];

    getmaxyx(stdscr, height, width);
    erase();
    summary(t, text, sizeof(text));
    attron(A_BOLD);
    mvaddnstr(0, 0, text, width);
    attroff(A_BOLD);
    if (t->answer) {
        struct xs_table table;

        make_table(t, &table);
        for (size_t r = 0; r < table.n_rows && (int)r + 1 < height; r++) {
            char *line = xs_table_line(&table, r, (size_t)width);

            if (r == 0)
                attron(A_REVERSE);
            mvaddstr((int)r + 1, 0, line);
            if (r == 0)
                attroff(A_REVERSE);
            free(line);
        }
        xs_table_free(&table);
    }
    refresh();
}

static int on_screen(struct top *t)
{
    uint64_t rounds = 0;

    setlocale(LC_ALL, "");
    if (!initscr())
        return plain(t);
    cbreak();
    noecho();
    curs_set(0);
    keypad(stdscr, TRUE);
    timeout((int)(t->interval_s * 1000));
    for (bool again = true;;) {
        int key;

        if (again)
            ask(t);
        draw(t);
        if (t->rounds && again && ++rounds >= t->rounds)
            break;
        key = getch();
        if (key == 'q' || key == 'Q')
            break;
        again = key == ERR; /* a key or another size: the same facts, drawn anew */
    }
    endwin();
    return t->state;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct top *t = state->input;
    char *end;
    double fps;

    switch (key) {
    case 'f':
        fps = strtod(arg, &end);
        if (*end || !(fps >= 0.01 && fps <= 60))
            argp_error(state, "-f takes 0.01 to 60 times a second, not '%s'", arg);
        t->interval_s = 1 / fps;
        return 0;
    case 'n':
        if (xs_str_parse_u64(arg, 10, &t->rounds) < 0)
            argp_error(state, "-n takes a number, not '%s'", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int xcli_top(int argc, char **argv)
{
    static const struct argp_option k_options[] = {
        {"fps", 'f', "FPS", 0, "how often a second; default 2", 0},
        {"count", 'n', "COUNT", 0, "end after so many times", 0},
        {0},
    };
    static const struct argp k_argp = {.options = k_options,
                                       .parser = parse,
                                       .doc =
                                           "Shows the queues again and again; q ends it. Plain text when the "
                                           "output is no terminal."};
    struct top t = {.interval_s = 0.5};
    int r;

    argp_parse(&k_argp, argc, argv, ARGP_IN_ORDER, NULL, &t);
    r = isatty(STDOUT_FILENO) && isatty(STDIN_FILENO) && getenv("TERM") ? on_screen(&t) : plain(&t);
    json_decref(t.answer);
    json_decref(t.before);
    return r;
}
