# SPDX-License-Identifier: Apache-2.0
"""Measures one workload on one platform: starts the clients of its variants, once or for each block, and goes through
blocks, parameters and variants in alternating order. One cell is one variant with one parameter in one block."""
import itertools
import os
import random
import resource
import time

from . import arrivals, starts, stats, variants
from .clients import ClientError, Pool, collect
from .clocks import ClockError, Clocks
from .services import ServiceError
from .watchers import WatchError, Watchers

LEAD_S = 0.3                 # the others run for this long before the urgent side's first request
TAIL_S = 0.15                # and go on for this long behind its last, which may be late
WARM_S = 0.3                 # requests of this time, at least one and at most five, come first and are not counted
TIMELINE_US = 2_000_000


class TimeUp(Exception):
    """The time limit would be passed; what is measured is kept."""


class Refused(Exception):
    """xserver does not start with these options; the processes have one as before."""


def cpu_ms():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return 1e3 * (u.ru_utime + u.ru_stime)


def cell_name(platform, letter, params, variant, block):
    text = ",".join(f"{k}={v:g}" for k, v in params.items())
    return "/".join(x for x in (platform, letter, text, variant, str(block)) if x)


class Measurement:
    """One workload on one platform."""

    def __init__(self, suite, workload, platform):
        self.suite, self.workload, self.platform = suite, workload, platform
        self.plan = workload.plans[platform.name]
        self.params = self.plan.quick_params if suite.quick and self.plan.quick_params else self.plan.params
        self.blocks = suite.blocks or (3 if suite.quick else self.plan.blocks)
        asked = suite.requests or (min(300, self.plan.requests) if suite.quick else self.plan.requests)
        self.count = -(-asked // self.blocks)
        self.fresh = self.plan.fresh if suite.args.fresh is None else suite.args.fresh
        self.pool = Pool(suite.out, suite.say)
        self.alike = not suite.args.free_starts
        self.addresses = self.alike and starts.same_addresses(starts.prepare(None))
        self.places = {}
        if self.alike and platform.name in ("cuda", "hip"):     # elsewhere the CPUs may be the device
            self.places = starts.places([self.process_of(s) for s in self.plan.sides], os.sched_getaffinity(0))
        self.served = {}             # whose processes have which xserver
        self.rates = dict(suite.rates.get((platform.name, workload.letter), {}))
        self.once = {}
        self.skipped = {}
        self.batch = 0
        short = suite.quick and self.plan.quick and not suite.only_variants
        names = self.plan.quick if short else self.plan.variants
        if suite.only_variants:
            names = [n for n in (*names, *self.plan.extra) if n in suite.only_variants]
        self.variants = [variants.BY_NAME[n] for n in names]
        self.variants += suite.peers

    # ---- what there is to do ----

    def cells(self):
        for block in range(self.blocks):
            for i, params in enumerate(self.params):
                for v in self.variants:
                    if v.name in self.plan.no_params and i > 0:
                        continue
                    p = {} if v.name in self.plan.no_params else params
                    yield block, p, v, cell_name(self.platform.name, self.workload.letter, p, v.name, block)

    def left(self):
        return [c for c in self.cells() if c[3] not in self.suite.raw.done]

    def sides_of(self, variant):
        if isinstance(variant.sides, tuple):
            return [s for s in self.plan.sides if s.name in variant.sides]
        if variant.sides == "high":
            urgent = [s for s in self.plan.sides if s.urgent]
            return urgent[:1]
        if variant.sides == "low":
            return [s for s in self.plan.sides if not s.urgent][:1]
        return [s for s in self.plan.sides if not s.apart]

    def has(self, kind):
        """Whether a side's client is of that kind."""
        return any(s.client.partition(":")[0] == kind for s in self.plan.sides)

    def seconds(self):
        if self.plan.seconds:
            if self.suite.args.seconds:
                return self.suite.args.seconds
            return self.plan.seconds if not self.suite.smoke else min(0.4, self.plan.seconds)
        return self.count / min(self.rate(s) for s in self.plan.sides if s.mode != "closed")

    def rate(self, side):
        if side.rate:
            return side.rate
        if side.name not in self.rates:
            raise ClientError(f"the rate of {side.name} is not known: its standalone client failed")
        return self.rates[side.name]

    # ---- clients ----

    def base(self, variant):
        return next((v for v in variants.ROWS if v.name == variant.uses), variant)

    def groups(self, variant):
        """The processes of a variant: (name, sides in it)."""
        if self.plan.one_process:
            return [("all", list(self.plan.sides))]
        found = {}
        for s in self.sides_of(variant):
            found.setdefault(self.process_of(s), []).append(s)
        return list(found.items())

    def process_of(self, side):
        return "all" if self.plan.one_process else side.process or side.name

    def skip(self, variant, why):
        if variant.name in self.skipped:
            return
        self.skipped[variant.name] = why
        self.suite.say(f"   skipped: {self.workload.letter} {variant.name} on {self.platform.name}: {why}")
        self.suite.raw.write([{"workload": self.workload.letter, "platform": self.platform.name, "variant": variant.name,
                               "metric": "skipped", "why": why, "report": False}])

    def service(self, variant):
        server = mps = None
        if variant.scheduled:
            if "shim" in self.platform.missing:
                raise ServiceError(self.platform.missing["shim"])
            server = self.suite.services.server([*self.plan.server, *variant.server], self.platform.server_prefix)
        if variant.kind in ("mps", "space"):
            if self.platform.name != "cuda":
                raise ServiceError("MPS is NVIDIA's")
            mps = self.suite.services.mps()
        return server, mps

    def server_of(self, base):
        """The xserver that the processes of a variant were started with, or None; another one would not be theirs."""
        server = self.served.get(base.name)
        if server and server.ended():
            raise ServiceError("xserver has ended")
        return server

    def command(self, variant, sides):
        p = self.platform
        shown = variant.priorities or (variant.scheduled and self.plan.one_process)
        words, devices = [], self.devices_of(sides)
        if sides[0].client == "llama":
            return [*p.prefix, *variant.prefix, *self.suite.llama(), sides[0].name]
        if sides[0].client.startswith("vllm:"):
            if not p.torch:
                raise ServiceError(f"PyTorch: {p.missing.get('torch', 'missing')}")
            return [*p.prefix, *variant.prefix, p.torch[0], *self.suite.vllm(), sides[0].name, sides[0].client[5:]]
        ranks = sides[0].client.startswith("ranks:")
        for s in sides:
            priority, device = (1 if s.urgent else 0) if shown else 0, devices.index(s.device)
            if s.client == "load":
                words.append(f"{s.name}:{priority}:{device}" if device else f"{s.name}:{priority}" if priority else s.name)
            else:
                batch = f"@{self.suite.batch(s, p)}" if self.suite.batch(s, p) else ""
                green = variant.green if s.urgent else 0
                words.append(f"{s.name}={s.client.partition(':')[2]}{batch}:{priority}"
                             + (f":{green}:{device}" if device else f":{green}" if green else ""))
        if sides[0].client == "load":
            if not p.load:
                raise ServiceError(p.missing.get("load", "no client for it"))
            if variant.green:
                raise ServiceError("green contexts: only with PyTorch here")
            client = [*p.load, f"{p.rounds_per_ms:.6f}"]
        else:
            if not p.torch:
                raise ServiceError(f"PyTorch: {p.missing.get('torch', 'missing')}")
            client = p.torch + (["--created"] if self.plan.one_process and variant.created else [])
            if ranks:
                client = [*p.torch[:-1], os.path.join(os.path.dirname(p.torch[-1]), "ranks_client.py"), str(sides[0].ranks)]
        return [*p.prefix, *variant.prefix, *client, *words]

    def devices_of(self, sides):
        return sorted({d for s in sides for d in range(s.device, s.device + s.ranks)})

    def visible(self, sides):
        """What makes a process see only the devices that it uses, as services are started on machines with several."""
        if self.plan.devices < 2 or self.platform.name not in ("cuda", "hip"):
            return {}
        name = {"cuda": "CUDA_VISIBLE_DEVICES", "hip": "HIP_VISIBLE_DEVICES"}[self.platform.name]
        here = [d for d in self.platform.env.get(name, "").split(",") if d] or [str(d) for d in range(self.platform.devices)]
        return {name: ",".join(here[d] for d in self.devices_of(sides))}

    def start(self, variant):
        """Starts the processes of a variant without waiting. @return their keys and what memory they need"""
        base = self.base(variant)
        keys, gib = [], 0
        server, mps = self.service(base)
        server = self.served.setdefault(base.name, server)
        for name, sides in self.groups(variant):
            key = (base.name, name)
            if key not in self.pool.clients and key not in self.pool.failed:
                env = dict(self.platform.env, **self.visible(sides))
                s = sides[0]
                env.update(variants.environment(base, s.name if len(sides) == 1 else "", s.priority, s.share, server, mps,
                                                self.platform.shim, self.plan.one_process))
                if self.alike:
                    env.update(starts.ENVIRONMENT)
                self.pool.start(key, self.command(base, sides), env, f"{self.workload.letter} {base.name} {name}",
                                starts.prepare(self.places.get(name)) if self.alike else None)
                gib += sum(s.gib for s in sides)
            keys.append(key)
        return keys, gib

    def prepare(self, wanted):
        """Starts what the cells need, together as far as the device's memory goes."""
        room = 0.8 * self.platform.memory_gib if self.platform.memory_gib else 1e9
        pending, used = [], 0
        began = time.monotonic()

        def wait():
            self.pool.ready(pending, self.suite.patience(300 if self.has("vllm") else 150))     # it compiles its model
            pending.clear()
        for v in wanted:
            try:
                keys, gib = self.start(v)
            except (ServiceError, ClientError) as e:
                self.skip(v, str(e))
                continue
            pending += [k for k in keys if k not in pending]
            used += gib
            if used > room or len(pending) >= 2 * (os.cpu_count() or 1):
                wait()
                used = 0
        wait()
        for v in wanted:
            if v.name not in self.skipped:
                self.check(v)
        self.suite.say(f"   clients ready after {time.monotonic() - began:.1f} s")

    def check(self, variant):
        """The level in force; queues of one process get their priorities; rates that hang on the standalone time."""
        base = self.base(variant)
        try:
            for name, sides in self.groups(variant):
                c = self.pool.get((base.name, name))
                if base.scheduled:
                    server = self.server_of(base)
                    queues = joined(server, c.worker)
                    if not queues:
                        raise ClientError("its queues did not reach xserver (try `xsched doctor PID`)")
                    c.level = max(q["level"] for q in queues)
                    if base.level != "auto" and c.level != int(base.level):
                        raise ClientError(f"level {base.level} is not available here (level {c.level} is in force)")
                    if self.plan.one_process and self.platform.name == "opencl":
                        for q, s in zip(queues, sides):
                            server.ask("POST", "/hint", {"hint_type": 1, "handle": q["handle"], "priority": s.priority})
                elif base.name == "native" and variant.sides != "low":
                    for s in sides:
                        self.learn_rate(s, c)
        except (ClientError, ServiceError, OSError) as e:
            self.skip(variant, str(e))

    def serve(self, variant):
        """Where some variants are others' processes with other options of xserver, each of them begins with an xserver that was
        started anew: one that knows the programs from before would have the better start."""
        base = self.base(variant)
        if not any(v.server and v.uses == base.name for v in self.variants):
            return
        server, options, refused = self.server_of(base), [*self.plan.server, *base.server], None
        try:
            self.suite.services.again(server, [*options, *(variant.server if variant.uses else ())])
        except ServiceError as e:
            refused = e
            self.suite.services.again(server, options)
        self.check(base)
        if base.name in self.skipped:
            raise ServiceError(self.skipped[base.name])
        if refused:
            raise Refused(str(refused))

    def warm(self, side):
        return 0 if side.mode == "closed" else max(1, min(5, int(WARM_S * self.rate(side))))

    def learn_rate(self, side, client):
        if not side.load or side.name in self.rates:
            return
        ms = side.work_us * side.kernels / 1e3 if side.client == "load" else self.once_ms(side, client)
        self.rates[side.name] = side.load * 1e3 / ms
        self.suite.raw.write([{"workload": self.workload.letter, "platform": self.platform.name, "variant": "native",
                               "side": side.name, "metric": "rate", "value": round(self.rates[side.name], 4), "unit": "1/s",
                               "report": False}])

    def once_ms(self, side, client):
        """How long one request takes when nobody else is at work; what a client says of itself it found while others
        were starting."""
        if side.client not in self.once:
            start = time.monotonic_ns() + 50_000_000
            client.send(f"run {side.name} closed start={start} end={start + 1_000_000_000}")
            row = collect([client], {client: 1}, self.suite.patience(60))[client][0]
            self.once[side.client] = 1e3 * row["seconds"] / max(1, row["n"])
        return self.once[side.client]

    # ---- measuring ----

    def line(self, side, params, start, end, block, fill):
        work = side.work_us or params.get("t_ms", 1) * 1e3
        text = f"run {side.name} {side.mode} start={start} end={end}"
        if side.client == "load":
            text += f" work_us={work:.3f} kernels={side.kernels} width={side.width} depth={side.depth}"
        if side.mode == "closed" and side.load:
            text += f" pause_us={1e6 / self.rate(side) * (1 - side.load):.1f}"
        if side.mode != "closed":
            seed = f"{self.suite.seed}/{self.workload.letter}/{side.name}/{block}"
            if side.mode == "gap":
                at = arrivals.gaps(side.arrivals, 1e6 / side.rate, min(15000, int(4 * self.seconds() * side.rate) + 10), seed)
            else:
                at = arrivals.offsets(side.arrivals, self.rate(side),
                                      max(1, round(self.seconds() * self.rate(side))) + self.warm(side), seed)
            if fill:
                text += " fill_us=2000"
            text += " at=" + ",".join(f"{x:.1f}" for x in at)
        return text

    def clocks(self):
        """Who looks at the device's clocks, if that was asked for and can be done."""
        if not self.suite.args.clocks:
            return None
        try:
            return Clocks()
        except ClockError as e:
            if not self.suite.no_clocks:
                self.suite.say(f"   --clocks: {e}")
            self.suite.no_clocks = True
            return None

    def run_cell(self, block, params, variant, cell):
        base = self.base(variant)
        seconds = self.seconds()
        if variant.name == "xsched-1-n8":   # a request may take nine kernels
            seconds = max(seconds, min(4.0, 60 * params.get("t_ms", 1) / 1e3))
        sides = self.sides_of(variant)
        seconds += max((self.warm(s) / self.rate(s) for s in sides if s.mode != "closed"), default=0)
        self.suite.check_time(seconds + LEAD_S + 1.5)
        self.serve(variant)
        client = {s.name: self.pool.get((base.name, self.process_of(s))) for s in sides}
        server = self.server_of(base)
        load = os.getloadavg()[0]
        watchers = Watchers(server, self.suite.args.build, self.suite.out) if variant.watched else None
        clocks = self.clocks()
        try:
            start = time.monotonic_ns() + 50_000_000
            urgent_start = start + int(1e9 * LEAD_S) if len(sides) > 1 else start
            end = urgent_start + int(1e9 * seconds)
            for s in sides:
                closed = s.mode == "closed"
                # requests due before the end are finished, however late
                client[s.name].send(self.line(s, params, start if closed else urgent_start,
                                              end + (int(1e9 * TAIL_S) if closed else 1), block, variant.fill and s.urgent))
            mine, theirs = cpu_ms(), server.cpu_ms() if server else 0
            per_client = {}
            for s in sides:
                per_client[client[s.name]] = per_client.get(client[s.name], 0) + 1
            got = collect(list(per_client), per_client, self.suite.patience(seconds * 4 + 60))
            if base.scheduled:
                self.server_of(base)     # without it they would run on unscheduled
            seen = watchers.stop() if watchers else {}
        finally:
            of_device = clocks.stop() if clocks else []
            if watchers:
                watchers.end()
        mine, theirs = cpu_ms() - mine, (server.cpu_ms() if server else 0) - theirs
        answers = {row["role"]: row for rows in got.values() for row in rows}
        rows = []
        for s in sides:
            a = answers[s.name]
            of = {"workload": self.workload.letter, "platform": self.platform.name, "variant": variant.name, "side": s.name,
                  "run": block, "process": client[s.name].which, **params}
            level = getattr(client[s.name], "level", None)
            if level is not None:
                of["level"] = level
            batch = client[s.name].hello.get("roles", {}).get(s.name, {}).get("batch")
            if batch:
                of["batch"] = batch
            a["requests_us"] = behind_warm(a.get("requests_us", []), self.warm(s))
            rows += side_rows(of, s, a, urgent_start - start, end - urgent_start, block)
        common = {"workload": self.workload.letter, "platform": self.platform.name, "variant": variant.name, "run": block,
                  "report": False, **params}
        rows.append(dict(common, side="driver", metric="cpu", value=round(mine, 2), unit="ms", n=1))
        rows += [dict(common, **row) for row in of_device]
        if seen:
            rows.append(dict(common, side="watchers", metric="scrapes", value=seen.pop("scrapes"), unit="1", n=1, **seen))
        if server:
            rows.append(dict(common, side="server", metric="cpu", value=round(theirs, 2), unit="ms", n=1))
        rows.append(dict(common, side="machine", metric="seconds", value=round(seconds, 3), unit="s", n=1, load=round(load, 2),
                         alike=self.alike, addresses=self.addresses,
                         cpus={name: len(cpus) for name, cpus in self.places.items()}))
        self.suite.raw.write(rows, cell)
        return rows

    def run(self):
        if not self.variants:
            self.suite.say(f"{self.workload.letter} on {self.platform.name}: none of the variants asked for has a part in it")
        left = self.left()
        if not left:
            return
        if self.platform.devices < self.plan.devices:
            why = f"{self.plan.devices} devices are wanted, {self.platform.devices} is here"
            self.suite.say(f"   skipped: {self.workload.letter} on {self.platform.name}: {why}")
            self.suite.raw_skip(self.workload.letter, self.platform.name, why)
            return
        for kind, named, what in (("llama", self.suite.args.llama, "llama.cpp's server"), ("vllm", self.suite.args.vllm, "an unpacked vLLM")):
            if self.has(kind) and not named:
                self.suite.say(f"   skipped: {self.workload.letter} on {self.platform.name}: --{kind} DIR names {what}")
                self.suite.raw_skip(self.workload.letter, self.platform.name, f"no --{kind}")
                return
        shape = "" if self.platform.name in ("cuda", "hip") else " (its shape, with kernels of stated lengths)"
        self.suite.say(f"-- {self.workload.letter} on {self.platform.name}: {self.workload.title}{shape}")
        least = 3 if all(s.client == "load" for s in self.plan.sides) else 30
        began, done, took = time.monotonic(), 0, 0
        for _, cells in itertools.groupby(left, lambda c: c[0] if self.fresh else 0):
            # processes are compared within a block: one that would not come to its end is better not begun
            self.suite.check_time(max(least, took))
            at = time.monotonic()
            try:
                cells = list(cells)
                self.prepare(self.wanted(cells))
                for block, params, v, cell in cells:
                    rows = self.try_cell(block, params, v, cell)
                    done += 1
                    if rows:
                        spent = (time.monotonic() - began) / done
                        self.suite.progress(done, len(left), cell, rows, spent * (len(left) - done))
            finally:
                self.pool.drop()
                self.served.clear()
            took = time.monotonic() - at

    def wanted(self, cells):
        """The variants whose clients these cells need."""
        wanted = [v for v in self.variants if v.name not in self.skipped and any(c[2] is v for c in cells)]
        if any(s.load and s.name not in self.rates for s in self.plan.sides):
            native = variants.BY_NAME["native"]
            wanted = [native] + [v for v in wanted if v is not native]
        return wanted

    def try_cell(self, block, params, variant, cell):
        """@return its rows, or None where it is skipped"""
        if variant.name in self.skipped:
            return None
        try:
            return self.run_cell(block, params, variant, cell)
        except (WatchError, Refused) as e:      # its processes are those of another variant, and well
            self.skip(variant, str(e))
        except (ClientError, ServiceError) as e:
            for name, _ in self.groups(variant):   # it may still be at it: nobody uses it again
                self.pool.fail((self.base(variant).name, name), str(e))
            self.skip(variant, str(e))
        return None


def joined(server, pid):
    """Its queues, by age; a program joins a moment after its first launch."""
    for _ in range(50):
        queues = server.queues(pid)
        if queues:
            break
        time.sleep(0.1)
    return sorted(queues, key=lambda q: q["handle"])


def behind_warm(requests, warm):
    """Without the first ones, of a few without a quarter: a side whose requests wait for each other may finish few."""
    return requests[min(warm, len(requests) // 4):]


def side_rows(of, side, a, lead_ns, window_ns, block):
    """What one side's answer gives."""
    rows = []
    if side.mode != "closed" and not a["requests_us"]:
        raise ClientError(f"{side.name}: no request was finished in time")
    if side.mode == "closed":
        ends = a.get("ends_us", [])
        inside = [t for t in ends if lead_ns / 1e3 <= t <= (lead_ns + window_ns) / 1e3]
        if not ends or len(ends) < a["n"] - side.depth - 1:
            value = a["n"] / a["seconds"]
        elif len(inside) > 2:
            value = (len(inside) - 1) / (inside[-1] - inside[0]) * 1e6   # whole periods, without the ends' remainders
        else:                              # before and after the urgent side it had the device for itself
            value = len(inside) / window_ns * 1e9
        rows.append(dict(of, metric="throughput", value=round(value, 4), unit="1/s", n=a["n"]))
        if a.get("per_100ms"):
            rows.append(dict(of, metric="per_100ms", samples=a["per_100ms"], unit="1", n=a["n"], report=False))
        if block == 0:
            rows.append(dict(of, metric="timeline-ends", unit="us", report=False, n=a["n"],
                             samples=[round(t - lead_ns / 1e3) for t in ends if 0 <= t - lead_ns / 1e3 < TIMELINE_US][:1500]))
    else:
        r = a["requests_us"]
        ms = [round((x[3] - x[0]) / 1e3, 4) for x in r]
        add_samples(rows, of, "", ms, "ms", ("p50", "p90", "p99"))
        if a.get("tokens_us"):
            rows.append(dict(of, metric="tokens", value=round(1e6 * len(a["tokens_us"]) / sum(a["tokens_us"]), 2), unit="1/s",
                             n=len(a["tokens_us"])))
            add_samples(rows, of, "ttft_", [round((x[2] - x[0]) / 1e3, 4) for x in r], "ms", ("p50", "p99"))
            add_samples(rows, of, "token_", [round(x / 1e3, 4) for x in a["tokens_us"]], "ms", ("p50", "p99"))
        elif side.mode == "gap":
            add_samples(rows, of, "start_", [round(x[2] - x[1], 1) for x in r if x[2]], "us", ("p50", "p99"))
        if block == 0:
            rows.append(dict(of, metric="timeline", unit="us", report=False, n=len(r),
                             samples=[[round(x[0]), round(x[3])] for x in r if x[0] < TIMELINE_US]))
    rows.append(dict(of, metric="checksum", value=a["checksum"], unit="", n=a["n"], wrong=a["wrong"], report=False,
                     cpu_ms=a["cpu_ms"]))
    return rows


def add_samples(rows, of, prefix, values, unit, quantiles):
    if not values:
        return
    if len(values) > 5000:     # evenly thinned: a file stays readable
        values = random.Random(1).sample(values, 5000)
    rows.append(dict(of, metric=prefix + "samples", samples=values, unit=unit, n=len(values), report=False))
    for name in quantiles:
        rows.append(dict(of, metric=prefix + name, value=stats.quantile(values, int(name[1:]) / 100), unit=unit, n=len(values)))
