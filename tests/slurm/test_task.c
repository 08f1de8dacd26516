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

#include <cmocka.h>

int slurm_spank_init(spank_t sp, int ac, char **av);
int slurm_spank_task_init(spank_t sp, int ac, char **av);

static unsigned g_errors;

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
    (void)sp, (void)o;
    return ESPANK_SUCCESS;
}

spank_err_t spank_get_item(spank_t sp, spank_item_t item, ...)
{
    va_list ap;

    (void)sp, (void)item;
    va_start(ap, item);
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
    (void)format;
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_preload_of_any_length)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
