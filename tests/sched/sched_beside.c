/* SPDX-License-Identifier: Apache-2.0 */
/* Two queues of one process: what the less important one does while the other one is active, by how long the other one's threads
 * wait for the device. */
#include "world.h"

#define LOW  0u
#define HIGH 1u
#define WIDE   120u
#define NARROW 66u

struct beside {
    struct xs_sched *s;
    struct proc w[1];
    uint64_t now, next;
    unsigned phase;          /* of the urgent thread's ms: the scheduler does not always look at the same point of it */
};

static struct beside begin(const char *policy, uint32_t lanes)
{
    struct beside b = {.s = world_sched(policy), .now = 3600 * XS_NS_PER_S};

    b.w[0] = world_join(b.s, 1, NULL, true);
    world_queue(&b.w[0], LOW, WORLD_DEVICE, 1, b.now);
    world_queue(&b.w[0], HIGH, WORLD_DEVICE, 5, b.now);
    atomic_store(&b.w[0].client->cells[LOW].lanes, lanes);
    b.next = world_step(b.s, b.w, 1, b.now);
    world_submit(&b.w[0], LOW, 1000, MS); /* it always has work */
    b.next = world_step(b.s, b.w, 1, b.now);
    return b;
}

static void run_until(struct beside *b, uint64_t until)
{
    while (b->next < until) {
        b->now = XS_MAX(b->next, b->now);
        b->next = world_step(b->s, b->w, 1, b->now);
    }
    b->now = until;
    b->next = world_step(b->s, b->w, 1, b->now);
}

static uint32_t lane(const struct beside *b)
{
    uint32_t word = atomic_load(&b->w[0].server->cells[LOW].lane);

    assert_int_equal(word > XS_LANE_MAKE, (word & XS_LANE_ONLY) != 0);
    return XS_LANE_WIDTH(word);
}

/* The urgent thread, for a time: it launches for some of each ms, and waits for the device for the rest. */
static void urgent(struct beside *b, uint64_t length_ns, uint64_t waits_us)
{
    struct xs_client_cell *c = &b->w[0].client->cells[HIGH];
    uint64_t end = b->now + length_ns;

    while (b->now < end) {
        uint64_t launches = (1000 - waits_us) * US, after = launches * (b->phase++ % 8) / 8;

        world_submit(&b->w[0], HIGH, 10, 100 * US);
        run_until(b, b->now + launches - after);
        atomic_fetch_add(&c->inherit, 1);
        atomic_store(&c->inherit_priority, 5);
        run_until(b, b->now + waits_us * US);
        atomic_fetch_add(&c->waited_ns, waits_us * US);
        atomic_fetch_sub(&c->inherit, 1);
        atomic_store(&c->inherit_priority, INT32_MIN);
        world_complete(&b->w[0], HIGH, 9, 100 * US);
        run_until(b, b->now + after);
        world_complete(&b->w[0], HIGH, 1, 100 * US);
    }
}

static void idle(struct beside *b, uint64_t ns)
{
    run_until(b, b->now + ns);
}

/* Threads that hardly wait: the other queue gets the narrow lane, then the wide one, and the whole device when they are done. */
static void test_gaps(void **state)
{
    struct beside b = begin("HPF", XS_LANES(WIDE, NARROW));

    (void)state;
    urgent(&b, 100 * MS, 50);      /* to know what it does by itself */
    assert_false(world_open(&b.w[0], LOW));
    urgent(&b, 15 * MS, 50);
    assert_true(world_open(&b.w[0], LOW));
    assert_int_equal(lane(&b), NARROW);
    urgent(&b, 30 * MS, 50);
    assert_true(world_open(&b.w[0], LOW));
    assert_int_equal(lane(&b), WIDE);
    idle(&b, 5 * MS);
    assert_true(world_open(&b.w[0], LOW));
    assert_int_equal(lane(&b), XS_LANE_OFF);
    urgent(&b, 2 * MS, 50);        /* what was found out is kept */
    assert_int_equal(lane(&b), WIDE);
    world_done(b.s, b.w, 1);
}

