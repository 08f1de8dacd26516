# SPDX-License-Identifier: Apache-2.0
"""The network that a diffusion model runs for each step, in the shape of Stable Diffusion 1.5's: 860 M parameters with random weights,
latents of 64 x 64, a text of 77 tokens. It is written for this benchmark out of PyTorch's layers."""
import math

import torch
from torch import nn
from torch.nn import functional as F

WIDTHS = 320, 640, 1280, 1280
EACH = 2            # stages of one width on the way down; one more on the way up
TEXT = 768
SIDE = 64
STEPS = 10


class Residual(nn.Module):
    def __init__(self, inputs, outputs, time):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(32, inputs), nn.GroupNorm(32, outputs)
        self.conv1, self.conv2 = nn.Conv2d(inputs, outputs, 3, padding=1), nn.Conv2d(outputs, outputs, 3, padding=1)
        self.time = nn.Linear(time, outputs)
        self.skip = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x, time):
        y = self.conv1(F.silu(self.norm1(x))) + self.time(F.silu(time))[:, :, None, None]
        return self.skip(x) + self.conv2(F.silu(self.norm2(y)))


class Attention(nn.Module):
    def __init__(self, width, other, heads=8):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v = nn.Linear(width, width, False), nn.Linear(other, width, False), nn.Linear(other, width, False)
        self.out = nn.Linear(width, width)

    def forward(self, x, other):
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in (self.q(x), self.k(other), self.v(other)))
        return self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


class Transformer(nn.Module):
    """Each place of the picture looks at the others, then at the text."""
    def __init__(self, width):
        super().__init__()
        self.norm, self.inward, self.outward = nn.GroupNorm(32, width), nn.Conv2d(width, width, 1), nn.Conv2d(width, width, 1)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.itself, self.text = Attention(width, width), Attention(width, TEXT)
        self.up, self.down = nn.Linear(width, 8 * width), nn.Linear(4 * width, width)

    def forward(self, x, text):
        y = self.inward(self.norm(x)).flatten(2).transpose(1, 2)
        z = self.norms[0](y)
        y = y + self.itself(z, z)
        y = y + self.text(self.norms[1](y), text)
        value, gate = self.up(self.norms[2](y)).chunk(2, -1)
        y = y + self.down(value * F.gelu(gate))
        return x + self.outward(y.transpose(1, 2).unflatten(2, x.shape[2:]))


class Stage(nn.Module):
    def __init__(self, inputs, outputs, time, attends):
        super().__init__()
        self.residual = Residual(inputs, outputs, time)
        self.attention = Transformer(outputs) if attends else None

    def forward(self, x, time, text):
        x = self.residual(x, time)
        return self.attention(x, text) if self.attention else x


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        width = WIDTHS[0]
        time = 4 * width
        self.time = nn.Sequential(nn.Linear(width, time), nn.SiLU(), nn.Linear(time, time))
        self.first, self.last = nn.Conv2d(4, width, 3, padding=1), nn.Conv2d(width, 4, 3, padding=1)
        self.norm = nn.GroupNorm(32, width)
        self.down, self.up, kept = nn.ModuleList(), nn.ModuleList(), [width]
        for level, outputs in enumerate(WIDTHS):
            bottom = level == len(WIDTHS) - 1
            for _ in range(EACH):
                self.down.append(Stage(width, outputs, time, not bottom))
                kept.append(width := outputs)
            if not bottom:
                self.down.append(nn.Conv2d(width, width, 3, 2, 1))
                kept.append(width)
        self.middle = nn.ModuleList([Stage(width, width, time, True), Stage(width, width, time, False)])
        for level, outputs in reversed(list(enumerate(WIDTHS))):
            for _ in range(EACH + 1):
                self.up.append(Stage(width + kept.pop(), outputs, time, level != len(WIDTHS) - 1))
                width = outputs
            if level:
                self.up.append(nn.Conv2d(width, width, 3, padding=1))

    def forward(self, x, at, text):
        half = WIDTHS[0] // 2
        wave = torch.exp(-math.log(1e4) * torch.arange(half, device=x.device) / half)
        wave = torch.cat([torch.cos(at * wave), torch.sin(at * wave)])[None]
        time = self.time(wave.to(x.dtype)).expand(x.shape[0], -1)
        kept = [x := self.first(x)]
        for part in self.down:
            kept.append(x := part(x) if isinstance(part, nn.Conv2d) else part(x, time, text))
        for part in self.middle:
            x = part(x, time, text)
        for part in self.up:
            if isinstance(part, nn.Conv2d):
                x = part(F.interpolate(x, scale_factor=2.0))
            else:
                x = part(torch.cat([x, kept.pop()], 1), time, text)
        return self.last(F.silu(self.norm(x)))


def denoise(batch, device):
    """@return a function that makes pictures (latents) of noise, each with and without its text, as classifier-free guidance does"""
    with torch.device(device):
        model = UNet().half().eval()
    fixed = torch.Generator().manual_seed(2)
    noise = torch.randn(batch, 4, SIDE, SIDE, generator=fixed).to(device).half()
    text = torch.randn(2 * batch, 77, TEXT, generator=fixed).to(device).half()
    times = torch.linspace(999, 0, STEPS, device=device)

    def once():
        x = noise
        for at in times:
            with_text, without = model(torch.cat([x, x]), at, text).chunk(2)
            x = x - (without + 7.5 * (with_text - without)) / STEPS
        return x
    return once
