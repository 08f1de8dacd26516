/* SPDX-License-Identifier: Apache-2.0 */
/* xsched run: sets the environment for every platform that the program may use, finds or starts a server,
 * becomes the program. */
#include "base/settings/hint_rows.h"
#include "base/probed_levels.h"
#include "base/str.h"
#include "launcher/autostart.h"
#include "launcher/commands.h"
#include "launcher/program.h"
#include "launcher/say.h"
#include "launcher/space/space.h"
#include "launcher/variables.h"
#include "policy/policies.h"
#include "query/find_xserver.h"
#include "query/policy_in_force.h"
#include "transport/socket.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

enum { KEY_LOCAL = 1000, KEY_GROUP, KEY_INTRA, KEY_SWAP, KEY_NO_SERVER, KEY_HELP_ENV, KEY_IDLE };

static const struct argp_option options[] = {
#define QUEUE_HINT(symbol, number, field, type, without, unit, reads, process, name, run, xcli, arg, help) \
    {name, XS_HINT_OPTION(run, number), arg, 0, help, 1},
#define SCHED_HINT(symbol, number, type, usual, name, run, xcli, arg, help) \
    {name, XS_HINT_OPTION(run, number), arg, 0, help, 1},
#include "base/settings/hints.def"
#define O(name, key, arg, variable, help) {name, key, arg, 0, help, 2},
#include "launcher/run_options.def"
#undef O
    {"group", KEY_GROUP, "NAME", 0, "the scheduler suspends and resumes programs of one group together", 2},
    {"intra", KEY_INTRA, NULL, 0, "priorities act between the queues of this program too", 2},
    {"swap", KEY_SWAP, NULL, 0,
     "its device memory may go to host memory, to make room for other programs (CUDA, experimental)", 2},
    {"local-policy", KEY_LOCAL, "POLICY", 0, "schedule inside the program with this policy, without xserver",
     3},
    {"no-server", KEY_NO_SERVER, NULL, 0, "do not start an xserver when none answers", 3},
    {"idle-exit", KEY_IDLE, "SECONDS", 0,
     "a server that it starts ends after so long without programs; default 60, 0: never", 3},
    {"socket", 'S', "PATH", 0, "socket of xserver", 3},
    {"quiet", 'q', NULL, 0, "no notes and warnings from xsched itself", 4},
    {"help-env", KEY_HELP_ENV, NULL, 0, "list the environment variables and exit", 4},
    {NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

struct run {
    char **program;
    bool local, no_server, help_env, priority;
    unsigned idle_s;
};

static void set(enum xs_env_id id, const char *value)
{
    if (setenv(xs_env_rows[id].name, value, 1) < 0)
        xs_say_error("out of memory");
}

static void set_default(enum xs_env_id id, const char *value)
{
    if (!xs_env_get(id))
        set(id, value);
}

/* Ends the program where the text is no value of the type. */
static struct xs_value value_of(struct argp_state *state, const char *option, const struct xs_value_type *type,
                                const char *text)
{
    char error[XS_VALUE_ERROR_BYTES];
    struct xs_value v = {0};

    if (xs_value_parse(type, text, &v) < 0)
        argp_error(state, "--%s: %s", option, xs_value_error(type, text, error, sizeof(error)));
    return v;
}

static void set_variable(struct argp_state *state, const char *option, enum xs_env_id id, const char *text)
{
    const struct xs_value_type *type = &xs_env_rows[id].type;
    struct xs_value v = value_of(state, option, type, text);
    char normal[32];

    switch (type->kind) { /* as older libraries read it, too */
    case XS_VALUE_NUMBER:
    case XS_VALUE_TIME:
        snprintf(normal, sizeof(normal), "%lld", (long long)v.number);
        set(id, type->unlimited && v.number == -1 ? "UNLIMITED" : normal);
        break;
    case XS_VALUE_CHOICE:
        set(id, xs_value_word(type, v.number, normal, sizeof(normal)));
        break;
    default:
        set(id, text);
        break;
    }
}

static void set_policy(struct argp_state *state, const char *text)
{
    const struct xs_policy_ops *policy = xs_policy_by_name(text);
    char names[XS_POLICY_NAMES_BYTES];

    if (!policy)
        argp_error(state, "--local-policy takes %s, not \"%s\"", xs_policy_names(names, sizeof(names), "|"), text);
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): argp_error ends the program */
    set(XS_ENV_XSCHED_POLICY, policy->name);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    static const struct xs_value_type k_idle = XS_TYPE(TIME, "s", 0, 86400000);
    struct run *r = state->input;

    r->priority |= key == 'p';
    switch (key) {
#define CASE(key, name, variable)                        \
    case key:                                            \
        set_variable(state, name, XS_ENV_##variable, arg); \
        break;
#define QUEUE_HINT(symbol, number, field, type, without, unit, reads, process, name, run, ...) \
    CASE(XS_HINT_OPTION(run, number), name, XSCHED_AUTO_XQUEUE_##symbol)
#define SCHED_HINT(symbol, number, type, usual, name, run, ...) \
    CASE(XS_HINT_OPTION(run, number), name, XSCHED_AUTO_XQUEUE_##symbol)
#include "base/settings/hints.def"
#define O(name, k, a, variable, help) CASE(k, name, variable)
#include "launcher/run_options.def"
#undef O
#undef CASE
    case KEY_GROUP:
        if (!*arg || strlen(arg) >= 64)
            argp_error(state, "--group takes a name of 1 to 63 bytes");
        for (const char *c = arg; *c; c++)
            if ((unsigned char)*c < 32 || *c == 127)
                argp_error(state, "--group takes a name without control characters");
        set(XS_ENV_XSCHED_GROUP, arg);
        break;
    case KEY_INTRA:
        set(XS_ENV_XSCHED_INTRA, "ON");
        break;
    case KEY_SWAP:
        set(XS_ENV_XSCHED_SWAP, "ON");
        break;
    case KEY_LOCAL:
        set_policy(state, arg);
        r->local = true;
        break;
    case KEY_IDLE:
        r->idle_s = (unsigned)value_of(state, "idle-exit", &k_idle, arg).number;
        break;
    case KEY_NO_SERVER:
        r->no_server = true;
        break;
    case 'S':
        if (arg[0] != '/')
            argp_error(state, "--socket takes an absolute path, not \"%s\"", arg);
        if (strlen(arg) >= XS_SOCKET_PATH_BYTES)
            argp_error(state, "--socket takes a path of at most %u bytes", XS_SOCKET_PATH_BYTES - 1);
        set(XS_ENV_XSCHED_SOCKET, arg);
        break;
    case 'q':
        xs_say_set_quiet(true);
        break;
    case KEY_HELP_ENV:
        r->help_env = true;
        break;
    case ARGP_KEY_ARG:
        return ARGP_ERR_UNKNOWN; /* give it to ARGP_KEY_ARGS: the rest is the program's */
    case ARGP_KEY_ARGS:
        r->program = state->argv + state->next;
        break;
    case ARGP_KEY_END:
        if (!r->program && !r->help_env)
            argp_error(state, "name a program to run");
        break;
    case 'h': /* as --help */
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* The answer of `xsched doctor --probe`, where the user leaves the level to us. */
static void use_probed_level(const struct xs_platform *of)
{
    const char *level = xs_env_get(XS_ENV_XSCHED_AUTO_XQUEUE_LEVEL), *value;
    char variable[64], text[8];
    int probed;

    snprintf(variable, sizeof(variable), "XSCHED_%s_LEVEL", of->prefix);
    value = getenv(variable);
    if ((level && !xs_str_equal_nocase(level, "auto")) || (value && *value))
        return;
    probed = xs_probed_level(of);
    if (!probed)
        return;
    if (probed < 3 && of->number == kPlatformCUDA)
        xs_say("level auto is level %d on CUDA devices: `xsched doctor --probe` found that level 3 does not work there", probed);
    snprintf(text, sizeof(text), "%d", probed);
    if (setenv(variable, text, 1) < 0)
        xs_say_error("out of memory");
}

/* Turns the wish of the user into TIME or SPACE. AUTO is TIME: decision 0036. */
static void begin_to_share(const struct run *r)
{
    const char *share = xs_env_get(XS_ENV_XSCHED_SHARE);
    int64_t priority = xs_env_i64(XS_ENV_XSCHED_PRIORITY, 0);
    char error[XS_VALUE_ERROR_BYTES];
    bool space = false;

    if (!share)
        return;
    if (!priority)
        priority = xs_env_i64(XS_ENV_XSCHED_AUTO_XQUEUE_PRIORITY, 0);
    if (xs_str_equal_nocase(share, "SPACE"))
        space = xs_space_begin((int)priority, r->idle_s);
    else if (!xs_str_equal_nocase(share, "TIME") && !xs_str_equal_nocase(share, "AUTO"))
        xs_say("XSCHED_SHARE: %s; the program shares in time",
               xs_value_error(&xs_env_rows[XS_ENV_XSCHED_SHARE].type, share, error, sizeof(error)));
    set(XS_ENV_XSCHED_SHARE, space ? "SPACE" : "TIME");
}

static void print_env_help(void)
{
    char policies[XS_POLICY_NAMES_BYTES];

    xs_policy_names(policies, sizeof(policies), "|");
    for (size_t i = 0; i < XS_ENV_COUNT; i++) {
        const struct xs_env_row *row = &xs_env_rows[i];
        char text[128];
        const char *type = xs_value_type_text(&row->type, text, sizeof(text));

        type = strcmp(type, "policy") ? type : policies;
        printf("%s=%s\n    %s%s%s%s\n", row->name, type, row->help, row->def[0] ? " (default " : "",
               row->def, row->def[0] ? ")" : "");
    }
}

/* The value of a hint that wishes something; NULL: none. */
static const char *asked(const struct xs_hint_row *hint)
{
    const char *text = hint->of_queue ? xs_env_get(hint->variable) : NULL;
    struct xs_value v;

    if (!text || xs_value_parse(&hint->type, text, &v) < 0 || v.number == hint->without)
        return NULL;
    /* a queue that never runs, never runs under any policy */
    return v.number == PRIORITY_NO_EXECUTE ? NULL : text;
}

/* Hints of the command line or the environment that have no effect. @param change  the command that changes
 * the policy */
static void say_unread_hints(const struct xs_policy_in_force *policy, const char *change)
{
    for (size_t i = 0; i < xs_hint_rows_count; i++) {
        const struct xs_hint_row *hint = &xs_hint_rows[i];
        char what[64], text[256];

        if (!asked(hint))
            continue;
        snprintf(what, sizeof(what), "--%s %.20s", hint->name, asked(hint));
        if (xs_policy_in_force_unread(policy, hint->reads | hint->reads_of_process, what, change, text, sizeof(text)))
            xs_say("%s", text);
    }
}

static void say_unread_by_local(const char *name)
{
    const struct xs_policy_ops *ops = xs_policy_by_name(name);
    struct xs_policy_in_force policy;

    if (!ops || !xs_policy_reads(ops, &policy.reads))
        return;
    xs_str_copy(policy.name, sizeof(policy.name), ops->name);
    say_unread_hints(&policy, "xsched run --local-policy");
}

static void say_unread_by_server(void)
{
    struct xs_policy_in_force policy;
    static struct xs_places places; /* large, and stacks may be small */
    bool any = false;
    int i;

    for (size_t k = 0; k < xs_hint_rows_count; k++)
        any |= asked(&xs_hint_rows[k]) != NULL;
    if (!any)
        return;
    xs_places_get(&places);
    i = xs_places_first(&places);
    if (i >= 0 && xs_policy_in_force_ask(places.items[i].path, &policy))
        say_unread_hints(&policy, "xcli policy");
}

/* The program says the first, too, but only in its log, and only once it uses a device. */
static void say_void_variables(void)
{
    const char *instead;

    for (char **e = environ; *e; e++) {
        enum xs_variable kind = xs_variable_of(*e, &instead);
        int length = (int)strcspn(*e, "=");

        if (kind == XS_VARIABLE_WITHDRAWN)
            xs_say("%.*s means nothing any more; instead: %s", length, *e, instead);
        else if (kind == XS_VARIABLE_UNKNOWN && instead)
            xs_say("%.*s means nothing to XSched; %s does", length, *e, instead);
    }
}

int xs_command_run(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "PROGRAM [ARG...]",
        .doc = "Runs PROGRAM with its device work scheduled. When no xserver answers, starts one for "
               "this user.\v"
               "Two programs, in two terminals:\n\n"
               "  xsched run --priority 0 -- ./background\n  xsched run --priority 10 -- ./urgent\n\n"
               "Exit status: the program's; 64 for wrong arguments, 126 when xsched cannot start the program, 127 "
               "when it does not find it."};
    struct run r = {.idle_s = XS_AUTOSTART_IDLE_S};
    char name[] = "xsched run", why[PATH_MAX + 32];
    int status, server = -ENOENT;

    argp_err_exit_status = XS_EXIT_USAGE;
    argv[0] = name;
    if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &r) != 0)
        return XS_EXIT_USAGE;
    if (r.help_env) {
        print_env_help();
        return xs_say_unwritten() ? EX_IOERR : 0;
    }
    say_void_variables();
    set_default(XS_ENV_XSCHED_AUTO_XQUEUE, "ON");
    if (!r.local && !xs_env_get(XS_ENV_XSCHED_POLICY))
        set_default(XS_ENV_XSCHED_SCHEDULER, "GLB");
    if (r.priority) /* the short name must not differ */
        set(XS_ENV_XSCHED_PRIORITY, xs_env_get(XS_ENV_XSCHED_AUTO_XQUEUE_PRIORITY));
    for (size_t i = 0; i < XS_PLATFORM_COUNT; i++) {
        if (xs_platforms[i].probe != XS_PLATFORM_PROBE_NONE)
            use_probed_level(&xs_platforms[i]);
    }
    status = xs_program_absent(r.program[0], why, sizeof(why));
    if (status) {
        xs_say_error("%s", why); /* and it needs no server */
        return status;
    }
    xs_prepare_program(r.program);
    begin_to_share(&r);
    if (!xs_env_get(XS_ENV_XSCHED_POLICY) && xs_str_equal_nocase(xs_env_get(XS_ENV_XSCHED_SCHEDULER), "GLB"))
        server = xs_autostart(!r.no_server, r.idle_s);
    if (server >= 0)
        say_unread_by_server();
    else if (xs_env_get(XS_ENV_XSCHED_POLICY))
        say_unread_by_local(xs_env_get(XS_ENV_XSCHED_POLICY));
    return xs_exec_program(r.program);
}
