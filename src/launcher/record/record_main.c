/* SPDX-License-Identifier: Apache-2.0 */
/* xsched record: gets the server's events ten times a second, and writes them to a file until
 * the program ends, the time is over or Ctrl-C comes. An executable of its own, as xsched-doctor. */
#include "launcher/record/record.h"
#include "launcher/record/record_feed.h"

#include "base/clock.h"
#include "base/env.h"
#include "base/str.h"
#include "query/ask_xserver.h"
#include "query/duration.h"
#include "launcher/child.h"
#include "launcher/commands.h"
#include "launcher/preload.h"
#include "launcher/program.h"
#include "launcher/say.h"
#include "transport/socket.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_NS      (100 * XS_NS_PER_MS)
#define SNAPSHOTS    2u                 /* looks from one snapshot to the next */
#define START_NS     (15 * XS_NS_PER_S) /* for a program to bring its server up */
#define MOST_DEFAULT 10000000u

enum { KEY_MOST = 1000 };
enum { EXIT_ABSENT = 2 };

static const struct argp_option k_options[] = {
    {"output", 'o', "FILE", 0, "the file; default xsched-trace.json, .svg or .html. FILE.svg, FILE.html: a picture", 1},
    {"duration", 'd', "TIME", 0, "end after so long: 10, 500ms, 30s, 5m, ...", 1},
    {"for", 0, NULL, OPTION_ALIAS, NULL, 1},
    {"format", 'f', "svg|html|chrome|replay", 0,
     "svg or html (a browser shows it), chrome (Perfetto reads it) or replay (xsched-replay reads it); default: by "
     "FILE's ending, else chrome", 1},
    {"max-events", KEY_MOST, "N", 0, "end after so many entries; default 10000000", 1},
    {"socket", 'S', "PATH", 0, "socket of xserver", 1},
    {"quiet", 'q', NULL, 0, "no notes from xsched itself", 1},
    {NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0},
    {0},
};

struct format {
    const char *name, *ending; /* ending: of files that get it unasked */
    const struct record_writer *to;
    const char *then, *file; /* what to do with the file, and its name where none is given */
};

static const struct format k_formats[] = {
    {"chrome", NULL, &record_chrome, "open at ui.perfetto.dev", "xsched-trace.json"}, /* the default */
    {"replay", NULL, &record_replay, "xsched-replay reads it", "xsched-trace.json"},
    {"svg", ".svg", &record_svg, "any browser shows it", "xsched-trace.svg"},
    {"html", ".html", &record_html, "any browser shows it", "xsched-trace.html"},
};

struct record_arguments {
    const char *output;
    char **program;
    const struct format *format; /* NULL: by the file's ending */
    double duration_s; /* 0: none */
    uint64_t most;
    struct xs_ask_where where;
};

static volatile sig_atomic_t g_stop;

static void on_signal(int signo)
{
    g_stop = signo;
}

/* Of a recording without a program: with one, signals are the program's. What the caller ignores, as nohup
 * does, stays ignored, but for the first two: a script starts a recording in the background, where its shell
 * ignores SIGINT, and ends it by that. */
static void end_at_signals(void)
{
    static const int k_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
    struct sigaction action = {.sa_handler = on_signal}, old;

    for (size_t i = 0; i < XS_ARRAY_LEN(k_signals); i++) {
        sigaction(k_signals[i], NULL, &old);
        if (i < 2 || old.sa_handler != SIG_IGN)
            sigaction(k_signals[i], &action, NULL);
    }
}

static const struct format *format_named(const char *name)
{
    for (size_t i = 0; i < XS_ARRAY_LEN(k_formats); i++)
        if (!strcmp(k_formats[i].name, name))
            return &k_formats[i];
    return NULL;
}

