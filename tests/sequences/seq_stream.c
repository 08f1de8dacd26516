/* SPDX-License-Identifier: Apache-2.0 */
#include "seq_stream.h"

struct seq_slot seq_slots[SEQ_SLOTS];
uint32_t seq_tag;

static void host_function(void *arg)
{
    struct seq_slot *s = arg;

    if (s->host_count < 256)
        s->host_log[s->host_count++] = 7;
}

static void launch(struct seq_slot *s, unsigned how)
{
    uint64_t ns = seq_chance(8) ? 0 : seq_chance(3000);
    uint32_t *log = s->log, tag = ++seq_tag;
    void *params[] = {&ns, &log, &tag};
    bool work = s->pending < 200 && seq_chance(5);

    s->pending += work;
    seq_launch(s, work, how, params);
}

/* What the stream did becomes part of the digest: the order of its kernels, its memory. */
static void synchronise(struct seq_slot *s, unsigned how)
{
    uint32_t log[SEQ_LOG_WORDS];

    seq_copy_out(s);
    if (how % 8 == 0)
        seq_wait_all();
    else if (how % 8 == 1) {
        OK(seq_record(s));
        seq_wait_event(s);
        if (seq_query_event(s) != 0)
            seq_must(1, "an event that was waited for is complete");
    } else
        seq_wait_stream(s);
    if (seq_query_stream(s) != 0)
        seq_must(1, "a stream that was synchronised is idle");
    seq_read_log(log, s, sizeof(log[0]) * (1 + s->pending));
    seq_note(log, sizeof(log[0]) * (1 + s->pending));
    seq_note(s->back, sizeof(s->back));
    seq_note(s->host_log, sizeof(s->host_log[0]) * s->host_count);
    s->host_count = 0;
    s->pending = 0;
    seq_clear_log(s);
}

/* From one stream to another and back, ordered by events. */
static void hand_over(struct seq_slot *from, struct seq_slot *to)
{
    seq_record(from);
    seq_stream_waits(to, from);
    seq_copy_between(to, from, 4 * seq_chance(SEQ_WORDS));
    seq_record(to);
    seq_stream_waits(from, to);
}

static void capture(struct seq_slot *s)
{
    void *graph = NULL, *exec = NULL;
    int status = 0, mode = 2;

    seq_exchange_mode(&mode);
    OK(seq_capture_begin(s));
    seq_capture_asks(s, &status);
    seq_note(&status, sizeof(status));
    for (unsigned n = 1 + seq_chance(4); n > 0; n--) {
        if (seq_chance(2))
            launch(s, 0);
        else
            seq_fill(s, seq_chance(1000), seq_chance(SEQ_WORDS));
    }
    OK(seq_capture_end(s, &graph));
    OK(seq_instantiate(&exec, graph));
    s->pending = 4 * s->pending + 16;
    if (s->pending > 200) /* room for three times what was captured and what came before */
        synchronise(s, 2);
    s->pending = 0;
    synchronise(s, 2);
    for (unsigned n = 1 + seq_chance(3); n > 0; n--)
        seq_graph_launch(exec, s);
    s->pending = 12; /* the most that was launched: what lies behind is zero or the same in each run */
    seq_exchange_mode(&mode);
}

static void step(void)
{
    struct seq_slot *s = &seq_slots[seq_chance(SEQ_SLOTS)];
    unsigned how = seq_chance(64);

    if (s->pending > 180)
        synchronise(s, how);
    switch (seq_chance(21)) {
    case 0:
    case 1:
    case 2:
    case 3:
        launch(s, how);
        break;
    case 4:
        seq_fill(s, how, seq_chance(SEQ_WORDS));
        break;
    case 5:
        seq_copy_in(s, s->per_thread ? 64 : 4 * seq_chance(SEQ_WORDS));
        break;
    case 6:
        synchronise(s, how);
        break;
    case 7:
        hand_over(s, &seq_slots[seq_chance(SEQ_SLOTS)]);
        break;
    case 8:
        if ((s == &seq_slots[SEQ_BLOCKING] || s == &seq_slots[SEQ_FREE]) && how < 32)
            capture(s);
        break;
    case 9:
        seq_host_function(s, host_function);
        break;
    case 10:
    case 11:
    case 12:
    case 13:
    case 14:
    case 15:
        seq_other(s);
        break;
    default:
        seq_by_prototype();
        break;
    }
}

void seq_program(unsigned long until)
{
    seq_tag = 0;
    memset(seq_slots, 0, sizeof(seq_slots));
    seq_slots[SEQ_PER_THREAD].per_thread = true;
    for (uint32_t i = 0; i < SEQ_SLOTS; i++)
        for (uint32_t k = 0; k < SEQ_WORDS; k++)
            seq_slots[i].host[k] = i * 1000 + k;
    seq_open();
    while (seq_steps < until)
        step();
    for (int i = 0; i < SEQ_SLOTS; i++)
        synchronise(&seq_slots[i], 2);
    seq_close();
}
