/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of an urgent program gather while another one computes (gather.c). */
#include "world.h"

#include "sched/why.h"

enum { LOW, HIGH };

static struct proc g_w[2];
static struct xs_sched *g_s;
static struct xs_sched_queue *g_high;
static uint64_t g_now;

/* ---- what the urgent program does, as xqueue/wait.c and gates/gather_open.c do it ---- */

static struct xs_client_cell *cell(void)
{
    return &g_w[HIGH].client->cells[0];
}

static struct xs_server_cell *word(void)
{
    return &g_w[HIGH].server->cells[0];
}

static struct proc *g_other;       /* another user's */
static unsigned g_grants;          /* that came while commands gathered */

static void step(void)
{
    bool gathered = atomic_load(&word()->gathers_to);

    world_step(g_s, g_w, 2, g_now);
    if (!g_other || !world_open(g_other, 0))
        return;
    g_grants += gathered;
    assert_int_equal(atomic_load(&word()->gathers_to), 0);
    assert_false(world_open(&g_w[HIGH], 0));
}

static void wait_begins(void)
{
    atomic_fetch_add(&cell()->inherit, 1);
    if (atomic_load(&word()->permitted) < atomic_load(&cell()->entered) && atomic_load(&word()->gathers_to)) {
        atomic_store(&word()->permitted, XS_PERMIT_OPEN);
        xs_page_ring(g_w[HIGH].client, g_w[HIGH].server, 0);
    }
}

static void wait_ends(uint64_t number, uint64_t waited_ns, uint64_t flags)
{
    if (atomic_load(&word()->armed) & XS_ARMED_WAITS) {
        atomic_store(&cell()->waited_to, XS_WAITED(number, flags));
        atomic_fetch_add(&cell()->waited_ns, waited_ns);
    }
    atomic_fetch_sub(&cell()->inherit, 1);
    if (atomic_load(&word()->armed) & XS_ARMED_WAITS)
        xs_page_ring(g_w[HIGH].client, g_w[HIGH].server, 0);
}

/* One command. @return whether it opened the word: it is the one up to which commands gather */
static bool submit(void)
{
    uint64_t n = atomic_load(&cell()->entered) + 1, to = atomic_load(&word()->gathers_to);
    bool opens = to && n >= to && atomic_load(&word()->permitted) != XS_PERMIT_OPEN;

    world_submit(&g_w[HIGH], 0, 1, 20 * US);
    if (opens || (to && n == atomic_load(&word()->rings_at))) {
        if (opens)
            atomic_store(&word()->permitted, XS_PERMIT_OPEN);
        xs_page_ring(g_w[HIGH].client, g_w[HIGH].server, 0);
    }
    return opens;
}

static void complete(void)
{
    unsigned left = (unsigned)(atomic_load(&cell()->entered) - atomic_load(&cell()->completed));

    world_complete(&g_w[HIGH], 0, left, 20 * US);
}

/* A step: `commands` in 10 ms, of which the device needs little, and a wait of 10 us at the end. @return in how many of the
 * commands' intervals the other one might run */
static unsigned one_step(unsigned commands, uint64_t waited_ns, uint64_t flags)
{
    unsigned others = 0;

    g_now += 100 * US;
    step();
    for (unsigned i = 0; i < commands; i++) {
        submit();
        step();
        others += world_open(&g_w[LOW], 0);
        g_now += 10 * MS / commands;
        if (world_open(&g_w[HIGH], 0))
            complete();
        step();
    }
    wait_begins();
    step();
    g_now += waited_ns;
    complete();
    wait_ends(atomic_load(&cell()->entered), waited_ns, flags);
    step();
    return others;
}

static void begin_beside(bool low_gated, const char *policy, bool gated)
{
    struct xs_sched_config config;

    xs_sched_config_defaults(&config);
    config.gather = XS_SCHED_GATHER_HELPED;
    g_s = xs_sched_new(xs_policy_by_name(policy), &config, NULL, NULL);
    assert_non_null(g_s);
    g_w[LOW] = world_join(g_s, 1, NULL, false);
    g_w[HIGH] = world_join(g_s, 2, NULL, false);
    xs_sched_queue_set_gated(world_queue(&g_w[LOW], 0, WORLD_DEVICE, 0, MS), low_gated);
    g_high = world_queue(&g_w[HIGH], 0, WORLD_DEVICE, 10, MS);
    xs_sched_queue_set_gated(g_high, gated);
    g_now = MS;
    step();
    world_submit(&g_w[LOW], 0, 1000000, MS);
    step();
}

static void begin(const char *policy, bool gated)
{
    begin_beside(true, policy, gated);
}

static unsigned steps(unsigned n, unsigned commands, uint64_t flags)
{
    unsigned others = 0;

    for (unsigned i = 0; i < n; i++)
        others = one_step(commands, 10 * US, flags);
    return others;
}

static void end(void)
{
    world_done(g_s, g_w, 2);
}

/* ---- cases ---- */

