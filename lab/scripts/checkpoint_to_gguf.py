"""Turns the embedded reasoner, a Llama checkpoint in the Hugging Face layout, into a GGUF file for llama.cpp.

    python checkpoint_to_gguf.py FOLDER MODEL.gguf

llama.cpp's own converter knows a tokenizer by a hash of what it makes of a text, and refuses this one. The
pre-tokenizer is that of Qwen2, whose expression is compared with the checkpoint's; llama.cpp does not compose
characters (NFC). Weights are written in float32.

Sources: the GGUF specification (ggml, docs/gguf.md), llama.cpp src/llama-vocab.cpp and conversion/llama.py.
"""

import json
import os
import sys
from pathlib import Path

import numpy as np
from gguf import GGUFWriter, TokenType
from safetensors.numpy import load_file

from gguf_to_checkpoint import LAYER_TENSORS, TENSORS

# `(?i:'s)` in the checkpoint is `'[sS]` in llama.cpp; the rest is the same.
QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def gguf_name(name: str) -> str:
    """`model.layers.3.self_attn.q_proj.weight` as GGUF names it."""
    stem = name.removesuffix(".weight")
    for short, long in TENSORS.items():
        if stem == long:
            return f"{short}.weight"
    layer, kind = stem.removeprefix("model.layers.").split(".", 1)
    short = next(short for short, long in LAYER_TENSORS.items() if long == kind)
    return f"blk.{layer}.{short}.weight"


def interleaved(weight: np.ndarray, heads: int) -> np.ndarray:
    """Rows of a query or key projection as GGUF orders them (conversion/llama.py `permute`)."""
    rows, columns = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)


def finish(writer: GGUFWriter, part: str, target: str) -> None:
    """Writes what was added, and moves the file to its place once it is whole."""
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    os.replace(part, target)


def main(folder: str, target: str) -> None:
    source = Path(folder)
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    tokenizer = json.loads((source / "tokenizer.json").read_text(encoding="utf-8"))
    tokenizer_config = json.loads((source / "tokenizer_config.json").read_text(encoding="utf-8"))
    split = tokenizer["pre_tokenizer"]["pretokenizers"][0]
    if split.get("pattern", {}).get("Regex") != QWEN2:
        raise SystemExit(f"{source / 'tokenizer.json'}: its pre-tokenizer is not Qwen2's")

    heads, key_heads = config["num_attention_heads"], config["num_key_value_heads"]
    part = f"{target}.part"
    writer = GGUFWriter(part, "llama")
    writer.add_name("reasoner")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(key_heads)
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_rope_dimension_count(config["hidden_size"] // heads)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(config["vocab_size"])

    special = {token["id"]: token["content"] for token in tokenizer["added_tokens"]}
    vocabulary = {id: token for token, id in tokenizer["model"]["vocab"].items()} | special
    ids = range(config["vocab_size"])
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list([vocabulary[id] for id in ids])
    writer.add_token_types([TokenType.CONTROL if id in special else TokenType.NORMAL for id in ids])
    writer.add_token_merges([merge if isinstance(merge, str) else " ".join(merge) for merge in tokenizer["model"]["merges"]])
    writer.add_eos_token_id(config["eos_token_id"])
    writer.add_bos_token_id(config["bos_token_id"])
    writer.add_add_bos_token(tokenizer_config.get("bos_token") is not None)
    writer.add_chat_template(tokenizer_config["chat_template"])

    for name, weight in load_file(str(source / "model.safetensors")).items():
        weight = weight.astype(np.float32)
        if ".q_proj." in name:
            weight = interleaved(weight, heads)
        if ".k_proj." in name:
            weight = interleaved(weight, key_heads)
        writer.add_tensor(gguf_name(name), np.ascontiguousarray(weight))
    finish(writer, part, target)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(sys.argv[1], sys.argv[2])
