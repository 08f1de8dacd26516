# SPDX-License-Identifier: Apache-2.0
"""How two programs can share a device: one row a variant. What a variant needs is found out when it is first used;
one that cannot be had here is skipped, with its reason in the raw data and in the report."""
import dataclasses
import os
import shlex


@dataclasses.dataclass(frozen=True)
class Variant:
    name: str
    text: str
    kind: str = "native"          # native, xsched, space (xsched under MPS), mps or peer
    sides: object = "all"         # all, high (that side alone), low, or names of sides
    level: str = ""               # XSCHED_AUTO_XQUEUE_LEVEL
    server: tuple = ()            # more options of xserver
    env: tuple = ()               # (side without its number or "", name, value) for the clients
    fill: bool = False            # the urgent side fills its gaps with work of its own, so that the device stays awake
    created: bool = True          # PyTorch: a stream of its own for each role, where they share a process
    priorities: bool = False      # streams have the vendor's priorities
    green: int = 0                # percent of the device that a green context has
    prefix: tuple = ()            # before the command line of each client
    uses: str = ""                # the variant whose processes it runs in
    watched: bool = False         # metrics are scraped, top looks and a timeline is recorded meanwhile

    @property
    def scheduled(self):
        return self.kind in ("xsched", "space")


FIRST, SECOND, SPAN = ("high0", "low0"), ("high1", "low1"), ("both0", "both1")
ROWS = [
    Variant("alone", "the urgent side by itself, without XSched", sides="high", uses="native"),
    Variant("alone-hot", "the same, with its gaps filled by its own work: an idle device is slower at the first kernels",
            sides="high", fill=True, uses="native"),
    Variant("alone-low", "the other side by itself, without XSched", sides="low", uses="native"),
    Variant("alone-xsched", "the urgent side by itself in the very process of xsched-auto", "xsched", "high", "auto",
            uses="xsched-auto"),
    Variant("alone-low-xsched", "the other side by itself in the very process of xsched-auto", "xsched", "low", "auto",
            uses="xsched-auto"),
    Variant("native", "both, with the device's own sharing"),
    Variant("default-stream", "threads that share the default stream", created=False),
    Variant("stream-priority", "the vendor's stream priorities", priorities=True),
    Variant("green", "the urgent side confined to a green context with 30 % of the device", green=30),
    Variant("mps", "NVIDIA MPS, as it comes", "mps"),
    Variant("mps-priority", "MPS with client priorities", "mps",
            env=(("high", "CUDA_MPS_CLIENT_PRIORITY", "0"), ("low", "CUDA_MPS_CLIENT_PRIORITY", "1"),
                 ("top", "CUDA_MPS_CLIENT_PRIORITY", "0"), ("mid", "CUDA_MPS_CLIENT_PRIORITY", "1"))),   # there are two
    Variant("alone-mps-priority", "the urgent side by itself in the very process of mps-priority", "mps", "high", uses="mps-priority"),
    Variant("alone-low-mps-priority", "the other side by itself in the very process of mps-priority", "mps", "low",
            uses="mps-priority"),
    Variant("space", "XSched in space: MPS with client priorities, and the other side confined, or suspended, by load", "space",
            level="auto"),
    Variant("alone-space", "the urgent side by itself in the very process of space", "space", "high", "auto", uses="space"),
    Variant("alone-low-space", "the other side by itself in the very process of space", "space", "low", "auto", uses="space"),
    Variant("mps-threads", "MPS, the other side confined to 70 % of the threads", "mps",
            env=(("low", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "70"),)),
    Variant("xsched-1", "level 1", "xsched", level="1"),
    # not for the urgent side: where that waits for room in the middle of a request, it does not see its first kernel start
    Variant("xsched-1-n8", "level 1 with an explicit threshold of 8 commands in flight for the other side", "xsched", level="1",
            env=(("low", "XSCHED_AUTO_XQUEUE_THRESHOLD", "8"),)),
    Variant("xsched-2", "level 2", "xsched", level="2"),
    Variant("xsched-3", "level 3, time slices", "xsched", level="3"),
    Variant("xsched-auto", "the default level", "xsched", level="auto"),
    Variant("xsched-watched", "the very processes of xsched-auto, while /metrics is scraped each second, top looks and "
            "`xsched record` runs", "xsched", level="auto", uses="xsched-auto", watched=True),
    Variant("marks-each", "the default level; each command has a completion mark while somebody waits for its queue's end",
            "xsched", level="auto", env=(("", "XSCHED_TUNE", "mark-us=0"),)),
    Variant("asleep-2", "level 2; xserver expects nobody and sleeps until a doorbell rings", "xsched", level="2",
            server=("--tune=ahead-cpus=0",)),
    Variant("asleep-auto", "the default level; xserver expects nobody", "xsched", level="auto", server=("--tune=ahead-cpus=0",)),
    Variant("gates-150", "level 2 with gates at most 0.15 ms of estimated device time apart", "xsched", level="2",
            env=(("low", "XSCHED_TUNE", "gate-us=150"),)),
    Variant("gates-each", "level 2 with a gate before each command", "xsched", level="2", env=(("low", "XSCHED_TUNE", "gate-us=0"),)),
    Variant("xsched-drain", "the default level; a turn begins when what the last one had on the device is over", "xsched",
            level="auto", env=(("", "XSCHED_SCHEDULER_SUSPEND_SYNC_HWQ", "ON"),)),
    # I
    Variant("alone-group", "both tasks of the top group, without the others and without XSched", sides=("top1", "top2"),
            uses="native"),
    Variant("alone-group-xsched", "both tasks of the top group, without the others, in the very processes of xsched-auto", "xsched",
            ("top1", "top2"), "auto", uses="xsched-auto"),
    # M, on two devices
    Variant("alone-second", "the second device's urgent side by itself, without XSched", sides=("high1",), uses="native"),
    Variant("alone-second-xsched", "the second device's urgent side by itself in the very process of xsched-auto", "xsched",
            ("high1",), "auto", uses="xsched-auto"),
    Variant("alone-span", "the program on both devices by itself, without XSched", sides=SPAN, uses="native"),
    Variant("native-first", "the pair on the first device, nothing on the second", sides=FIRST, uses="native"),
    Variant("native-second", "the pair on the second device, nothing on the first", sides=SECOND, uses="native"),
    Variant("native-span", "the program on both devices beside the urgent one on the second, the devices' own sharing",
            sides=(*SPAN, "high1"), uses="native"),
    Variant("xsched-first", "XSched, the pair on the first device, nothing on the second", "xsched", FIRST, "auto",
            uses="xsched-auto"),
    Variant("xsched-second", "XSched, the pair on the second device, nothing on the first", "xsched", SECOND, "auto",
            uses="xsched-auto"),
    Variant("xsched-span", "XSched, the program on both devices beside the urgent one on the second", "xsched",
            (*SPAN, "high1"), "auto", uses="xsched-auto"),
]
BY_NAME = {v.name: v for v in ROWS}


