/* SPDX-License-Identifier: Apache-2.0 */
/* xcli: options that all commands share, then the command. */
#include "xcli/xcli.h"

#include "base/str.h"
#include "transport/token.h"

#include <argp.h>
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

XS_EXPORT const char *argp_program_version = "xcli (XSched) " XSCHED_VERSION;
struct xcli_options g_xcli;

enum { KEY_SOCKET = 256, KEY_JSON, KEY_TOKEN, KEY_TOKEN_FILE, KEY_HOST };

static const struct {
    const char *name;
    xcli_command *run;
    bool hosts; /* works with --host: the answers of several hosts read well one below the other */
    const char *help;
} k_commands[] = {
    {"list", xcli_list, true, "the queues and their programs, or the devices"},
    {"top", xcli_top, false, "programs, shares and waits, again and again; keys change them"},
    {"config", xcli_config, false, "change a queue's level and what it has in flight"},
    {"policy", xcli_policy, true, "show or change the policy"},
    {"hint", xcli_hint, false, "change a priority, a share, a deadline"},
    {"status", xcli_status, true, "the server's version, counters and latencies"},
    {"suspend", xcli_suspend, false, "suspend a program"},
    {"resume", xcli_resume, false, "resume it"},
    {"swap", xcli_swap, false, "move a program's device memory to host memory, or back"},
    {"web", xcli_web, false, "the address of the status page"},
    {"logs", xcli_logs, false, "the server's log"},
};

/* "list, top, config": all of them. */
static const char *command_names(void)
{
    static char names[160]; /* main()'s thread alone comes here */
    size_t used = 0;

    for (size_t i = 0; i < XS_ARRAY_LEN(k_commands) && used < sizeof(names); i++)
        used +=
            (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "", k_commands[i].name);
    return names;
}

/* Below the options in the help. */
static char *list_commands(int key, const char *text, void *input)
{
    size_t used = 0, size = 2048;
    char *all;

    (void)input;
    if (key != ARGP_KEY_HELP_POST_DOC || !(all = malloc(size)))
        return (char *)(uintptr_t)text;
    used = (size_t)snprintf(all, size, "Commands, each with --help of its own:\n\n");
    for (size_t i = 0; i < XS_ARRAY_LEN(k_commands) && used < size; i++)
        used +=
            (size_t)snprintf(all + used, size - used, "  %-8s %s\n", k_commands[i].name, k_commands[i].help);
    if (used < size)
        snprintf(all + used, size - used, "\n%s", text);
    return all;
}

struct chosen {
    int argc;
    char **argv;
    char *hosts; /* NULL: one server */
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct chosen *chosen = state->input;
    static char token[XS_TOKEN_BYTES];
    char error[256];
    uint64_t port;

    switch (key) {
    case 'a':
        if (!xcli_host_valid(arg))
            argp_error(state, "'%.40s' is no address", arg);
        g_xcli.address = arg;
        return 0;
    case 'p':
        if (xs_str_parse_u64(arg, 10, &port) < 0 || port < 1 || port > 65535)
            argp_error(state, "'%s' is no port", arg);
        g_xcli.port = (uint16_t)port;
        return 0;
    case KEY_SOCKET:
        if (!arg[0])
            argp_error(state, "--socket takes the path of a socket");
        g_xcli.socket = arg;
        return 0;
    case KEY_HOST:
        chosen->hosts = arg;
        return 0;
    case KEY_TOKEN:
        if (xs_token_wrong(arg))
            argp_error(state, "--token: %s", xs_token_wrong(arg));
        g_xcli.token = arg;
        return 0;
    case KEY_TOKEN_FILE:
        if (xs_token_read(arg, token, error, sizeof(error)) < 0)
            argp_failure(state, XCLI_USAGE, 0, "%s", error);
        g_xcli.token = token;
        return 0;
    case KEY_JSON:
        g_xcli.json = true;
        return 0;
    case ARGP_KEY_ARG: /* the command: the rest is its own */
        if (strcmp(arg, "help") == 0 && !state->argv[state->next])
            argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
        chosen->argc = state->argc - state->next + 1;
        chosen->argv = state->argv + state->next - 1;
        state->next = state->argc;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "give a command: %s", command_names());
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The exit status says so when the output did not reach its reader. */
static int written(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    fprintf(stderr, "xcli: cannot write: %s\n", strerror(errno));
    return code ? code : XCLI_UNWRITTEN;
}

int main(int argc, char **argv)
{
    static const struct argp_option k_options[] = {
        {"addr", 'a', "ADDRESS", 0, "host of xserver's HTTP; default 127.0.0.1", 0},
        {"port", 'p', "PORT", 0, "its port; default 50000", 0},
        {"host", KEY_HOST, "HOST[:PORT],...", 0, "list, status and policy of the xservers of these hosts, with the token", 0},
        {"socket", KEY_SOCKET, "PATH", 0, "socket of xserver; its HTTP socket is beside it (http.sock beside xserver.sock)", 0},
        {"token", KEY_TOKEN, "TEXT", 0, "the token of xserver.conf; other users see it in the list of processes", 0},
        {"token-file", KEY_TOKEN_FILE, "FILE", 0, "file that holds it", 0},
        {"json", KEY_JSON, NULL, 0, "print answers as JSON", 0},
        {0},
    };
    static const struct argp k_argp = {
        .options = k_options,
        .parser = parse,
        .args_doc = "COMMAND [OPTION...]",
        .doc =
            "Shows and changes the programs and queues that xserver schedules.\v"
            "Without -a, -p and --socket xcli asks the first xserver that answers: XSCHED_SOCKET, "
            "this user's, the host's, then 127.0.0.1:50000. Exit status: 0 done, 1 refused by xserver, 2 no "
            "xserver answers, 64 wrong use, 74 writing the output failed.",
        .help_filter = list_commands,
    };
    struct chosen chosen = {0};
    char name[64], help[] = "--help";

    setlocale(LC_ALL, "");
    if (MB_CUR_MAX == 1) /* names are UTF-8 in the C locale too */
        setlocale(LC_CTYPE, "C.UTF-8");
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "-h") == 0)
            argv[i] = help; /* argp knows --help and -?; no option of any command takes this as its value */
    }
    argp_err_exit_status = XCLI_USAGE;
    argp_parse(&k_argp, argc, argv, ARGP_IN_ORDER, NULL, &chosen);
    if (strcmp(chosen.argv[0], "help") == 0) { /* xcli help list: xcli list --help */
        chosen.argv[0] = chosen.argv[1];
        chosen.argv[1] = help;
        chosen.argc = 2;
    }
    for (size_t i = 0; i < XS_ARRAY_LEN(k_commands); i++) {
        if (strcmp(k_commands[i].name, chosen.argv[0]) != 0)
            continue;
        snprintf(name, sizeof(name), "xcli %s", chosen.argv[0]);
        if (chosen.hosts && (!k_commands[i].hosts || g_xcli.address || g_xcli.socket)) {
            fputs("xcli: --host goes with list, status and policy, and without -a and --socket\n", stderr);
            return XCLI_USAGE;
        }
        chosen.argv[0] = name; /* the name that its help shows */
        if (chosen.hosts)
            return written(xcli_on_hosts(chosen.hosts, k_commands[i].run, chosen.argc, chosen.argv));
        return written(k_commands[i].run(chosen.argc, chosen.argv));
    }
    fprintf(stderr,
            "xcli: there is no command '%.40s'; there are %s\nTry `xcli --help' for more information.\n",
            chosen.argv[0], command_names());
    return XCLI_USAGE;
}
