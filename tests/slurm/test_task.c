/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin in a task of a Slurm that is made up here: what it does to the task's environment. */
#include "base/xs_base.h"

#include <setjmp.h>
#include <slurm/slurm.h>
#include <slurm/spank.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

int slurm_spank_init(spank_t sp, int ac, char **av);
int slurm_spank_task_init(spank_t sp, int ac, char **av);

static unsigned g_errors;
static char g_error[1024];             /* the last one */
static spank_opt_cb_f g_share;         /* what --xsched-share calls */

int spank_remote(spank_t sp)
{
    (void)sp;
    return 1;
}

spank_context_t spank_context(void)
{
    return S_CTX_REMOTE;
}

spank_err_t spank_option_register(spank_t sp, struct spank_option *o)
{
    (void)sp;
    if (!strcmp(o->name, "xsched-share"))
        g_share = o->cb;
    return ESPANK_SUCCESS;
}

spank_err_t spank_get_item(spank_t sp, spank_item_t item, ...)
{
    va_list ap;

    (void)sp;
    va_start(ap, item);
    if (item == S_JOB_ENV)
        *va_arg(ap, char ***) = environ;
    else
        *va_arg(ap, uint32_t *) = 7;
    va_end(ap);
    return ESPANK_SUCCESS;
}

spank_err_t spank_getenv(spank_t sp, const char *name, char *ret, int size)
{
    const char *value = getenv(name);

    (void)sp;
    if (!value)
        return ESPANK_ENV_NOEXIST;
    snprintf(ret, (size_t)size, "%s", value); /* as Slurm's, which cuts it */
    return strlen(value) < (size_t)size ? ESPANK_SUCCESS : ESPANK_NOSPACE;
}

spank_err_t spank_setenv(spank_t sp, const char *name, const char *value, int overwrite)
{
    (void)sp;
    return setenv(name, value, overwrite) == 0 ? ESPANK_SUCCESS : ESPANK_ERROR;
}

spank_err_t spank_unsetenv(spank_t sp, const char *name)
{
    (void)sp;
    unsetenv(name);
    return ESPANK_SUCCESS;
}

void slurm_error(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    vsnprintf(g_error, sizeof(g_error), format, ap);
    va_end(ap);
    g_errors++;
}

void slurm_info(const char *format, ...)
{
    (void)format;
}

int slurm_load_job(job_info_msg_t **ret, uint32_t id, uint16_t flags)
{
    (void)ret, (void)id, (void)flags;
    return SLURM_ERROR;
}

void slurm_free_job_info_msg(job_info_msg_t *m)
{
    (void)m;
}

char *slurm_strerror(int number)
{
    return strerror(number);
}

int slurm_get_errno(void)
{
    return 0;
}

/* The user's own objects stay, however many there are. */
static void a_preload_of_any_length(void **state)
{
    static const size_t k_bytes[] = {0, 1, 100, 4090, 4095, 4096, 5000, 100000};
    char libdir[] = "libdir=" SHIMS, priority[] = "default=5";
    char *words[] = {libdir, priority};

    (void)state;
    assert_int_equal(slurm_spank_init(NULL, 2, words), 0);
    for (size_t i = 0; i < XS_ARRAY_LEN(k_bytes); i++) {
        char *own = malloc(k_bytes[i] + 1);
        const char *joined;

        memset(own, 'x', k_bytes[i]);
        own[k_bytes[i]] = 0;
        if (k_bytes[i])
            own[0] = '/';
        setenv("LD_PRELOAD", own, 1);
        assert_int_equal(slurm_spank_task_init(NULL, 0, NULL), 0);
        joined = getenv("LD_PRELOAD");
        if (!strstr(joined, "libshimcuda.so") || !strstr(joined, own))
            fail_msg("%zu bytes became %zu: %.100s", k_bytes[i], strlen(joined), joined);
        free(own);
    }
    unsetenv("LD_PRELOAD");
    assert_int_equal(g_errors, 0);
    assert_string_equal(getenv("XSCHED_PRIORITY"), "5");
}

/* In place of xsched: shares in space where the file is there that its environment names; writes down what it got. */
static const char k_launcher[] =
    "#!/bin/sh\n"
    "echo \"$* pipe=$CUDA_MPS_PIPE_DIRECTORY preload=$LD_PRELOAD\" >$TASK_TEST/called\n"
    "[ ! -e $TASK_TEST/broken ] || exit 3\n"
    "if [ -e $TASK_TEST/daemon ]; then\n"
    "    export XSCHED_SHARE=SPACE CUDA_MPS_CLIENT_PRIORITY=0\n"
    "else\n"
    "    echo 'xsched run: --share=space: no MPS daemon works in X: the program shares in time' >&2\n"
    "    export XSCHED_SHARE=TIME CUDA_MPS_PIPE_DIRECTORY=/dev/null\n"
    "fi\n"
    "exec env\n";

