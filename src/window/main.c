/* SPDX-License-Identifier: Apache-2.0 */
/* xsched-window: policy AWF on an X11 desktop. Under the names of the original's two tools,
 * x11_monitor and x11_launcher, it is one of its own commands. */
#include "window/window.h"

#include "base/str.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

XS_EXPORT const char *argp_program_version = "xsched-window (XSched) " XSCHED_VERSION;

enum { KEY_IDLE = 1000, KEY_SOCKET, KEY_ONCE };

static const struct argp_option options[] = {
    {"display", 'd', "NAME", 0, "X server; default DISPLAY", 0},
    {"socket", KEY_SOCKET, "PATH", 0, "socket of xserver; default: the first that answers", 0},
    {"set-policy", 's', NULL, 0, "also make active window first (AWF) the policy of xserver", 0},
    {"idle-exit", KEY_IDLE, "SECONDS", 0, "monitor: end after this long without programs; default 0, never",
     0},
    {"once", KEY_ONCE, NULL, 0, "monitor: report the present active window, and end", 0},
    {"quiet", 'q', NULL, 0, "monitor: say nothing", 0},
    {"addr", 'a', "ADDRESS", 0, "host of xserver's HTTP; default 127.0.0.1", 1},
    {"port", 'p', "PORT", 0, "its port; default 50000", 1},
    {"listen", 'l', "PORT", OPTION_HIDDEN, "of the original's monitor: there is none here", 1},
    {NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

struct input {
    struct xs_window_options o;
    const char *command;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct input *in = state->input;
    int64_t number;

    switch (key) {
    case 'd':
        in->o.display = arg;
        break;
    case KEY_SOCKET:
        if (!arg[0])
            argp_error(state, "--socket takes the path of a socket");
        in->o.where.socket = arg;
        break;
    case 'a':
        in->o.where.address = arg;
        break;
    case 'p':
    case 'l':
        if (xs_str_parse_i64(arg, &number) < 0 || number < 1 || number > UINT16_MAX)
            argp_error(state, "\"%s\" is no port", arg);
        else if (key == 'p')
            in->o.where.port = (uint16_t)number;
        break;
    case 's':
        in->o.set_policy = true;
        break;
    case 'q':
        in->o.quiet = true;
        break;
    case KEY_ONCE:
        in->o.once = true;
        break;
    case KEY_IDLE:
        if (xs_str_parse_i64(arg, &number) < 0 || number < 0 || number > 86400000)
            argp_error(state, "--idle-exit takes a number of seconds, not \"%s\"", arg);
        in->o.idle_s = (unsigned)number;
        break;
    case ARGP_KEY_ARG:
        if (in->command && strcmp(in->command, "monitor") == 0)
            argp_error(state, "monitor takes no program");
        if (in->command)
            return ARGP_ERR_UNKNOWN; /* give it to ARGP_KEY_ARGS: the rest is the program's */
        if (strcmp(arg, "monitor") != 0 && strcmp(arg, "run") != 0)
            argp_error(state, "no such command: %s", arg);
        in->command = arg;
        break;
    case ARGP_KEY_ARGS:
        in->o.program = state->argv + state->next;
        break;
    case ARGP_KEY_END:
        if (!in->command)
            argp_error(state, "monitor or run?");
        else if (strcmp(in->command, "run") == 0 && !in->o.program)
            argp_error(state, "name a program");
        else if (strcmp(in->command, "monitor") == 0 && in->o.program)
            argp_error(state, "monitor takes no program");
        break;
    case 'h': /* as --help */
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "monitor\nrun [--] PROGRAM [ARG...]",
        .doc = "Tells xserver which process has the active window, for its policy AWF (active window first).\v"
               "monitor follows the active window of an X display as long as the display lives. run starts a "
               "monitor for "
               "the display, if there is none, and becomes `xsched run PROGRAM`.\n\n"
               "  xserver AWF &\n  xsched-window run -- ./viewer &\n  xsched-window run -- ./editor &",
    };
    struct input in = {0};
    const char *display, *name;

    name = strrchr(argv[0], '/');
    name = name ? name + 1 : argv[0];
    if (strcmp(name, "x11_monitor") == 0)
        in.command = "monitor";
    in.o.plain = strcmp(name, "x11_launcher") == 0; /* its user has set the variables */
    if (in.o.plain)
        in.command = "run";
    argp_err_exit_status = 64;
    if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &in) != 0)
        return 64;
    if (strcmp(in.command, "run") == 0)
        return xs_window_run(&in.o);
    display = in.o.display ? in.o.display : getenv("DISPLAY");
    if (!in.o.once && display && xs_window_lock(display) == -EWOULDBLOCK) {
        fprintf(stderr, "xsched-window: a monitor watches %s already\n", display);
        return 1;
    }
    return xs_window_monitor(&in.o);
}
