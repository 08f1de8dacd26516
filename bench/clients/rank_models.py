# SPDX-License-Identifier: Apache-2.0
"""Models of several ranks, a GPU each, for ranks_client.py: random weights from a seed, nothing downloaded."""
import torch
import torch.distributed as dist
from torch import nn

from torch_models import Attention, Work, train


class SplitLayer(nn.Module):
    """A transformer's layer of which each rank has a part of the heads and of the inner width."""

    def __init__(self, width, heads, ranks):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width // ranks, heads // ranks, True)
        self.attention.qkv = nn.Linear(width, 3 * width // ranks)
        self.attention.out = nn.Linear(width // ranks, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width // ranks), nn.Linear(4 * width // ranks, width, bias=False)

    def forward(self, x, cache, position):
        part = self.attention(self.norm1(x), cache, position)
        dist.all_reduce(part)
        x = x + part
        part = self.down(nn.functional.gelu(self.up(self.norm2(x))))
        dist.all_reduce(part)
        return x + part


def tensor_parallel(device, layers=24, width=2048, heads=16, words=32000, prompt=256, room=512, tokens=32):
    """A decoder whose layers are split over the ranks; two all-reduces a layer and token."""
    rank, ranks = dist.get_rank(), dist.get_world_size()
    kind = torch.float32 if device == "cpu" else torch.float16
    torch.manual_seed(1)
    embed, places, head = nn.Embedding(words, width), nn.Embedding(room, width), nn.Linear(width, words, bias=False)
    torch.manual_seed(2 + rank)
    layer = nn.ModuleList(SplitLayer(width, heads, ranks) for _ in range(layers))
    for one in layer:            # what every rank has whole is the same in each
        nn.init.ones_(one.norm1.weight)
    for module in (embed, places, head, layer):
        module.to(device, kind).eval()
    shape = (1, heads // ranks, room, width // heads)
    caches = [[torch.zeros(shape, device=device, dtype=kind) for _ in range(2)] for _ in range(layers)]
    ids = (torch.arange(prompt).view(1, prompt) * 7919 % words).to(device)
    first = torch.arange(prompt, device=device)
    token = torch.zeros(1, 1, dtype=torch.long, device=device)
    place = torch.full((1,), prompt, dtype=torch.long, device=device)

    def forward(ids, position):
        x = embed(ids) + places(position)
        for one, cache in zip(layer, caches):
            x = one(x, cache, position)
        return head(x[:, -1:]).argmax(-1)

    def forward_prompt():
        token.copy_(forward(ids, first))
        place.fill_(prompt)
        return token

    def step():
        token.copy_(forward(token, place))
        place.add_(1)

    def once():
        forward_prompt()
        for _ in range(tokens - 1):
            step()
        return token
    work = Work(once)
    work.steps = (forward_prompt, step, tokens)
    return work


def data_parallel(device, batch=64, name="resnet50", size=224):
    """Training steps with PyTorch's DDP: the gradients of all ranks are summed in each."""
    torch.manual_seed(1)
    devices = None if device == "cpu" else [torch.cuda.current_device()]
    return train(name, batch, device, size, 2 + dist.get_rank(),
                 lambda model: nn.parallel.DistributedDataParallel(model, device_ids=devices))


MODELS = {"tp-gpt": tensor_parallel, "ddp-resnet50": data_parallel}
SMALL = {"tp-gpt": dict(layers=2, width=64, heads=4, words=100, prompt=8, room=64, tokens=8),      # for a processor
         "ddp-resnet50": dict(batch=2, name="resnet18", size=32)}


def build(name, device):
    return MODELS[name](device, **(SMALL[name] if device == "cpu" else {}))
