/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzzer without libFuzzer: fuzz_NAME [-n INPUTS] [-u STEPS] [-s SEED] [FILE|FOLDER...]
 *
 * Every file first; then -n changed inputs, and more until -u steps were counted (see fuzz_steps).
 * The changes come from the seed alone, so a failure is found again: its input is written to
 * the file that FUZZ_KEEP names before it is run. */
#include "fuzz.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#define INPUT_MAX  4096u
#define INPUTS_MAX 4096u

struct input {
    uint8_t *data;
    size_t size;
};
static struct input g_inputs[INPUTS_MAX];
static size_t g_count;
static uint64_t g_seed = 20240611;

static uint64_t random_u64(void)
{
    g_seed ^= g_seed << 13; /* xorshift64 */
    g_seed ^= g_seed >> 7;
    g_seed ^= g_seed << 17;
    return g_seed;
}

static void add_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    struct input *to = &g_inputs[g_count];
    struct stat st;

    if (!f || fstat(fileno(f), &st) < 0 || g_count == INPUTS_MAX) {
        fprintf(stderr, "%s cannot be read\n", path);
        exit(2);
    }
    to->data = malloc((size_t)st.st_size + 1);
    to->size = fread(to->data, 1, (size_t)st.st_size, f);
    g_count++;
    fclose(f);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add(const char *path)
{
    DIR *d = opendir(path);
    char *names[INPUTS_MAX], file[4096];
    size_t n = 0;

    if (!d) {
        add_file(path);
        return;
    }
    for (struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.' && n < INPUTS_MAX)
            names[n++] = strdup(e->d_name);
    closedir(d);
    qsort(names, n, sizeof(names[0]), by_name); /* the same order everywhere */
    for (size_t i = 0; i < n; i++) {
        snprintf(file, sizeof(file), "%s/%s", path, names[i]);
        free(names[i]);
        add_file(file);
    }
}

/* Bytes changed, doubled, cut, or another input's behind them. */
static size_t change(uint8_t *to)
{
    const struct input *from = &g_inputs[random_u64() % g_count];
    size_t size = XS_MIN(from->size, INPUT_MAX);

    memcpy(to, from->data, size);
    for (uint64_t n = 1 + random_u64() % 8; n > 0; n--) {
        size_t at = size ? random_u64() % size : 0, bytes = 1 + random_u64() % 16;

        switch (random_u64() % 7) {
        case 0:
            if (size)
                to[at] = (uint8_t)random_u64();
            break;
        case 1:
            if (size)
                to[at] ^= (uint8_t)(1u << random_u64() % 8);
            break;
        case 2: /* twice */
            bytes = XS_MIN(bytes, XS_MIN(size - at, INPUT_MAX - size));
            memmove(to + at + bytes, to + at, size - at);
            size += bytes;
            break;
        case 3: /* out */
            bytes = XS_MIN(bytes, size - at);
            memmove(to + at, to + at + bytes, size - at - bytes);
            size -= bytes;
            break;
        case 4: /* something new in between */
            bytes = XS_MIN(bytes, INPUT_MAX - size);
            memmove(to + at + bytes, to + at, size - at);
            for (size_t i = 0; i < bytes; i++)
                to[at + i] = (uint8_t)random_u64();
            size += bytes;
            break;
        case 5: {
            const struct input *other = &g_inputs[random_u64() % g_count];

            bytes = XS_MIN(other->size, INPUT_MAX - size);
            memcpy(to + size, other->data, bytes);
            size += bytes;
            break;
        }
        default:
            if (random_u64() % 8 == 0)
                size = at;
            break;
        }
    }
    return size;
}

static void keep(const uint8_t *data, size_t size)
{
    FILE *f = getenv("FUZZ_KEEP") ? fopen(getenv("FUZZ_KEEP"), "wb") : NULL;

    if (f) {
        fwrite(data, 1, size, f);
        fclose(f);
    }
}

int main(int argc, char **argv)
{
    unsigned long long inputs = 0, steps = 0, done = 0;
    uint8_t *data = malloc(INPUT_MAX);
    int option;

    while ((option = getopt(argc, argv, "n:u:s:")) != -1) {
        if (option == 'n')
            inputs = strtoull(optarg, NULL, 0);
        else if (option == 'u')
            steps = strtoull(optarg, NULL, 0);
        else if (option == 's')
            g_seed = (strtoull(optarg, NULL, 0) + 1) * 0x9e3779b97f4a7c15ull;
        else
            return 2;
    }
    for (; optind < argc; optind++)
        add(argv[optind]);
    if (g_count == 0) {
        fprintf(stderr, "no inputs: a corpus is needed\n");
        return 2;
    }
    for (size_t i = 0; i < g_count; i++)
        LLVMFuzzerTestOneInput(g_inputs[i].data, g_inputs[i].size);
    for (; done < inputs || (fuzz_steps < steps && fuzz_steps_name); done++) {
        size_t size = change(data);

        keep(data, size);
        LLVMFuzzerTestOneInput(data, size);
    }
    printf("%zu files, %llu changed inputs tried", g_count, done);
    if (fuzz_steps_name)
        printf(", %llu %s", (unsigned long long)fuzz_steps, fuzz_steps_name);
    printf("\n");
    for (size_t i = 0; i < g_count; i++)
        free(g_inputs[i].data);
    free(data);
    return 0;
}
