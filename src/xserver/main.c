/* SPDX-License-Identifier: Apache-2.0 */
/* xserver [POLICY [PORT]]: options, start, end. */
#include "config/options.h"
#include "keeper/http_process.h"
#include "xserver/activation.h"
#include "xserver/log_file.h"
#include "xserver/server.h"

#include "base/env.h"
#include "base/log.h"
#include "base/str.h"
#include "policy/policies.h"
#include "transport/token.h"

#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#define DEFAULT_CONFIG "/etc/xsched/xserver.conf"

XS_EXPORT const char *argp_program_version = "xserver (XSched) " XSCHED_VERSION;

enum { KEY_OPTION = 256, KEY_WITHDRAWN = 512, KEY_CONFIG = 1000, KEY_NO_HTTP, KEY_FOREGROUND, KEY_TUNE };

struct xserver_arguments {
    struct xs_options options;
    const char *config;
};

/* Owner: main(). Static because a reload on SIGHUP comes back through the loop. */
static struct xserver_arguments g_args;
static struct xs_http_process *g_http; /* NULL: there is none */

static const struct argp_option k_options[] = {
    {"config", KEY_CONFIG, "FILE", 0,
     "configuration file; default, as root: " DEFAULT_CONFIG ", if it exists", 1},
    {"no-http", KEY_NO_HTTP, NULL, OPTION_HIDDEN, "the same as --http=OFF", 1},
    {"foreground", KEY_FOREGROUND, NULL, OPTION_HIDDEN,
     "accepted and ignored: xserver never leaves the foreground", 1},
    {"tune", KEY_TUNE, "KEY=VALUE", 0, "for developers: sets a constant; --tune=help lists them", 1},
#define FLAGS(tier) ((tier) == XS_TIER_SHOWN ? 0 : OPTION_HIDDEN)
#define OPTION(tier, section, field, name, type, def, live, arg, help) \
    {name, KEY_OPTION + XS_OPT_##field, arg, FLAGS(tier), help, 0},
#include "config/options.def"
#undef OPTION
#undef FLAGS
#define WITHDRAWN(field, name, instead) {name, KEY_WITHDRAWN + XS_WITHDRAWN_##field, "VALUE", OPTION_HIDDEN, NULL, 0},
#include "config/withdrawn.def"
#undef WITHDRAWN
    {NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0},
    {0},
};

static void set(struct argp_state *state, enum xs_option_id id, const char *value)
{
    char error[XS_VALUE_ERROR_BYTES + XS_POLICY_NAMES_BYTES];

    /* in the file an empty value is the default; here it is an unset variable of a script */
    if (!value[0] && (id == XS_OPT_socket || id == XS_OPT_log_file || id == XS_OPT_token_file))
        argp_error(state, "--%s takes a path", xs_option_rows[id].name);
    if (xs_options_set(&g_args.options, id, value, error, sizeof(error)) < 0)
        argp_error(state, "%s", error);
    g_args.options.given |= 1ull << id;
}

static void list_constants(void)
{
    char type[128];

    for (unsigned i = 0; i < XS_OPT_COUNT; i++) {
        const struct xs_option_row *r = &xs_option_rows[i];

        if (r->tier != XS_TIER_TUNE)
            continue;
        printf("%s=%s\n    %s (default %s)\n", r->name, xs_value_type_text(&r->type, type, sizeof(type)), r->help, r->def);
    }
}

static void tune(struct argp_state *state, const char *text)
{
    char error[XS_VALUE_ERROR_BYTES + 64];
    int id;

    if (strcmp(text, "help") == 0) {
        list_constants();
        if (fflush(stdout) != 0)
            argp_failure(state, EX_IOERR, errno, "cannot write");
        exit(EX_OK);
    }
    if (xs_options_note_withdrawn(&g_args.options, text))
        return;
    id = xs_options_tune(&g_args.options, text, error, sizeof(error));
    if (id < 0)
        argp_error(state, "%s", error);
    else
        g_args.options.given |= 1ull << id;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    if (key >= KEY_OPTION && key < KEY_OPTION + XS_OPT_COUNT) {
        set(state, (enum xs_option_id)(key - KEY_OPTION), arg);
        if (xs_option_rows[key - KEY_OPTION].tier == XS_TIER_TUNE)
            g_args.options.old_way |= 1ull << (key - KEY_OPTION);
        return 0;
    }
    if (key >= KEY_WITHDRAWN && key < KEY_WITHDRAWN + XS_WITHDRAWN_COUNT) {
        g_args.options.withdrawn |= 1ull << (key - KEY_WITHDRAWN);
        return 0;
    }
    switch (key) {
    case KEY_CONFIG:
        if (!arg[0])
            argp_error(state, "--config takes the name of a file");
        g_args.config = arg;
        return 0;
    case KEY_TUNE:
        tune(state, arg);
        return 0;
    case KEY_NO_HTTP:
        set(state, XS_OPT_http, "OFF");
        return 0;
    case KEY_FOREGROUND:
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num == 0)
            set(state, XS_OPT_policy, arg);
        else if (state->arg_num == 1)
            set(state, XS_OPT_port, arg);
        else
            argp_error(state, "too many arguments");
        return 0;
    case 'h': /* as --help */
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static char g_doc[512 + XS_POLICY_NAMES_BYTES]; /* main() writes it before anything reads it */

static void write_doc(void)
{
    char names[XS_POLICY_NAMES_BYTES];

    snprintf(g_doc, sizeof(g_doc),
             "Schedules the accelerators of this host between programs that run under XSched.\v"
             "POLICY is one of %s (default HPF); PORT is the TCP port of HTTP on the loopback, 50000 by default. "
             "Every key of the configuration file, see xserver.conf(5), is an option, too: --KEY=VALUE. SIGHUP reads the "
             "file again, SIGTERM, SIGINT and SIGQUIT end it with every queue open.",
             xs_policy_names(names, sizeof(names), ", "));
}

static const struct argp k_argp = {.options = k_options, .parser = parse, .args_doc = "[POLICY [PORT]]", .doc = g_doc};

/* The built-in values, the file, the command line. @return 0 or -errno with the reason in ret_error */
static int gather(struct xs_options *ret, char *ret_error, size_t error_size)
{
    struct xs_options o = g_args.options;
    const char *path = g_args.config;
    int r = 0;

    if (!path && geteuid() == 0 && access(DEFAULT_CONFIG, F_OK) == 0)
        path = DEFAULT_CONFIG;
    if (path)
        r = xs_options_read_file(&o, path, xs_server_check_option, ret_error, error_size);
    if (r == 0 && o.token_file[0] && o.token[0]) {
        snprintf(ret_error, error_size, "give token or token-file, not both");
        r = -EINVAL;
    }
    if (r == 0 && o.token_file[0])
        r = xs_token_read(o.token_file, o.token, ret_error, error_size);
    if (r < 0)
        return r;
    *ret = o;
    return 0;
}

static void name_constants(const struct xs_options *o)
{
    for (unsigned i = 0; i < XS_OPT_COUNT; i++)
        if (o->old_way & 1ull << i)
            XS_WARN("%s is a constant for developers now, neither an option nor a key: --tune %s=VALUE sets it",
                    xs_option_rows[i].name, xs_option_rows[i].name);
}

/* Names the keys that changed in the file and that only the next start takes. */
static void name_what_waits(const struct xs_options *now, const struct xs_options *file)
{
    for (unsigned i = 0; i < XS_OPT_COUNT; i++)
        if (!xs_option_rows[i].live && !xs_options_equal(now, file, i))
            XS_WARN("%s has changed: that takes effect at the next start", xs_option_rows[i].name);
}

static void reload(struct xs_server *s)
{
    struct xs_options o;
    char error[512];

    xs_activation_notify("RELOADING=1");
    xs_log_file_reopen();
    if (gather(&o, error, sizeof(error)) < 0 || xs_server_apply_options(s, &o, error, sizeof(error)) < 0) {
        XS_ERRO("%s; all settings stay", error);
    } else {
        xs_http_process_reload(g_http);
        XS_INFO("configuration read again");
        name_constants(&o);
        xs_options_warn_withdrawn(o.withdrawn);
        name_what_waits(&s->options, &o);
    }
    xs_activation_notify("READY=1");
}

/* @return 0 or -errno with the reason in ret_error */
static int start_log(const struct xs_options *o, char *ret_error, size_t error_size)
{
    enum xs_log_level level = XS_LOG_INFO;
    const char *variable = xs_env_get(XS_ENV_XLOG_FILE), *path = o->log_file[0] || !variable ? o->log_file : variable;
    int r = path[0] ? xs_log_file_open(path, o->log_max_kib) : 0;

    if (r < 0) {
        snprintf(ret_error, error_size, "log-file %.120s: %s", path, strerror(-r));
        return r;
    }
    unsetenv("XLOG_FILE"); /* it is open */
    xs_log_init();
    if (!xs_env_get(XS_ENV_XLOG_LEVEL) || o->given & 1ull << XS_OPT_log_level)
        if (xs_log_level_parse(o->log_level, &level))
            xs_log_set_level(level);
    return 0;
}

/* @return 0 or -errno with the reason in ret_error */
static int start_http(const struct xs_options *o, const struct xs_server *s, char *ret_error, size_t error_size)
{
    const struct xs_http_wanted wanted = {
        .server_socket = s->socket.path, .unix_path = s->http_path, .port = (uint16_t)o->port,
        .port_is_named = o->given & 1ull << XS_OPT_port,
        .log_level = xs_env_get(XS_ENV_XLOG_LEVEL) && !(o->given & 1ull << XS_OPT_log_level) ? "" : o->log_level};

    return xs_http_process_start(&wanted, &g_http, ret_error, error_size);
}

int main(int argc, char **argv)
{
    static struct xs_server server;
    struct xs_options options;
    char error[512], name[] = "xserver";
    int r;

    argp_err_exit_status = EX_USAGE;
    if (argc > 0)
        argv[0] = name; /* without its folder in messages */
    write_doc();
    xs_options_defaults(&g_args.options);
    argp_parse(&k_argp, argc, argv, 0, NULL, NULL);
    r = gather(&options, error, sizeof(error));
    if (r < 0) {
        fprintf(stderr, "xserver: %s\n", error);
        return EX_CONFIG;
    }
    signal(SIGPIPE, SIG_IGN);
    if (start_log(&options, error, sizeof(error)) < 0) {
        fprintf(stderr, "xserver: %s\n", error);
        return EXIT_FAILURE;
    }
    name_constants(&options);
    xs_options_warn_withdrawn(options.withdrawn);
    r = xs_server_start(&server, &options, error, sizeof(error));
    if (r == 0 && options.http && !options.http_unit)
        r = start_http(&options, &server, error, sizeof(error));
    server.http_port = options.http && options.http_unit ? (uint16_t)options.port : xs_http_process_port(g_http);
    if (r < 0) {
        fprintf(stderr, "xserver: %s\n", error);
        xs_server_stop(&server);
        return EXIT_FAILURE;
    }
    XS_INFO("policy %s, socket %s", xs_sched_policy(server.sched)->name, server.socket.path);
    xs_activation_notify("READY=1");
    xs_server_run(&server, reload);
    xs_activation_notify("STOPPING=1");
    xs_server_leave(&server);
    xs_http_process_stop(g_http);
    xs_server_stop(&server);
    return EXIT_SUCCESS;
}