/* At first the other one has no time inside a step, and later most of it. */
static void commands_gather(void **state)
{
    (void)state;
    begin("HPF", true);
    assert_int_equal(one_step(100, 10 * US, XS_WAITED_LAST), 0);
    assert_true(atomic_load(&word()->armed) & XS_ARMED_WAITS);
    assert_in_range(steps(300, 100, XS_WAITED_LAST), 80, 99);
    end();
}

/* A helper thread waits, and the program goes on meanwhile. All commands gather. The others leave before the last ones. */
static void a_helper_waits(void **state)
{
    unsigned most = 0;

    (void)state;
    begin("HPF", true);
    steps(30, 100, XS_WAITED_LAST | XS_WAITED_HELPER);
    for (unsigned i = 0; i < 7; i++) {
        unsigned others = one_step(100, MS, XS_WAITED_LAST | XS_WAITED_HELPER);

        most = others > most ? others : most;
    }
    assert_in_range(most, 95, 98);
    end();
}

/* While they gather, the queue waits for a reason of its own, and the word is closed behind what came before. */
static void the_reason_is_told(void **state)
{
    unsigned i = 0;

    (void)state;
    begin("HPF", true);
    do
        one_step(100, 10 * US, XS_WAITED_LAST);
    while (!atomic_load(&word()->gathers_to) && ++i < 50);
    assert_in_range(i, 3, 40);
    assert_int_equal(atomic_load(&word()->permitted), atomic_load(&cell()->entered));
    submit();
    step();
    assert_string_equal(xs_why_code(xs_sched_queue_reason(g_high)), "gather");
    assert_true(world_open(&g_w[LOW], 0));
    end();
}

static void gathers_now(void)
{
    for (unsigned i = 0; i < 50 && !atomic_load(&word()->gathers_to); i++)
        one_step(100, 10 * US, XS_WAITED_LAST);
    assert_true(atomic_load(&word()->gathers_to) > atomic_load(&cell()->entered));
    submit();
    step();
    assert_false(world_open(&g_w[HIGH], 0));
}

/* The program waits sooner than it used to: its word opens, and the other one is off. */
static void a_wait_opens(void **state)
{
    (void)state;
    begin("HPF", true);
    gathers_now();
    wait_begins();
    step();
    assert_true(world_open(&g_w[HIGH], 0));
    assert_false(world_open(&g_w[LOW], 0));
    assert_int_equal(atomic_load(&word()->gathers_to), 0);
    end();
}

/* A wait that began before the word closed, for a command that came meanwhile: the scheduler opens it. */
static void a_wait_before_the_word_closed(void **state)
{
    (void)state;
    begin("HPF", true);
    for (unsigned i = 0; i < 50 && !atomic_load(&word()->gathers_to); i++) {
        g_now += 100 * US;
        step();
        for (unsigned k = 0; k < 100; k++) {
            submit();
            step();
            g_now += 100 * US;
            if (world_open(&g_w[HIGH], 0))
                complete();
            step();
        }
        wait_begins();
        step();
        g_now += 10 * US;
        complete();
        wait_ends(atomic_load(&cell()->entered), 10 * US, XS_WAITED_LAST);
        /* not yet seen by the scheduler: the next command, and a wait for it, at the open word */
        world_submit(&g_w[HIGH], 0, 1, 20 * US);
        atomic_fetch_add(&cell()->inherit, 1);
        step();
        assert_true(world_open(&g_w[HIGH], 0) || atomic_load(&word()->permitted) >= atomic_load(&cell()->entered));
        g_now += 10 * US;
        complete();
        atomic_fetch_sub(&cell()->inherit, 1);
        step();
    }
    end();
}

/* It never waits again, nor launches further commands: the word opens by itself in the end. */
static void time_opens(void **state)
{
    uint64_t began;

    (void)state;
    begin("HPF", true);
    gathers_now();
    began = g_now;
    while (!world_open(&g_w[HIGH], 0)) {
        g_now = xs_sched_run(g_s, g_now);
        assert_in_range(g_now - began, 0, 100 * MS);
    }
    assert_false(world_open(&g_w[LOW], 0));
    end();
}

/* In the midst of a step it does nothing more: the other one runs again, and the scheduler rests. */
static void the_others_come_back(void **state)
{
    unsigned rounds = 0;
    uint64_t began;

    (void)state;
    begin("HPF", true);
    gathers_now();
    for (unsigned i = 0; i < 60 && !world_open(&g_w[HIGH], 0); i++) { /* so that the others leave, or more may gather */
        submit();
        step();
    }
    for (began = g_now; g_now < began + 500 * MS; rounds++) {
        uint64_t next = xs_sched_run(g_s, g_now);

        if (world_open(&g_w[HIGH], 0))
            complete();
        g_now = next == UINT64_MAX ? began + 500 * MS : next > g_now ? next : g_now + 1;
        step();
    }
    assert_true(world_open(&g_w[LOW], 0));
    assert_in_range(rounds, 1, 2000);
    end();
}

