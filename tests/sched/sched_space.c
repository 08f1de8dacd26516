/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that share in space: what the less important ones do while another one is active, by how long its
 * threads wait for the device; and where processes that share in time are on the same device. */
#include "world.h"

#define LOW    0u
#define HIGH   1u
#define THIRD  2u
#define WIDE   120u
#define NARROW 66u
#define SPACE  77u

struct space {
    struct xs_sched *s;
    struct proc w[3];
    size_t n;
    uint64_t now, next;
};

/* @param low, high  the MPS servers of both processes; 0: it shares in time */
static struct space begin_as(const char *policy, uint64_t low, uint64_t high, uint64_t user)
{
    struct space b = {.s = world_sched(policy), .n = 2, .now = 3600 * XS_NS_PER_S};

    b.w[LOW] = world_join_as(b.s, (struct xs_sched_process_info){.id = 1, .space = low, .user = 1});
    b.w[HIGH] = world_join_as(b.s, (struct xs_sched_process_info){.id = 2, .space = high, .user = user});
    world_queue(&b.w[LOW], 0, WORLD_DEVICE, 1, b.now);
    world_queue(&b.w[LOW], 1, WORLD_DEVICE, 1, b.now);
    world_queue(&b.w[HIGH], 0, WORLD_DEVICE, 5, b.now);
    for (uint32_t c = 0; c < 2; c++)
        atomic_store(&b.w[LOW].client->cells[c].lanes, XS_LANES(WIDE, NARROW));
    b.next = world_step(b.s, b.w, b.n, b.now);
    world_submit(&b.w[LOW], 0, 1000, MS); /* it always has work */
    b.next = world_step(b.s, b.w, b.n, b.now);
    return b;
}

static struct space begin(void)
{
    return begin_as("HPF", SPACE, SPACE, 1);
}

static void run_until(struct space *b, uint64_t until)
{
    while (b->next < until) {
        b->now = XS_MAX(b->next, b->now);
        b->next = world_step(b->s, b->w, b->n, b->now);
    }
    b->now = until;
    b->next = world_step(b->s, b->w, b->n, b->now);
}

static uint32_t lane_at(const struct space *b, uint32_t cell)
{
    uint32_t word = atomic_load(&b->w[LOW].server->cells[cell].lane);

    assert_int_equal(word > XS_LANE_MAKE, (word & XS_LANE_ONLY) != 0);
    return XS_LANE_WIDTH(word);
}

static uint32_t lane(const struct space *b)
{
    return lane_at(b, 0);
}

static bool runs(const struct space *b)
{
    return world_open(&b->w[LOW], 0);
}

/* The urgent process, for a time: its thread launches for some of each ms, and waits for the device for the rest. */
static void urgent_of(struct space *b, size_t who, uint64_t length_ns, uint64_t waits_us)
{
    struct xs_client_cell *c = &b->w[who].client->cells[0];
    uint64_t end = b->now + length_ns;

    while (b->now < end) {
        world_submit(&b->w[who], 0, 10, 100 * US);
        run_until(b, b->now + (1000 - waits_us) * US);
        atomic_fetch_add(&c->inherit, 1);
        atomic_store(&c->inherit_priority, 5);
        run_until(b, b->now + waits_us * US);
        atomic_fetch_add(&c->waited_ns, waits_us * US);
        atomic_fetch_sub(&c->inherit, 1);
        atomic_store(&c->inherit_priority, INT32_MIN);
        world_complete(&b->w[who], 0, 10, 100 * US);
    }
}

static void urgent(struct space *b, uint64_t length_ns, uint64_t waits_us)
{
    urgent_of(b, HIGH, length_ns, waits_us);
}

static void idle(struct space *b, uint64_t ns)
{
    run_until(b, b->now + ns);
}

static void end(struct space *b)
{
    world_done(b->s, b->w, b->n);
}

