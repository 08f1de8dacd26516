/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the picture. Where a bin has several states, they stand on each other, each as high as its part of the bin. */
#include "launcher/record/record_picture.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WIDTH = 1200, LEFT = 200, RIGHT = 1180, TOP = 84, ROW = 16, BAR = 12, HEAD = 20, GAP = 8, NOTE = 15 };
#define UNITS      24u /* of a bar's height */
#define LEAST      3u  /* of a state that a bin has at all: short bursts show */
#define TICKS      10u
#define LABEL      29u /* columns */
#define MAX_LAYERS (PICTURE_ROWS + 1)

static const char *const k_colors[] = {"#2f5d9b", "#c8553d", "#4c9f70", "#8d6a9f",
                                       "#b8860b", "#17807e", "#b0477c", "#6b4f3a"};
#define OTHER     "#9aa1ab"
#define WAIT      "#d3d8df"
#define PREEMPTED "#8b929c"
#define SUSPENDED "url(#suspended)"

static const char *color_of(const struct picture_program *p)
{
    return p->drawn ? k_colors[p->color % XS_ARRAY_LEN(k_colors)] : OTHER;
}

static bool is_first(const struct picture *p, unsigned row)
{
    return row == 0 || p->rows[row]->program != p->rows[row - 1]->program;
}

static unsigned bins_of(const struct picture *p)
{
    return (unsigned)((p->end_ns + p->bin_ns - 1) / p->bin_ns);
}

/* Parts of one bin in units of the height. */
static void heights_of(const float *ns, unsigned n, double bin_ns, uint8_t *ret)
{
    unsigned sum = 0;

    for (unsigned k = 0; k < n; k++) {
        unsigned h = (unsigned)(ns[k] / bin_ns * UNITS + 0.5);

        ret[k] = (uint8_t)(ns[k] > 0 ? XS_MAX(XS_MIN(h, UNITS), LEAST) : 0);
        sum += ret[k];
    }
    for (; sum > UNITS; sum--) {
        unsigned most = 0;

        for (unsigned k = 1; k < n; k++)
            if (ret[k] > ret[most])
                most = k;
        ret[most]--;
    }
}

struct layer {
    const char *fill;
    const char *more; /* attributes */
};

/* One path a layer; bins of one height are one rectangle. */
static void draw_layer(FILE *f, const uint8_t *heights, unsigned bins, unsigned n, unsigned layer,
                       const struct layer *look)
{
    bool any = false;

    for (unsigned i = 0; i < bins;) {
        unsigned h = heights[i * n + layer], below = 0, from = i;

        for (unsigned k = 0; k < layer; k++)
            below += heights[i * n + k];
        for (i++; i < bins && heights[i * n + layer] == h; i++) {
            unsigned also_below = 0;

            for (unsigned k = 0; k < layer; k++)
                also_below += heights[i * n + k];
            if (also_below != below)
                break;
        }
        if (h == 0)
            continue;
        if (!any)
            fprintf(f, "<path fill=\"%s\"%s d=\"", look->fill, look->more);
        any = true;
        fprintf(f, "M%u %uh%uv%uh-%uz", from, UNITS - below - h, i - from, h, i - from);
    }
    if (any)
        fputs("\"/>\n", f);
}

/* A bar: ns[bin * n + layer]. */
static void draw_bar(FILE *f, const struct picture *p, int y, const float *ns, unsigned n,
                     const struct layer *layers)
{
    unsigned bins = bins_of(p);
    uint8_t *heights = calloc(bins, n);

    if (!heights)
        abort();
    for (unsigned i = 0; i < bins; i++)
        heights_of(ns + (size_t)i * n, n, (double)XS_MIN(p->bin_ns, p->end_ns - i * p->bin_ns),
                   heights + (size_t)i * n);
    fprintf(f, "<g transform=\"translate(%d %d) scale(%.6f %.3f)\">\n", LEFT, y,
            (RIGHT - LEFT) * (double)p->bin_ns / (double)p->end_ns, (double)BAR / UNITS);
    for (unsigned k = 0; k < n; k++)
        draw_layer(f, heights, bins, n, k, &layers[k]);
    fputs("</g>\n", f);
    free(heights);
}

