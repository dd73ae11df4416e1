"""Turns a GGUF file of a Llama model into a checkpoint in the Hugging Face layout.

    python gguf_to_checkpoint.py MODEL.gguf FOLDER

The weights are written in float32, as the file's own rule of dequantisation gives them: nothing is rounded again.
The tokenizer is rebuilt from the file's metadata. `transformers` could do that too, but it leaves out the rule by
which SmolLM splits digits (`tokenizer.ggml.pre` is `smollm`).

Sources: the GGUF specification (ggml, docs/gguf.md), llama.cpp src/llama-vocab.cpp and conversion/llama.py.
"""

import json
import os
import sys
from pathlib import Path

import numpy as np
from gguf import GGUFReader, TokenType, dequantize
from safetensors.numpy import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

# `tokenizer.ggml.pre` to the pre-tokenizer of the checkpoint that the file was made from.
PRE_TOKENIZERS = {
    "smollm": lambda: pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    ),
}

LAYER_TENSORS = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
TENSORS = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}


def checkpoint_name(name: str) -> str:
    """`blk.3.attn_q.weight` as Hugging Face names it."""
    stem = name.removesuffix(".weight")
    if stem in TENSORS:
        return f"{TENSORS[stem]}.weight"
    block, layer, kind = stem.split(".", 2)
    if block != "blk" or kind not in LAYER_TENSORS:
        raise SystemExit(f"{name}: not a tensor of a Llama model")
    return f"model.layers.{layer}.{LAYER_TENSORS[kind]}.weight"


def rotary_order(weight: np.ndarray, heads: int) -> np.ndarray:
    """Rows of a query or key projection as Hugging Face orders them.

    GGUF keeps the two halves of each head interleaved; conversion/llama.py `permute` does the opposite.
    """
    rows, columns = weight.shape
    return weight.reshape(heads, rows // heads // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns)


def main(source: str, folder: str) -> None:
    reader = GGUFReader(source)

    def field(name: str, default=None):
        entry = reader.fields.get(name)
        if entry is None and default is None:
            raise SystemExit(f"{source}: has no {name}")
        return default if entry is None else entry.contents()

    if field("general.architecture") != "llama":
        raise SystemExit(f"{source}: its architecture is {field('general.architecture')}; only llama is converted")
    pre = field("tokenizer.ggml.pre")
    if field("tokenizer.ggml.model") != "gpt2" or pre not in PRE_TOKENIZERS:
        raise SystemExit(f"{source}: its tokenizer is {field('tokenizer.ggml.model')}/{pre}; known: gpt2/{'/'.join(PRE_TOKENIZERS)}")

    heads = field("llama.attention.head_count")
    key_heads = field("llama.attention.head_count_kv", heads)
    weights = {}
    for tensor in reader.tensors:
        weight = dequantize(tensor.data, tensor.tensor_type).astype(np.float32).reshape(tensor.shape[::-1])
        if ".attn_q." in tensor.name:
            weight = rotary_order(weight, heads)
        if ".attn_k." in tensor.name:
            weight = rotary_order(weight, key_heads)
        weights[checkpoint_name(tensor.name)] = np.ascontiguousarray(weight)

    tokens = field("tokenizer.ggml.tokens")
    kinds = field("tokenizer.ggml.token_type")
    end = field("tokenizer.ggml.eos_token_id")
    begin = field("tokenizer.ggml.bos_token_id")
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": field("llama.embedding_length"),
        "intermediate_size": field("llama.feed_forward_length"),
        "num_hidden_layers": field("llama.block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": key_heads,
        "vocab_size": len(tokens),
        # Kept in float32 in the file: the shortest decimal that is the same float32.
        "rms_norm_eps": float(str(np.float32(field("llama.attention.layer_norm_rms_epsilon")))),
        "rope_theta": float(field("llama.rope.freq_base")),
        "hidden_act": "silu",
        "max_position_embeddings": field("llama.context_length"),
        "tie_word_embeddings": "lm_head.weight" not in weights,
        "torch_dtype": "float32",
        "bos_token_id": begin,
        "eos_token_id": end,
    }

    tokenizer = Tokenizer(
        models.BPE(
            vocab={token: id for id, token in enumerate(tokens)},
            merges=[tuple(merge.split(" ")) for merge in field("tokenizer.ggml.merges")],
        )
    )
    tokenizer.pre_tokenizer = PRE_TOKENIZERS[pre]()
    tokenizer.decoder = decoders.ByteLevel()
    special = [token for token, kind in zip(tokens, kinds) if kind == TokenType.CONTROL]
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    tokenizer_config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "chat_template": field("tokenizer.chat_template"),
        "bos_token": tokens[begin] if field("tokenizer.ggml.add_bos_token", False) else None,
        "eos_token": tokens[end],
        "pad_token": tokens[field("tokenizer.ggml.padding_token_id", end)],
        "model_max_length": config["max_position_embeddings"],
        "clean_up_tokenization_spaces": False,
    }

    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(out / "tokenizer.json"))
    for name, content in {
        "tokenizer_config.json": tokenizer_config,
        "generation_config.json": {"bos_token_id": begin, "eos_token_id": end},
        "config.json": config,
    }.items():
        (out / name).write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    # Last and in one step: a folder with weights is whole.
    save_file(weights, str(out / "model.safetensors.part"), metadata={"format": "pt"})
    os.replace(out / "model.safetensors.part", out / "model.safetensors")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(sys.argv[1], sys.argv[2])
