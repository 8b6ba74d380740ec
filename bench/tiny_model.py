"""Writes a llama model of random weights, small enough to be made in a moment: `python tiny_model.py OUT.gguf`."""

from __future__ import annotations

import sys

import gguf
import numpy as np

WIDTH, HEADS, INNER, LAYERS, CONTEXT = 64, 4, 128, 2, 512
UNKNOWN, CONTROL, BYTE, NORMAL = 2, 3, 6, 1


def vocabulary() -> tuple[list[str], list[float], list[int]]:
    """The special tokens, every byte, and the letters with and without a space before them."""
    words = [f"{space}{letter}" for space in ("", "\u2581") for letter in "abcdefghijklmnopqrstuvwxyz"]
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{value:02X}>" for value in range(256)), *words]
    kinds = [UNKNOWN, CONTROL, CONTROL, *[BYTE] * 256, *[NORMAL] * len(words)]
    scores = [0.0] * 259 + [-float(rank) for rank in range(len(words))]
    return tokens, scores, kinds


def main(path: str) -> None:
    chance = np.random.default_rng(7)
    tokens, scores, kinds = vocabulary()
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores(scores)
    writer.add_token_types(kinds)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)

    def weights(name: str, *shape: int) -> None:
        values = np.ones(shape) if len(shape) == 1 else chance.normal(0, 0.2, shape)
        writer.add_tensor(name, values.astype(np.float32))

    weights("token_embd.weight", len(tokens), WIDTH)
    for layer in range(LAYERS):
        weights(f"blk.{layer}.attn_norm.weight", WIDTH)
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            weights(f"blk.{layer}.{part}.weight", WIDTH, WIDTH)
        weights(f"blk.{layer}.ffn_norm.weight", WIDTH)
        weights(f"blk.{layer}.ffn_gate.weight", INNER, WIDTH)
        weights(f"blk.{layer}.ffn_up.weight", INNER, WIDTH)
        weights(f"blk.{layer}.ffn_down.weight", WIDTH, INNER)
    weights("output_norm.weight", WIDTH)
    weights("output.weight", len(tokens), WIDTH)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main(sys.argv[1])
