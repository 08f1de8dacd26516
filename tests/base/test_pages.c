/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for one thread, from the kernel: sizes, what is used again, what is zero, and what is refused. */
#include "base/pages.h"

#include "base/xs_base.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#define HEAD    16u
#define LARGEST ((1u << 20) - HEAD) /* one byte more is refused */
#define CHUNK   (64u * 1024u)

/* The kernel, watched (the linker's --wrap). */
static size_t g_maps, g_mapped_bytes;
static bool g_no_memory;

void *__real_mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset);

void *__wrap_mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
    if (g_no_memory) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    g_maps++;
    g_mapped_bytes += bytes;
    return __real_mmap(at, bytes, prot, flags, fd, offset);
}

static int setup(void **state)
{
    static struct xs_pages pages;

    memset(&pages, 0, sizeof(pages)); /* the last test's pages stay: nothing gives any back */
    g_maps = g_mapped_bytes = 0;
    g_no_memory = false;
    *state = &pages;
    return 0;
}

static bool is_all(const void *block, size_t bytes, unsigned char c)
{
    const unsigned char *b = block;

    while (bytes && *b == c) {
        b++;
        bytes--;
    }
    return bytes == 0;
}

static void blocks_are_zero_aligned_and_apart(void **state)
{
    static const size_t k_bytes[] = {0, 1, 15, 16, 17, 32, 48, 49, 112, 113, 1000, 4080, 4081, 32752, 32753,
                                     CHUNK - HEAD, CHUNK - HEAD + 1, CHUNK, LARGEST - 1, LARGEST};
    unsigned char *blocks[XS_ARRAY_LEN(k_bytes)];

    for (size_t i = 0; i < XS_ARRAY_LEN(k_bytes); i++) {
        blocks[i] = xs_pages_alloc(*state, k_bytes[i]);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % 16, 0);
        assert_true(is_all(blocks[i], k_bytes[i], 0));
        memset(blocks[i], (int)(i + 1), k_bytes[i]);
    }
    for (size_t i = 0; i < XS_ARRAY_LEN(k_bytes); i++)
        assert_true(is_all(blocks[i], k_bytes[i], (unsigned char)(i + 1)));
    for (size_t i = 0; i < XS_ARRAY_LEN(k_bytes); i++)
        xs_pages_free(*state, blocks[i]);
    for (size_t i = XS_ARRAY_LEN(k_bytes); i-- > 0;) { /* of blocks used again likewise */
        blocks[i] = xs_pages_alloc(*state, k_bytes[i]);
        assert_true(is_all(blocks[i], k_bytes[i], 0));
        memset(blocks[i], (int)(i + 101), k_bytes[i]);
    }
    for (size_t i = 0; i < XS_ARRAY_LEN(k_bytes); i++)
        assert_true(is_all(blocks[i], k_bytes[i], (unsigned char)(i + 101)));
}

static void a_block_is_used_again_for_its_size(void **state)
{
    void *a = xs_pages_alloc(*state, 16), *b = xs_pages_alloc(*state, 16);
    void *large = xs_pages_alloc(*state, 17);

    xs_pages_free(*state, a);
    xs_pages_free(*state, b);
    assert_ptr_equal(xs_pages_alloc(*state, 1), b);   /* the last one first */
    assert_ptr_equal(xs_pages_alloc(*state, 0), a);
    xs_pages_free(*state, a);
    assert_ptr_not_equal(xs_pages_alloc(*state, 17), a);
    xs_pages_free(*state, large);
    assert_ptr_equal(xs_pages_alloc(*state, 16), a);  /* not the larger one */
    assert_ptr_equal(xs_pages_alloc(*state, 48), large);
    xs_pages_free(*state, NULL);
    assert_ptr_not_equal(xs_pages_alloc(*state, 48), large);
}

/* Filled to the last byte, again zero, given back: the head of the next block is as it was. */
static void a_block_ends_before_the_next(void **state)
{
    unsigned char *a = xs_pages_alloc(*state, 48), *b = xs_pages_alloc(*state, 48);

    assert_ptr_equal(b, a + 64);
    memset(a, 0xff, 48);
    xs_pages_free(*state, a);
    assert_ptr_equal(xs_pages_alloc(*state, 48), a);
    assert_true(is_all(a, 48, 0));
    xs_pages_free(*state, b);
    assert_ptr_equal(xs_pages_alloc(*state, 48), b);
}

static void small_blocks_share_a_chunk(void **state)
{
    /* blocks of 32 bytes, head included */
    for (size_t i = 0; i < CHUNK / 32; i++)
        assert_non_null(xs_pages_alloc(*state, 16));
    assert_int_equal(g_maps, 1);
    assert_int_equal(g_mapped_bytes, CHUNK);
    assert_non_null(xs_pages_alloc(*state, 16));
    assert_int_equal(g_maps, 2);
}

