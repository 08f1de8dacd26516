# SPDX-License-Identifier: Apache-2.0
"""One side of a benchmark: vLLM in this process, with a random model of Llama's shape (1.1 billion parameters, bfloat16).

  vllm_client.py SITE ROLE BATCHxPROMPT+TOKENS

SITE is the folder that `pack_vllm DIR SITE` made. A request is BATCH prompts of PROMPT tokens at once and TOKENS more of each, the
likeliest ones; its first token's time is that of the first answer, and a token's time is that of a step of the engine. In mode
closed the engine takes step after step, and each step counts as one; a request that is not at its end goes on in the next measurement.
The program obeys lines as bench/clients/load.c says (modes open, gap and closed; fields start, end, fill_us, at) and answers with the
same JSON lines. Times are CLOCK_MONOTONIC.
"""
import json
import os
import re
import sys
import tempfile
import time
import zlib

from answers import obey, say

SHAPE = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "bfloat16", "vocab_size": 32000, "hidden_size": 2048,
    "intermediate_size": 5632, "num_hidden_layers": 22, "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 64,
    "hidden_act": "silu", "max_position_embeddings": 4096, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": False,
    "bos_token_id": 1, "eos_token_id": 2,
}
ENVIRONMENT = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1",
    "VLLM_HOST_IP": "127.0.0.1", "GLOO_SOCKET_IFNAME": "lo", "VLLM_ALLOW_INSECURE_SERIALIZATION": "1", "VLLM_USE_FLASHINFER_SAMPLER": "0",
    "VLLM_LOGGING_STREAM": "ext://sys.stderr", "TOKENIZERS_PARALLELISM": "false",
}
KV_BYTES = 4 << 30


def seeded(model):
    """Weights of the size that trained ones have, from each parameter's name: vLLM's own random ones give all prompts one answer."""
    import torch
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "norm" in name:
                weight.fill_(1)
            else:
                generator = torch.Generator(device=weight.device).manual_seed(zlib.crc32(name.encode()))
                weight.normal_(0, 1.0 if "embed" in name else weight.shape[-1] ** -0.5, generator=generator)


def build(folder, batch):
    """@return the engine"""
    from vllm import LLM
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as f:
        json.dump(SHAPE, f)
    llm = LLM(model=folder, load_format="dummy", skip_tokenizer_init=True, dtype="bfloat16", seed=0, max_model_len=4096,
              gpu_memory_utilization=0.2, kv_cache_memory_bytes=KV_BYTES, max_num_seqs=max(batch, 8), enable_prefix_caching=False)
    llm.apply_model(seeded)
    return llm.llm_engine


class Rounds:
    """One request after the other, each of so many prompts."""

    def __init__(self, engine, batch, prompt, tokens):
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind
        self.engine, self.number, self.done = engine, 0, {}
        self.prompts = [[(7919 * (i + 1) + 104729 * j + j * j) % 31990 + 5 for j in range(prompt)] for i in range(batch)]
        self.likeliest = SamplingParams(temperature=0, max_tokens=tokens, min_tokens=tokens, ignore_eos=True, detokenize=False,
                                        output_kind=RequestOutputKind.CUMULATIVE)
        self.checksum, self.wrong = None, 0

    def begin(self):
        self.number += 1
        self.done = {}
        for i, prompt in enumerate(self.prompts):
            self.engine.add_request(f"{self.number}-{i}", {"prompt_token_ids": prompt}, self.likeliest)

    def step(self):
        """@return whether there was an answer"""
        outputs = self.engine.step()
        for output in outputs:
            if output.finished:
                self.done[output.request_id] = list(output.outputs[0].token_ids)
        return bool(outputs)

    def over(self):
        return not self.engine.has_unfinished_requests()

    def check(self):
        found = zlib.crc32(json.dumps([self.done[name] for name in sorted(self.done)]).encode())
        self.checksum = found if self.checksum is None else self.checksum
        self.wrong += found != self.checksum

    def whole(self):
        """@return when each step's answer came, in ns"""
        while not self.over():           # what a measurement of mode closed left
            self.step()
        self.begin()
        times = []
        while not self.over():
            if self.step():
                times.append(time.monotonic_ns())
        self.check()
        return times

    def one_step(self):
        if self.over():
            if self.done:
                self.check()
            self.begin()
        while not self.step():
            pass


def main():
    shape = re.fullmatch(r"(\d+)x(\d+)\+(\d+)", sys.argv[3]) if len(sys.argv) == 4 else None
    if not shape:
        print(__doc__, file=sys.stderr)
        return 2
    site, role = sys.argv[1:3]
    batch, prompt, tokens = map(int, shape.groups())
    sys.path.insert(0, site)
    sys.path.append(os.path.join(site, "fallback"))
    os.environ.update({name: value for name, value in ENVIRONMENT.items() if name not in os.environ}, PYTHONPATH=site)
    try:
        with tempfile.TemporaryDirectory() as folder:
            rounds = Rounds(build(folder, batch), batch, prompt, tokens)
            for _ in range(3):
                began = time.monotonic()
                rounds.whole()
            import vllm
            say({"ready": True, "worker": os.getpid(), "framework": "vLLM " + vllm.__version__,
                 "roles": {role: {"checksum": rounds.checksum, "once_ms": round(1e3 * (time.monotonic() - began), 3), "batch": batch,
                                  "model": sys.argv[3]}}})
            for line in sys.stdin:
                if not obey(line, role, rounds.whole, rounds.one_step, lambda: (rounds.checksum, rounds.wrong)):
                    return 2
    except (OSError, RuntimeError, ValueError, ImportError) as e:
        say({"role": role, "error": f"{type(e).__name__}: {e}"})
        return 1
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)               # vLLM's threads hold nothing
