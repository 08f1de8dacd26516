/* SPDX-License-Identifier: Apache-2.0 */
/* The job that launched a program, to which its collectives belong. */
#include "launcher/doctor/doctor.h"

#include "base/job.h"

void xs_doctor_job(struct xs_doctor *d, const char *(*get)(void *ctx, const char *name), void *ctx)
{
    char name[XS_JOB_BYTES], why[128];
    json_t *o;

    xs_job_name(get, ctx, name);
    if (!name[0] && !xs_job_spans_hosts(get, ctx, why, sizeof(why)))
        return;
    o = json_object();
    if (name[0])
        json_object_set_new(o, "name", xs_doctor_text(name));
    if (xs_job_spans_hosts(get, ctx, why, sizeof(why))) {
        json_object_set_new(o, "spans_hosts", xs_doctor_text(why));
        xs_doctor_hint(d, "the job has processes on other hosts (%s): xserver does not know those, and may suspend a process "
                       "here while one there waits for it in a collective; see docs/howto/multi-gpu.md", why);
    }
    json_object_set_new(d->facts, "job", o);
}
