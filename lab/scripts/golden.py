"""Golden values of a checkpoint: `transformers` in float64, independent of flinch.

    python golden.py FOLDER TEXTS.json GOLDEN.json [float32]

TEXTS.json holds `cases` (a conversation, an answer, schedules) and `prompts` (conversations that are only continued).
The output has the form of test/fixtures/*/golden.json; src/uncertainty and docs/design/incremental-scoring.md define
the values. Noise comes from a port of src/numerics/noise.ts.

With `float32` everything is as `transformers` has it: its errors say what float32 can do.
"""

import hashlib
import json
import math
import os
import sys
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, DynamicCache

ALPHA = 1e-3
SIGMA, SAMPLES, SEED = 0.01, 3, 7
TOP = 5
CONTINUED = 100


FLOAT32 = torch.float32


def let_float32_mean(dtype):
    """`transformers` asks for float32 by name in norms, RoPE and softmax, whatever the type of the model is."""
    torch.float = torch.float32 = dtype
    torch.Tensor.float = lambda tensor: tensor.to(dtype)


class Model:
    def __init__(self, folder, dtype):
        let_float32_mean(FLOAT32)
        # Eager attention alone knows soft caps.
        self.net = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, attn_implementation="eager").eval()
        self.net.requires_grad_(False)
        let_float32_mean(dtype)
        self.net.model.rotary_emb = type(self.net.model.rotary_emb)(self.net.config)

    def embed(self, ids):
        return self.net.get_input_embeddings()(torch.as_tensor(ids))

    def logprobs(self, embeddings, past=None, rows=0):
        """[batch, window, hidden] -> log-probabilities of the last `rows` positions (0: all), and the cache."""
        # A cache that the model makes itself forgets what a sliding window has passed.
        past = DynamicCache() if past is None else past
        start = past.get_seq_length()
        positions = torch.arange(start, start + embeddings.shape[1]).expand(embeddings.shape[0], -1)
        out = self.net(
            inputs_embeds=embeddings, past_key_values=past, position_ids=positions, use_cache=True, logits_to_keep=rows
        )
        return out.logits.log_softmax(-1), out.past_key_values

    def of_tokens(self, embeddings, ids, past=None):
        """log-probabilities of ids, the tokens that follow the last rows: [batch, len(ids)]"""
        logprobs, _ = self.logprobs(embeddings, past, len(ids))
        return logprobs.gather(-1, torch.as_tensor(ids).expand(embeddings.shape[0], -1)[..., None])[..., 0]

    def gradient(self, embeddings, ids, past=None):
        """Log-probabilities of ids, which follow the last rows, and the gradient of their sum."""
        leaf = embeddings.detach().clone().requires_grad_(True)
        logprobs = self.of_tokens(leaf, ids, past)
        logprobs.sum().backward()
        return logprobs.detach()[0], leaf.grad

    def gradient_norms(self, embeddings, ids):
        """The Euclidean norm of the gradient of each log-probability of ids, which follow the last rows."""
        leaf = embeddings.detach().clone().requires_grad_(True)
        logprobs = self.of_tokens(leaf, ids)[0]
        return [torch.autograd.grad(each, leaf, retain_graph=True)[0].norm().item() for each in logprobs]

    def moved(self, embeddings, by, ids, past=None):
        with torch.no_grad():
            return self.of_tokens(embeddings + by, ids, past)[0]

    def windowed(self, ids, prompt, block, window, alpha):
        with torch.no_grad():
            _, whole = self.logprobs(self.embed([ids[:-1]]), rows=1)
        scores, positions, start = [], 0, prompt
        while start < len(ids):
            end = min(start + block, len(ids))
            first = 0 if window is None else max(0, end - 1 - window)
            embeddings, block_ids = self.embed([ids[first : end - 1]]), ids[start:end]
            clean, gradient = self.gradient(embeddings, block_ids, prefix(whole, first))
            perturbed = self.moved(embeddings, -alpha * gradient.sign(), block_ids, prefix(whole, first))
            scores += (clean - perturbed).tolist()
            positions += end - 1 - first
            start = end
        return scores, positions

    def greedy(self, prompts, count):
        """Ids of the most probable continuations, and by how much each led (in log-probability)."""
        longest = max(map(len, prompts))
        padding = [longest - len(prompt) for prompt in prompts]
        mask = torch.tensor([[0] * pad + [1] * len(prompt) for pad, prompt in zip(padding, prompts)])
        step = torch.tensor([[0] * pad + prompt for pad, prompt in zip(padding, prompts)])
        past, ids, leads = DynamicCache(), [], []
        for _ in range(count):
            positions = (mask.cumsum(-1) - 1).clamp(min=0)[:, -step.shape[1] :]
            with torch.no_grad():
                out = self.net(
                    input_ids=step, attention_mask=mask, position_ids=positions, past_key_values=past, logits_to_keep=1
                )
            top = out.logits[:, -1].log_softmax(-1).topk(2)
            past, step = out.past_key_values, top.indices[:, :1]
            mask = torch.cat((mask, torch.ones_like(step)), -1)
            ids.append(step[:, 0].tolist())
            leads.append((top.values[:, 0] - top.values[:, 1]).tolist())
        return list(zip(*ids)), list(zip(*leads))


