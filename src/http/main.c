/* SPDX-License-Identifier: Apache-2.0 */
/* xsched-http: answers HTTP for an xserver, which it asks over that one's socket. xserver starts it, or a systemd unit. */
#include "asks/ask_line.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "host/operators.h"
#include "host/subuids.h"
#include "http/devices/nvml_reader.h"
#include "http/given_sockets.h"
#include "http/http_routes.h"
#include "http/listeners.h"
#include "transport/socket.h"

#include <argp.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sysexits.h>
#include <unistd.h>

#define RELOAD_US   500000
#define SETTINGS_NS (10 * XS_NS_PER_S) /* for xserver's answer to the first question */

XS_EXPORT const char *argp_program_version = "xsched-http (XSched) " XSCHED_VERSION;

struct http_arguments {
    const char *socket;
    int tcp, unix_;
    bool started; /* by xserver, whose end is that of standard input */
};

enum { KEY_SOCKET = 256, KEY_TCP, KEY_UNIX, KEY_STARTED, KEY_LEVEL };

static const struct argp_option k_options[] = {
    {"socket", KEY_SOCKET, "PATH", 0, "xserver's socket", 0},
    {"log-level", KEY_LEVEL, "LEVEL", 0, "DEBG, INFO, WARN, ERRO or OFF", 0},
    {"tcp-fd", KEY_TCP, "N", OPTION_HIDDEN, NULL, 0},
    {"unix-fd", KEY_UNIX, "N", OPTION_HIDDEN, NULL, 0},
    {"started", KEY_STARTED, NULL, OPTION_HIDDEN, NULL, 0},
    {0},
};

static int number_of(struct argp_state *state, const char *text)
{
    uint64_t n;

    if (xs_str_parse_u64(text, 10, &n) < 0 || n > 1024)
        argp_error(state, "'%s' is no descriptor", text);
    return (int)n;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct http_arguments *a = state->input;
    enum xs_log_level level;

    const char *wrong;

    switch (key) {
    case KEY_SOCKET:
        a->socket = arg;
        return 0;
    case KEY_LEVEL:
        if (!xs_log_level_parse(arg, &level))
            argp_error(state, "'%s' is no level", arg);
        xs_log_set_level(level);
        return 0;
    case KEY_TCP:
        a->tcp = number_of(state, arg);
        return 0;
    case KEY_UNIX:
        a->unix_ = number_of(state, arg);
        return 0;
    case KEY_STARTED:
        a->started = true;
        return 0;
    case ARGP_KEY_END:
        if (!a->socket)
            argp_error(state, "give xserver's socket: --socket=PATH");
        wrong = a->started || a->tcp >= 0 || a->unix_ >= 0 ? NULL : xs_given_sockets(&a->tcp, &a->unix_);
        if (wrong)
            argp_error(state, "%s", wrong);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp k_argp = {
    .options = k_options,
    .parser = parse,
    .doc = "Answers HTTP for xserver(8): the status page, metrics and changes. xserver starts it where its option "
           "http is ON, or a systemd unit does."};

/* @return whether xserver answered */
static bool get_settings(struct xs_line *line, uint64_t timeout_ns, struct xs_settings_record *ret)
{
    struct xs_request *r = xs_request_new(XS_REQ_SETTINGS);
    int err;

    if (r)
        r->asker.all = true;
    err = r ? xs_line_ask(line, r, timeout_ns) : -ENOMEM;
    if (err < 0) {
        XS_ERRO("xserver does not answer: %s", strerror(-err));
        return false;
    }
    if (r->status == 200)
        *ret = r->settings;
    else
        XS_ERRO("xserver refused (%d): %s", r->status, r->text);
    err = r->status;
    xs_request_free(r);
    return err == 200;
}

static void take_settings(const struct xs_settings_record *settings)
{
    xs_operators_set(settings->operators);
    xs_http_set_token(settings->token);
    xs_routes_set_off(!settings->http);
    xs_subuids_load();
}

static int make_signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGQUIT);
    sigaddset(&set, SIGHUP);
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0) /* before any thread starts */
        return -1;
    return signalfd(-1, &set, SFD_CLOEXEC);
}

/* @return whether to read the settings again; else to end */
static bool wait_for_reload(int signals, bool started)
{
    struct pollfd in[2] = {{.fd = signals, .events = POLLIN}, {.fd = started ? STDIN_FILENO : -1, .events = POLLIN}};
    struct signalfd_siginfo info;
    char order = 0;

    while (poll(in, 2, -1) < 0)
        if (errno != EINTR)
            return false;
    if (in[1].revents)
        return read(STDIN_FILENO, &order, 1) == 1 && order == 'r';
    /* a terminal sends its signals to xserver as well, which then ends this process */
    if (read(signals, &info, sizeof(info)) != sizeof(info) || info.ssi_signo == SIGTERM || !started)
        return info.ssi_signo == SIGHUP;
    return info.ssi_signo == SIGHUP || wait_for_reload(signals, started);
}

/* At once, since the next xserver may wait for the port. And whatever this process is doing: its question may be at that
 * xserver already. */
static void end_with_xserver(void)
{
    struct pollfd in = {.fd = STDIN_FILENO};

    prctl(PR_SET_PDEATHSIG, SIGKILL); /* of the thread that started this process, which lives as long as xserver */
    if (poll(&in, 1, 0) > 0 && in.revents & POLLHUP)
        _exit(EXIT_SUCCESS); /* it died before */
}

int main(int argc, char **argv)
{
    struct http_arguments a = {.tcp = -1, .unix_ = -1};
    struct xs_settings_record settings;
    struct xs_http *http = NULL;
    struct xs_line *line;
    char name[] = "xsched-http";
    int signals;

    if (argc == 2 && strcmp(argv[1], XS_NVML_READ) == 0)
        return xs_nvml_reader_run();
    argp_err_exit_status = EX_USAGE;
    if (argc > 0)
        argv[0] = name; /* without its folder in messages */
    xs_log_init();
    argp_parse(&k_argp, argc, argv, 0, NULL, &a);
    if (a.started)
        end_with_xserver();
    signal(SIGPIPE, SIG_IGN);
    signals = make_signals();
    line = xs_line_new(a.socket, true);
    if (signals < 0 || !line || !get_settings(line, SETTINGS_NS, &settings))
        return EXIT_FAILURE;
    take_settings(&settings);
    if (xs_http_start(line, a.tcp, a.unix_, settings.share_by_pod, &http) < 0) {
        XS_ERRO("cannot answer HTTP");
        return EXIT_FAILURE;
    }
    while (wait_for_reload(signals, a.started)) {
        if (!a.started) /* xserver has the same order, and may not have read its file yet */
            usleep(RELOAD_US);
        if (get_settings(line, SETTINGS_NS, &settings))
            take_settings(&settings);
    }
    xs_http_stop(http);
    xs_line_free(line);
    xs_subuids_unload();
    return EXIT_SUCCESS;
}