static const struct format *format_of_file(const char *path)
{
    const char *ending = strrchr(path, '.');

    for (size_t i = 0; i < XS_ARRAY_LEN(k_formats); i++)
        if (ending && k_formats[i].ending && !strcasecmp(k_formats[i].ending, ending))
            return &k_formats[i];
    return &k_formats[0];
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct record_arguments *a = state->input;

    switch (key) {
    case 'o':
        if (!arg[0])
            argp_error(state, "--output takes the name of a file");
        a->output = arg;
        return 0;
    case 'd':
        a->duration_s = xs_duration_ms(arg) / 1e3;
        if (!(a->duration_s > 0 && a->duration_s < 1e9))
            argp_error(state, "--duration takes a time above 0, such as 10, 500ms or 5m, not \"%s\"", arg);
        return 0;
    case 'f':
        a->format = format_named(arg);
        if (!a->format)
            argp_error(state, "--format takes svg, html, chrome or replay, not \"%s\"", arg);
        return 0;
    case KEY_MOST:
        if (xs_str_parse_u64(arg, 10, &a->most) < 0 || a->most == 0)
            argp_error(state, "--max-events takes a number above 0, not \"%s\"", arg);
        return 0;
    case 'S':
        if (arg[0] != '/') /* the program may change its folder */
            argp_error(state, "--socket takes an absolute path, not \"%s\"", arg);
        if (strlen(arg) >= XS_SOCKET_PATH_BYTES)
            argp_error(state, "--socket takes a path of at most %u bytes", XS_SOCKET_PATH_BYTES - 1);
        a->where.socket = arg;
        setenv("XSCHED_SOCKET", arg, 1); /* for the program too */
        return 0;
    case 'q':
        xs_say_set_quiet(true);
        return 0;
    case ARGP_KEY_ARG:
        return ARGP_ERR_UNKNOWN; /* give it to ARGP_KEY_ARGS: the rest is the program's */
    case ARGP_KEY_ARGS:
        a->program = state->argv + state->next;
        return 0;
    case 'h': /* as --help */
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* @return NULL with the reason in why */
static json_t *ask(const struct record_arguments *a, const char *path, char *why, size_t size)
{
    struct xs_http_answer answer;
    json_t *o;

    if (xs_ask(&a->where, "GET", path, NULL, &answer, why, size) < 0)
        return NULL;
    o = json_loadb(answer.body, answer.bytes, 0, NULL);
    if (answer.status != 200) {
        snprintf(why, size, "\n  it refused (%ld): %s", answer.status,
                 json_is_string(json_object_get(o, "error")) ? json_string_value(json_object_get(o, "error"))
                                                             : "it gives no reason");
        json_decref(o);
        o = NULL;
    } else if (!o) {
        snprintf(why, size, "\n  the answer is no JSON");
    }
    free(answer.body);
    return o;
}

/* The program under `xsched run`, which finds the shims and starts a server where there is none. */
static pid_t start(char **program)
{
    char own[PATH_MAX] = "", path[PATH_MAX + 16];
    size_t n = 0;
    char **argv;
    pid_t pid;

    while (program[n])
        n++;
    argv = calloc(n + 4, sizeof(*argv));
    if (!argv)
        return -1;
    xs_own_folder(own, sizeof(own));
    snprintf(path, sizeof(path), "%s/xsched", own);
    argv[0] = path;
    argv[1] = strdup("run");
    argv[2] = strdup("--");
    memcpy(argv + 3, program, n * sizeof(*argv));
    pid = xs_child_fork();
    if (pid == 0) {
        execv(path, argv);
        xs_say_error("%s: %s", path, strerror(errno));
        _exit(XS_EXIT_NOT_FOUND);
    }
    free(argv[1]);
    free(argv[2]);
    free(argv);
    return pid;
}

struct recording {
    struct record_arguments a;
    struct record r;
    uint64_t next; /* the next event to get */
    struct record_feed feed; /* of events; where there is none, it asks for them */
    unsigned looks;
    bool begun;
    struct record_file file;
    char why[2304];
};

static json_t *ask_again(void *ctx, const char *path)
{
    struct recording *s = ctx;
    char why[256];

    return ask(&s->a, path, why, sizeof(why));
}

static uint64_t number_of(const json_t *o, const char *name)
{
    return (uint64_t)json_integer_value(json_object_get(o, name));
}

static bool snapshot(struct recording *s, bool states)
{
    json_t *o = ask(&s->a, "/xqueues", s->why, sizeof(s->why));

    if (o)
        record_snapshot(&s->r, o, xs_now_ns(), states);
    json_decref(o);
    return o != NULL;
}

static void write_beginning(struct recording *s, const json_t *timeline, const json_t *queues)
{
    s->r.f = s->file.f;
    s->next = number_of(timeline, "next");
    s->r.began_ns = number_of(timeline, "now_ns");
    xs_str_copy(s->r.policy, sizeof(s->r.policy), json_string_value(json_object_get(timeline, "policy")));
    s->r.to->begin(s->r.f, s->r.began_ns);
    s->r.to->policy(s->r.f, s->r.policy, 0);
    record_snapshot(&s->r, queues, xs_now_ns(), true);
}

/* The server's clock is this host's. The request for events comes first, then the one for the state after
 * them. It opens the file once the server has answered both.
 * @return false when the server does not answer, or the file does not open */
static bool begin(struct recording *s)
{
    json_t *timeline = ask(&s->a, "/timeline?since=now", s->why, sizeof(s->why));
    json_t *queues = timeline ? ask(&s->a, "/xqueues", s->why, sizeof(s->why)) : NULL;

    s->begun = queues && record_file_open(&s->file, s->a.output) == 0;
    if (s->begun)
        write_beginning(s, timeline, queues);
    json_decref(timeline);
    json_decref(queues);
    return s->begun;
}

/* @param o  it frees this
 * @return false when the server does not answer any more */
static bool take_events(struct recording *s, json_t *o, bool *ret_more)
{
    uint64_t lost = number_of(o, "lost");

    *ret_more = json_is_true(json_object_get(o, "more"));
    s->next = number_of(o, "next");
    record_events(&s->r, o);
    json_decref(o);
    return !lost || snapshot(s, true);
}

/* Asks for all events until now. @return false when the server does not answer any more */
static bool look(struct recording *s)
{
    for (bool more = true; more;) {
        char path[64];
        json_t *o;

        snprintf(path, sizeof(path), "/timeline?since=%" PRIu64, s->next);
        o = ask(&s->a, path, s->why, sizeof(s->why));
        if (!o || !take_events(s, o, &more))
            return false;
    }
    return ++s->looks % SNAPSHOTS || snapshot(s, false);
}

/* Asks from the next event on, which the feed did not bring. */
static bool look_without(struct recording *s)
{
    record_feed_end(&s->feed);
    return look(s);
}

/* Takes what the feed has brought. Asks the server where there is no feed. @return as look() */
static bool look_at_feed(struct recording *s)
{
    bool more;
    json_t *o;
    int n;

    record_feed_begin(&s->feed, s->a.where.socket, s->next);
    if (!s->feed.feed)
        return look(s);
    n = record_feed_take(&s->feed, &o);
    if (n <= 0)
        return n == 0 || look_without(s);
    if (!take_events(s, o, &more))
        return false;
    if (more) /* than an answer has room for: the next one comes too late */
        return look_without(s);
    return ++s->looks % SNAPSHOTS || snapshot(s, false);
}

/* Looks until something ends the recording.
 * @param alive  of the program; status: once it has ended
 * @return whether the server still answers */
static bool follow(struct recording *s, bool *alive, int *status)
{
    uint64_t began = xs_now_ns(), start_until = began + START_NS, at = began;
    bool answers = true;

    for (;;) {
        bool last;

        if (s->begun)
            answers = look_at_feed(s);
        else if (!begin(s) && (!*alive || xs_now_ns() > start_until))
            answers = false;
        if (*alive && xs_child_wait(WNOHANG, status)) {
            *alive = false;
            if (s->begun)
                look_without(s); /* its last steps */
            return answers;
        }
        last = g_stop || (s->a.duration_s > 0 && (double)(xs_now_ns() - began) >= s->a.duration_s * 1e9);
        if (last || !answers || s->file.err < 0 || s->r.written >= s->a.most) {
            if (s->feed.feed && last)
                answers = look_without(s); /* what it would bring the next time */
            return answers;
        }
        at += s->begun ? LOOK_NS : LOOK_NS / 5;
        at = XS_MAX(at, xs_now_ns() + XS_NS_PER_MS);
        record_feed_wait(&s->feed, at);
    }
}

static void say_unwritten(const char *path, int err)
{
    xs_say_error("cannot write %s: %s", path, strerror(-err));
}

static void write_end(struct recording *s)
{
    json_t *names = ask(&s->a, "/clients", s->why, sizeof(s->why));

    record_names(&s->r, names);
    json_decref(names);
    record_end(&s->r, xs_now_ns());
}

/* Ends the file, and says what became of the recording. */
static void finish(struct recording *s, bool answers)
{
    if (!s->begun && s->file.err == 0) {
        xs_say_error("no xserver answers, so there is no recording:%s", s->why);
        return;
    }
    if (s->begun && !answers)
        xs_say("xserver does not answer any more; the recording ends there");
    if (s->r.written >= s->a.most)
        xs_say("the recording ended after %" PRIu64 " entries (--max-events)", s->r.written);
    if (s->begun && s->file.err == 0)
        write_end(s);
    if (s->begun)
        record_file_close(&s->file);
    if (s->file.err < 0)
        say_unwritten(s->a.output, s->file.err);
    else
        xs_say("%s: %" PRIu64 " entries%s; %s", s->a.output, s->r.written,
               s->r.lost ? ", some events are missing" : "", s->a.format->then);
}

/* @return exit status, the program's where there is one */
static int run(struct recording *s)
{
    pid_t pid = s->a.program ? start(s->a.program) : 0;
    bool alive = pid > 0;
    int status = 0;

    if (pid < 0) {
        xs_say_error("fork: %s", strerror(errno));
        return 1;
    }
    finish(s, follow(s, &alive, &status));
    if (alive)
        xs_child_wait(0, &status);
    if (s->file.err < 0)
        return 1;
    if (!s->begun)
        return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : EXIT_ABSENT;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
    static const struct argp k_argp = {
        .options = k_options,
        .parser = parse,
        .args_doc = "[-- PROGRAM [ARG...]]",
        .doc = "Records when the programs that the user may see ran and waited, and when XSched preempted them.\v"
               "Runs a PROGRAM as `xsched run` does, and the recording ends with it; else Ctrl-C or "
               "--duration ends it. Any browser shows FILE.svg and FILE.html; https://ui.perfetto.dev shows the "
               "chrome format, event by event.\n\n"
               "Exit status: the program's; 1 when it cannot write the file, 2 when no xserver answers, 64 "
               "for "
               "wrong arguments."};
    static struct recording s = {.a = {.most = MOST_DEFAULT}};
    char name[] = "xsched record", why[PATH_MAX + 32];
    int err;

    argp_err_exit_status = XS_EXIT_USAGE;
    argv[0] = name;
    if (argp_parse(&k_argp, argc, argv, ARGP_IN_ORDER, NULL, &s.a) != 0)
        return XS_EXIT_USAGE;
    err = s.a.program ? xs_program_absent(s.a.program[0], why, sizeof(why)) : 0;
    if (err) {
        xs_say_error("%s", why);
        return err;
    }
    if (!s.a.program)
        end_at_signals();
    s.r.ask = ask_again;
    s.r.ctx = &s;
    if (!s.a.format)
        s.a.format = s.a.output ? format_of_file(s.a.output) : &k_formats[0];
    if (!s.a.output)
        s.a.output = s.a.format->file;
    s.r.to = s.a.format->to;
    err = record_file_check(s.a.output);
    if (err < 0) {
        say_unwritten(s.a.output, err);
        return 1;
    }
    return run(&s);
}
