/* SPDX-License-Identifier: Apache-2.0 */
/* xcli top on a terminal. */
#include "xcli/top.h"

#include "base/clock.h"
#include "base/str.h"
#include "policy/policies.h"

#include <curses.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEVICES 8u
#define SAID_NS     (5 * XS_NS_PER_S) /* how long an answer stays on the screen */

enum { PAIR_RUNNING = 1, PAIR_WAITING, PAIR_SUSPENDED, PAIR_BAR };

/* What the user types, or a text over the table. */
enum mode { MODE_NONE, MODE_FILTER, MODE_PRIORITY, MODE_POLICY, MODE_HELP };

struct screen {
    struct top_facts *f;
    struct top_options *o;
    struct top_rows rows;
    enum mode mode;
    char line[64]; /* the text so far */
    char said[256];
    uint64_t said_ns;
    /* The row that the keys act on; each answer looks for it again. */
    int64_t pid;
    uint64_t handle; /* 0: a program */
    size_t at, top;  /* its place, and the first one on the screen */
    bool chosen;     /* the user moved: follow the program, not the place */
    size_t page;     /* rows on the screen */
    int64_t detail;  /* the program that it shows all about; 0: the table */
    size_t skipped;  /* of its lines, above the screen */
    struct top_lines lines;
};

static const char *const k_help[] = {
    "Up Down PgUp PgDn Home End  choose a program",
    "s, S      sort by the next, previous column",
    "r         the other way round",
    "/         show only rows that contain a text",
    "Enter     all about the program: why it waits, its queues; Esc, q back",
    "t         queues below their programs",
    "+, -      raise, lower the priority by one",
    "n         give a priority",
    "Space     suspend, resume the program",
    "P         change the policy of the server",
    "q         quit",
    "",
    "DEV%  device time received in the interval",
    "WAIT% time with work while suspended, sum of queues",
    "LV    preemption level in force",
    "IN    how it shares the device: in time, in space",
    "LANE  multiprocessors that it has beside another, of all",
    "MEM   device memory in use, of its limit",
};

static void say(struct screen *s, const char *format, ...) XS_PRINTF(2, 3);

static void say(struct screen *s, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    vsnprintf(s->said, sizeof(s->said), format, ap);
    va_end(ap);
    s->said_ns = xs_now_ns();
}

/* ---- changing ---- */

static void change(struct screen *s, const char *path, const char *body, const char *done)
{
    char why[200];
    json_t *answer = NULL;
    int code = xcli_try("POST", path, body, why, sizeof(why), &answer);

    if (code == XCLI_OK)
        say(s, "%s", done);
    else
        say(s, "not done: %s", code == XCLI_ABSENT ? "no xserver answers" : why); /* the long text has lines */
    json_decref(answer);
    top_ask(s->f);
}

static const struct top_row *chosen(const struct screen *s)
{
    const struct top_row *row = s->at < s->rows.n ? &s->rows.rows[s->at] : NULL;

    return row && s->detail && row->pid != s->detail ? NULL : row; /* NULL: the shown program has left */
}

static void set_priority(struct screen *s, int64_t priority)
{
    const struct top_row *row = chosen(s);
    char body[160], done[120];

    if (!row) {
        say(s, "there is no program to change");
        return;
    }
    if (priority < PRIORITY_NO_EXECUTE || priority > PRIORITY_MAX) {
        say(s, "a priority is %d to %d; %d never runs", PRIORITY_MIN, PRIORITY_MAX, PRIORITY_NO_EXECUTE);
        return;
    }
    if (row->is_queue) {
        snprintf(body, sizeof(body), "{\"hint_type\":1,\"handle\":%" PRIu64 ",\"priority\":%" PRId64 "}",
                 row->handle, priority);
        snprintf(done, sizeof(done), "queue 0x%" PRIx64 ": priority %" PRId64, row->handle, priority);
    } else {
        snprintf(body, sizeof(body), "{\"hint_type\":1,\"pid\":%" PRId64 ",\"priority\":%" PRId64 "}",
                 row->pid, priority);
        snprintf(done, sizeof(done), "process %" PRId64 ": priority %" PRId64, row->pid, priority);
    }
    change(s, "/hint", body, done);
}

