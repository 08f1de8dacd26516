/* SPDX-License-Identifier: Apache-2.0 */
/* What xsched-http learns of NVIDIA's devices by its reader: test_nvml FOLDER_OF_THE_FAKE CASE... ; each case in a process. */
#include "base/clock.h"
#include "base/xs_base.h"
#include "http/devices/nvml_states.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FIRST  "0000:3b:00.0"
#define SECOND "0000:5e:00.0"
#define CHECK(x)                                                                                                     \
    do {                                                                                                             \
        if (!(x)) {                                                                                                  \
            fprintf(stderr, "line %d: %s\n", __LINE__, #x);                                                          \
            exit(1);                                                                                                 \
        }                                                                                                            \
    } while (0)

static char g_log[64];

/* The process ids of the readers that began. @return how many */
static int readers(pid_t *ret_last)
{
    FILE *f = fopen(g_log, "re");
    int n = 0, pid;

    while (f && fscanf(f, "%d", &pid) == 1) {
        *ret_last = pid;
        n++;
    }
    if (f)
        fclose(f);
    return n;
}

static bool all_unknown(const struct xs_nvml_answer *a)
{
    return a->state.memory_bytes < 0 && a->state.memory_used_bytes < 0 && a->state.temperature_c < 0 && a->state.clock_mhz < 0;
}

/* The first answer: it may come after the 0.3 s that one question waits for, where the machine is busy. */
static void await(const char *pci, struct xs_nvml_answer *ret)
{
    for (int i = 0; i < 100; i++) {
        xs_nvml_state_get(pci, ret);
        if (!all_unknown(ret) || ret->model[0])
            return;
        usleep(20000);
    }
}

static void values(void)
{
    struct xs_nvml_answer a;
    pid_t reader;

    await(FIRST, &a);
    CHECK(a.state.memory_bytes == (int64_t)80 << 30 && a.state.memory_used_bytes == (int64_t)20 << 30);
    CHECK(a.state.temperature_c == 54 && a.state.clock_mhz == 1980);
    CHECK(strcmp(a.model, "NVIDIA Fake 80GB") == 0);
    await(SECOND, &a);
    CHECK(all_unknown(&a) && strcmp(a.model, "NVIDIA \"Odd\"") == 0);
    xs_nvml_state_get("0000:99:00.0", &a);
    CHECK(all_unknown(&a) && !a.model[0]);
    xs_nvml_state_get(FIRST, &a);
    CHECK(a.state.temperature_c == 54);
    CHECK(readers(&reader) == 1);
}

static void fails(const char *way, int n_readers)
{
    struct xs_nvml_answer a;
    pid_t reader;
    uint64_t begin;

    setenv("FAKE_NVML", way, 1);
    for (int i = 0; i < 20; i++) {
        xs_nvml_state_get(i & 1 ? SECOND : FIRST, &a);
        CHECK(all_unknown(&a));
        usleep(20000);
    }
    begin = xs_now_ns();
    for (int i = 0; i < 1000; i++) /* another reader would start in a minute; until then it costs nothing */
        xs_nvml_state_get(FIRST, &a);
    CHECK(xs_now_ns() - begin < XS_NS_PER_S);
    CHECK(readers(&reader) == n_readers);
}

static void no_library(void)
{
    unsetenv("LD_LIBRARY_PATH");
    fails("", 0);
}

static void no_driver(void)
{
    fails("no_driver", 1);
}

static void crash(void)
{
    fails("crash", 1);
}

static void hang(void)
{
    struct xs_nvml_answer a;
    uint64_t begin = xs_now_ns();
    pid_t reader = 0;

    setenv("FAKE_NVML", "hang", 1);
    for (int i = 0; i < 8; i++) { /* eight devices wait no longer than one */
        char pci[24];

        snprintf(pci, sizeof(pci), "0000:%02x:00.0", 0x3b + i);
        xs_nvml_state_get(pci, &a);
        CHECK(all_unknown(&a));
    }
    CHECK(xs_now_ns() - begin < 2 * XS_NS_PER_S);
    while (readers(&reader) == 0 && xs_now_ns() - begin < 20 * XS_NS_PER_S)
        usleep(20000);
    CHECK(reader > 0 && kill(reader, 0) == 0);
    while (kill(reader, 0) == 0 && xs_now_ns() - begin < 20 * XS_NS_PER_S) {
        xs_nvml_state_get(FIRST, &a);
        CHECK(all_unknown(&a));
        usleep(50000);
    }
    CHECK(kill(reader, 0) < 0 && errno == ESRCH); /* neither running nor a zombie */
}

/* Without questions the reader ends, and the next question starts another. */
static void idle(void)
{
    struct xs_nvml_answer a;
    uint64_t begin = xs_now_ns();
    pid_t reader = 0;

    await(FIRST, &a);
    CHECK(readers(&reader) == 1 && a.state.temperature_c == 54);
    while (xs_now_ns() - begin < 30 * XS_NS_PER_S) {
        char path[32], state = 'Z';
        FILE *f;

        snprintf(path, sizeof(path), "/proc/%d/stat", reader);
        f = fopen(path, "re");
        if (f) {
            CHECK(fscanf(f, "%*d (%*[^)]) %c", &state) == 1);
            fclose(f);
        }
        if (state == 'Z')
            break;
        usleep(100000);
    }
    CHECK(xs_now_ns() - begin > 9 * XS_NS_PER_S && xs_now_ns() - begin < 30 * XS_NS_PER_S);
    await(FIRST, &a);
    CHECK(a.state.temperature_c == 54);
    CHECK(readers(&reader) == 2);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } k_cases[] = {{"values", values}, {"no_library", no_library}, {"no_driver", no_driver},
                   {"crash", crash},   {"hang", hang},             {"idle", idle}};
    char logs[XS_ARRAY_LEN(k_cases)][sizeof(g_log)];
    pid_t pids[XS_ARRAY_LEN(k_cases)] = {0};
    int failed = 0, done = 0;

    if (argc < 3)
        return 2;
    xs_nvml_reader_set(XSCHED_HTTP_PATH);
    setenv("LD_LIBRARY_PATH", argv[1], 1);
    for (size_t k = 0; k < XS_ARRAY_LEN(k_cases); k++) /* all at once: most of what they do is to wait */
        for (int i = 2; i < argc; i++) {
            if (strcmp(argv[i], k_cases[k].name) != 0)
                continue;
            snprintf(logs[k], sizeof(logs[k]), "/tmp/xsched-nvml-%d-%d", getpid(), i);
            memcpy(g_log, logs[k], sizeof(logs[k]));
            setenv("FAKE_NVML_LOG", g_log, 1);
            pids[k] = fork();
            if (pids[k] == 0) {
                k_cases[k].run();
                exit(0);
            }
        }
    for (size_t k = 0; k < XS_ARRAY_LEN(k_cases); k++) {
        int status = 1;

        if (!pids[k])
            continue;
        if (pids[k] < 0 || waitpid(pids[k], &status, 0) != pids[k] || status != 0)
            failed++;
        printf("%s %s\n", status == 0 ? "ok    " : "FAILED", k_cases[k].name);
        unlink(logs[k]);
        done++;
    }
    return failed || done != argc - 2;
}
