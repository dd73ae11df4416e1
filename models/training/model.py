"""The decoder (Llama's architecture), with the parameter names of Hugging Face."""
import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass(frozen=True)
class Config:
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    ffn: int
    vocabulary: int = 1024
    rope_theta: float = 10000.0
    norm_eps: float = 1e-5


SIZES = {
    "small": Config(hidden=128, layers=5, heads=4, kv_heads=2, ffn=352),
    "middle": Config(hidden=192, layers=6, heads=6, kv_heads=2, ffn=512),
    "large": Config(hidden=320, layers=6, heads=10, kv_heads=2, ffn=864),
}


def linear(inputs: int, outputs: int) -> nn.Linear:
    return nn.Linear(inputs, outputs, bias=False)


def rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """x: [batch, heads, seq, head]"""
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), -1) * sin


class Attention(nn.Module):
    def __init__(self, c: Config):
        super().__init__()
        self.head = c.hidden // c.heads
        self.q_proj = linear(c.hidden, c.hidden)
        self.k_proj = linear(c.hidden, c.kv_heads * self.head)
        self.v_proj = linear(c.hidden, c.kv_heads * self.head)
        self.o_proj = linear(c.hidden, c.hidden)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        batch, seq, hidden = x.shape
        q, k, v = (
            proj(x).view(batch, seq, -1, self.head).transpose(1, 2)
            for proj in (self.q_proj, self.k_proj, self.v_proj)
        )
        q, k = rotated(q, cos, sin), rotated(k, cos, sin)
        # Query heads of a group lie behind one another: [batch, kv_heads, group * seq, head]. By hand, because the
        # fused attention of PyTorch takes twice as long on a CPU for sequences this short.
        group = q.shape[1] // k.shape[1]
        q = q.reshape(batch, k.shape[1], group * seq, self.head)
        scores = (q @ k.transpose(-1, -2)) * self.head**-0.5
        future = torch.full((seq, seq), -math.inf).triu(1).repeat(group, 1)
        mixed = ((scores + future).softmax(-1).to(v.dtype) @ v).view(batch, -1, seq, self.head)
        return self.o_proj(mixed.transpose(1, 2).reshape(batch, seq, hidden))


class Mlp(nn.Module):
    def __init__(self, c: Config):
        super().__init__()
        self.gate_proj = linear(c.hidden, c.ffn)
        self.up_proj = linear(c.hidden, c.ffn)
        self.down_proj = linear(c.ffn, c.hidden)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, c: Config):
        super().__init__()
        self.input_layernorm = nn.RMSNorm(c.hidden, c.norm_eps)
        self.self_attn = Attention(c)
        self.post_attention_layernorm = nn.RMSNorm(c.hidden, c.norm_eps)
        self.mlp = Mlp(c)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), cos, sin)
        return x + self.mlp(self.post_attention_layernorm(x))


class Decoder(nn.Module):
    def __init__(self, c: Config):
        super().__init__()
        self.embed_tokens = nn.Embedding(c.vocabulary, c.hidden)
        self.layers = nn.ModuleList(Layer(c) for _ in range(c.layers))
        self.norm = nn.RMSNorm(c.hidden, c.norm_eps)


class Model(nn.Module):
    """Tied: the embedding is the head."""

    def __init__(self, c: Config):
        super().__init__()
        self.config = c
        self.model = Decoder(c)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                into = name.endswith(("o_proj.weight", "down_proj.weight"))
                nn.init.normal_(parameter, std=0.02 / (2 * c.layers) ** 0.5 if into else 0.02)

    def forward(self, ids: Tensor) -> Tensor:
        """ids: [batch, seq] -> logits [batch, seq, vocabulary]"""
        c = self.config
        head = c.hidden // c.heads
        frequency = c.rope_theta ** (-torch.arange(0, head, 2) / head)
        angle = torch.outer(torch.arange(ids.shape[1]), frequency).repeat(1, 2)
        x = self.model.embed_tokens(ids)
        for layer in self.model.layers:
            x = layer(x, angle.cos(), angle.sin())
        return self.model.norm(x) @ self.model.embed_tokens.weight.T