static void suspend_or_resume(struct screen *s)
{
    const struct top_row *row = chosen(s);
    bool held = row && row->state == XCLI_SUSPENDED;
    char body[64], done[80];

    if (!row) {
        say(s, "there is no program to suspend");
        return;
    }
    snprintf(body, sizeof(body), "{\"pid\":%" PRId64 "}", row->pid);
    snprintf(done, sizeof(done), "process %" PRId64 " %s", row->pid, held ? "resumed" : "suspended");
    change(s, held ? "/resume" : "/suspend", body, done);
}

static void set_policy(struct screen *s, const char *name)
{
    char path[160], done[64], names[XS_POLICY_NAMES_BYTES + 40];

    if (!xcli_policy_path(name, path, sizeof(path), names, sizeof(names))) {
        say(s, "there is no policy '%s': %s", name, names);
        return;
    }
    snprintf(done, sizeof(done), "policy %.48s", name);
    change(s, path, "", done);
}

/* ---- drawing ---- */

static void text_at(int y, const char *text, int width, chtype attributes)
{
    attron(attributes);
    mvaddnstr(y, 0, text, -1);
    attroff(attributes);
    (void)width;
}

/* The first characters (not bytes) of UTF-8 text, at most so many. */
static void cut(char *text, int width)
{
    char *at = text;

    for (int n = 0; *at && n < width; n++) {
        at++;
        while (((unsigned char)*at & 0xc0) == 0x80)
            at++;
    }
    *at = 0;
}

static void line_at(int y, const char *text, int width, chtype attributes)
{
    char *copy = strdup(text);

    if (!copy)
        return;
    cut(copy, width);
    text_at(y, copy, width, attributes);
    free(copy);
}

/* "GPU:0000:3b:00.0 [||||||      43%]" */
static void draw_device(int y, const struct top_device *d, int width)
{
    char name[64], percent[16];
    int room, filled, used;

    xcli_device_text(d->device, name, sizeof(name));
    snprintf(percent, sizeof(percent), "%3.0f%%", d->share * 100);
    used = (int)strlen(name) + 3;
    room = XS_MIN(width - used, 60);
    if (room < (int)strlen(percent) + 2) { /* too narrow for a bar */
        char text[96];

        snprintf(text, sizeof(text), "%s%s", percent, name);
        line_at(y, text, width, A_NORMAL);
        return;
    }
    mvprintw(y, 0, "%s [", name);
    room -= (int)strlen(percent);
    filled = (int)(XS_MIN(d->share, 1.0) * room + 0.5);
    attron(COLOR_PAIR(PAIR_BAR));
    for (int i = 0; i < room; i++)
        addch(i < filled ? '|' : ' ');
    attroff(COLOR_PAIR(PAIR_BAR));
    printw("%s]", percent);
}

static chtype look_of(enum xcli_state state)
{
    switch (state) {
    case XCLI_RUNNING:
        return (chtype)COLOR_PAIR(PAIR_RUNNING);
    case XCLI_BESIDE:
    case XCLI_WAITING:
        return (chtype)COLOR_PAIR(PAIR_WAITING);
    case XCLI_SUSPENDED:
        return (chtype)COLOR_PAIR(PAIR_SUSPENDED);
    default:
        return A_NORMAL;
    }
}

static void draw_table(struct screen *s, int y, int height, int width)
{
    struct xs_table table;
    char *line;

    s->page = height > 1 ? (size_t)height - 1 : 0;
    if (s->at < s->top)
        s->top = s->at;
    if (s->page && s->at >= s->top + s->page)
        s->top = s->at - s->page + 1;
    if (s->top + s->page > s->rows.n)
        s->top = s->rows.n > s->page ? s->rows.n - s->page : 0;
    top_table(&s->rows, &table);
    if (height > 0) {
        line = xs_table_line(&table, 0, (size_t)width);
        attron(A_REVERSE);
        mvhline(y, 0, ' ', width);
        attroff(A_REVERSE);
        line_at(y, line, width, A_REVERSE);
        free(line);
    }
    for (size_t i = 0; i < s->page && s->top + i < s->rows.n; i++) {
        size_t r = s->top + i;
        chtype look = look_of(s->rows.rows[r].state) | (r == s->at ? (chtype)A_REVERSE : 0);

        line = xs_table_line(&table, r + 1, (size_t)width);
        if (r == s->at) {
            attron(look);
            mvhline(y + 1 + (int)i, 0, ' ', width);
            attroff(look);
        }
        line_at(y + 1 + (int)i, line, width, look);
        free(line);
    }
    xs_table_free(&table);
}

