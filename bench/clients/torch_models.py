# SPDX-License-Identifier: Apache-2.0
"""The models that the PyTorch client runs: random weights from a seed, inputs from a seed, nothing downloaded.

Each builder takes (batch, device) and returns a Work: once() does one request and returns a tensor; verify() gives
a number that is the same whatever ran before."""
import torch
from torch import nn


class Work:
    def __init__(self, once, graph=None):
        self.once = once
        self.steps = None          # for a decoder: (prefill, decode, number of tokens)
        self._verify = graph

    def verify(self):
        y = self._verify() if self._verify else self.once()
        return float(y.double().sum())


def seeded(shape, device, seed=2):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(device)


def resnet(name, batch, device):
    import torchvision
    model = getattr(torchvision.models, name)().to(device).eval()
    x = seeded((batch, 3, 224, 224), device)
    return Work(lambda: model(x))


def train(name, batch, device, size=224, seed=2, spread=lambda model: model):
    """Training steps on one batch; verify() goes back to the first weights and takes one step from there.
    spread: makes of the model what is trained, such as PyTorch's DDP"""
    import torchvision
    torch.backends.cudnn.deterministic = True
    inner = getattr(torchvision.models, name)().to(device).train()
    model = spread(inner)
    x = seeded((batch, 3, size, size), device, seed)
    target = torch.arange(batch, device=device) % 1000
    loss_of = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    first = {k: v.clone() for k, v in inner.state_dict().items()}

    def step():
        with torch.enable_grad():
            optimizer.zero_grad(set_to_none=True)
            loss = loss_of(model(x), target)
            loss.backward()
            optimizer.step()
        return loss.detach()

    def verify():
        inner.load_state_dict(first)
        return step()
    return Work(step, verify)


def train_transformer(batch, device, layers=12, width=1024, heads=16, length=512):
    """Training steps of PyTorch's own encoder in bfloat16; verify() as of train()."""
    layer = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0, batch_first=True)
    model = nn.TransformerEncoder(layer, layers).to(device).bfloat16()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    x = seeded((batch, length, width), device).bfloat16()
    first = {k: v.clone() for k, v in model.state_dict().items()}

    def step():
        with torch.enable_grad():
            optimizer.zero_grad(set_to_none=True)
            loss = model(x).float().pow(2).mean()
            loss.backward()
            optimizer.step()
        return loss.detach()

    def verify():
        model.load_state_dict(first)
        return step()
    return Work(step, verify)