static void make(const char *name, const char *text)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", getenv("TASK_TEST"), name);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    chmod(path, 0755);
}

static void remove_file(const char *name)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/%s", getenv("TASK_TEST"), name);
    unlink(path);
}

/* @return how the launcher was called for one task, "": not at all */
static const char *task(void)
{
    static char text[4096];
    char path[128];
    FILE *f;

    g_error[0] = text[0] = 0;
    snprintf(path, sizeof(path), "%s/called", getenv("TASK_TEST"));
    unlink(path);
    assert_int_equal(slurm_spank_task_init(NULL, 0, NULL), 0);
    f = fopen(path, "r");
    if (f && !fgets(text, sizeof(text), f))
        text[0] = 0;
    if (f)
        fclose(f);
    return text;
}

/* --xsched-share: the launcher tries it for the task, and starts no daemon; whatever it says, the task runs. */
static void shares_in_space(void **state)
{
    char libdir[] = "libdir=" SHIMS, folder[] = "/tmp/xsched-task-XXXXXX", launcher[64], command[64];
    char *words[] = {libdir, launcher};

    (void)state;
    assert_non_null(mkdtemp(folder));
    setenv("TASK_TEST", folder, 1);
    snprintf(launcher, sizeof(launcher), "launcher=%s/xsched", folder);
    make("xsched", k_launcher);
    make("daemon", "");
    assert_int_equal(slurm_spank_init(NULL, 2, words), 0); /* without a default: only who asks is scheduled */
    unsetenv("XSCHED_PRIORITY");
    assert_string_equal(task(), "");
    assert_null(getenv("XSCHED_PRIORITY"));
    assert_int_equal(g_share(0, "both", 1), ESPANK_BAD_ARG);
    assert_non_null(strstr(g_error, "time, space or auto"));
    setenv("XSCHED_SHARE", "SPACE", 1); /* asks for nothing by itself where the step is left alone */
    assert_string_equal(task(), "");
    unsetenv("XSCHED_SHARE");

    assert_int_equal(g_share(0, "Space", 1), ESPANK_SUCCESS);
    assert_string_equal(task(), "run --share=space --no-server --priority 0 -- /usr/bin/env pipe=/tmp/nvidia-mps preload=\n");
    assert_string_equal(getenv("XSCHED_PRIORITY"), "0");
    assert_string_equal(getenv("XSCHED_SHARE"), "SPACE");
    assert_string_equal(getenv("CUDA_MPS_PIPE_DIRECTORY"), "/tmp/nvidia-mps");
    assert_string_equal(getenv("CUDA_MPS_CLIENT_PRIORITY"), "0");

    setenv("CUDA_MPS_PIPE_DIRECTORY", "/own", 1); /* a daemon of the job's prolog */
    assert_non_null(strstr(task(), "pipe=/own "));
    assert_string_equal(getenv("XSCHED_SHARE"), "SPACE");

    remove_file("daemon");
    unsetenv("CUDA_MPS_CLIENT_PRIORITY");
    task();
    assert_string_equal(getenv("XSCHED_SHARE"), "TIME");
    assert_string_equal(getenv("CUDA_MPS_PIPE_DIRECTORY"), "/dev/null");
    assert_null(getenv("CUDA_MPS_CLIENT_PRIORITY"));
    assert_string_equal(g_error, "xsched: --xsched-share=space: no MPS daemon works in X: the program shares in time");
    unsetenv("CUDA_MPS_PIPE_DIRECTORY");
    task();
    assert_null(getenv("CUDA_MPS_PIPE_DIRECTORY"));

    make("daemon", "");
    make("broken", "");
    task();
    assert_string_equal(getenv("XSCHED_SHARE"), "TIME");
    assert_non_null(strstr(g_error, "does not run"));
    remove_file("xsched");
    task();
    assert_string_equal(getenv("XSCHED_SHARE"), "TIME");

    assert_int_equal(g_share(0, "auto", 1), ESPANK_SUCCESS);
    assert_string_equal(task(), "");
    assert_string_equal(getenv("XSCHED_SHARE"), "TIME");
    assert_string_equal(g_error[0] && !strstr(g_error, "no xserver") ? g_error : "", "");
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    unsetenv("LD_PRELOAD"); /* the shims: those of a sanitizer do not load into a shell */
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_preload_of_any_length), cmocka_unit_test(shares_in_space)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
