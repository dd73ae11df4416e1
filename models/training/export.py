"""Writes the last checkpoint of a run as a model's folder, in the layout of Hugging Face.

    python export.py --run FOLDER/middle-1 --out MODEL
"""
import argparse
import json
import shutil
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer

from model import SIZES
from tokenizer import END, END_OF_TEXT, SYSTEM

CONTEXT = 512
TEMPLATE = (
    "{%- if messages[0]['role'] != 'system' %}{{- '<|im_start|>system\\n"
    + SYSTEM
    + "<|im_end|>\\n' }}{%- endif %}"
    "{%- set last = namespace(question=0) %}"
    "{%- for message in messages %}{%- if message['role'] == 'user' %}{%- set last.question = loop.index0 %}{%- endif %}{%- endfor %}"
    "{#- The model knows single problems only: what came before the last question is left out. #}"
    "{%- for message in messages %}{%- if message['role'] == 'system' or loop.index0 >= last.question %}"
    "{{- '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}{%- endif %}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"
)


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--run", type=Path, required=True)
    arguments.add_argument("--out", type=Path, required=True)
    options = arguments.parse_args()
    saved = torch.load(options.run / "checkpoint.pt")
    c = SIZES[options.run.name.rsplit("-", 1)[0]]
    tokenizer = Tokenizer.from_file(str(options.run.parent / "tokenizer.json"))
    end, end_of_text = tokenizer.token_to_id(END), tokenizer.token_to_id(END_OF_TEXT)

    def write(name: str, **fields) -> None:
        (options.out / name).write_text(json.dumps(fields, indent=2) + "\n")

    options.out.mkdir(parents=True, exist_ok=True)
    weights = options.out / "model.safetensors"
    save_file(saved["model"], weights, {"format": "pt"})
    weights.chmod(0o644)
    shutil.copy(options.run.parent / "tokenizer.json", options.out / "tokenizer.json")
    write(
        "config.json",
        architectures=["LlamaForCausalLM"],
        model_type="llama",
        hidden_size=c.hidden,
        intermediate_size=c.ffn,
        num_hidden_layers=c.layers,
        num_attention_heads=c.heads,
        num_key_value_heads=c.kv_heads,
        vocab_size=c.vocabulary,
        rms_norm_eps=c.norm_eps,
        rope_theta=c.rope_theta,
        hidden_act="silu",
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=True,
        torch_dtype="float32",
        bos_token_id=end_of_text,
        eos_token_id=end,
    )
    write(
        "generation_config.json",
        bos_token_id=end_of_text,
        eos_token_id=[end, end_of_text],
        do_sample=True,
        temperature=0.2,
    )
    write(
        "tokenizer_config.json",
        tokenizer_class="PreTrainedTokenizerFast",
        chat_template=TEMPLATE,
        eos_token=END,
        bos_token=None,
        pad_token=END_OF_TEXT,
        model_max_length=CONTEXT,
        clean_up_tokenization_spaces=False,
    )
    print(f"step {saved['step']}: {options.out}")


if __name__ == "__main__":
    main()
