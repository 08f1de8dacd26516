/* SPDX-License-Identifier: Apache-2.0 */
#include "xcli/text_table.h"

#include <libsmartcols.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *must(void *p)
{
    if (!p) {
        fputs("xcli: out of memory\n", stderr);
        exit(1);
    }
    return p;
}

/* Characters, not bytes: the server sends valid UTF-8 without control characters. */
static size_t length(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

/* Bytes of the first n characters. */
static size_t bytes_of(const char *text, size_t n)
{
    const char *at = text;

    while (*at && n > 0) {
        at++;
        while (((unsigned char)*at & 0xc0) == 0x80)
            at++;
        n--;
    }
    return (size_t)(at - text);
}

void xs_table_init(struct xs_table *t, const struct xs_column *columns, size_t n_columns)
{
    *t = (struct xs_table){.columns = columns, .n_columns = n_columns};
    xs_table_row(t);
    for (size_t i = 0; i < n_columns; i++)
        xs_table_set(t, i, "%s", columns[i].title);
}

void xs_table_free(struct xs_table *t)
{
    for (size_t i = 0; i < t->n_rows * t->n_columns; i++)
        free(t->cells[i]);
    free(t->cells);
    free(t->text);
    t->text = NULL;
    t->cells = NULL;
    t->n_rows = 0;
}

void xs_table_row(struct xs_table *t)
{
    if (t->n_rows == t->room) {
        t->room = t->room ? t->room * 2 : 16;
        t->cells = must(realloc(t->cells, t->room * t->n_columns * sizeof(*t->cells)));
    }
    for (size_t i = 0; i < t->n_columns; i++)
        t->cells[t->n_rows * t->n_columns + i] = NULL;
    t->n_rows++;
}

void xs_table_set(struct xs_table *t, size_t column, const char *format, ...)
{
    char **cell = &t->cells[(t->n_rows - 1) * t->n_columns + column];
    char text[512];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    free(t->text); /* an earlier layout */
    t->text = NULL;
    free(*cell);
    *cell = must(strdup(text));
}

static const char *cell(const struct xs_table *t, size_t row, size_t column)
{
    const char *text = t->cells[row * t->n_columns + column];

    return text ? text : "";
}

/* The least width of the last column; below it, other columns go first. */
#define LAST_WIDTH ((size_t)16)

/* The width of each column, 0 for those without space. The caller may cut the last shown column. */
static void fit(const struct xs_table *t, size_t width, size_t *widths)
{
    for (size_t c = 0; c < t->n_columns; c++) {
        widths[c] = 0;
        for (size_t r = 0; r < t->n_rows; r++)
            widths[c] = XS_MAX(widths[c], length(cell(t, r, c)));
    }
    for (;;) {
        size_t worst = SIZE_MAX, shown = 0, last = 0, total = 0;

        for (size_t c = 0; c < t->n_columns; c++) {
            if (!widths[c])
                continue;
            shown++;
            last = c;
            total += widths[c] + 1;
            if (worst == SIZE_MAX || t->columns[c].rank > t->columns[worst].rank)
                worst = c;
        }
        if (shown <= 1)
            return;
        if (!t->columns[last].right)
            total -= widths[last] - XS_MIN(widths[last], LAST_WIDTH);
        if (total - 1 <= width)
            return;
        widths[worst] = 0;
    }
}

/* The lines for this width. libsmartcols makes them: it knows how wide a character is, and no control
 * character reaches the terminal. */
static void lay_out(struct xs_table *t, size_t width)
{
    size_t *widths = must(calloc(t->n_columns, sizeof(*widths))), shown[XS_TABLE_COLUMNS], n = 0, most = 1;
    struct libscols_table *table = must(scols_new_table());
    char *text = NULL;

    fit(t, width, widths);
    for (size_t c = 0; c < t->n_columns; c++)
        if (widths[c]) {
            shown[n++] = c;
            most += 4 * widths[c] + 1; /* a byte that is no character takes four cells */
        }
    scols_table_enable_noheadings(table, 1);
    scols_table_set_termforce(table, SCOLS_TERMFORCE_ALWAYS);
    scols_table_set_termwidth(table, XS_MAX(XS_MIN(width, most), (size_t)1)); /* its time grows with this */
    for (size_t i = 0; i < n; i++) {
        const struct xs_column *c = &t->columns[shown[i]];

        must(scols_table_new_column(table, c->title, 1,
                                    (c->right ? SCOLS_FL_RIGHT : 0) | (i + 1 == n ? SCOLS_FL_TRUNC : 0)));
    }
    for (size_t r = 0; r < t->n_rows; r++) {
        struct libscols_line *line = must(scols_table_new_line(table, NULL));

        for (size_t i = 0; i < n; i++)
            if (scols_line_set_data(line, i, cell(t, r, shown[i])) != 0)
                must(NULL);
    }
    if (scols_print_table_to_string(table, &text) != 0)
        must(NULL);
    scols_unref_table(table);
    free(widths);
    free(t->text);
    t->text = text;
    t->text_width = width;
}

char *xs_table_line(struct xs_table *t, size_t row, size_t width)
{
    const char *at;
    char *line;
    size_t n;

    if (!t->text || t->text_width != width)
        lay_out(t, width);
    at = t->text;
    for (size_t r = 0; r < row && at; r++) {
        at = strchr(at, '\n');
        at = at ? at + 1 : NULL;
    }
    at = at ? at : "";
    n = strcspn(at, "\n");
    while (n > 0 && at[n - 1] == ' ')
        n--;
    n = bytes_of(at, XS_MIN(width, n));
    line = must(strndup(at, XS_MIN(n, strcspn(at, "\n"))));
    return line;
}

void xs_table_print(struct xs_table *t, size_t width)
{
    const char *at;

    lay_out(t, width);
    for (at = t->text; *at;) {
        size_t n = strcspn(at, "\n"), end = n;

        while (end > 0 && at[end - 1] == ' ')
            end--;
        printf("%.*s\n", (int)end, at);
        at += n + (at[n] == '\n');
    }
}
