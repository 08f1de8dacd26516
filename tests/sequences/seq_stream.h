/* SPDX-License-Identifier: Apache-2.0 */
/* Programs whose commands go to streams: seq_stream.c makes them, a platform (seq_cuda.c, seq_hip.c) says what its
 * functions are called. Device memory is host memory in the fakes. */
#ifndef XS_TESTS_SEQ_STREAM_H
#define XS_TESTS_SEQ_STREAM_H

#include "seq.h"

#define SEQ_WORDS     64u
#define SEQ_LOG_WORDS (4 * SEQ_WORDS + 64)
enum { SEQ_LEGACY, SEQ_PER_THREAD, SEQ_BLOCKING, SEQ_FREE, SEQ_SLOTS };

/* Each stream has memory and a log of its own, so that what it computes does not hang on time. */
struct seq_slot {
    void *stream;   /* as given to functions of the plain names */
    bool per_thread; /* the functions of the other default stream may be used with stream 0 */
    void *words, *log, *event;
    uint32_t host[SEQ_WORDS], back[SEQ_WORDS];
    uint32_t host_log[256], host_count; /* written by host functions, in stream order */
    unsigned pending;                   /* entries of the log since the last synchronisation */
};
extern struct seq_slot seq_slots[SEQ_SLOTS];
extern uint32_t seq_tag;

/* ---- the platform's; results are error codes ---- */
void seq_open(void);   /* a context of its own; streams, memory and events of the slots */
void seq_close(void);  /* nothing is on the way any more */
int seq_launch(struct seq_slot *s, bool work, unsigned how, void **params);
int seq_copy_out(struct seq_slot *s);
int seq_copy_in(struct seq_slot *s, size_t bytes);
int seq_copy_between(struct seq_slot *to, struct seq_slot *from, size_t bytes);
int seq_fill(struct seq_slot *s, uint32_t value, size_t words);
int seq_wait_all(void);
int seq_wait_stream(struct seq_slot *s);
int seq_query_stream(struct seq_slot *s); /* timed */
int seq_record(struct seq_slot *s);
int seq_wait_event(struct seq_slot *s);
int seq_query_event(struct seq_slot *s); /* timed */
int seq_stream_waits(struct seq_slot *s, struct seq_slot *for_event_of);
int seq_host_function(struct seq_slot *s, void (*fn)(void *));
/** Reads the start of the log. The stream is idle. */
void seq_read_log(void *to, struct seq_slot *s, size_t bytes);
int seq_clear_log(struct seq_slot *s);
int seq_exchange_mode(int *mode);
int seq_capture_begin(struct seq_slot *s);
int seq_capture_asks(struct seq_slot *s, int *ret_status);
int seq_capture_end(struct seq_slot *s, void **ret_graph);
int seq_instantiate(void **ret_exec, void *graph);
int seq_graph_launch(void *exec, struct seq_slot *s);
/** Whatever else the platform has: memory that comes and goes, questions, contexts. */
void seq_other(struct seq_slot *s);

#endif