class Attention(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def split(self, x):
        b, s, w = x.shape
        return x.view(b, s, self.heads, w // self.heads).transpose(1, 2)

    def forward(self, x, cache=None, position=None):
        q, k, v = (self.split(t) for t in self.qkv(x).chunk(3, -1))
        mask = None
        if cache is not None:
            cache[0].index_copy_(2, position, k)
            cache[1].index_copy_(2, position, v)
            k, v = cache
            seen = torch.arange(k.shape[2], device=x.device)
            mask = (seen[None, :] > position[:, None])[None, None]
        scores = q @ k.transpose(-1, -2) / (q.shape[-1] ** 0.5)
        if mask is not None:
            scores = scores.masked_fill(mask, float("-inf"))
        y = scores.softmax(-1) @ v
        return self.out(y.transpose(1, 2).flatten(2))      # of the heads that are here


class Layer(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.attention = Attention(width, heads, causal)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, cache=None, position=None):
        x = x + self.attention(self.norm1(x), cache, position)
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self, layers, width, heads, words, length, causal):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.layers = nn.ModuleList(Layer(width, heads, causal) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, ids, position, caches=None):
        x = self.words(ids) + self.places(position)
        for i, layer in enumerate(self.layers):
            x = layer(x, caches[i] if caches else None, position)
        return self.norm(x)


def bert(layers, width, heads, batch, device, length=128):
    """An encoder of BERT's shape."""
    model = Transformer(layers, width, heads, 30522, length, False).to(device).eval()
    ids = (torch.arange(batch * length).view(batch, length) * 7919 % 30522).to(device)
    position = torch.arange(length, device=device)
    return Work(lambda: model(ids, position))


def gpt(batch, device, layers=12, width=768, heads=12, prompt=256, room=512, tokens=16):
    """A decoder of GPT-2's shape: a prompt in one pass, then tokens by a CUDA graph of one step with a cache."""
    model = Transformer(layers, width, heads, 50257, room, True).to(device).eval()
    head = nn.Linear(width, 50257, bias=False).to(device)
    caches = [[torch.zeros(batch, heads, room, width // heads, device=device) for _ in range(2)] for _ in range(layers)]
    ids = (torch.arange(batch * prompt).view(batch, prompt) * 7919 % 50257).to(device)
    places = torch.arange(prompt, device=device)
    token = torch.zeros(batch, 1, dtype=torch.long, device=device)
    place = torch.full((1,), prompt, dtype=torch.long, device=device)

    def forward_prompt():
        token.copy_(head(model(ids, places, caches)[:, -1:]).argmax(-1))
        place.fill_(prompt)
        return token

    def step():
        token.copy_(head(model(token, place, caches)).argmax(-1))
        place.add_(1)

    forward_prompt()
    step()
    decode = step
    if device == "cuda":
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        decode = graph.replay

    def once():
        forward_prompt()
        for _ in range(tokens - 1):
            decode()
        return token
    work = Work(once)
    work.steps = (forward_prompt, decode, tokens)
    return work


def generate(batch, device, **how):
    """A decoder of 1.1 B parameters by the library's own loop, which reads each token back. Eager it launches one kernel after the
    other; with a static cache the library compiles a token's step, which is then one CUDA graph."""
    from transformers import LlamaConfig, LlamaForCausalLM
    config = LlamaConfig(vocab_size=32000, hidden_size=2048, intermediate_size=5632, num_hidden_layers=16, num_attention_heads=16,
                         max_position_embeddings=4096)
    model = LlamaForCausalLM(config).to(device).half().eval()
    ids = (torch.arange(batch * 256).view(batch, 256) * 7919 % 32000).to(device)
    return Work(lambda: model.generate(ids, max_new_tokens=24, min_new_tokens=24, do_sample=False, pad_token_id=0, **how))


def unet(batch, device):
    from torch_unet import denoise
    return Work(denoise(batch, device))


MODELS = {
    "resnet18": (1, lambda b, d: resnet("resnet18", b, d)),
    "resnet50": (1024, lambda b, d: resnet("resnet50", b, d)),
    "resnet152": (1, lambda b, d: resnet("resnet152", b, d)),
    "resnet152-b32": (32, lambda b, d: resnet("resnet152", b, d)),
    "train-resnet50": (64, lambda b, d: train("resnet50", b, d)),
    "train-transformer": (32, train_transformer),
    "bert-large": (1, lambda b, d: bert(24, 1024, 16, b, d)),
    "bert-large-b32": (32, lambda b, d: bert(24, 1024, 16, b, d)),
    "bert-base": (8, lambda b, d: bert(12, 768, 12, b, d)),
    "gpt": (1, gpt),
    "generate": (1, generate),
    "generate-static": (1, lambda b, d: generate(b, d, cache_implementation="static")),
    "unet": (1, unet),
    "tiny": (1, lambda b, d: bert(2, 64, 4, b, d, 16)),
}


def build(name, batch, device):
    """Also where a batch that does not fit is halved; returns (work, batch). A processor only gets a dry run."""
    usual, make = MODELS["tiny" if device == "cpu" else name]
    batch = batch or usual
    while True:
        try:
            torch.manual_seed(1)
            return make(batch, device), batch
        except RuntimeError as e:
            if "out of memory" not in str(e) or batch < 2:
                raise
            batch //= 2