/* All about one program, instead of the table. */
static void draw_detail(struct screen *s, int y, int height, int width)
{
    top_lines_free(&s->lines);
    top_detail(s->f, s->detail, (size_t)width, &s->lines);
    s->page = height > 0 ? (size_t)height : 0;
    s->skipped = s->lines.n > s->page ? XS_MIN(s->skipped, s->lines.n - s->page) : 0;
    if (s->lines.n == 0) {
        char text[64];

        snprintf(text, sizeof(text), "process %" PRId64 " has left", s->detail);
        line_at(y, text, width, A_NORMAL);
    }
    for (size_t i = 0; i < s->page && s->skipped + i < s->lines.n; i++) {
        const struct top_line *line = &s->lines.lines[s->skipped + i];
        bool marked = line->head || (line->handle && line->handle == s->handle);

        line_at(y + (int)i, line->text, width, look_of(line->state) | (marked ? (chtype)A_REVERSE : 0));
    }
}

static void draw_foot(struct screen *s, int y, int width)
{
    char text[400], names[XS_POLICY_NAMES_BYTES];

    switch (s->mode) {
    case MODE_FILTER:
        snprintf(text, sizeof(text), "Filter: %s_", s->line);
        break;
    case MODE_PRIORITY:
        snprintf(text, sizeof(text), "Priority: %s_", s->line);
        break;
    case MODE_POLICY:
        snprintf(text, sizeof(text), "Policy: %s_  (%s)", s->line, xs_policy_names(names, sizeof(names), " "));
        break;
    default:
        if (s->said[0] && xs_now_ns() - s->said_ns < SAID_NS)
            snprintf(text, sizeof(text), "%s", s->said);
        else if (s->detail)
            snprintf(text, sizeof(text), "Esc q Back  h Help  Up Down  +- n Priority  Space Suspend  P Policy");
        else
            snprintf(
                text, sizeof(text),
                "q Quit  h Help  Enter Details  s Sort: %s%s  / Filter%s%s  t Queues  +- n Priority  Space Suspend  P Policy",
                top_sort_names[s->o->sort], s->o->reverse ? " reversed" : "", s->o->filter[0] ? ": " : "",
                s->o->filter);
    }
    line_at(y, text, width, s->mode == MODE_NONE || s->mode == MODE_HELP ? A_NORMAL : A_BOLD);
}

static void draw(struct screen *s)
{
    struct top_device devices[MAX_DEVICES];
    size_t n_devices = top_devices(s->f, devices, MAX_DEVICES);
    int height, width, y = 0;
    char text[256];
    int64_t port;

    getmaxyx(stdscr, height, width);
    erase();
    top_summary(s->f, text, sizeof(text));
    port = s->f->status ? xcli_int(s->f->status, "http_port") : 0;
    if (port > 0 && strlen(text) + 28 < (size_t)width) /* the page of `xcli web` */
        snprintf(text + strlen(text), sizeof(text) - strlen(text), ", http://127.0.0.1:%" PRId64 "/", port);
    line_at(y++, text, width, A_BOLD);
    for (size_t i = 0; i < n_devices && y < height / 3; i++)
        draw_device(y++, &devices[i], width);
    if (s->mode == MODE_HELP) {
        for (size_t i = 0; i < XS_ARRAY_LEN(k_help) && y < height - 1; i++)
            line_at(y++, k_help[i], width, A_NORMAL);
    } else if (s->detail) {
        draw_detail(s, y, height - 1 - y, width);
    } else {
        draw_table(s, y, height - 1 - y, width);
    }
    if (height > 1)
        draw_foot(s, height - 1, width);
    refresh();
}

/* ---- the chosen row ---- */