static void large_blocks_have_pages_of_their_own(void **state)
{
    struct xs_pages *p = *state;
    char *small = xs_pages_alloc(p, 16);
    void *large;

    assert_non_null(xs_pages_alloc(p, CHUNK / 2 - HEAD)); /* from the same chunk */
    assert_int_equal(g_maps, 1);
    large = xs_pages_alloc(p, CHUNK - HEAD);
    assert_non_null(large);
    assert_int_equal(g_mapped_bytes, 2 * CHUNK);
    assert_non_null(xs_pages_alloc(p, CHUNK - HEAD + 1));
    assert_int_equal(g_mapped_bytes, 4 * CHUNK);
    assert_ptr_equal(xs_pages_alloc(p, 16), small + CHUNK / 2 + 32); /* the chunk goes on */
    assert_int_equal(g_maps, 3);
    xs_pages_free(p, large);
    assert_ptr_equal(xs_pages_alloc(p, CHUNK / 2), large);
    assert_int_equal(g_maps, 3);
}

static void what_is_too_large_is_refused(void **state)
{
    static const size_t k_bytes[] = {LARGEST + 1, (1u << 20) + 1, (size_t)1 << 32, SIZE_MAX / 2,
                                     SIZE_MAX - HEAD, SIZE_MAX - HEAD + 1, SIZE_MAX - 1, SIZE_MAX};
    void *block = xs_pages_alloc(*state, 16);

    xs_pages_free(*state, block); /* one that a small request would get */
    for (size_t i = 0; i < XS_ARRAY_LEN(k_bytes); i++) {
        assert_null(xs_pages_alloc(*state, k_bytes[i]));
        assert_null(xs_pages_grow(*state, NULL, 0, k_bytes[i]));
    }
    assert_int_equal(g_maps, 1);
}

static void without_memory(void **state)
{
    unsigned char *block = xs_pages_alloc(*state, 48), *kept = xs_pages_alloc(*state, 48);

    memset(block, 5, 48);
    xs_pages_free(*state, kept);
    g_no_memory = true;
    assert_null(xs_pages_alloc(*state, CHUNK));
    assert_null(xs_pages_grow(*state, block, 48, CHUNK));
    assert_true(is_all(block, 48, 5)); /* as it was, and not given back */
    assert_ptr_equal(xs_pages_alloc(*state, 48), kept);
    assert_ptr_not_equal(xs_pages_alloc(*state, 48), block);
    while (xs_pages_alloc(*state, CHUNK / 4)) /* to the end of the chunk */
        ;
    assert_null(xs_pages_alloc(*state, CHUNK / 2 - HEAD));
    g_no_memory = false;
    assert_non_null(xs_pages_alloc(*state, CHUNK / 2 - HEAD));
    assert_int_equal(g_maps, 2);
}

static void a_block_grows(void **state)
{
    unsigned char *a = xs_pages_grow(*state, NULL, 0, 40), *b;

    assert_true(is_all(a, 40, 0));
    memset(a, 7, 40);
    b = xs_pages_alloc(*state, 100);
    memset(b, 9, 100);
    xs_pages_free(*state, b);     /* what grows gets this one, with something in it */
    assert_ptr_equal(xs_pages_grow(*state, a, 40, 100), b);
    assert_true(is_all(b, 40, 7));
    assert_true(is_all(b + 40, 60, 0));
    assert_ptr_equal(xs_pages_alloc(*state, 40), a); /* was given back */
    assert_true(is_all(a, 40, 0));
    a = xs_pages_grow(*state, b, 100, 20); /* smaller: the first 20 */
    assert_true(is_all(a, 20, 7));
    assert_true(is_all(a + 20, 12, 0)); /* and not one byte more */
}

static void without_an_owner_it_is_the_heap(void **state)
{
    unsigned char *a = xs_pages_alloc(NULL, 40);

    (void)state;
    memset(a, 9, 40);
    xs_pages_free(NULL, a);
    a = xs_pages_alloc(NULL, 40);
    assert_true(is_all(a, 40, 0));
    memset(a, 7, 40);
    a = xs_pages_grow(NULL, a, 40, 3 * LARGEST);
    assert_non_null(a);
    assert_true(is_all(a, 40, 7));
    assert_true(is_all(a + 40, 3 * LARGEST - 40, 0));
    a = xs_pages_grow(NULL, a, 3 * LARGEST, 10);
    assert_true(is_all(a, 10, 7));
    xs_pages_free(NULL, a);
    xs_pages_free(NULL, NULL);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup(f, setup)
    const struct CMUnitTest tests[] = {
        TEST(blocks_are_zero_aligned_and_apart),
        TEST(a_block_is_used_again_for_its_size),
        TEST(a_block_ends_before_the_next),
        TEST(small_blocks_share_a_chunk),
        TEST(large_blocks_have_pages_of_their_own),
        TEST(what_is_too_large_is_refused),
        TEST(without_memory),
        TEST(a_block_grows),
        TEST(without_an_owner_it_is_the_heap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
