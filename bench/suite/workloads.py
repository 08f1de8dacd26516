# SPDX-License-Identifier: Apache-2.0
"""The workloads A to W as they run on each platform: who takes part, how requests arrive, which variants are of
interest. A platform that is not in a workload's plans cannot run it."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Side:
    name: str
    client: str                   # what runs: torch:MODEL, ranks:MODEL, llama, vllm:BATCHxPROMPT+TOKENS or load
    mode: str = "closed"          # open, gap (think time after each end) or closed
    rate: float = 0               # requests a second; gap: 1 / mean think time
    load: float = 0               # instead: the share of the time that it would be busy if alone; closed: the rest is a pause
    arrivals: str = "periodic"
    priority: int = 0
    share: int = None             # percent, for the partition policies
    work_us: float = 0            # load: length of a kernel; 0: the parameter T
    kernels: int = 1
    width: int = 100
    depth: int = 1
    gib: float = 1                # device memory that it needs, about
    urgent: bool = False
    device: int = 0
    ranks: int = 1                # ranks:MODEL: on so many devices, from that one on
    process: str = ""             # sides with the same name here are threads of one process; "": one of its own
    apart: bool = False           # takes part only where a variant names it


@dataclasses.dataclass(frozen=True)
class Plan:
    sides: tuple
    variants: tuple
    extra: tuple = ()             # variants that only --variants asks for
    quick: tuple = ()
    params: tuple = ({},)
    quick_params: tuple = None
    one_process: bool = False     # the sides are threads of one process
    fresh: bool = False           # each block starts its processes anew, unless --no-fresh
    devices: int = 1              # how many it needs
    requests: int = 1000          # of the urgent side, for each variant in all; fewer where a run would take over nine minutes
    blocks: int = 5
    seconds: float = 0            # of a block; 0: as the requests take
    server: tuple = ()            # options of xserver, e.g. the policy
    no_params: tuple = ("alone", "alone-hot", "alone-low", "alone-xsched", "alone-low-xsched")


@dataclasses.dataclass(frozen=True)
class Workload:
    letter: str
    name: str                     # in a few words, for texts that name the letter
    title: str
    plans: dict
    programs: tuple = ()          # instead of sides: programs of bench/ that print figures themselves


QUICK = ("alone", "native", "xsched-auto")
SPACE = ("alone-mps-priority", "alone-low-mps-priority", "space", "alone-space", "alone-low-space")   # beside mps-priority


def torch_high(model, mode="open", **more):
    return Side("high", "torch:" + model, mode, priority=10, urgent=True, **more)


def torch_low(model, gib=4, **more):
    return Side("low", "torch:" + model, gib=gib, **more)


def pair(high, low, variants, **more):
    return Plan((high, low), variants, **more)


def torch_pair(high, low, variants, **more):
    """The median of a PyTorch program differs by a tenth from start to start, more than what is to be told apart."""
    return pair(high, low, variants, fresh=True, **more)


# ---- A: an urgent service beside batch work, two processes ----
A_TORCH = torch_pair(torch_high("resnet18", rate=20), torch_low("resnet50", 14),
                     ("alone", "alone-hot", "native", "alone-xsched", "xsched-auto", "xsched-1", "xsched-2", "mps",
                      "mps-priority"),
                     extra=("alone-low", "alone-low-xsched", *SPACE, "xsched-3", "mps-threads", "xsched-watched", "asleep-auto", "marks-each"),
                     quick=QUICK, requests=800)
CL_HIGH = Side("high", "load", "open", rate=20, work_us=1000, kernels=4, priority=10, urgent=True)
CL_LOW = Side("low", "load", work_us=1000, depth=64)
A_LOAD = pair(CL_HIGH, CL_LOW, ("alone", "native", "alone-xsched", "xsched-auto", "xsched-1"), extra=("xsched-watched",), quick=QUICK)

# ---- B: the same as threads of one process ----
B_TORCH = dataclasses.replace(
    A_TORCH, one_process=True, fresh=False,
    variants=("alone", "native", "default-stream", "stream-priority", "green", "xsched-auto", "xsched-1", "xsched-2"),
    extra=(), quick=QUICK)
B_LOAD = pair(CL_HIGH, CL_LOW, ("alone", "native", "stream-priority", "xsched-auto"), quick=QUICK, one_process=True)

# ---- C: fixed priority, twice the same model ----
C_TORCH = torch_pair(torch_high("resnet152", load=0.2, arrivals="poisson"), torch_low("resnet152-b32"),
                     ("alone", "native", "alone-xsched", "xsched-auto", "xsched-1", "mps", "mps-priority"),
                     extra=("alone-low", "alone-low-xsched", *SPACE), requests=700)
C_LOAD = pair(Side("high", "load", "open", load=0.2, arrivals="poisson", work_us=1000, kernels=8, priority=10, urgent=True),
              CL_LOW, ("alone", "native", "xsched-auto"))

# ---- D: 75 and 25 percent ----
D_LOAD = Plan((Side("high", "load", work_us=2000, depth=4, share=75, urgent=True),
               Side("low", "load", work_us=2000, depth=4, share=25)),
              ("alone", "alone-low", "native", "xsched-auto", "xsched-1"), extra=("xsched-drain",), blocks=3, seconds=10,
              server=("--policy", "UP"), fresh=True)

# ---- E: how long until the urgent side's first kernel starts ----
E_HIGH = Side("high", "load", "gap", rate=1 / 0.0085, arrivals="uniform", work_us=230, width=50, kernels=10, priority=10,
              urgent=True)
E_LOW = Side("low", "load", depth=16)
E_T = tuple({"t_ms": t} for t in (0.1, 1, 5, 20, 50))
E_CUDA = Plan((E_HIGH, E_LOW), ("alone", "native", "xsched-1", "xsched-1-n8", "xsched-2", "xsched-3",
                                "xsched-auto", "mps", "mps-priority"), extra=(*SPACE[2:4], "gates-150", "gates-each", "asleep-2"), quick=QUICK, params=E_T,
              quick_params=(E_T[1], E_T[3]), requests=300, blocks=3, seconds=1.2)
E_FAKE = Plan((dataclasses.replace(E_HIGH, work_us=200, width=100, kernels=2), dataclasses.replace(E_LOW, depth=4)),
              ("alone", "native", "xsched-1", "xsched-1-n8", "xsched-2", "xsched-auto"), quick=QUICK, params=E_T[:4],
              quick_params=(E_T[1], E_T[2]), one_process=True, requests=150, blocks=3, seconds=1.5)
E_CL = Plan((dataclasses.replace(E_HIGH, work_us=200, width=100, kernels=2), dataclasses.replace(E_LOW, depth=16)),
            ("alone", "native", "xsched-1", "xsched-1-n8", "xsched-auto"), quick=QUICK, params=E_T[:4],
            quick_params=(E_T[1], E_T[2]), requests=150, blocks=3, seconds=1.5)

# ---- F: production and opportunistic training, each of which waits for its input a fifth of the time ----
F_TORCH = Plan((Side("high", "torch:train-resnet50", load=0.8, priority=10, gib=10, urgent=True),
                Side("low", "torch:train-resnet50", load=0.8, gib=10)),
               ("alone", "alone-low", "native", "xsched-auto", "alone-xsched", "xsched-1", "mps-priority"),
               extra=("alone-low-xsched", *SPACE), blocks=3, seconds=10, fresh=True)
# ---- G: BERT-large ----
G_TORCH = torch_pair(torch_high("bert-large", rate=10, arrivals="poisson", gib=3), torch_low("bert-large-b32", 8),
                     ("alone", "alone-hot", "native", "alone-xsched", "xsched-auto", "xsched-1", "mps-priority"),
                     extra=SPACE, requests=600)
# ---- H: decoding with CUDA graphs beside training ----
H_TORCH = torch_pair(torch_high("gpt", rate=5, arrivals="poisson"), torch_low("train-resnet50", 10),
                     ("alone", "native", "alone-xsched", "xsched-auto", "xsched-1", "mps-priority"), extra=SPACE, requests=400)
# ---- L: a language model's server, which decodes nearly all of the time, beside training ----
L_LLAMA = Plan((Side("high", "llama", "gap", rate=200, arrivals="uniform", priority=10, gib=4, urgent=True), torch_low("train-resnet50", 10)),
               ("alone", "alone-low", "native", "alone-xsched", "xsched-auto", "mps-priority"), extra=("alone-low-xsched", *SPACE, "xsched-2", "mps"),
               blocks=5, seconds=6, fresh=True)
# ---- N: an eager decoder of the library that most use, which launches more slowly than the device computes, beside training ----
N_TORCH = Plan((torch_high("generate", gib=6, mode="gap", rate=10), torch_low("train-resnet50", 10)),
               ("alone", "alone-low", "native", "xsched-auto", "alone-xsched", "alone-low-xsched", "mps-priority", *SPACE),
               blocks=5, seconds=12, requests=150)
# ---- Q, R: the same with each token a CUDA graph; a diffusion model's steps ----
Q_TORCH = dataclasses.replace(N_TORCH, sides=(torch_high("generate-static", gib=6, mode="gap", rate=10), N_TORCH.sides[1]))
R_TORCH = dataclasses.replace(N_TORCH, sides=(torch_high("unet", gib=4, mode="gap", rate=10), N_TORCH.sides[1]))
# ---- V: vLLM, which decodes nearly all of the time, beside training; W: two of them, of which one answers requests with pauses ----
def vllm(name, requests, **more):
    return Side(name, "vllm:" + requests, gib=9, **more)


def v_vllm(batch):
    return Plan((vllm("high", f"{batch}x128+128", mode="gap", rate=200, arrivals="uniform", priority=10, urgent=True),
                 torch_low("train-transformer", 8)), N_TORCH.variants, blocks=5, seconds=6)


W_VLLM = Plan((vllm("high", "2x512+64", mode="gap", rate=10, priority=10, urgent=True), vllm("low", "32x512+256")),
              N_TORCH.variants, blocks=5, seconds=6)

# ---- I: six tasks in three groups ----
I_TORCH = Plan(tuple(Side(f"{group}{i}", "torch:bert-base", "open", load=0.11, arrivals="poisson", priority=p,
                          urgent=group == "top") for group, p in (("top", 20), ("mid", 10), ("low", 0)) for i in (1, 2)),
               ("alone", "alone-group", "native", "alone-group-xsched", "xsched-auto", "mps-priority"),
               requests=500, fresh=True)

# ---- M: two devices: A on each, and a program on both beside an urgent one on the second ----
def on(device, *sides):
    return tuple(dataclasses.replace(s, name=f"{s.name}{device}", device=device) for s in sides)


PAIRS = ("alone", "alone-second", "native", "xsched-auto", "xsched-first", "xsched-second")
M_SPAN = tuple(Side(f"both{d}", "torch:resnet50", gib=14, device=d, process="both", apart=True) for d in (0, 1))
M_TORCH = Plan(on(0, *A_TORCH.sides) + on(1, *A_TORCH.sides) + M_SPAN,
               (*PAIRS, "alone-second-xsched", "alone-span", "native-span", "xsched-span"), extra=("native-first", "native-second"),
               requests=300, blocks=5, devices=2, fresh=True)
M_LOAD = Plan(on(0, CL_HIGH, CL_LOW) + on(1, CL_HIGH, CL_LOW), PAIRS, extra=("native-first", "native-second"), one_process=True,
              requests=400, devices=2)

# ---- O, P: programs of two ranks, a GPU each, beside a program on the second ----
O_TORCH = Plan((Side("high", "ranks:tp-gpt", "gap", rate=200, arrivals="uniform", priority=10, gib=4, urgent=True, ranks=2),
                dataclasses.replace(torch_low("train-resnet50", 10), device=1)),
               ("alone", "alone-low", "native", "alone-xsched", "xsched-auto"), extra=("alone-low-xsched", "xsched-2"),
               blocks=5, seconds=6, devices=2, fresh=True)
P_TORCH = Plan((dataclasses.replace(torch_high("resnet18", rate=20), device=1),
                Side("low", "ranks:ddp-resnet50", gib=10, ranks=2)),
               ("alone", "alone-low", "native", "alone-xsched", "xsched-auto"), extra=("alone-low-xsched", "xsched-2"),
               requests=300, blocks=5, devices=2, fresh=True)

WORKLOADS = [
    Workload("A", "a service beside batch work",
             "two processes: ResNet-18 batch 1, 20 requests/s, beside ResNet-50 batch 1024 in a loop",
             {"cuda": A_TORCH, "hip": A_TORCH, "opencl": A_LOAD}),
    Workload("B", "a service and batch work in one program",
             "the same as threads of one process", {"cuda": B_TORCH, "hip": B_TORCH, "opencl": B_LOAD, "fake": B_LOAD}),
    Workload("C", "one model twice", "fixed priority: ResNet-152 at 20 % load beside ResNet-152 batch 32 in a loop",
             {"cuda": C_TORCH, "hip": C_TORCH, "opencl": C_LOAD}),
    Workload("D", "shares of 75 and 25 percent",
             "partition 75 / 25 of two closed loops (policy UP)", {"cuda": D_LOAD, "opencl": D_LOAD}),
    Workload("E", "preemption latency", "preemption latency against the length T of the other side's kernels",
             {"cuda": E_CUDA, "opencl": E_CL, "fake": E_FAKE}),
    Workload("F", "two trainings",
             "harvest: production training, which waits for its input a fifth of the time, beside opportunistic training",
             {"cuda": F_TORCH, "hip": F_TORCH}),
    Workload("G", "BERT beside BERT",
             "BERT-large, 10 requests/s, beside BERT-large batch 32 in a loop", {"cuda": G_TORCH, "hip": G_TORCH}),
    Workload("H", "decoding beside training",
             "decoding with CUDA graphs, 5 prompts/s, beside training", {"cuda": H_TORCH, "hip": H_TORCH}),
    Workload("I", "six BERT tasks", "six BERT tasks in three priority groups", {"cuda": I_TORCH, "hip": I_TORCH}),
    Workload("J", "decisions of xserver",
             "decision latency of xserver, with 2 and 64 processes and with 10,000 queues", {}, ("decision",)),
    Workload("K", "an idle process", "an idle process with 100 queues: CPU, memory, threads, descriptors", {}, ("idle",)),
    Workload("L", "llama.cpp beside training",
             "llama.cpp's server, a request a moment after the last one's end, beside training (--llama)", {"cuda": L_LLAMA}),
    Workload("N", "generate beside training",
             "Hugging Face's generate, a prompt 0.1 s after each answer, beside training", {"cuda": N_TORCH}),
    Workload("Q", "generate with a static cache beside training",
             "Hugging Face's generate with a static cache, which compiles a token's step into a CUDA graph, beside training",
             {"cuda": Q_TORCH}),
    Workload("R", "a diffusion model beside training",
             "ten steps of a UNet of Stable Diffusion's shape, a picture 0.1 s after the last one, beside training", {"cuda": R_TORCH}),
    *(Workload(f"V{batch}", f"vLLM beside training, batch {batch}",
               f"vLLM, {batch} prompt{'s' if batch > 1 else ''} of 128 tokens at once and 128 more of each, one request a moment after the last "
               "one's end, beside training a transformer (--vllm)", {"cuda": v_vllm(batch)}) for batch in (1, 8, 32)),
    Workload("W", "vLLM beside vLLM",
             "two of vLLM: 2 prompts of 512 tokens and 64 more of each, a request 0.1 s after the last one's end, beside 32 prompts of 512 "
             "tokens and 256 more in a loop (--vllm)", {"cuda": W_VLLM}),
    Workload("M", "two devices",
             "two devices: A on each at once, and one program on both beside an urgent one on the second",
             {"cuda": M_TORCH, "hip": M_TORCH, "fake": M_LOAD}),
    Workload("O", "a split decoder beside training",
             "a decoder split over two devices, beside training on the second", {"cuda": O_TORCH, "hip": O_TORCH}),
    Workload("P", "a service beside data-parallel training",
             "an urgent program on the second of two devices, beside data-parallel training (DDP) on both",
             {"cuda": P_TORCH, "hip": P_TORCH}),
]
BY_LETTER = {w.letter: w for w in WORKLOADS}
QUICK_LETTERS = ("A", "B", "E", "J")
