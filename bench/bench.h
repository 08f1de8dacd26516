/* SPDX-License-Identifier: Apache-2.0 */
/* What the benchmarks share: samples, and one JSON line a figure (docs/results/README.md). The
 * script bench/run adds machine, commit and date. */
#ifndef XS_BENCH_H
#define XS_BENCH_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct bench_samples {
    double *v;
    size_t n, room;
};

void bench_add(struct bench_samples *s, double value);
/** q from 0 to 1; sorts. NaN when there are none. */
double bench_quantile(struct bench_samples *s, double q);
void bench_clear(struct bench_samples *s);

/** Prints one figure. side may be NULL. */
void bench_figure(const char *workload, const char *variant, const char *side, const char *metric, double value,
                  const char *unit, size_t n);
/** p50, p99 and max of the samples. */
void bench_figures(const char *workload, const char *variant, const char *side, const char *prefix,
                   struct bench_samples *s, const char *unit);
/** Says why on stderr and ends the benchmark: it measured something else than it says. */
void bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/** The number after `--name`, or def. */
long bench_option(int argc, char **argv, const char *name, long def);

/** Starts a private xserver in a folder of its own, with one more option or NULL, sets XSCHED_SOCKET, waits until it listens.
 *  @return its pid */
pid_t bench_server_start(const char *xserver_path, const char *more);
void bench_server_stop(pid_t pid);
/** CPU time of a process so far, in ns. */
uint64_t bench_cpu_ns(pid_t pid);
void bench_pin(int cpu);

#endif
