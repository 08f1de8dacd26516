/* SPDX-License-Identifier: Apache-2.0 */
/* SPANK plugin for Slurm: `srun --xsched-priority=N`. Sets a task's environment up, so that its device work is
 * scheduled by the node's xserver with that priority, holds users to the limits of plugstack.conf, and writes what
 * a step used of the device to a log. README.md says how it is configured. The calls are those of slurm/spank.h
 * (spank(7)); it must be `optional` in plugstack.conf, since Slurm ends every step where a required one is missing. */
#include "slurm_conf.h"
#include "slurm_space.h"

#include "base/str.h"
#include "launcher/preload.h"
#include "query/ask_xserver.h"
#include "query/find_xserver.h"

#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/spank.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define VALUE_BYTES 4096
#define VALUE_MAX_BYTES (4u << 20)

EXPORT extern const char plugin_name[], plugin_type[];
EXPORT extern const unsigned int plugin_version, spank_plugin_version;
SPANK_PLUGIN(xsched, 1)

/* One step at a time lives in a process of Slurm's, and it calls from one thread. */
static struct {
    struct xs_slurm_conf conf;
    bool asked, none; /* the user said a priority, or "none" */
    int priority;
    bool share_asked, space; /* --xsched-share */
    bool job_priority_known;
    uint32_t job_priority; /* in Slurm, when the step began */
} g_step;

static int on_option(int value, const char *text, int remote)
{
    int64_t n;

    (void)value;
    g_step.none = text && xs_str_equal_nocase(text, "none");
    if (g_step.none) {
        g_step.asked = true;
        return ESPANK_SUCCESS;
    }
    if (!text || xs_str_parse_i64(text, &n) < 0 || n < -255 || n > 255) {
        slurm_error("--xsched-priority takes a number from -255 to 255, or none");
        return ESPANK_BAD_ARG;
    }
    /* In srun, sbatch and salloc a refusal ends the command, where its user can read why. The node itself takes
     * what is nearest: there may have been another plugstack.conf where the job came from. */
    if (!remote && (n < g_step.conf.min || n > g_step.conf.max)) {
        slurm_error("--xsched-priority=%d: this cluster allows %d to %d", (int)n, g_step.conf.min, g_step.conf.max);
        return ESPANK_BAD_ARG;
    }
    g_step.asked = true;
    g_step.priority = (int)n;
    return ESPANK_SUCCESS;
}

static int on_share(int value, const char *text, int remote)
{
    (void)value, (void)remote;
    g_step.space = text && xs_str_equal_nocase(text, "space");
    if (!g_step.space && (!text || (!xs_str_equal_nocase(text, "time") && !xs_str_equal_nocase(text, "auto")))) {
        slurm_error("--xsched-share takes time, space or auto");
        return ESPANK_BAD_ARG;
    }
    g_step.share_asked = true;
    return ESPANK_SUCCESS;
}

static char g_option_name[] = "xsched-priority", g_option_arg[] = "N|none",
            g_option_usage[] = "priority of the job's device work, -255..255, larger is more urgent; none: not scheduled";
static struct spank_option g_option = {
    .name = g_option_name,
    .arginfo = g_option_arg,
    .usage = g_option_usage,
    .has_arg = 1,
    .cb = on_option,
};

static char g_share_name[] = "xsched-share", g_share_arg[] = "time|space|auto",
            g_share_usage[] = "how the job's programs share a device: by turns, or at one time in the node's MPS daemon";
static struct spank_option g_share_option = {
    .name = g_share_name,
    .arginfo = g_share_arg,
    .usage = g_share_usage,
    .has_arg = 1,
    .cb = on_share,
};

EXPORT int slurm_spank_init(spank_t sp, int ac, char **av)
{
    char error[256];

    if (spank_remote(sp) || spank_context() == S_CTX_LOCAL || spank_context() == S_CTX_ALLOCATOR) {
        if (xs_slurm_conf_read(&g_step.conf, ac, av, error, sizeof(error)) < 0)
            slurm_error("xsched: plugstack.conf: %s", error);
        return spank_option_register(sp, &g_option) == ESPANK_SUCCESS &&
               spank_option_register(sp, &g_share_option) == ESPANK_SUCCESS ? 0 : -1;
    }
    return 0;
}