/* Suspended, then the narrow lane, then the wide one; all of its queues; the whole device when the urgent process is idle. */
static void test_gaps(void **state)
{
    struct space b = begin();

    (void)state;
    urgent(&b, 100 * MS, 50);      /* to know what it does by itself */
    assert_false(runs(&b));
    urgent(&b, 15 * MS, 50);
    assert_true(runs(&b));
    assert_int_equal(lane(&b), NARROW);
    urgent(&b, 30 * MS, 50);
    assert_true(runs(&b));
    assert_int_equal(lane(&b), WIDE);
    assert_int_equal(lane_at(&b, 1), WIDE); /* it is idle, and may submit before anybody hears of it */
    world_submit(&b.w[LOW], 1, 10, MS);
    urgent(&b, 5 * MS, 50);
    assert_true(world_open(&b.w[LOW], 1));
    assert_int_equal(lane_at(&b, 1), WIDE);
    world_complete(&b.w[LOW], 1, 10, MS);
    idle(&b, 10 * MS);
    assert_true(runs(&b));
    assert_int_equal(lane(&b), XS_LANE_OFF);
    assert_int_equal(lane_at(&b, 1), XS_LANE_OFF);
    urgent(&b, 2 * MS, 50);        /* what was found out is kept */
    assert_int_equal(lane(&b), WIDE);
    end(&b);
}

/* Threads that wait for the device most of the time: it is theirs. */
static void test_busy(void **state)
{
    struct space b = begin();

    (void)state;
    for (int i = 0; i < 50; i++) {
        urgent(&b, 10 * MS, 900);
        assert_false(runs(&b));
    }
    idle(&b, 5 * MS);
    assert_true(runs(&b));
    assert_int_equal(lane(&b), XS_LANE_OFF);
    end(&b);
}

/* It pauses after each kernel, for longer than a queue that ran dry counts as ready: it launches slowly all the same. */
static void test_pauses(void **state)
{
    struct space b = begin();

    (void)state;
    for (int i = 0; i < 300; i++) {
        world_submit(&b.w[HIGH], 0, 1, 100 * US);
        run_until(&b, b.now + 100 * US);
        assert_true(i < 200 || lane(&b) == WIDE);
        world_complete(&b.w[HIGH], 0, 1, 100 * US);
        b.next = b.now;                      /* it rings */
        run_until(&b, b.now + 800 * US);
        assert_true(runs(&b));
    }
    for (int i = 0; i < 300; i++) {          /* seldom, and its thread waits: what was found in between counts for nothing */
        urgent(&b, 2 * MS, 900);
        assert_false(i > 60 && runs(&b));
        b.next = b.now;
        idle(&b, 6 * MS);
        assert_true(runs(&b));
    }
    end(&b);
}

/* A step of urgent load up and down: how long until the reserve is right again. */
static void test_change(void **state)
{
    struct space b = begin();
    uint64_t began;

    (void)state;
    urgent(&b, 200 * MS, 50);
    assert_int_equal(lane(&b), WIDE);
    began = b.now;
    while (runs(&b))
        urgent(&b, MS, 900);
    assert_in_range(b.now - began, 10 * MS, 45 * MS);
    began = b.now;
    while (!runs(&b))
        urgent(&b, MS, 50);
    assert_in_range(b.now - began, 20 * MS, 110 * MS);
    end(&b);
}

/* Two of its queues, of which threads wait for either by turns: neither looks as if the process launched slowly. */
static void test_two_queues(void **state)
{
    struct space b = begin();

    (void)state;
    world_queue(&b.w[HIGH], 1, WORLD_DEVICE, 5, b.now);
    for (int i = 0; i < 300; i++) {
        uint32_t cell = (uint32_t)i % 2;
        struct xs_client_cell *c = &b.w[HIGH].client->cells[cell];

        world_submit(&b.w[HIGH], cell, 10, 100 * US);
        run_until(&b, b.now + 100 * US);
        atomic_fetch_add(&c->inherit, 1);
        run_until(&b, b.now + 900 * US);
        atomic_fetch_add(&c->waited_ns, 900 * US);
        atomic_fetch_sub(&c->inherit, 1);
        world_complete(&b.w[HIGH], cell, 10, 100 * US);
        assert_false(i > 10 && runs(&b));
    }
    end(&b);
}

static void never_beside(uint64_t low, uint64_t high, uint64_t user)
{
    struct space b = begin_as("HPF", low, high, user);

    for (int i = 0; i < 100; i++) {
        urgent(&b, MS, 50);
        assert_false(runs(&b) && user == 1); /* another user has its share of the time */
        assert_true(lane(&b) <= XS_LANE_MAKE);
    }
    idle(&b, 5 * MS);
    assert_true(runs(&b));
    end(&b);
}

/* In time, both or one of them; in two MPS servers; of two users: kernels of both cannot run at one time. */
static void test_not_together(void **state)
{
    (void)state;
    never_beside(0, 0, 1);
    never_beside(SPACE, 0, 1);
    never_beside(0, SPACE, 1);
    never_beside(SPACE, SPACE + 1, 1);
    never_beside(SPACE, SPACE, 2);
}

