# SPDX-License-Identifier: Apache-2.0
"""One side of a benchmark that has several ranks, a GPU each: an ordinary program of torch.distributed that knows nothing of a
scheduler.

  ranks_client.py RANKS ROLE=MODEL

Starts the ranks as torchrun does, with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT. The first obeys lines as torch_client.py
does and tells the others what to do before each request; `worker` in its first line names its process.
"""
import os
import socket
import subprocess
import sys

STOP, ONCE, VERIFY = range(3)


def start(ranks, role):
    """@return the first rank's exit status"""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    env = dict(os.environ, WORLD_SIZE=str(ranks), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    started = []
    try:
        for rank in range(ranks):
            started.append(subprocess.Popen(
                [sys.executable, os.path.abspath(__file__), str(ranks), role], env=dict(env, RANK=str(rank)),
                stdin=None if rank == 0 else subprocess.DEVNULL, stdout=None if rank == 0 else sys.stderr))
        return started[0].wait()
    finally:
        for p in started:
            p.kill()
            p.wait()


class Ranks:
    """What the ranks say to each other besides the model's own collectives."""

    def __init__(self):
        import torch
        import torch.distributed as dist
        import torch_client
        self.torch, self.dist = torch, dist
        self.rank = int(os.environ["RANK"])
        self.device = torch_client.DEVICE
        if self.device == "cuda":
            torch.cuda.set_device(self.rank)
        dist.init_process_group("nccl" if self.device == "cuda" else "gloo", rank=self.rank, world_size=int(os.environ["WORLD_SIZE"]))
        self.words = dist.new_group(backend="gloo")

    def tell(self, what=STOP):
        """@return what the first rank says"""
        word = self.torch.tensor([what])
        self.dist.broadcast(word, 0, self.words)
        return int(word)

    def build(self, model):
        from rank_models import build
        return build(model, self.device)

    def leading(self, model):
        """The model of the first rank, which tells the others of a request and then does its own part."""
        from torch_models import Work
        inner = self.build(model)

        def lead(what, act):
            def told():
                self.tell(what)
                return act()
            return told
        work = Work(lead(ONCE, inner.once))
        work.verify = lead(VERIFY, inner.verify)
        if inner.steps:
            prompt, decode, tokens = inner.steps
            work.steps = (lead(ONCE, prompt), decode, tokens)
        return work

    def follow(self, model):
        with self.torch.no_grad():
            work = self.build(model)
            while True:
                what = self.tell()
                if what == STOP:
                    return
                (work.once if what == ONCE else work.verify)()
                if self.device == "cuda":
                    self.torch.cuda.synchronize()


def main():
    if len(sys.argv) != 3 or not sys.argv[1].isdigit() or "=" not in sys.argv[2]:
        print(__doc__, file=sys.stderr)
        return 2
    if "RANK" not in os.environ:
        return start(int(sys.argv[1]), sys.argv[2])
    model = sys.argv[2].partition("=")[2].split(":")[0]
    ranks = Ranks()
    if ranks.rank:
        ranks.follow(model)
        return 0
    import torch_client
    import torch_models
    torch_models.build = lambda name, batch, device: (ranks.leading(name), 0)
    sys.argv[1:] = sys.argv[2:]
    try:
        return torch_client.main()
    finally:
        ranks.tell(STOP)


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)
