/* SPDX-License-Identifier: Apache-2.0 */
/* xsched doctor --probe: finds by trial which preemption levels work. A program of its own tries them, since
 * it may hang or crash. */
#include "base/clock.h"
#include "base/probed_levels.h"
#include "base/str.h"
#include "launcher/doctor/doctor.h"
#include "launcher/preload.h"
#include "launcher/space/space.h"
#include "launcher/trial.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* One platform. @return the number of devices that it found */
static size_t probe(struct xs_doctor *d, json_t *list, const struct xs_platform *of, unsigned seconds)
{
    static struct xs_probed_row rows[XS_PROBED_MAX];
    static char text[65536];
    char own[PATH_MAX] = "", program[PATH_MAX + 32], path[PATH_MAX] = "", lv3_impl[64], *line, *rest = text;
    const struct xs_trial t = {.program = program, .without = lv3_impl, .limit_ns = seconds * XS_NS_PER_S,
                               .before_kill = xs_mps_end_own};
    size_t n = 0;
    int status, err;

    xs_own_folder(own, sizeof(own));
    snprintf(program, sizeof(program), "%s/xsched-probe-%s", own, of->stem);
    if (access(program, X_OK) != 0) {
        xs_doctor_hint(d, "%s is not installed: no %s device was probed", program, of->name);
        return 0;
    }
    snprintf(lv3_impl, sizeof(lv3_impl), "XSCHED_%s_LV3_IMPL", of->prefix);
    status = xs_trial_run(&t, text, sizeof(text));
    while ((line = strsep(&rest, "\n"))) {
        json_t *one = json_loads(line, 0, NULL);
        const char *uuid = json_string_value(json_object_get(one, "uuid"));
        int level = (int)json_integer_value(json_object_get(one, "level"));

        if (!uuid) {
            json_decref(one);
            continue;
        }
        if (level >= 1 && level <= 3 && n < XS_PROBED_MAX && !strpbrk(uuid, " \t")) {
            xs_str_copy(rows[n].device, sizeof(rows[n].device), uuid);
            rows[n++].level = level;
        }
        json_array_append_new(list, one);
    }
    if (status == 3)
        return 0;                 /* no driver, no runtime, or none that works */
    if (status != 0)
        xs_doctor_problem(d, "probe_failed", "Levels 2 and 3 may hang there; `xsched run --level 1` does without.",
                          "the probe of the %s devices %s", of->name,
                          status < 0 ? "crashed or did not come to an end" : "did not start");
    /* If the trial hung, so may programs: its answers before that are not good for all. */
    if (status != 0 || !n)
        return status != 0;
    err = xs_doctor_keep_levels(of, rows, n);
    xs_probed_path(of, path, sizeof(path));
    if (err < 0)
        xs_doctor_hint(d, "cannot keep the answer in %s: %s", path, strerror(-err));
    else
        xs_doctor_hint(d, "doctor keeps the answer in %s; `xsched run` uses it", path);
    return n;
}

void xs_doctor_probe(struct xs_doctor *d, unsigned seconds)
{
    json_t *list = json_array();
    char tried[256] = "";
    size_t n = 0, used = 0;

    json_object_set_new(d->facts, "probe", list);
    for (size_t i = 0; i < XS_PLATFORM_COUNT; i++) {
        const struct xs_platform *p = &xs_platforms[i];

        if (p->probe == XS_PLATFORM_PROBE_NONE)
            continue;
        n += probe(d, list, p, seconds);
        if (used < sizeof(tried))
            used += (size_t)snprintf(tried + used, sizeof(tried) - used, "%s%s", used ? ", no " : "", p->library);
    }
    if (!n)
        xs_doctor_hint(d, "there is no %s that works here, so there is nothing to probe", tried);
}
