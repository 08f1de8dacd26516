/* SPDX-License-Identifier: Apache-2.0 */
/* xsched doctor [PID]: status 0 fine, 1 problems found, 2 it could not look. */
#include "base/str.h"
#include "launcher/doctor/doctor.h"
#include "launcher/say.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct doctor_arguments {
    pid_t pid; /* 0: the system */
    bool json, verbose;
    unsigned probe_s; /* 0: no probe */
};

static const struct argp_option options[] = {
    {"probe", 'P', "SECONDS", OPTION_ARG_OPTIONAL,
     "try which preemption levels work on the devices here, for at most so long (default 60); "
     "`xsched run` goes by it",
     0},
    {"json", 'j', NULL, 0, "one JSON document", 0},
    {"verbose", 'v', NULL, 0, "the details as well", 0},
    {NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct doctor_arguments *a = state->input;
    int64_t pid;

    switch (key) {
    case 'j':
        a->json = true;
        break;
    case 'v':
        a->verbose = true;
        break;
    case 'P':
        a->probe_s = 60; /* a machine with eight GPUs takes seconds to start its driver */
        if (arg) {
            if (xs_str_parse_i64(arg, &pid) < 0 || pid < 1 || pid > 3600)
                argp_error(state, "--probe takes 1..3600 seconds, not \"%s\"", arg);
            a->probe_s = (unsigned)pid;
        }
        break;
    case ARGP_KEY_ARG:
        if (a->pid)
            argp_error(state, "one process at a time");
        if (xs_str_parse_i64(arg, &pid) < 0 || pid < 1 || pid > INT32_MAX)
            argp_error(state, "\"%s\" is no process number", arg);
        a->pid = (pid_t)pid;
        break;
    case ARGP_KEY_END:
        if (a->probe_s && a->pid)
            argp_error(state, "--probe looks at devices, not at a process");
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
        .args_doc = "[PID]",
        .doc =
            "Says whether this machine is ready; with PID, whether XSched schedules that process, and why not. The "
            "first line is the verdict; then each problem, with its remedy.\v"
            "Exit status: 0 when nothing is wrong, 1 when it found problems, 2 when it could not look, 64 "
            "for "
            "wrong arguments."};
    struct doctor_arguments a = {0};
    struct xs_doctor d;
    char name[] = "xsched doctor", why[256] = "";
    int err, status;

    argp_err_exit_status = 64;
    argv[0] = name;
    if (argp_parse(&argp, argc, argv, 0, NULL, &a) != 0)
        return 64;
    err = xs_doctor_init(&d);
    if (err == 0 && a.pid)
        err = xs_doctor_process(&d, a.pid, why, sizeof(why));
    else if (err == 0)
        xs_doctor_system(&d);
    if (err == 0 && a.probe_s)
        xs_doctor_probe(&d, a.probe_s);
    if (err == 0 && !a.pid)
        xs_doctor_levels(&d);
    if (err < 0) {
        if (err == -ENOENT || err == -ESRCH)
            xs_say_error("there is no process %d", (int)a.pid);
        else if (err == -EACCES)
            xs_say_error("doctor cannot read process %d: %s", (int)a.pid, why);
        else
            xs_say_error("%s", strerror(-err));
        xs_doctor_fini(&d);
        return 2;
    }
    if (a.pid)
        xs_doctor_verdict_of_process(&d, a.pid);
    else
        xs_doctor_verdict_of_system(&d);
    if (a.json)
        xs_doctor_print_json(&d);
    else
        xs_doctor_print_text(&d, a.verbose);
    status = json_array_size(d.problems) ? 1 : 0;
    xs_doctor_fini(&d);
    return xs_say_unwritten() ? 2 : status;
}