/* Asked of the controller once a step, as root and before its tasks are made, and only where it decides something: the
 * environment of a step has the job's partition and QOS, and not its priority. */
EXPORT int slurm_spank_init_post_opt(spank_t sp, int ac, char **av)
{
    job_info_msg_t *jobs = NULL;
    uint32_t id = 0;

    (void)ac, (void)av;
    if (!spank_remote(sp) || g_step.asked || !g_step.conf.ranges_count ||
        spank_get_item(sp, S_JOB_ID, &id) != ESPANK_SUCCESS)
        return 0;
    if (slurm_load_job(&jobs, id, SHOW_ALL) != SLURM_SUCCESS) {
        slurm_error("xsched: the priority of job %" PRIu32 " is not known: %s", id, slurm_strerror(slurm_get_errno()));
        return 0;
    }
    for (uint32_t i = 0; i < jobs->record_count; i++) {
        if (jobs->job_array[i].job_id == id) {
            g_step.job_priority = jobs->job_array[i].priority;
            g_step.job_priority_known = true;
        }
    }
    slurm_free_job_info_msg(jobs);
    return 0;
}

static bool get(spank_t sp, const char *name, char *ret)
{
    return spank_getenv(sp, name, ret, VALUE_BYTES) == ESPANK_SUCCESS && ret[0];
}

/* @return false: this step is left alone */
static bool decide(spank_t sp, int *ret_priority)
{
    char partition[VALUE_BYTES] = "", qos[VALUE_BYTES] = "";

    if (g_step.none)
        return false;
    if (!g_step.asked) {
        get(sp, "SLURM_JOB_PARTITION", partition);
        get(sp, "SLURM_JOB_QOS", qos);
        if (xs_slurm_conf_default(&g_step.conf, partition, qos,
                                  g_step.job_priority_known ? &g_step.job_priority : NULL, ret_priority))
            return true;
        *ret_priority = XS_MIN(XS_MAX(0, g_step.conf.min), g_step.conf.max);
        return g_step.share_asked;
    }
    *ret_priority = XS_MIN(XS_MAX(g_step.priority, g_step.conf.min), g_step.conf.max);
    if (*ret_priority != g_step.priority)
        slurm_info("xsched: priority %d, as far as this cluster allows", *ret_priority);
    return true;
}

static void set(spank_t sp, const char *name, const char *value)
{
    if (spank_setenv(sp, name, value, 1) != ESPANK_SUCCESS)
        slurm_error("xsched: %s could not be set", name);
}

/* A value of any length: the kernel's own bound is 128 KiB.
 * @return the caller's; NULL: there is none, or no memory */
static char *get_long(spank_t sp, const char *name, bool *ret_failed)
{
    spank_err_t err = ESPANK_NOSPACE;
    char *value = NULL;

    for (size_t bytes = VALUE_BYTES; err == ESPANK_NOSPACE && bytes <= VALUE_MAX_BYTES; bytes *= 2) {
        char *more = realloc(value, bytes);

        if (!more)
            break;
        value = more;
        err = spank_getenv(sp, name, value, (int)bytes);
    }
    *ret_failed = err != ESPANK_SUCCESS && err != ESPANK_ENV_NOEXIST;
    if (err == ESPANK_SUCCESS && value[0])
        return value;
    free(value);
    return NULL;
}

static void join(spank_t sp, const char *name, const char *const *ours, size_t count, const char *separators, char joint)
{
    bool failed;
    char *old = get_long(sp, name, &failed), *list;

    if (failed) { /* without the user's own objects the task might not run at all */
        slurm_error("xsched: %s could not be read and is left as it is", name);
        return;
    }
    /* one step inside another comes here twice: each object stands in the list once */
    list = xs_list_join(ours, count, old, separators, joint);
    if (list)
        set(sp, name, list);
    free(list);
    free(old);
}

