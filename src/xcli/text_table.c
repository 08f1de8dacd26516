/* SPDX-License-Identifier: Apache-2.0 */
#include "xcli/text_table.h"

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
    free(*cell);
    *cell = must(strdup(text));
}

static const char *cell(const struct xs_table *t, size_t row, size_t column)
{
    const char *text = t->cells[row * t->n_columns + column];

    return text ? text : "";
}

/* What the last column may be cut to before others go for it. */
#define LAST_WIDTH ((size_t)16)

/* The width of each column, 0 for those that there is no room for. The last one that is shown may
 * be cut by the caller. */
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

char *xs_table_line(const struct xs_table *t, size_t row, size_t width)
{
    size_t *widths = must(calloc(t->n_columns, sizeof(*widths)));
    size_t room = 1, used = 0, left = width, last = 0;
    char *line;

    fit(t, width, widths);
    for (size_t c = 0; c < t->n_columns; c++) {
        room += strlen(cell(t, row, c)) + widths[c] + 2;
        if (widths[c])
            last = c;
    }
    line = must(malloc(room));
    for (size_t c = 0; c < t->n_columns && left > 0; c++) {
        const char *text = cell(t, row, c);
        size_t shown, pad;

        if (!widths[c])
            continue;
        if (used && left > 0) {
            line[used++] = ' ';
            left--;
        }
        shown = XS_MIN(XS_MIN(length(text), widths[c]), left);
        pad = XS_MIN(widths[c], left) - shown;
        if (t->columns[c].right)
            for (size_t i = 0; i < pad; i++)
                line[used++] = ' ';
        memcpy(line + used, text, bytes_of(text, shown));
        used += bytes_of(text, shown);
        if (!t->columns[c].right && c != last)
            for (size_t i = 0; i < pad; i++)
                line[used++] = ' ';
        left -= shown + pad;
    }
    line[used] = 0;
    free(widths);
    return line;
}

void xs_table_print(const struct xs_table *t, size_t width)
{
    for (size_t r = 0; r < t->n_rows; r++) {
        char *line = xs_table_line(t, r, width);

        puts(line);
        free(line);
    }
}