/* Threads that wait for the device most of the time: it is theirs. */
static void test_busy(void **state)
{
    struct beside b = begin("HPF", XS_LANES(WIDE, NARROW));

    (void)state;
    for (int i = 0; i < 50; i++) {
        urgent(&b, 10 * MS, 900);
        assert_false(world_open(&b.w[0], LOW));
    }
    idle(&b, 5 * MS);
    assert_true(world_open(&b.w[0], LOW));
    assert_int_equal(lane(&b), XS_LANE_OFF);
    world_done(b.s, b.w, 1);
}

/* A change of load: how long until the other queue's part is right again. */
static void test_change(void **state)
{
    struct beside b = begin("HPF", XS_LANES(WIDE, NARROW));
    uint64_t began;

    (void)state;
    urgent(&b, 200 * MS, 50);
    assert_int_equal(lane(&b), WIDE);
    began = b.now;
    while (world_open(&b.w[0], LOW))
        urgent(&b, MS, 900);
    assert_in_range(b.now - began, 10 * MS, 45 * MS);
    began = b.now;
    while (!world_open(&b.w[0], LOW))
        urgent(&b, MS, 50);
    assert_in_range(b.now - began, 20 * MS, 110 * MS);
    world_done(b.s, b.w, 1);
}

/* One that gains the lane and loses it again tries less and less often. */
static void test_tries(void **state)
{
    struct beside b = begin("HPF", XS_LANES(WIDE, NARROW));
    uint64_t open = 0, end;

    (void)state;
    for (end = b.now + 4000 * MS; b.now < end;) {
        bool was = world_open(&b.w[0], LOW);
        uint64_t t = b.now;

        urgent(&b, MS, was ? 900 : 100);
        open += was ? b.now - t : 0;
    }
    assert_in_range(open, MS, 400 * MS);
    world_done(b.s, b.w, 1);
}

/* The urgent thread waits for so long of each ms: while the other queue is suspended, narrow, wide.
 * @return the parts of length_ns, in 1/1000, that the other one was each of them */
struct parts { unsigned of[3]; };

static struct parts waits(struct beside *b, uint64_t length_ns, const uint64_t us[3])
{
    uint64_t begin = b->now, t, in[3] = {0};
    struct parts ret;

    while (b->now - begin < length_ns) {
        int now = !world_open(&b->w[0], LOW) ? 0 : lane(b) == NARROW ? 1 : 2;

        t = b->now;
        urgent(b, MS, us[now]);
        in[now] += b->now - t;
        if (now && world_open(&b->w[0], LOW)) { /* it gets on */
            world_complete(&b->w[0], LOW, 1, MS);
            world_submit(&b->w[0], LOW, 1, MS);
        }
    }
    for (int i = 0; i < 3; i++)
        ret.of[i] = (unsigned)(in[i] * 1000 / (b->now - begin));
    return ret;
}

/* Its launches take 950 us by itself. What the others cost shows in its waits, long before it waits most of the time. */
static void test_slowed(void **state)
{
    struct beside b = begin("HPF", XS_LANES(WIDE, NARROW));
    struct parts p;

    (void)state;
    waits(&b, 2000 * MS, (uint64_t[]){50, 50, 300});
    p = waits(&b, 40000 * MS, (uint64_t[]){50, 50, 300}); /* 1.36 times as long on the wide lane: the narrow one */
    assert_in_range(p.of[1], 950, 1000);
    assert_in_range(p.of[2], 1, 40);
    waits(&b, 30000 * MS, (uint64_t[]){50, 300, 300});
    p = waits(&b, 60000 * MS, (uint64_t[]){50, 300, 300}); /* on both: neither */
    assert_in_range(p.of[0], 970, 1000);
    p = waits(&b, 60000 * MS, (uint64_t[]){50, 80, 95}); /* 1.03 and 1.05 times: that is no reason */
    assert_in_range(p.of[2], 750, 1000);
    world_done(b.s, b.w, 1);
}

