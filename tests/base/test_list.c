/* SPDX-License-Identifier: Apache-2.0 */
/* The list through its elements. */
#include "base/list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define ITEMS 4

struct item {
    char name;
    struct xs_list link;          /* neither first nor last: elements are found by its offset */
    struct xs_list other;
};

struct fixture {
    struct item items[ITEMS];     /* a to d, in no list */
    struct xs_list head, second;
};

static int setup(void **state)
{
    static struct fixture f;

    for (int i = 0; i < ITEMS; i++) {
        f.items[i].name = (char)('a' + i);
        xs_list_init(&f.items[i].link);
        xs_list_init(&f.items[i].other);
    }
    xs_list_init(&f.head);
    xs_list_init(&f.second);
    *state = &f;
    return 0;
}

static void fill(struct fixture *f)
{
    for (int i = 0; i < ITEMS; i++)
        xs_list_add(&f->head, &f->items[i].link);
}

/* The list read in both directions. */
static void assert_list(struct xs_list *head, const char *names)
{
    size_t length = strlen(names), n = 0;

    XS_LIST_FOR(it, head, struct item, link) {
        assert_true(n < length);
        assert_int_equal(it->name, names[n++]);
    }
    assert_int_equal(n, length);
    for (struct xs_list *l = head->prev; l != head; l = l->prev)
        assert_int_equal(XS_CONTAINER_OF(l, struct item, link)->name, names[--n]);
    assert_int_equal(n, 0);
    assert_int_equal(xs_list_empty(head), length == 0);
}

static void an_empty_list(void **state)
{
    struct fixture *f = *state;

    assert_true(xs_list_empty(&f->head));
    assert_list(&f->head, "");
    XS_LIST_FOR_SAFE(it, &f->head, struct item, link)
        fail();
    xs_list_remove(&f->head);     /* in no list */
    assert_list(&f->head, "");
}

static void elements_are_added_at_the_end(void **state)
{
    struct fixture *f = *state;

    xs_list_add(&f->head, &f->items[2].link);
    assert_list(&f->head, "c");
    xs_list_add(&f->head, &f->items[0].link);
    assert_list(&f->head, "ca");
    xs_list_add(&f->head, &f->items[1].link);
    assert_list(&f->head, "cab");
}

static void elements_are_removed_anywhere(void **state)
{
    static const struct {
        int item;
        const char *rest;
    } k_rows[] = {{1, "acd"}, {0, "cd"}, {3, "c"}, {2, ""}}; /* within, first, last, the only one */
    struct fixture *f = *state;

    fill(f);
    for (size_t i = 0; i < XS_ARRAY_LEN(k_rows); i++) {
        struct xs_list *link = &f->items[k_rows[i].item].link;

        xs_list_remove(link);
        assert_list(&f->head, k_rows[i].rest);
        assert_true(xs_list_empty(link));
        xs_list_remove(link);     /* again: in no list now */
        assert_list(&f->head, k_rows[i].rest);
    }
}

static void a_removed_element_can_be_added_again(void **state)
{
    struct fixture *f = *state;

    fill(f);
    xs_list_remove(&f->items[1].link);
    xs_list_add(&f->head, &f->items[1].link);
    assert_list(&f->head, "acdb");
    xs_list_remove(&f->items[0].link);
    xs_list_add(&f->second, &f->items[0].link);
    assert_list(&f->head, "cdb");
    assert_list(&f->second, "a");
}

static void one_element_in_two_lists(void **state)
{
    struct fixture *f = *state;
    int n = 0;

    fill(f);
    xs_list_add(&f->second, &f->items[3].other);
    xs_list_add(&f->second, &f->items[1].other);
    xs_list_remove(&f->items[3].link);
    assert_list(&f->head, "abc");
    XS_LIST_FOR(it, &f->second, struct item, other)
        assert_int_equal(it->name, "db"[n++]);
    assert_int_equal(n, 2);
}

static void each_may_be_removed_on_the_way(void **state)
{
    struct fixture *f = *state;
    char seen[ITEMS + 1] = "";
    size_t n = 0;

    fill(f);
    XS_LIST_FOR_SAFE(it, &f->head, struct item, link) {
        seen[n++] = it->name;
        if (it->name == 'a' || it->name == 'd')
            xs_list_remove(&it->link);
    }
    assert_string_equal(seen, "abcd");
    assert_list(&f->head, "bc");
    n = 0;
    XS_LIST_FOR_SAFE(it, &f->head, struct item, link) {
        xs_list_remove(&it->link);
        memset(it, 0, sizeof(*it)); /* as one that is freed */
        n++;
    }
    assert_int_equal(n, 2);
    assert_list(&f->head, "");
}

static void one_that_is_added_on_the_way_is_met(void **state)
{
    struct fixture *f = *state;
    char seen[ITEMS + 1] = "";
    size_t n = 0;

    xs_list_add(&f->head, &f->items[0].link);
    XS_LIST_FOR(it, &f->head, struct item, link) {
        seen[n++] = it->name;
        if (it->name == 'a')
            xs_list_add(&f->head, &f->items[1].link);
        if (it->name == 'b')
            break;
    }
    assert_string_equal(seen, "ab");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup(f, setup)
    const struct CMUnitTest tests[] = {
        TEST(an_empty_list),
        TEST(elements_are_added_at_the_end),
        TEST(elements_are_removed_anywhere),
        TEST(a_removed_element_can_be_added_again),
        TEST(one_element_in_two_lists),
        TEST(each_may_be_removed_on_the_way),
        TEST(one_that_is_added_on_the_way_is_met),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