static void label(FILE *f, int y, const char *text)
{
    fprintf(f, "<text x=\"16\" y=\"%d\" font-size=\"11\">", y + BAR - 2);
    picture_text(f, text, LABEL);
    fputs("</text>\n", f);
}

static void line_below(FILE *f, int y)
{
    fprintf(f, "<path d=\"M%d %d.5H%d\" stroke=\"#e3e6ea\"/>\n", LEFT, y + BAR, RIGHT);
}

/* ---- rows ---- */

static void draw_queue(FILE *f, const struct picture *p, const struct picture_queue *q, int y)
{
    const char *color = color_of(q->program);
    const struct layer layers[INKS] = {[INK_RUN] = {color, ""},
                                       [INK_BESIDE] = {color, " fill-opacity=\"0.5\""},
                                       [INK_PREEMPTED] = {PREEMPTED, ""},
                                       [INK_WAIT] = {WAIT, ""},
                                       [INK_SUSPENDED] = {SUSPENDED, ""}};
    static const char *const k_words[INKS] = {"ran", "ran beside", "preempted", "waited", "suspended"};
    char text[192];

    snprintf(text, sizeof(text), p->n_devices > 1 ? "queue %u, %s" : "queue %u", q->number,
             p->devices[q->device]);
    fprintf(f, "<g><title>queue 0x%" PRIx64, q->handle);
    for (unsigned ink = 0; ink < INKS; ink++) {
        char time[32];

        picture_time_text(q->bins.total_ns[ink], time, sizeof(time));
        if (q->bins.total_ns[ink] > 0)
            fprintf(f, ", %s %s", k_words[ink], time);
    }
    fprintf(f, ", preempted %" PRIu64 " time%s</title>\n", q->preemptions, q->preemptions == 1 ? "" : "s");
    label(f, y, text);
    line_below(f, y);
    if (q->bins.ns)
        draw_bar(f, p, y, q->bins.ns[0], INKS, layers);
    fputs("</g>\n", f);
}

static void draw_program(FILE *f, const struct picture *p, const struct picture_queue *first, int y)
{
    const struct picture_program *a = first->program;
    double device_ns = a->device.total_ns[INK_RUN];
    char priority[64], time[32], pid[32];
    uint64_t preemptions = 0;

    for (unsigned i = 0; i < p->n_queues; i++)
        if (p->queues[i]->program == a)
            preemptions += p->queues[i]->preemptions;
    picture_priority_text(first, priority, sizeof(priority));
    picture_time_text(device_ns, time, sizeof(time));
    snprintf(pid, sizeof(pid), "PID %" PRId64, a->pid);
    fprintf(f, "<g><rect x=\"8\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#f1f3f5\"/><title>", y, RIGHT,
            HEAD - 2);
    picture_text(f, a->name[0] ? a->name : pid, 400);
    fprintf(f,
            "</title><rect x=\"8\" y=\"%d\" width=\"4\" height=\"13\" fill=\"%s\"/>"
            "<text x=\"16\" y=\"%d\" font-weight=\"bold\">",
            y + 3, color_of(a), y + 14);
    picture_text(f, a->name[0] ? a->name : pid, 90);
    fprintf(f, "</text><text x=\"%d\" y=\"%d\" text-anchor=\"end\" fill=\"#444\">%s, priority %s", RIGHT,
            y + 14, pid, priority);
    if (device_ns > 0)
        fprintf(f, ", device time %s (%.0f %%)", time, 100 * device_ns / (double)p->end_ns);
    if (preemptions)
        fprintf(f, ", preempted %" PRIu64 " time%s", preemptions, preemptions == 1 ? "" : "s");
    fputs("</text></g>\n", f);
}

/* Five times a second, while the program is alone too. */
static void draw_device_time(FILE *f, const struct picture *p, const struct picture_program *a, int y)
{
    const struct layer layers[INKS] = {{color_of(a), " fill-opacity=\"0.75\""}};

    label(f, y, "device time");
    line_below(f, y);
    draw_bar(f, p, y, a->device.ns[0], INKS, layers);
}