def prefix(cache, length):
    """A new cache: a run adds its window to the one that it gets."""
    if length == 0:
        return DynamicCache()
    return DynamicCache([(layer.keys[:, :, :length], layer.values[:, :, :length]) for layer in cache.layers])


def mix(h):
    """The finaliser of MurmurHash3, of arrays of uint32."""
    h = (h ^ (h >> 16)) * np.uint32(0x85EBCA6B)
    h = (h ^ (h >> 13)) * np.uint32(0xC2B2AE35)
    return h ^ (h >> 16)


def standard_normals(seed, samples, positions, size):
    """src/numerics/noise.ts for all samples and positions at once: [samples, positions, size]"""
    replica, position = (axis.ravel() for axis in np.indices((samples, positions), dtype=np.uint32))
    s01, s00, s11, s10 = (
        mix(mix(mix(mix(np.uint32(start ^ seed) ^ replica * 0) ^ replica) ^ position))
        for start in (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344)
    )
    normals = np.zeros((samples * positions, size + 1))
    filled = np.zeros(samples * positions, int)
    while (filled < size).any():
        draws = []
        for _ in range(2):
            # xoroshiro128+ (Blackman and Vigna), the lower half of each output.
            draws.append(((s00 + s10).view(np.int32) + 0.5) * 2.0**-31)
            a0, a1 = s10 ^ s00, s11 ^ s01
            s00, s01 = (
                (s00 << 24) ^ (s01 >> 8) ^ a0 ^ (a0 << 16),
                (s01 << 24) ^ (s00 >> 8) ^ a1 ^ ((a1 << 16) | (a0 >> 16)),
            )
            s10, s11 = (a1 << 5) ^ (a0 >> 27), (a0 << 5) ^ (a1 >> 27)
        x, y = draws
        square = x * x + y * y
        taken = np.flatnonzero((square < 1) & (filled < size))
        scale = np.sqrt(-2 * np.log(square[taken]) / square[taken])
        normals[taken, filled[taken]] = x[taken] * scale
        normals[taken, filled[taken] + 1] = y[taken] * scale
        filled[taken] += 2
    return normals[:, :size].reshape(samples, positions, size)


def rounded(values, digits):
    return [float(f"{value:.{digits}g}") for value in values]