static void make_rows(struct screen *s)
{
    top_rows_free(&s->rows);
    top_rows_make(s->f, s->o, &s->rows);
    if (s->chosen) {
        for (size_t i = 0; i < s->rows.n; i++) {
            const struct top_row *row = &s->rows.rows[i];

            if (row->pid == s->pid && row->handle == s->handle) {
                s->at = i;
                return;
            }
        }
    }
    /* it left: choose the row that has its place now */
    if (s->at >= s->rows.n)
        s->at = s->rows.n ? s->rows.n - 1 : 0;
    if (s->rows.n) {
        s->pid = s->rows.rows[s->at].pid;
        s->handle = s->rows.rows[s->at].handle;
    }
}

static void move_to(struct screen *s, size_t at)
{
    if (s->rows.n == 0)
        return;
    s->at = XS_MIN(at, s->rows.n - 1);
    s->pid = s->rows.rows[s->at].pid;
    s->handle = s->rows.rows[s->at].handle;
    s->chosen = true;
}

/* ---- keys ---- */

static void typed(struct screen *s)
{
    int64_t priority;

    switch (s->mode) {
    case MODE_PRIORITY:
        if (xs_str_parse_i64(s->line, &priority) < 0)
            say(s, "'%s' is no priority", s->line);
        else
            set_priority(s, priority);
        break;
    case MODE_POLICY:
        if (s->line[0])
            set_policy(s, s->line);
        break;
    default:
        break;
    }
    s->mode = MODE_NONE;
}

/* A key while the user types a line. */
static void type(struct screen *s, int key)
{
    size_t length = strlen(s->line);

    if (key == '\n' || key == '\r' || key == KEY_ENTER) {
        typed(s);
        return;
    }
    if (key == 27) { /* Escape: as it was; an empty filter shows all */
        if (s->mode == MODE_FILTER)
            s->o->filter[0] = 0;
        s->mode = MODE_NONE;
        return;
    }
    if (key == KEY_BACKSPACE || key == 127 || key == 8) {
        while (length && ((unsigned char)s->line[--length] & 0xc0) == 0x80)
            ;
        s->line[length] = 0;
    } else if (key >= ' ' && key < 256 && key != 127 && length + 1 < sizeof(s->line)) {
        s->line[length] = (char)key;
        s->line[length + 1] = 0;
    }
    if (s->mode == MODE_FILTER)
        xs_str_copy(s->o->filter, sizeof(s->o->filter), s->line);
}

static void begin_typing(struct screen *s, enum mode mode)
{
    if (mode == MODE_PRIORITY && chosen(s))
        s->chosen = true; /* the priority is for this row, even if the order changes meanwhile */
    s->mode = mode;
    xs_str_copy(s->line, sizeof(s->line), mode == MODE_FILTER ? s->o->filter : "");
}

static void open_detail(struct screen *s)
{
    const struct top_row *row = chosen(s);

    if (!row)
        return;
    s->detail = row->pid;
    s->skipped = 0;
    s->chosen = true; /* follow it */
}

/* @return whether the key is for the view of one program */
static bool act_in_detail(struct screen *s, int key)
{
    switch (key) {
    case 27:
    case 'q':
    case 'Q':
    case '\n':
    case '\r':
    case KEY_ENTER:
    case KEY_LEFT:
    case KEY_BACKSPACE:
        s->detail = 0;
        return true;
    case KEY_UP:
    case 'k':
        s->skipped -= s->skipped > 0;
        return true;
    case KEY_DOWN:
    case 'j':
        s->skipped++; /* drawing bounds it */
        return true;
    case KEY_PPAGE:
        s->skipped -= XS_MIN(s->skipped, s->page);
        return true;
    case KEY_NPAGE:
        s->skipped += s->page;
        return true;
    case KEY_HOME:
        s->skipped = 0;
        return true;
    case KEY_END:
        s->skipped = s->lines.n;
        return true;
    default: /* those that change something; the order of the table is not seen */
        return !strchr("+=-nP h?", key < 128 ? key : 'x') && key != KEY_F(1) && key != KEY_F(7) && key != KEY_F(8) &&
               key != KEY_F(10);
    }
}

