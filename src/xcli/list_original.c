/* SPDX-License-Identifier: Apache-2.0 */
/* xcli list --format=original: the table that the original's xcli prints, for scripts that read it. It
 * does not end at the width of the terminal. */
#include "xcli/xcli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PID, DEV, XQUEUE, STAT, SCHED, LV, CMD, N_COLUMNS };

#define CELL_BYTES 4096

static const char *const k_titles[N_COLUMNS] = {"PID", "DEV", "XQUEUE", "STAT", "SCHED", "LV", "CMD"};

static void cell_text(const json_t *q, const char *command, int column, char *ret, size_t size)
{
    uint64_t device = (uint64_t)xcli_int(q, "device");
    char type[16];

    switch (column) {
    case PID:
        snprintf(ret, size, "%" PRId64, xcli_int(q, "pid"));
        break;
    case DEV:
        xcli_device_type(device, type, sizeof(type));
        snprintf(ret, size, "%s(0x%" PRIx64 ")", type, device);
        break;
    case XQUEUE:
        snprintf(ret, size, "0x%" PRIx64, (uint64_t)xcli_int(q, "handle"));
        break;
    case STAT:
        snprintf(ret, size, "%s", xcli_true(q, "ready") ? "RDY" : "BLK");
        break;
    case SCHED:
        snprintf(ret, size, "%s", xcli_true(q, "suspended") ? "SUS" : "RUN");
        break;
    case LV:
        snprintf(ret, size, "%" PRId64, xcli_int(q, "level"));
        break;
    default:
        snprintf(ret, size, "%s", command);
        break;
    }
}

static void put_rule(const int *widths, const char *left, const char *right)
{
    fputs(left, stdout);
    for (int c = 0; c < N_COLUMNS; c++) {
        for (int i = 0; i < widths[c] + 2; i++)
            fputs("\u2500", stdout);
    }
    puts(right);
}

/* In the middle of its column. */
static void put_cell(const char *text, int width)
{
    int room = width - (int)strlen(text);

    printf(" %*s%s%*s ", room / 2, "", text, room - room / 2, "");
}

void xcli_list_original(const json_t *const *queues, const char *const *commands, size_t n)
{
    int widths[N_COLUMNS];
    char text[CELL_BYTES];

    for (int c = 0; c < N_COLUMNS; c++) {
        widths[c] = (int)strlen(k_titles[c]);
        for (size_t i = 0; i < n; i++) {
            cell_text(queues[i], commands[i], c, text, sizeof(text));
            widths[c] = XS_MAX(widths[c], (int)strlen(text));
        }
    }
    put_rule(widths, "\u250c", "\u2510");
    fputs("\u2502", stdout);
    for (int c = 0; c < N_COLUMNS; c++)
        put_cell(k_titles[c], widths[c]);
    puts("\u2502");
    for (size_t i = 0; i < n; i++) {
        fputs("\u2502", stdout);
        for (int c = 0; c < N_COLUMNS; c++) {
            cell_text(queues[i], commands[i], c, text, sizeof(text));
            put_cell(text, widths[c]);
        }
        puts("\u2502");
    }
    put_rule(widths, "\u2514", "\u2518");
}