def golden_case(model, tokenizer, case):
    messages, response = case["messages"], case["response"]
    prompt_ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
    response_ids = tokenizer.encode(response, add_special_tokens=False)
    ids, prompt = prompt_ids + response_ids, len(prompt_ids)
    embeddings = model.embed([ids[:-1]])

    with torch.no_grad():
        logprobs = model.logprobs(embeddings, rows=len(response_ids))[0][0].double()
    chosen = torch.tensor(response_ids)[:, None]
    logprob = logprobs.gather(-1, chosen)[:, 0]
    others = logprobs.scatter(-1, chosen, -math.inf).amax(-1)
    top = logprobs.topk(TOP)

    clean, gradient = model.gradient(embeddings, response_ids)
    fall = {alpha: clean - model.moved(embeddings, -alpha * gradient.sign(), response_ids) for alpha in (ALPHA, 1e-4)}
    # In float64 the central difference is the derivative to nine digits.
    ahead, behind = (model.moved(embeddings, step * gradient.sign(), response_ids) for step in (1e-6, -1e-6))

    # flinch keeps noise in float32, and multiplies by σ before.
    noise = standard_normals(SEED, SAMPLES, len(ids) - 1, embeddings.shape[-1]).astype(np.float32)
    noise = torch.from_numpy((SIGMA * noise.astype(np.float64)).astype(np.float32)).to(embeddings.dtype)
    with torch.no_grad():
        noisy = model.of_tokens(embeddings + noise, response_ids)

    return {
        "messages": messages,
        "promptIds": prompt_ids,
        "responseIds": response_ids,
        "response": response,
        "alpha": ALPHA,
        "logprob": rounded(logprob.tolist(), 9),
        "entropy": rounded((-(logprobs.exp() * logprobs).sum(-1)).tolist(), 8),
        "margin": rounded((1 - logprob.exp() + others.exp()).tolist(), 8),
        "topIds": top.indices.tolist(),
        "topLogprob": [rounded(row, 8) for row in top.values.tolist()],
        "adv": rounded(fall[ALPHA].tolist(), 7),
        "advAlpha1em4": rounded(fall[1e-4].tolist(), 7),
        "windowed": {key: golden_window(model, ids, prompt, key, ALPHA) for key in case["schedules"]},
        "jvp": rounded(((ahead - behind) / 2e-6).tolist(), 7),
        "gradL1Total": float(gradient.abs().sum()),
        "gradL2": rounded(model.gradient_norms(embeddings, response_ids), 7),
        "sigma": SIGMA,
        "noiseSeed": SEED,
        "noiseShape": list(noise.shape),
        "randVar": rounded(noisy.var(0, unbiased=False).tolist(), 7),
    }


def golden_window(model, ids, prompt, key, alpha):
    block, window = (part.split("=")[1] for part in key.split(","))
    scores, positions = model.windowed(ids, prompt, int(block), None if window == "all" else int(window), alpha)
    return {"adversarial": rounded(scores, 7), "positions": positions}


def main(folder, texts_file, target, dtype="float64"):
    texts = json.loads(Path(texts_file).read_text(encoding="utf-8"))
    model = Model(folder, getattr(torch, dtype))
    tokenizer = AutoTokenizer.from_pretrained(folder)
    cases = []
    for number, case in enumerate(texts["cases"]):
        cases.append(golden_case(model, tokenizer, case))
        print(f"case {number}: {len(cases[-1]['responseIds'])} tokens", file=sys.stderr, flush=True)
    prompts = [[{"role": "user", "content": text}] for text in texts["prompts"]]
    prompt_ids = [
        tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False) for messages in prompts
    ]
    ids, leads = model.greedy(prompt_ids, CONTINUED)
    golden = {
        "model": os.path.basename(os.path.normpath(folder)),
        "weights": hashlib.sha256((Path(folder) / "model.safetensors").read_bytes()).hexdigest(),
        "computedIn": f"{dtype}, transformers",
        "cases": cases,
        "continued": [
            {"messages": messages, "promptIds": start, "greedyIds": list(best), "leads": rounded(lead, 3)}
            for messages, start, best, lead in zip(prompts, prompt_ids, ids, leads)
        ],
    }
    Path(target).write_text(json.dumps(golden, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