/* Which programs had the device: the times of their queues there. */
static void draw_device(FILE *f, const struct picture *p, unsigned device, int y)
{
    unsigned bins = bins_of(p), n = 1;
    const struct picture_program *programs[MAX_LAYERS] = {NULL}; /* first: all that have no row */
    struct layer layers[MAX_LAYERS] = {{OTHER, ""}};
    float *ns;

    for (unsigned i = 0; i < p->n_rows; i++)
        if (is_first(p, i)) {
            programs[n] = p->rows[i]->program;
            layers[n++] = (struct layer){color_of(p->rows[i]->program), ""};
        }
    ns = calloc((size_t)bins * n, sizeof(*ns));
    if (!ns)
        abort();
    for (unsigned i = 0; i < p->n_queues; i++) {
        const struct picture_queue *q = p->queues[i];
        unsigned layer = 0;

        if (q->device != device || !q->bins.ns)
            continue;
        for (unsigned k = 1; k < n; k++)
            if (programs[k] == q->program)
                layer = k;
        for (unsigned b = 0; b < bins; b++)
            ns[b * n + layer] += q->bins.ns[b][INK_RUN] + q->bins.ns[b][INK_BESIDE];
    }
    label(f, y, p->devices[device]);
    line_below(f, y);
    draw_bar(f, p, y, ns, n, layers);
    free(ns);
}

/* ---- around the rows ---- */

/* About ten, at round numbers. */
static double tick_ns(double all_ns)
{
    double step = 1e3;

    for (unsigned i = 0; all_ns / step > TICKS; i++)
        step *= i % 3 == 1 ? 2.5 : 2; /* 1, 2, 5, 10 */
    return step;
}

static double x_of(const struct picture *p, double ns)
{
    return LEFT + ns / (double)p->end_ns * (RIGHT - LEFT);
}

static void draw_axis(FILE *f, const struct picture *p, int bottom)
{
    double step = tick_ns((double)p->end_ns);
    bool seconds = p->end_ns >= 2000000000;

    for (double t = 0; t <= (double)p->end_ns; t += step) {
        double x = x_of(p, t);

        fprintf(f,
                "<path d=\"M%.1f %dV%d\" stroke=\"#e3e6ea\"/><text x=\"%.1f\" y=\"%d\" font-size=\"10\" "
                "text-anchor=\"middle\" fill=\"#444\">%g %s</text>\n",
                x, TOP - 4, bottom, x, TOP - 8, seconds ? t / 1e9 : t / 1e6, seconds ? "s" : "ms");
    }
}

static void draw_notes(FILE *f, const struct picture *p, int bottom)
{
    double free_from = 0;

    for (unsigned i = 0; i < p->n_notes; i++) {
        double x = x_of(p, (double)XS_MIN(p->notes[i].at_ns, p->end_ns));
        bool late = x > RIGHT - 120; /* its text ends there */

        fprintf(f, "<g stroke=\"#b02a30\"><title>");
        picture_text(f, p->notes[i].text, 40);
        fprintf(f, "</title><path d=\"M%.1f %dV%d\" stroke-dasharray=\"3 3\"/></g>", x, TOP - 4, bottom);
        if (x < free_from)
            continue;
        free_from = x + 120;
        fprintf(f, "<text x=\"%.1f\" y=\"%d\" font-size=\"10\" fill=\"#b02a30\"%s>", late ? x - 3 : x + 3,
                TOP + 5, late ? " text-anchor=\"end\"" : "");
        picture_text(f, p->notes[i].text, 20);
        fputs("</text>\n", f);
    }
}

static int draw_key(FILE *f, int x, const char *fill, const char *more, const char *text)
{
    fprintf(f,
            "<rect x=\"%d\" y=\"48\" width=\"22\" height=\"%d\" fill=\"%s\"%s/><text x=\"%d\" "
            "y=\"58\">%s</text>\n",
            x, BAR, fill, more, x + 28, text);
    return x + 28 + (int)strlen(text) * 13 / 2 + 24;
}