static void join_layer(spank_t sp, const struct xs_layer *layer)
{
    bool failed = false, kept_failed = false;
    char *old = get_long(sp, layer->variable, &failed), *value = NULL, *keep = NULL;
    char *kept = *layer->kept ? get_long(sp, layer->kept, &kept_failed) : NULL;

    if (failed || kept_failed)
        slurm_error("xsched: %s could not be read and is left as it is", layer->variable);
    else
        value = xs_layer_join(layer, old, kept, &keep);
    if (value && *value)
        set(sp, layer->variable, value);
    if (value && keep)
        set(sp, layer->kept, keep);
    free(old);
    free(kept);
    free(value);
    free(keep);
}

#define COMPONENTS_MAX 128 /* as in Slurm */

/* The number in a task's variable. @return false: there is none */
static bool number_of(spank_t sp, const char *name, uint32_t *ret)
{
    char text[VALUE_BYTES];
    uint64_t number;

    if (!get(sp, name, text) || xs_str_parse_u64(text, 10, &number) < 0 || number > UINT32_MAX)
        return false;
    *ret = (uint32_t)number;
    return true;
}

/* The job that a group is named after: that of the first component where the job has several, since their tasks may make
 * one step and wait for each other. The variables may be those of another job around this one. */
static uint32_t whole_job(spank_t sp)
{
    uint32_t job = 0, first = 0, of;
    char name[64];

    spank_get_item(sp, S_JOB_ID, &job);
    for (int older = 0; older < 2; older++) {
        for (unsigned i = 0; i < COMPONENTS_MAX; i++) {
            snprintf(name, sizeof(name), "SLURM_JOB_ID_%s_GROUP_%u", older ? "PACK" : "HET", i);
            if (!number_of(sp, name, &of))
                break;
            if (i == 0)
                first = of;
            if (of == job)
                return first;
        }
    }
    return job;
}

/* How often Slurm started the job anew. It keeps its number then, and the numbers of its steps begin at 0 again. Slurm
 * itself says it of the batch script alone. */
static uint32_t restarts(spank_t sp)
{
    uint32_t count = 0;

    if (spank_get_item(sp, S_SLURM_RESTART_COUNT, &count) != ESPANK_SUCCESS || !count || count > UINT16_MAX)
        count = 0;
    if (!count && (!number_of(sp, "SLURM_RESTART_COUNT", &count) || count > UINT16_MAX))
        count = 0;
    return count;
}

static void step_name(spank_t sp, char *ret, size_t size)
{
    uint32_t step = 0;

    spank_get_item(sp, S_JOB_STEPID, &step);
    if (step > SLURM_MAX_NORMAL_STEP_ID)
        snprintf(ret, size, "%s",
                 step == SLURM_BATCH_SCRIPT       ? "batch"
                 : step == SLURM_EXTERN_CONT      ? "extern"
                 : step == SLURM_INTERACTIVE_STEP ? "interactive"
                                                  : "other");
    else
        snprintf(ret, size, "%" PRIu32, step);
}

/* Names that differ: the log has a line for each step, and finds by the name what it used. */
static void group_name(spank_t sp, char *ret, size_t size)
{
    char step[32], again[24] = "";

    step_name(sp, step, sizeof(step));
    if (restarts(sp))
        snprintf(again, sizeof(again), "+%" PRIu32, restarts(sp));
    snprintf(ret, size, "slurm-%" PRIu32 ".%s%s", whole_job(sp), step, again);
}

/* A step inside sbatch or salloc has the environment of the task around it: what the plugin gave that one is taken from
 * a step that asked for none. What is preloaded does nothing without it. */