/* Another phase of the urgent program, which has other waits by itself. */
static void test_phases(void **state)
{
    struct beside b = begin("HPF", XS_LANES(WIDE, NARROW));
    struct parts p;

    (void)state;
    p = waits(&b, 20000 * MS, (uint64_t[]){50, 50, 50});
    assert_in_range(p.of[2], 970, 1000);
    p = waits(&b, 20000 * MS, (uint64_t[]){200, 200, 200}); /* the others did not cause that: two seconds of the narrow lane */
    assert_in_range(p.of[1], 90, 120);
    assert_in_range(p.of[2], 870, 900);
    waits(&b, 20000 * MS, (uint64_t[]){50, 200, 250}); /* they do; what it was by itself is looked at again after a while */
    p = waits(&b, 20000 * MS, (uint64_t[]){50, 200, 250});
    assert_in_range(p.of[0], 950, 1000);
    world_done(b.s, b.w, 1);
}

/* It has no lanes: suspended, and asked to make some, or never. */
static void test_without(void **state)
{
    struct beside b = begin("HPF", 0);

    (void)state;
    urgent(&b, 200 * MS, 50);
    assert_false(world_open(&b.w[0], LOW));
    assert_int_equal(lane(&b), XS_LANE_MAKE);
    idle(&b, 5 * MS);
    assert_true(world_open(&b.w[0], LOW));
    assert_int_equal(lane(&b), XS_LANE_MAKE);
    atomic_store(&b.w[0].client->cells[LOW].lanes, XS_LANES_NONE);
    xs_page_ring(b.w[0].client, b.w[0].server, LOW);
    urgent(&b, 200 * MS, 50);
    assert_false(world_open(&b.w[0], LOW));
    assert_int_equal(lane(&b), XS_LANE_OFF);
    world_done(b.s, b.w, 1);
}

/* Another process's program is more important: no lane of this process is of use to it. */
static void test_other_process(void **state)
{
    struct xs_sched *s = world_sched("HPF");
    struct proc w[2] = {world_join(s, 1, NULL, true), world_join(s, 2, NULL, true)};
    uint64_t now = MS, next;

    (void)state;
    world_queue(&w[0], LOW, WORLD_DEVICE, 1, now);
    world_queue(&w[1], 0, WORLD_DEVICE, 5, now);
    atomic_store(&w[0].client->cells[LOW].lanes, XS_LANES(WIDE, NARROW));
    world_step(s, w, 2, now);
    world_submit(&w[0], LOW, 1000, MS);
    world_submit(&w[1], 0, 1000, MS);
    for (next = world_step(s, w, 2, now); now < 500 * MS; next = world_step(s, w, 2, now))
        now = XS_MAX(now + 10 * US, XS_MIN(next, now + MS));
    assert_false(world_open(&w[0], LOW));
    world_done(s, w, 2);
}

/* Turns are turns: a policy that does not go by rank confines nobody. */
static void test_shares(void **state)
{
    struct beside b = begin("PUP", XS_LANES(WIDE, NARROW));

    (void)state;
    for (int i = 0; i < 100; i++) {
        urgent(&b, MS, 50);
        assert_int_equal(lane(&b), XS_LANE_OFF);
    }
    world_done(b.s, b.w, 1);
}

/* A launch that cannot be confined sleeps for the whole device: it is woken when the urgent one is idle, and the word keeps its
 * value while the queue is suspended. */
static void test_whole(void **state)
{
    struct beside b = begin("HPF", XS_LANES(WIDE, NARROW));
    struct xs_client_cell *c = &b.w[0].client->cells[LOW];

    (void)state;
    urgent(&b, 200 * MS, 50);
    assert_int_equal(lane(&b), WIDE);
    atomic_fetch_add(&c->waiters, 1);
    while (world_open(&b.w[0], LOW))
        urgent(&b, MS, 900);
    assert_true(lane(&b) > XS_LANE_MAKE);
    idle(&b, 20 * MS);
    assert_int_equal(lane(&b), XS_LANE_OFF);
    assert_true(world_open(&b.w[0], LOW));
    urgent(&b, 200 * MS, 50);
    world_complete(&b.w[0], LOW, 1000, MS); /* nothing left but the one that sleeps, which is inside its call */
    atomic_fetch_add(&c->entered, 1);
    idle(&b, 20 * MS);
    assert_int_equal(lane(&b), XS_LANE_OFF);
    world_done(b.s, b.w, 1);
}