/* A program of higher rank comes: it waits as any other, and nothing opens its word but the scheduler. */
static void a_more_important_one_comes(void **state)
{
    struct proc top;

    (void)state;
    begin("HPF", true);
    gathers_now();
    top = world_join(g_s, 3, NULL, false);
    world_queue(&top, 0, WORLD_DEVICE, 20, g_now);
    world_submit(&top, 0, 10, MS);
    xs_sched_process_poll(g_s, top.p, g_now);
    step();
    assert_true(world_open(&top, 0));
    assert_false(world_open(&g_w[HIGH], 0));
    assert_int_equal(atomic_load(&word()->gathers_to), 0);
    assert_false(world_open(&g_w[LOW], 0));
    xs_sched_free(g_s);
    world_free(&top);
    world_free(&g_w[LOW]);
    world_free(&g_w[HIGH]);
}

/* Another policy while they gather: the word opens, and opens no more by the program. */
static void another_policy(const char *name)
{
    begin("HPF", true);
    gathers_now();
    xs_sched_set_policy(g_s, xs_policy_by_name(name));
    g_now += 10 * US;
    step();
    assert_int_equal(atomic_load(&word()->gathers_to), 0);
    assert_false(atomic_load(&word()->armed) & XS_ARMED_WAITS);
    for (unsigned i = 0; i < 400 && !world_open(&g_w[HIGH], 0); i++) {
        g_now += MS;
        step();
    }
    assert_true(world_open(&g_w[HIGH], 0));
    end();
}

static void the_policy_changes(void **state)
{
    (void)state;
    another_policy("UP");
    another_policy("HHPF");
}

/* The others are off to see a step by itself, and a more important program comes, below which nothing gathers: they come back. */
static void alone_and_then_not(void **state)
{
    struct proc other;
    unsigned i = 0;

    (void)state;
    begin("HPF", true);
    do { /* until the others stay off behind the end of a step, longer than any linger */
        g_now += 500 * US;
        one_step(100, 10 * US, XS_WAITED_LAST);
        for (unsigned k = 0; k < 15; k++) {
            g_now += 100 * US;
            step();
        }
    } while (world_open(&g_w[LOW], 0) && ++i < 50);
    assert_in_range(i, 0, 40);
    other = world_join(g_s, 3, NULL, false);
    world_queue(&other, 0, WORLD_DEVICE, 50, g_now);
    for (i = 0; i < 40; i++) {
        g_now += 100 * US;
        step();
    }
    assert_true(world_open(&g_w[LOW], 0));
    end();
    world_free(&other);
}

/* The other program is another user's: commands gather beside it as well. Its user earns a grant, in which the gathering
 * program does not run, also where it opens its word itself. */
static void users(void **state)
{
    struct proc other;
    unsigned most = 0, i;

    (void)state;
    begin("HPF", true);
    g_other = &other;
    other = world_join_as(g_s, (struct xs_sched_process_info){.id = 3, .user = 5});
    xs_sched_queue_set_gated(world_queue(&other, 0, WORLD_DEVICE, -5, g_now), true);
    world_submit(&other, 0, 1000000, MS);
    xs_sched_process_poll(g_s, other.p, g_now);
    for (i = 0; i < 60; i++) {
        unsigned others = one_step(100, 10 * US, XS_WAITED_LAST);

        most = others > most ? others : most;
    }
    assert_in_range(most, 40, 99);
    assert_in_range(g_grants, 1, 60);
    for (i = 0; i < 1000 && !world_open(&other, 0); i++) {
        g_now += 100 * US;
        submit();
        step();
    }
    atomic_store(&word()->permitted, XS_PERMIT_OPEN);
    xs_page_ring(g_w[HIGH].client, g_w[HIGH].server, 0);
    step();
    end();
    world_free(&other);
    g_other = NULL;
}

/* Nothing gathers: without gates of its own or of the others, where programs have turns. */
static void where_it_does_not(void **state)
{
    (void)state;
    begin("HPF", false);
    assert_in_range(steps(60, 100, XS_WAITED_LAST), 0, 5);
    end();
    begin_beside(false, "HPF", true);
    assert_in_range(steps(60, 100, XS_WAITED_LAST), 0, 5);
    end();
    begin("UP", true);
    steps(5, 100, XS_WAITED_LAST);
    assert_false(atomic_load(&word()->armed) & XS_ARMED_WAITS);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_gather),   cmocka_unit_test(the_reason_is_told),
        cmocka_unit_test(a_wait_opens),      cmocka_unit_test(a_wait_before_the_word_closed),
        cmocka_unit_test(time_opens),        cmocka_unit_test(the_others_come_back),
        cmocka_unit_test(a_more_important_one_comes), cmocka_unit_test(where_it_does_not),
        cmocka_unit_test(the_policy_changes), cmocka_unit_test(alone_and_then_not),
        cmocka_unit_test(a_helper_waits),    cmocka_unit_test(users),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