def peer(text):
    """NAME=COMMAND PREFIX: each client is started behind the prefix, with BENCH_SIDE (high, low) and BENCH_PRIORITY
    in its environment."""
    name, found, command = text.partition("=")
    if not found or not name or not command.strip():
        raise ValueError(f"--peer '{text}': NAME=COMMAND PREFIX is wanted")
    if name in BY_NAME:
        raise ValueError(f"--peer '{text}': there is a variant of that name")
    return Variant(name, f"peer: {command}", "peer", prefix=tuple(shlex.split(command)))


def tuned(text):
    """NAME=OPTION[ OPTION...]: the very processes of xsched-auto, xserver started again with other options."""
    name, found, options = text.partition("=")
    if not found or not name or not options.startswith("--"):
        raise ValueError(f"--tune '{text}': NAME=--OPTION[=VALUE] is wanted")
    if name in BY_NAME:
        raise ValueError(f"--tune '{text}': there is a variant of that name")
    return Variant(name, f"the very processes of xsched-auto, xserver with {options}", "xsched", level="auto", uses="xsched-auto",
                   server=tuple(shlex.split(options)))


def environment(variant, side, priority, share, server, mps, shim, one_process):
    """What is added to the environment of the client of a side."""
    whose = ("", side.rstrip("012"))
    env = {name: value for of, name, value in variant.env if of in whose or (one_process and variant.scheduled)}
    if variant.scheduled:
        env.update(LD_PRELOAD=shim, XSCHED_SOCKET=server.socket, XSCHED_AUTO_XQUEUE_LEVEL=variant.level,
                   XSCHED_PRIORITY=str(0 if one_process else priority))
        if one_process:
            env["XSCHED_INTRA"] = "ON"
        if share is not None:
            env["XSCHED_AUTO_XQUEUE_UTILIZATION"] = str(share)
    if variant.kind == "space":
        env.update(mps.env, XSCHED_SHARE="SPACE", CUDA_MPS_CLIENT_PRIORITY="0" if priority > 0 else "1")
    elif variant.kind == "mps":
        env.update(mps.env)
    elif variant.kind == "peer":
        env.update(BENCH_SIDE=side, BENCH_PRIORITY=str(priority))
    return env


def clean_environment():
    """Nothing that was set outside reaches what is measured."""
    dropped = ("XSCHED_", "XLOG_", "CUDA_MPS_")
    return {k: v for k, v in os.environ.items() if not k.startswith(dropped) and k != "LD_PRELOAD"}