static void take_back(spank_t sp)
{
    char ours[64], group[VALUE_BYTES] = "";

    snprintf(ours, sizeof(ours), "slurm-%" PRIu32 ".", whole_job(sp));
    if (!get(sp, "XSCHED_GROUP", group) || strncmp(group, ours, strlen(ours)) != 0)
        return;
    spank_unsetenv(sp, "XSCHED_PRIORITY");
    spank_unsetenv(sp, "XSCHED_GROUP");
}

/* Says to the step's user, once a node, that nothing schedules it there. A server that is started by its first program
 * (xserver.socket) is there. */
static void look_for_server(spank_t sp)
{
    char own[VALUE_BYTES] = "", host[256] = "";
    const char *path = XS_SLURM_SOCKET;
    int task = 0, err;

    if (spank_get_item(sp, S_TASK_ID, &task) != ESPANK_SUCCESS || task != 0)
        return;
    if (g_step.conf.socket[0])
        path = g_step.conf.socket;
    else if (get(sp, "XSCHED_SOCKET", own))
        path = own;
    err = xs_place_probe(path, NULL, NULL);
    if (err == 0)
        return;
    gethostname(host, sizeof(host) - 1);
    slurm_error("xsched: no xserver on %s: its tasks run unscheduled (%s: %s)", host, path, strerror(-err));
}

/* The option decides. Without it the job's own environment does, as with `xsched run`. */
static void share(spank_t sp, int priority)
{
    char own[VALUE_BYTES] = "";
    struct xs_slurm_space s;
    char **env = NULL;

    if (!g_step.share_asked && !get(sp, "XSCHED_SHARE", own))
        return;
    if (!(g_step.share_asked ? g_step.space : xs_str_equal_nocase(own, "space"))) {
        set(sp, "XSCHED_SHARE", "TIME");
        return;
    }
    spank_get_item(sp, S_JOB_ENV, &env);
    xs_slurm_space_try(g_step.conf.launcher, env, priority, &s);
    if (s.pipe[0])
        set(sp, "CUDA_MPS_PIPE_DIRECTORY", s.pipe);
    if (s.client_priority[0])
        set(sp, "CUDA_MPS_CLIENT_PRIORITY", s.client_priority);
    set(sp, "XSCHED_SHARE", s.space ? "SPACE" : "TIME");
    if (!s.space)
        slurm_error("xsched: --xsched-share=space: %s", s.why[0] ? s.why : "the program shares in time");
}

EXPORT int slurm_spank_task_init(spank_t sp, int ac, char **av)
{
    const char *paths[XS_SHIMS_MAX];
    struct xs_shims shims;
    struct xs_layer layer;
    char text[64];
    int priority;

    (void)ac, (void)av;
    if (!spank_remote(sp))
        return 0;
    if (!decide(sp, &priority)) {
        take_back(sp);
        return 0;
    }
    xs_shims_find_in(&shims, g_step.conf.libdir);
    if (!shims.count) {
        slurm_error("xsched: no shims in %s: the task runs unscheduled", g_step.conf.libdir);
        return 0;
    }
    join(sp, "LD_PRELOAD", paths, xs_shims_preloaded(&shims, paths), " :", ':');
    for (size_t i = 0; i < XS_PLATFORM_COUNT; i++) {
        for (size_t k = 0; xs_shims_layer(&shims, &xs_platforms[i], k, shims.folder, &layer); k++)
            join_layer(sp, &layer);
    }
    snprintf(text, sizeof(text), "%d", priority);
    set(sp, "XSCHED_PRIORITY", text);
    spank_unsetenv(sp, "XSCHED_AUTO_XQUEUE_PRIORITY"); /* it would win */
    /* the step's processes are suspended and resumed together, and accounted together */
    group_name(sp, text, sizeof(text));
    set(sp, "XSCHED_GROUP", text);
    if (g_step.conf.socket[0])
        set(sp, "XSCHED_SOCKET", g_step.conf.socket);
    share(sp, priority);
    look_for_server(sp);
    return 0;
}

static json_int_t field(const json_t *o, const char *name)
{
    return json_integer_value(json_object_get(o, name));
}