/* One runs beside the urgent one of its server. Once a still more urgent one is there that shares in time, neither
 * does: the server is one participant. */
static void test_one_in_time(void **state)
{
    struct space b = begin();

    (void)state;
    b.w[THIRD] = world_join_as(b.s, (struct xs_sched_process_info){.id = 3, .user = 1});
    b.n = 3;
    world_queue(&b.w[THIRD], 0, WORLD_DEVICE, 9, b.now);
    urgent(&b, 200 * MS, 50);
    assert_int_equal(lane(&b), WIDE);
    for (int i = 0; i < 20; i++) {
        world_submit(&b.w[HIGH], 0, 10, 100 * US);
        urgent_of(&b, THIRD, 5 * MS, 50);
        assert_false(runs(&b));
        assert_false(world_open(&b.w[HIGH], 0));
    }
    idle(&b, 5 * MS);
    assert_true(world_open(&b.w[HIGH], 0));
    world_complete(&b.w[HIGH], 0, 200, 100 * US);
    urgent(&b, 10 * MS, 50);
    assert_true(runs(&b));
    assert_int_equal(lane(&b), WIDE);
    end(&b);
}

/* The reverse: the background program in time waits while anything in space is more important. */
static void test_background_in_time(void **state)
{
    struct space b = begin();

    (void)state;
    b.w[THIRD] = world_join_as(b.s, (struct xs_sched_process_info){.id = 3, .user = 1});
    b.n = 3;
    world_queue(&b.w[THIRD], 0, WORLD_DEVICE, 0, b.now);
    world_submit(&b.w[THIRD], 0, 100, MS);
    for (int i = 0; i < 200; i++) {
        urgent(&b, MS, 50);
        assert_false(world_open(&b.w[THIRD], 0));
    }
    assert_int_equal(lane(&b), WIDE);
    end(&b);
}

/* A queue without lanes may not be beside: its program waits, and is asked to make some. */
static void test_without(void **state)
{
    struct space b = begin();

    (void)state;
    atomic_store(&b.w[LOW].client->cells[0].lanes, 0);
    xs_page_ring(b.w[LOW].client, b.w[LOW].server, 0);
    urgent(&b, 80 * MS, 50);
    assert_false(runs(&b));
    assert_int_equal(lane(&b), XS_LANE_MAKE);
    atomic_store(&b.w[LOW].client->cells[0].lanes, XS_LANES_NONE);
    xs_page_ring(b.w[LOW].client, b.w[LOW].server, 0);
    urgent(&b, 80 * MS, 50);
    assert_false(runs(&b));
    assert_int_equal(lane(&b), XS_LANE_OFF);
    end(&b);
}

/* Turns are turns, and what they cost is whose the device was: nobody is beside. */
static void test_shares(void **state)
{
    struct space b = begin_as("PUP", SPACE, SPACE, 1);

    (void)state;
    for (int i = 0; i < 100; i++) {
        urgent(&b, MS, 50);
        assert_int_equal(lane(&b), XS_LANE_OFF);
    }
    end(&b);
}

/* What it did beside the urgent one counts as device time that it received. */
static void test_service(void **state)
{
    struct space b = begin();
    struct xs_sched_queue_status before, after;
    struct xs_sched_queue *q;

    (void)state;
    q = world_queue(&b.w[LOW], 2, WORLD_DEVICE, 1, b.now);
    atomic_store(&b.w[LOW].client->cells[2].lanes, XS_LANES(WIDE, NARROW));
    world_submit(&b.w[LOW], 2, 1000, MS);
    urgent(&b, 200 * MS, 50);
    assert_true(world_open(&b.w[LOW], 2));
    xs_sched_queue_status(q, b.now, &before);
    urgent(&b, 10 * MS, 50);
    world_complete(&b.w[LOW], 2, 5, MS);
    urgent(&b, 2 * MS, 50);
    xs_sched_queue_status(q, b.now, &after);
    assert_int_equal(after.service_ns - before.service_ns, 5 * MS);
    end(&b);
}

