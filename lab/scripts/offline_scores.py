"""Offline scores of Adv. Pert. by PyTorch, of a Llama checkpoint with tied embeddings in fp32.

    python offline_scores.py FOLDER THREADS

Needs torch alone. Each line of standard input is a JSON object with the ids `prompt` and `text`; each is answered by a
line `{"answers": [scores]}`. The first line says that the model is there.
The score of a token is log p(x) − log p(x) after each embedding moved by −ALPHA · sgn of the gradient of the sum of all
log p: two forward passes and a backward pass (src/uncertainty/adversarial.ts).
"""

import json
import struct
import sys
from pathlib import Path

import torch
from torch.nn.functional import embedding, linear, rms_norm, scaled_dot_product_attention, silu

ALPHA = 1e-4


def read_weights(file: Path) -> dict[str, torch.Tensor]:
    """Tensors of a safetensors file in fp32, mapped."""
    with file.open("rb") as opened:
        (length,) = struct.unpack("<Q", opened.read(8))
        header = json.loads(opened.read(length))
    floats = torch.from_file(str(file), size=file.stat().st_size // 4, dtype=torch.float32)
    start = (8 + length) // 4
    return {
        name: floats[start + entry["data_offsets"][0] // 4 : start + entry["data_offsets"][1] // 4].view(entry["shape"])
        for name, entry in header.items()
        if name != "__metadata__"
    }


class Llama:
    def __init__(self, folder: Path):
        self.config = json.loads((folder / "config.json").read_text())
        self.weights = read_weights(folder / "model.safetensors")
        self.eps = self.config["rms_norm_eps"]
        self.heads, self.groups = self.config["num_attention_heads"], self.config["num_key_value_heads"]
        self.size = self.config["hidden_size"] // self.heads

    def weight(self, name: str) -> torch.Tensor:
        return self.weights[f"{name}.weight"]

    def norm(self, x: torch.Tensor, name: str) -> torch.Tensor:
        weight = self.weight(name)
        return rms_norm(x, weight.shape, weight, self.eps)

    def rotate(self, x: torch.Tensor) -> torch.Tensor:
        """[heads, positions, size]"""
        frequencies = 10000.0 ** (-torch.arange(0, self.size, 2, dtype=torch.float32) / self.size)
        angles = torch.outer(torch.arange(x.shape[1], dtype=torch.float32), frequencies).repeat(1, 2)
        half = torch.cat((-x[..., self.size // 2 :], x[..., : self.size // 2]), -1)
        return x * angles.cos() + half * angles.sin()

    def attend(self, x: torch.Tensor, layer: str) -> torch.Tensor:
        rows = x.shape[0]
        q, k, v = (
            linear(x, self.weight(f"{layer}.self_attn.{kind}_proj")).view(rows, -1, self.size).transpose(0, 1)
            for kind in "qkv"
        )
        k, v = (each.repeat_interleave(self.heads // self.groups, 0) for each in (self.rotate(k), v))
        y = scaled_dot_product_attention(self.rotate(q), k, v, is_causal=True)
        return linear(y.transpose(0, 1).reshape(rows, -1), self.weight(f"{layer}.self_attn.o_proj"))

    def feed(self, x: torch.Tensor, layer: str) -> torch.Tensor:
        gate, up = (linear(x, self.weight(f"{layer}.mlp.{kind}_proj")) for kind in ("gate", "up"))
        return linear(silu(gate) * up, self.weight(f"{layer}.mlp.down_proj"))

    def logprobs(self, x: torch.Tensor, text: torch.Tensor) -> torch.Tensor:
        """Of the text, whose tokens follow the last rows of embeddings."""
        for index in range(self.config["num_hidden_layers"]):
            layer = f"model.layers.{index}"
            x = x + self.attend(self.norm(x, f"{layer}.input_layernorm"), layer)
            x = x + self.feed(self.norm(x, f"{layer}.post_attention_layernorm"), layer)
        x = self.norm(x[-len(text) :], "model.norm")
        logits = linear(x, self.weight("model.embed_tokens"))
        return logits.log_softmax(-1).gather(-1, text[:, None])[:, 0]

    def scores(self, prompt: list[int], text: list[int]) -> torch.Tensor:
        ids, wanted = torch.tensor((prompt + text)[:-1]), torch.tensor(text)
        x = embedding(ids, self.weight("model.embed_tokens")).requires_grad_(True)
        clean = self.logprobs(x, wanted)
        (gradient,) = torch.autograd.grad(clean.sum(), x)
        with torch.no_grad():
            return clean - self.logprobs(x - ALPHA * gradient.sign(), wanted)


def main(folder: str, threads: str) -> None:
    torch.set_num_threads(int(threads))
    model = Llama(Path(folder))
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        scores = model.scores(asked["prompt"], asked["text"])
        print(json.dumps({"answers": [scores.tolist()]}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