/* What the server knows of the programs of this step. @return a JSON object, or NULL */
static json_t *usage(const char *group, uid_t uid)
{
    static const char *const sums[] = {"commands", "service_us", "running_us", "waiting_us", "preemptions"};
    static const char *const lists[] = {"clients", "ended"};
    struct xs_ask_where where = {.socket = g_step.conf.socket[0] ? g_step.conf.socket : XS_SLURM_SOCKET};
    json_int_t total[XS_ARRAY_LEN(sums)] = {0}, programs = 0;
    struct xs_http_answer answer = {0};
    json_t *all = NULL, *o, *client;
    char tried[512];
    size_t at;

    if (xs_ask(&where, "GET", "/clients", NULL, &answer, tried, sizeof(tried)) == 0 && answer.status == 200)
        all = json_loads(answer.body, 0, NULL);
    free(answer.body);
    if (!all)
        return NULL;
    for (size_t l = 0; l < XS_ARRAY_LEN(lists); l++) {
        json_array_foreach (json_object_get(all, lists[l]), at, client) {
            const char *name = json_string_value(json_object_get(client, "group"));

            /* a group's name is its user's own: another user's of the same name does not count */
            if (!name || strcmp(name, group) != 0 || field(client, "uid") != (json_int_t)uid)
                continue;
            programs++;
            for (size_t i = 0; i < XS_ARRAY_LEN(sums); i++)
                total[i] += field(client, sums[i]);
        }
    }
    json_decref(all);
    o = json_pack("{s:I}", "programs", programs);
    for (size_t i = 0; i < XS_ARRAY_LEN(sums); i++)
        json_object_set_new(o, sums[i], json_integer(total[i]));
    return o;
}

static void set_integer(json_t *o, const char *name, json_int_t value)
{
    json_object_set_new(o, name, json_integer(value));
}

/* Which step it was. */
static void describe(spank_t sp, json_t *line)
{
    uint32_t job = 0, array = 0, index = 0;
    char step[32], host[256] = "";
    uid_t uid = 0;

    spank_get_item(sp, S_JOB_ID, &job);
    spank_get_item(sp, S_JOB_UID, &uid);
    step_name(sp, step, sizeof(step));
    gethostname(host, sizeof(host) - 1);
    set_integer(line, "job", job);
    json_object_set_new(line, "step", json_string(step));
    set_integer(line, "restarts", restarts(sp));
    if (whole_job(sp) != job)
        set_integer(line, "het_job", whole_job(sp));
    if (spank_get_item(sp, S_JOB_ARRAY_ID, &array) == ESPANK_SUCCESS && array &&
        spank_get_item(sp, S_JOB_ARRAY_TASK_ID, &index) == ESPANK_SUCCESS && index < NO_VAL) {
        set_integer(line, "array_job", array);
        set_integer(line, "array_task", index);
    }
    set_integer(line, "uid", uid);
    json_object_set_new(line, "host", json_string(host));
    set_integer(line, "ended", (json_int_t)time(NULL));
}

/* At the end of the step, as root: one line of JSON. */
EXPORT int slurm_spank_exit(spank_t sp, int ac, char **av)
{
    uid_t uid = 0;
    char group[64];
    json_t *line;
    char *text;
    int fd, priority;

    (void)ac, (void)av;
    if (!spank_remote(sp) || !g_step.conf.account[0] || !decide(sp, &priority))
        return 0;
    spank_get_item(sp, S_JOB_UID, &uid);
    group_name(sp, group, sizeof(group));
    line = usage(group, uid);
    if (!line) {
        slurm_info("xsched: the server was not asked what %s used: it does not answer", group);
        return 0;
    }
    describe(sp, line);
    set_integer(line, "priority", priority);
    text = json_dumps(line, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(line);
    fd = open(g_step.conf.account, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (!text || fd < 0 || dprintf(fd, "%s\n", text) < 0)
        slurm_error("xsched: %s: %m", g_step.conf.account);
    if (fd >= 0)
        close(fd);
    free(text);
    return 0;
}