/* Queues come and go while they are on a lane; one that leaves while confined leaves nothing behind. */
static void test_queues_leave(void **state)
{
    struct space b = begin();
    struct xs_sched_queue *q;

    (void)state;
    urgent(&b, 200 * MS, 50);
    for (int i = 0; i < 20; i++) {
        q = world_queue(&b.w[LOW], 2, WORLD_DEVICE, 1, b.now);
        atomic_store(&b.w[LOW].client->cells[2].lanes, XS_LANES(WIDE, NARROW));
        world_submit(&b.w[LOW], 2, 10, MS);
        urgent(&b, 5 * MS, 50);
        assert_int_equal(lane_at(&b, 2), WIDE);
        xs_sched_queue_remove(b.s, q, b.now);
        assert_int_equal(lane_at(&b, 2), XS_LANE_OFF);
        b.next = b.now;
        urgent(&b, MS, 50);
    }
    world_complete(&b.w[HIGH], 0, 0, 0);
    idle(&b, 10 * MS);
    assert_int_equal(lane(&b), XS_LANE_OFF);
    assert_false(xs_sched_renew_leases(b.s, b.now)); /* nothing is closed any more */
    end(&b);
}

/* Requests of a phase that launches and one that waits, five a second. @return in how many ms of the
 * second one the other process ran */
static unsigned phased(struct space *b, unsigned seconds, uint64_t launches_ms)
{
    unsigned hurt = 0;

    for (unsigned i = 0; i < 5 * seconds; i++) {
        urgent(b, launches_ms * MS, 50);
        for (int k = 0; k < 14; k++) {
            hurt += runs(b);
            urgent(b, MS, 900);
        }
        idle(b, (186 - launches_ms) * MS);
    }
    return hurt;
}

/* A language model's prompts and tokens: the first phase is too short for a step which the second one
 * would take back. */
static void test_phases(void **state)
{
    struct space b = begin();

    (void)state;
    assert_int_equal(phased(&b, 30, 20), 0);
    assert_in_range(phased(&b, 2, 60), 1, 90); /* longer ones: a few tries, and none after those */
    assert_int_equal(phased(&b, 60, 60), 0);
    urgent(&b, 300 * MS, 50);                   /* it only launches from now on */
    assert_true(runs(&b));
    end(&b);
}

/* A process that shares in time joins the gang that is confined: from then on the gang shares in time. */
static void gang_stops_sharing(bool urgent_leaves)
{
    struct space b = {.s = world_sched("HPF"), .n = 2, .now = 3600 * XS_NS_PER_S};
    struct xs_sched_queue *q;

    b.w[LOW] = world_join_as(b.s, (struct xs_sched_process_info){.id = 1, .space = SPACE, .user = 1, .group = "gang"});
    b.w[HIGH] = world_join_as(b.s, (struct xs_sched_process_info){.id = 2, .space = SPACE, .user = 1});
    world_queue(&b.w[LOW], 0, WORLD_DEVICE, 1, b.now);
    q = world_queue(&b.w[HIGH], 0, WORLD_DEVICE, 5, b.now);
    atomic_store(&b.w[LOW].client->cells[0].lanes, XS_LANES(WIDE, NARROW));
    b.next = world_step(b.s, b.w, b.n, b.now);
    world_submit(&b.w[LOW], 0, 100000, MS);
    b.next = world_step(b.s, b.w, b.n, b.now);
    urgent(&b, 200 * MS, 50);
    assert_int_equal(lane(&b), WIDE);
    b.w[THIRD] = world_join_as(b.s, (struct xs_sched_process_info){.id = 3, .user = 1, .group = "gang"});
    b.n = 3;
    b.next = b.now;
    if (!urgent_leaves) {
        urgent(&b, 200 * MS, 50);
        assert_false(runs(&b));
    } else {
        xs_sched_queue_remove(b.s, q, b.now); /* nobody on the device shares in space now */
    }
    idle(&b, XS_NS_PER_S);
    assert_true(runs(&b));
    assert_int_equal(lane(&b), XS_LANE_OFF);
    end(&b);
}

static void test_gang_stops_sharing(void **state)
{
    (void)state;
    gang_stops_sharing(false);
    gang_stops_sharing(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gaps), cmocka_unit_test(test_busy), cmocka_unit_test(test_change), cmocka_unit_test(test_pauses),
        cmocka_unit_test(test_two_queues), cmocka_unit_test(test_not_together), cmocka_unit_test(test_one_in_time),
        cmocka_unit_test(test_background_in_time), cmocka_unit_test(test_without), cmocka_unit_test(test_shares),
        cmocka_unit_test(test_service), cmocka_unit_test(test_queues_leave), cmocka_unit_test(test_phases),
        cmocka_unit_test(test_gang_stops_sharing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