/* @return false to end */
static bool act(struct screen *s, int key)
{
    const struct top_row *row = chosen(s);

    if (s->mode == MODE_HELP) {
        s->mode = MODE_NONE;
        return key != 'q';
    }
    if (s->mode != MODE_NONE) {
        type(s, key);
        return true;
    }
    if (s->detail && act_in_detail(s, key))
        return true;
    switch (key) {
    case 'q':
    case 'Q':
    case KEY_F(10):
        return false;
    case 'h':
    case '?':
    case KEY_F(1):
        s->mode = MODE_HELP;
        return true;
    case 's':
    case '>':
    case KEY_F(6):
        s->o->sort = (s->o->sort + 1) % TOP_SORTS;
        return true;
    case 'S':
    case '<':
        s->o->sort = (s->o->sort + TOP_SORTS - 1) % TOP_SORTS;
        return true;
    case 'r':
        s->o->reverse = !s->o->reverse;
        return true;
    case '/':
    case KEY_F(4):
        begin_typing(s, MODE_FILTER);
        return true;
    case '\n':
    case '\r':
    case KEY_ENTER:
        open_detail(s);
        return true;
    case 't':
    case KEY_F(5):
        s->o->queues = !s->o->queues;
        return true;
    case '+':
    case '=':
    case KEY_F(8):
        set_priority(s, row ? row->priority + 1 : 0);
        return true;
    case '-':
    case KEY_F(7):
        set_priority(s, row ? row->priority - 1 : 0);
        return true;
    case 'n':
        begin_typing(s, MODE_PRIORITY);
        return true;
    case 'P':
        begin_typing(s, MODE_POLICY);
        return true;
    case ' ':
        suspend_or_resume(s);
        return true;
    case KEY_UP:
    case 'k':
        move_to(s, s->at ? s->at - 1 : 0);
        return true;
    case KEY_DOWN:
    case 'j':
        move_to(s, s->at + 1);
        return true;
    case KEY_PPAGE:
        move_to(s, s->at > s->page ? s->at - s->page : 0);
        return true;
    case KEY_NPAGE:
        move_to(s, s->at + s->page);
        return true;
    case KEY_HOME:
        move_to(s, 0);
        s->chosen = false;
        return true;
    case KEY_END:
        move_to(s, s->rows.n);
        return true;
    default:
        return true;
    }
}

/* A sequence of the terminal that curses does not know begins like Escape: it is no key. */
static int read_key(int wait_ms)
{
    int key, next;

    timeout(wait_ms);
    key = getch();
    if (key != 27)
        return key;
    timeout(0);
    next = getch();
    if (next != '[' && next != 'O') {
        if (next != ERR)
            ungetch(next);
        return key;
    }
    do
        next = getch();
    while (next != ERR && next < 0x40); /* the last byte is a letter or ~ */
    return ERR;
}

static void begin(void)
{
    cbreak();
    noecho();
    curs_set(0);
    keypad(stdscr, TRUE);
    set_escdelay(25);
    if (has_colors()) {
        start_color();
        use_default_colors();
        init_pair(PAIR_RUNNING, COLOR_GREEN, -1);
        init_pair(PAIR_WAITING, COLOR_YELLOW, -1);
        init_pair(PAIR_SUSPENDED, COLOR_RED, -1);
        init_pair(PAIR_BAR, COLOR_GREEN, -1);
    }
}

int top_screen(struct top_facts *f, struct top_options *o)
{
    struct screen s = {.f = f, .o = o};
    uint64_t rounds = 0, ask_ns = 0, interval_ns = (uint64_t)(o->interval_s * 1e9);
    SCREEN *terminal = newterm(NULL, stdout, stdin);

    if (!terminal)
        return -1;
    set_term(terminal);
    begin();
    for (;;) {
        uint64_t now = xs_now_ns();
        int key;

        if (now >= ask_ns) {
            top_ask(f);
            ask_ns = now + interval_ns;
            if (o->rounds && ++rounds > o->rounds)
                break;
        }
        make_rows(&s);
        draw(&s);
        now = xs_now_ns();
        key = read_key(ask_ns > now ? (int)XS_MIN((ask_ns - now) / XS_NS_PER_MS + 1, 100000ull) : 0);
        if (key != ERR && key != KEY_RESIZE && !act(&s, key))
            break;
    }
    endwin();
    delscreen(terminal);
    top_rows_free(&s.rows);
    top_lines_free(&s.lines);
    return f->state;
}