static void draw_legend(FILE *f)
{
    int x = 16;

    for (unsigned i = 0; i < 3; i++)
        fprintf(f, "<rect x=\"%d\" y=\"48\" width=\"8\" height=\"%d\" fill=\"%s\"/>", x + (int)i * 8, BAR,
                k_colors[i]);
    x = draw_key(f, x, "none", "", "ran, device time (each program has its colour)");
    x = draw_key(f, x, k_colors[0], " fill-opacity=\"0.5\"", "ran on a part of the device, beside another");
    x = draw_key(f, x, WAIT, "", "waited");
    x = draw_key(f, x, PREEMPTED, "", "preempted, then waited");
    draw_key(f, x, SUSPENDED, "", "suspended by a user");
}

static void draw_title(FILE *f, const struct picture *p)
{
    time_t at = (time_t)p->wall_s;
    char when[40] = "", length[32];
    struct tm local;

    if (localtime_r(&at, &local))
        strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &local);
    picture_time_text((double)p->end_ns, length, sizeof(length));
    fprintf(f,
            "<text x=\"16\" y=\"28\" font-size=\"17\" font-weight=\"bold\">Who ran when</text>"
            "<text x=\"%d\" y=\"28\" text-anchor=\"end\" fill=\"#444\">%s, %s, policy ",
            RIGHT, when, length);
    picture_text(f, p->policy, 31);
    fputs(", xsched record " XSCHED_VERSION "</text>\n", f);
}

void picture_svg(FILE *f, const struct picture *p)
{
    char remarks[8][160], bin[32];
    size_t n_remarks = picture_remarks(p, remarks, XS_ARRAY_LEN(remarks));
    int y = TOP + 12, bottom = y + (int)p->n_devices * ROW + (int)p->n_rows * ROW;

    for (unsigned i = 0; i < p->n_rows; i++)
        if (is_first(p, i))
            bottom += GAP + HEAD + (p->rows[i]->program->device.ns ? ROW : 0);
    if (p->n_rows == 0)
        bottom += 2 * HEAD;
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n"
            "<title>Who ran when</title>\n"
            "<defs><pattern id=\"suspended\" width=\"1\" height=\"6\" patternUnits=\"userSpaceOnUse\"><rect "
            "width=\"1\" "
            "height=\"6\" fill=\"#fff\"/><rect width=\"1\" height=\"2\" fill=\"#333\"/></pattern></defs>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            WIDTH, bottom + 16 + (int)(n_remarks + 2) * NOTE, WIDTH,
            bottom + 16 + (int)(n_remarks + 2) * NOTE);
    draw_title(f, p);
    draw_legend(f);
    draw_axis(f, p, bottom);
    draw_notes(f, p, bottom);
    for (unsigned i = 0; i < p->n_devices; i++, y += ROW)
        draw_device(f, p, i, y);
    for (unsigned i = 0; i < p->n_rows; i++, y += ROW) {
        if (is_first(p, i)) {
            draw_program(f, p, p->rows[i], y + GAP);
            y += GAP + HEAD;
            if (p->rows[i]->program->device.ns) {
                draw_device_time(f, p, p->rows[i]->program, y);
                y += ROW;
            }
        }
        draw_queue(f, p, p->rows[i], y);
    }
    if (p->n_rows == 0)
        fprintf(f, "<text x=\"%d\" y=\"%d\">No program had work for a device in this time.</text>\n", LEFT,
                y + HEAD);
    y = bottom + 10;
    picture_time_text((double)p->bin_ns, bin, sizeof(bin));
    fprintf(f,
            "<g font-size=\"11\" fill=\"#444\"><text x=\"16\" y=\"%d\">A step is %s. Where a queue was in "
            "several states in "
            "one, each is as high as its part. While a program is alone on a device, only its device time "
            "shows its work "
            "and its pauses.</text>\n",
            y += NOTE, bin);
    for (size_t i = 0; i < n_remarks; i++)
        fprintf(f, "<text x=\"16\" y=\"%d\">%s</text>\n", y += NOTE, remarks[i]);
    fputs("</g></svg>\n", f);
}
