/* SPDX-License-Identifier: Apache-2.0 */
/* The picture in a page, with its times as a table. The page needs no network and runs no script. */
#include "launcher/record/record_picture.h"

#include <inttypes.h>

static void time_cell(FILE *f, double ns)
{
    char text[32];

    picture_time_text(ns, text, sizeof(text));
    fprintf(f, "<td>%s", ns > 0 ? text : "-");
}

static void row(FILE *f, const struct picture *p, const struct picture_queue *q)
{
    char priority[64];

    picture_priority_text(q, priority, sizeof(priority));
    fprintf(f, "<tr><td>%" PRId64 "<td class=\"name\">", q->program->pid);
    picture_text(f, q->program->name, 100);
    fprintf(f, "<td>%u<td class=\"name\">", q->number);
    picture_text(f, p->devices[q->device], 60);
    fprintf(f, "<td>%s", priority);
    for (unsigned ink = 0; ink < INKS; ink++)
        time_cell(f, q->bins.total_ns[ink]);
    fprintf(f, "<td>%" PRIu64 "\n", q->preemptions);
}

void picture_html(FILE *f, const struct picture *p)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Who ran when</title>\n"
          "<style>body{margin:1em;font:13px sans-serif;background:#fff;color:#000}"
          "svg{width:100%;height:auto;max-width:1600px}table{border-collapse:collapse;margin:1em 0}"
          "td,th{padding:2px 8px;white-space:nowrap;text-align:right;border-bottom:1px solid #e3e6ea}"
          ".name{text-align:left;white-space:normal}</style></head><body>\n",
          f);
    picture_svg(f, p);
    if (p->n_rows) {
        fputs("<table><thead><tr><th>PID<th class=\"name\">program<th>queue<th "
              "class=\"name\">device<th>priority"
              "<th>ran<th>beside<th>preempted<th>waited<th>suspended<th>preemptions</thead><tbody>\n",
              f);
        for (unsigned i = 0; i < p->n_rows; i++)
            row(f, p, p->rows[i]);
        fputs("</tbody></table>\n", f);
    }
    fputs("</body></html>\n", f);
}