/* A third queue, more important for what waited for it, is complete, and nobody tells: the other one is not confined for ever. */
static void test_untold(void **state)
{
    struct beside b = begin("HPF", XS_LANES(WIDE, NARROW));
    struct xs_client_cell *c = &b.w[0].client->cells[2];

    (void)state;
    world_queue(&b.w[0], 2, WORLD_DEVICE, 1, b.now);
    urgent(&b, 200 * MS, 50);
    assert_int_equal(lane(&b), WIDE);
    world_submit(&b.w[0], 2, 2, 50 * US);
    atomic_store(&c->lent, XS_LENT(2, 5));
    xs_page_ring(b.w[0].client, b.w[0].server, 2);
    atomic_fetch_add(&b.w[0].client->cells[LOW].entered, 1); /* a launch that waits for the whole device */
    atomic_fetch_add(&b.w[0].client->cells[LOW].waiters, 1);
    idle(&b, 300 * MS);
    assert_int_equal(lane(&b), XS_LANE_OFF);
    assert_true(world_open(&b.w[0], LOW));
    world_done(b.s, b.w, 1);
}

static unsigned left(const struct xs_client_cell *c)
{
    return (unsigned)(atomic_load(&c->entered) - XS_MAX(atomic_load(&c->completed), atomic_load(&c->marked)));
}

/* Whatever happened: a while after the urgent queues have become idle, the other one has the whole device. The processes ring
 * only where they are asked to, and the device's marks ring for nobody. */
static void test_random(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 300; seed++) {
        struct beside b = {.s = world_sched("HPF"), .now = MS};
        struct xs_client_cell *low;
        unsigned r = seed * 2654435761u;

        b.w[0] = world_join(b.s, 1, NULL, true);
        b.w[0].device_marks = seed % 2;
        for (uint32_t c = 0; c < 4; c++)
            world_queue(&b.w[0], c, WORLD_DEVICE, c == 0 ? 1 : c < 3 ? 5 : 1, b.now);
        low = &b.w[0].client->cells[LOW];
        atomic_store(&low->lanes, XS_LANES(WIDE, NARROW));
        b.next = world_step(b.s, b.w, 1, b.now);
        for (int i = 0; i < 400; i++) {
            uint32_t c = (r = r * 1103515245u + 12345u) >> 16 & 3;
            struct xs_client_cell *cell = &b.w[0].client->cells[c];
            unsigned busy = left(cell);

            r = r * 1103515245u + 12345u;
            if (r >> 16 & 1 && world_open(&b.w[0], c))
                world_submit(&b.w[0], c, 1 + (r >> 20) % 5, 50 * US);
            else if (busy)
                world_complete(&b.w[0], c, r >> 18 & 1 ? busy : 1, 50 * US);
            if (r >> 24 & 1)
                run_until(&b, b.now + ((r >> 25) % 16 ? 100 * US : 5 * MS));
        }
        for (uint32_t c = 1; c < 4; c++)
            world_complete(&b.w[0], c, left(&b.w[0].client->cells[c]), 0);
        if (!left(low) || atomic_load(&b.w[0].server->cells[LOW].armed) & XS_ARMED_SUBMIT)
            world_submit(&b.w[0], LOW, 1, MS);
        run_until(&b, b.now + 30 * MS);
        if (!world_open(&b.w[0], LOW) || lane(&b) != XS_LANE_OFF)
            fail_msg("seed %u: open %d, lane %u", seed, world_open(&b.w[0], LOW), lane(&b));
        world_done(b.s, b.w, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gaps), cmocka_unit_test(test_busy), cmocka_unit_test(test_change),
        cmocka_unit_test(test_tries), cmocka_unit_test(test_slowed), cmocka_unit_test(test_phases),
        cmocka_unit_test(test_without), cmocka_unit_test(test_other_process), cmocka_unit_test(test_shares),
        cmocka_unit_test(test_whole), cmocka_unit_test(test_untold), cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
