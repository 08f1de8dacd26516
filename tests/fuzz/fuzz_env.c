/* SPDX-License-Identifier: Apache-2.0 */
/* Values of the environment, NAME=VALUE lines: whatever they say, what is read lies in its range. */
#include "fuzz.h"

#include "base/env.h"
#include "base/log.h"
#include "base/str.h"
#include "shim/common/filter.h"
#include "transport/socket.h"
#include "xqueue/config.h"
#include "xsched/types.h"

#include <errno.h>

_Atomic uint64_t fuzz_steps;
const char *const fuzz_steps_name = "values set";

static void set(const char *line)
{
    for (unsigned i = 0; i < XS_ENV_COUNT; i++) {
        const char *name = xs_env_rows[i].name;
        size_t n = strlen(name);

        /* a fuzzer writes no files of any name */
        if (!strcmp(name, "XLOG_FILE") || strncmp(line, name, n) != 0 || line[n] != '=')
            continue;
        setenv(name, line + n + 1, 1);
        fuzz_steps++;
        return;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), path[XS_SOCKET_PATH_BYTES], copy[20];
    const char *filter;
    struct xs_queue_defaults d;
    enum xs_log_level level;
    int64_t i64 = 5;
    uint64_t u64 = 5;
    bool on = false;
    int r;

    xs_log_set_level(XS_LOG_OFF);
    for (unsigned i = 0; i < XS_ENV_COUNT; i++)
        unsetenv(xs_env_rows[i].name);
    for (char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        set(line);
        r = xs_str_parse_i64(line, &i64);
        FUZZ_CHECK(r == 0 || i64 == 5);
        i64 = 5;
        r = xs_str_parse_u64(line, 16, &u64);
        FUZZ_CHECK(r == 0 || u64 == 5);
        u64 = 5;
        (void)xs_str_parse_bool(line, &on);
        FUZZ_CHECK(xs_str_copy(copy, sizeof(copy), line) == (strlen(line) < sizeof(copy)));
    }
    for (unsigned i = 0; i < XS_ENV_COUNT; i++) {
        const struct xs_value_type *type = &xs_env_rows[i].type;

        i64 = xs_env_i64((enum xs_env_id)i, -7);
        if (type->kind == XS_VALUE_NUMBER || type->kind == XS_VALUE_TIME)
            FUZZ_CHECK(i64 == -7 || xs_value_has(type, i64) || (type->unlimited && i64 == -1));
        (void)xs_env_bool((enum xs_env_id)i, true);
    }
    xs_queue_defaults_from_env(&d);
    FUZZ_CHECK(d.hints.priority >= PRIORITY_NO_EXECUTE && d.hints.priority <= PRIORITY_MAX);
    FUZZ_CHECK(d.hints.utilization >= 0 && d.hints.utilization <= 100);
    FUZZ_CHECK(d.hints.deadline_us != 0 && d.hints.deadline_us >= -1 && d.hints.laxity_us >= -1);
    FUZZ_CHECK(d.level >= 1 && d.level <= 3 && d.threshold >= 0 && d.batch >= 1);
    FUZZ_CHECK(d.threshold == 0 || d.batch <= d.threshold);
    (void)xs_auto_enabled();
    filter = xs_env_get(XS_ENV_XSCHED_FILTER);
    (void)xs_filter_function(filter, "cuLaunchKernel");
    (void)xs_filter_has_libraries(filter);
    (void)xs_filter_caller(filter, (const void *)(uintptr_t)LLVMFuzzerTestOneInput);
    if (xs_env_get(XS_ENV_XLOG_LEVEL))
        (void)xs_log_level_parse(xs_env_get(XS_ENV_XLOG_LEVEL), &level);
    for (unsigned i = 0; (r = xs_socket_path(i, path, sizeof(path))) != -ENOENT; i++)
        FUZZ_CHECK(i < 4 && (r < 0 || memchr(path, 0, sizeof(path))));
    free(text);
    return 0;
}
