# SPDX-License-Identifier: Apache-2.0
"""A model of random weights for llama.cpp, 1.1 B parameters in f16 (2.2 GB), so that nothing is fetched: llama_model.py FILE

Needs the Python package gguf. The tokens are numbers and bytes; what it says has no meaning, and takes as long as if it had."""
import sys

import gguf
import numpy

LAYERS, WIDTH, INNER, TOKENS, HEADS = 16, 2048, 5632, 32000, 16
BYTES = 256


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    w = gguf.GGUFWriter(sys.argv[1], "llama")
    w.add_context_length(4096)
    w.add_embedding_length(WIDTH)
    w.add_block_count(LAYERS)
    w.add_feed_forward_length(INNER)
    w.add_head_count(HEADS)
    w.add_head_count_kv(HEADS)
    w.add_layer_norm_rms_eps(1e-5)
    w.add_rope_dimension_count(WIDTH // HEADS)
    w.add_vocab_size(TOKENS)
    w.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    kind = gguf.TokenType
    special = ["<unk>", "<s>", "</s>"]
    words = special + [f"<0x{i:02X}>" for i in range(BYTES)]
    words += [f"w{i}" for i in range(TOKENS - len(words))]
    w.add_tokenizer_model("llama")
    w.add_token_list(words)
    w.add_token_scores([0.0] * TOKENS)
    w.add_token_types([kind.UNKNOWN, kind.CONTROL, kind.CONTROL] + [kind.BYTE] * BYTES
                      + [kind.NORMAL] * (TOKENS - len(special) - BYTES))
    w.add_bos_token_id(1)
    w.add_eos_token_id(2)
    random = numpy.random.default_rng(0)

    def weights(name, *shape, zero=0):
        values = (random.standard_normal(shape, dtype=numpy.float32) * 0.02).astype(numpy.float16)
        values[:zero] = 0
        w.add_tensor(name, values)

    def ones(name):
        w.add_tensor(name, numpy.ones(WIDTH, dtype=numpy.float32))
    weights("token_embd.weight", TOKENS, WIDTH)
    ones("output_norm.weight")
    weights("output.weight", TOKENS, WIDTH, zero=len(special) + BYTES)      # it says words alone, never a part of a character
    for i in range(LAYERS):
        block = f"blk.{i}."
        ones(block + "attn_norm.weight")
        ones(block + "ffn_norm.weight")
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            weights(f"{block}{name}.weight", WIDTH, WIDTH)
        weights(block + "ffn_gate.weight", INNER, WIDTH)
        weights(block + "ffn_up.weight", INNER, WIDTH)
        weights(block + "ffn_down.weight", WIDTH, INNER)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
