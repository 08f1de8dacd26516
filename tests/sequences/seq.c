/* SPDX-License-Identifier: Apache-2.0 */
#include "seq.h"

#include "../stream/past.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

typedef uintptr_t (*generic_fn)(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                                uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                                uintptr_t, uintptr_t);

unsigned long seq_steps;
const char *seq_real;
bool seq_verbose; /* SEQ_VERBOSE: what goes into the digest, to find where two runs part */
uint64_t seq_scratch[8192];

static unsigned *g_weak, g_weak_count; /* rows of which the library does no better than an error */
static uint64_t g_digest, g_random;

void seq_note(const void *data, size_t bytes)
{
    const unsigned char *p = data;

    for (size_t i = 0; seq_verbose && i < bytes; i++)
        printf(i + 1 < bytes ? "%02x" : "%02x\n", p[i]);
    for (size_t i = 0; i < bytes; i++)
        g_digest = (g_digest ^ p[i]) * 0x100000001b3ull; /* FNV-1a */
}

unsigned seq_chance(unsigned n)
{
    g_random ^= g_random << 13; /* xorshift64 */
    g_random ^= g_random >> 7;
    g_random ^= g_random << 17;
    return (unsigned)((g_random >> 20) % n);
}

int seq_noted(unsigned row, int r)
{
    seq_called[row]++;
    seq_steps++;
    if (seq_verbose)
        printf("%s ", seq_rows[row].symbol);
    seq_note(&r, sizeof(r));
    return r;
}

void seq_must(int r, const char *what)
{
    if (r == 0)
        return;
    printf("FAILED %s -> %d\n", what, r);
    fflush(stdout);
    _Exit(1);
}

/* One parameter ends at a comma outside of brackets. */
static size_t parameter_bytes(const char *p)
{
    size_t n = 0;

    for (int depth = 0; p[n]; n++) {
        depth += p[n] == '(';
        if (depth == 0 && (p[n] == ',' || p[n] == ')'))
            break;
        depth -= p[n] == ')';
    }
    return n;
}

static bool is_address(const char *type)
{
    return type && strcmp(type, "cl_int") != 0;
}

static void call_by_prototype(unsigned row)
{
    uintptr_t a[SEQ_ARGS] = {0}, value;
    const char *p = seq_rows[row].params;
    unsigned n = 0, slots;

    for (p = p ? p + 1 : ""; *p && *p != ')' && n < SEQ_ARGS;) {
        size_t len = parameter_bytes(p);
        char type[512] = "";

        memcpy(type, p, len < sizeof(type) ? len : sizeof(type) - 1);
        slots = 1;
        if (strcmp(type, "void") == 0)
            break;
        if (!seq_argument(type, &value, &slots))
            value = strchr(type, '*') || strchr(type, '[') ? (uintptr_t)seq_scratch : seq_chance(4);
        for (unsigned i = 0; i < slots && n < SEQ_ARGS; i++)
            a[n++] = value;
        p += len + (p[len] == ',');
        p += strspn(p, " \n");
    }
    if (!seq_rows[row].params) /* passes through: whatever it is */
        for (n = 0; n < SEQ_ARGS; n++)
            a[n] = (uintptr_t)seq_scratch;
    value = ((generic_fn)seq_fn[row])(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10],
                                      a[11], a[12], a[13], a[14], a[15]);
    seq_noted(row, is_address(seq_rows[row].result) ? value != 0 : (int)value);
}

void seq_by_prototype(void)
{
    if (g_weak_count)
        call_by_prototype(g_weak[seq_chance(g_weak_count)]);
}

/* Which rows the library implements, as its symbol table says: the others are weak. */
static int find_weak(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);

    g_weak = calloc(seq_row_count, sizeof(*g_weak));
    for (unsigned i = 0; seq_is_weak && i < seq_row_count; i++) {
        if (seq_is_weak(i))
            g_weak[g_weak_count++] = i;
    }
    for (unsigned i = 0; !seq_is_weak && i < seq_row_count; i++) {
        void *at = library ? past_dlsym(library, seq_rows[i].symbol) : NULL;
        const ElfW(Sym) *symbol = NULL;
        Dl_info info;

        if (!at || !dladdr1(at, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol) {
            printf("FAILED no %s in %s\n", seq_rows[i].symbol, path);
            return -1;
        }
        if (ELF64_ST_BIND(symbol->st_info) == STB_WEAK)
            g_weak[g_weak_count++] = i;
    }
    return 0;
}

static int open_library(const char *path)
{
    void *handle = dlopen(seq_library, RTLD_NOW);

    if (!handle)
        return -1;
    for (unsigned i = 0; i < seq_row_count; i++)
        seq_fn[i] = dlsym(handle, seq_rows[i].symbol);
    seq_start();
    for (unsigned i = 0; i < seq_row_count; i++) {
        void *found = seq_find ? seq_find(i) : NULL;

        if (found)
            seq_fn[i] = found;
        if (!seq_fn[i]) {
            printf("FAILED no %s\n", seq_rows[i].symbol);
            return -1;
        }
    }
    return find_weak(path);
}

int main(int argc, char **argv)
{
    unsigned long first, count, steps, rows = 0;

    if (argc != 5)
        return 2;
    first = strtoul(argv[2], NULL, 0);
    count = strtoul(argv[3], NULL, 0);
    steps = strtoul(argv[4], NULL, 0);
    seq_verbose = getenv("SEQ_VERBOSE") != NULL;
    seq_real = argv[1];
    if (open_library(argv[1]) < 0)
        return 2;
    for (unsigned long seed = first; seed < first + count; seed++) {
        g_digest = 0xcbf29ce484222325ull;
        g_random = (seed + 1) * 0x9e3779b97f4a7c15ull;
        seq_chance(2);
        seq_program(seq_steps + steps);
        printf("%lu %016llx\n", seed, (unsigned long long)g_digest);
    }
    for (unsigned i = 0; i < seq_row_count; i++)
        rows += seq_called[i] > 0;
    printf("steps %lu\nrows %lu of %u\n", seq_steps, rows, seq_row_count);
    for (unsigned i = 0; i < seq_row_count; i++)
        if (!seq_called[i])
            printf("not called: %s\n", seq_rows[i].symbol);
    fflush(stdout);
    _Exit(0);
}
