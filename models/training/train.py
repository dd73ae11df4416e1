"""Trains a model from scratch or from another's weights, or goes on from its last checkpoint.

    python train.py --size middle --seed 1 --folder FOLDER

FOLDER holds examples.jsonl and tokenizer.json; checkpoints and the log go to FOLDER/SIZE-SEED. SIGTERM and Ctrl-C
write a checkpoint and stop; the same command resumes, with the results that an uninterrupted run would have had.
"""
import argparse
import itertools
import json
import math
import random
import signal
import time
from pathlib import Path

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional as F

from model import SIZES, Model
from muon import Muon
from tokenizer import END, END_OF_TEXT, START, SYSTEM

BATCH = 64
# Examples of this many batches are sorted by length, so that batches have little padding.
POOL = 16
LEARNING_RATE = 2e-3
WARM_UP = 200
# Share of the steps at the end in which the learning rate falls to zero.
DECAY = 0.3
PROMPT_WEIGHT = 0.1
CHECKPOINT_SECONDS = 180
# Processors without bf16 emulate it, which takes 25 times as long as fp32.
PRECISION = torch.bfloat16 if torch.ops.mkldnn._is_mkldnn_bf16_supported() else torch.float32


def batches(folder: Path, seed: int, first: int):
    """Pairs of ids and weights of the loss, [batch, seq], from the given step on."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    padding = tokenizer.token_to_id(END_OF_TEXT)
    with open(folder / "examples.jsonl") as file:
        for pool in itertools.count():
            lines = list(itertools.islice(file, BATCH * POOL))
            if len(lines) < BATCH * POOL:
                raise SystemExit("examples.jsonl: has too few examples for so many steps")
            if (pool + 1) * POOL <= first:
                continue
            examples = [json.loads(line) for line in lines]
            prompts = tokenizer.encode_batch(
                [
                    f"{START}system\n{SYSTEM}{END}\n{START}user\n{example['prompt']}{END}\n{START}assistant\n"
                    for example in examples
                ]
            )
            responses = tokenizer.encode_batch([example["response"] + END for example in examples])
            pairs = sorted(
                ((prompt.ids, response.ids) for prompt, response in zip(prompts, responses)),
                key=lambda pair: len(pair[0]) + len(pair[1]),
            )
            order = list(range(POOL))
            random.Random(f"{seed} {pool}").shuffle(order)
            for place, k in enumerate(order):
                if pool * POOL + place >= first:
                    yield padded(pairs[k * BATCH : (k + 1) * BATCH], padding)


def padded(pairs: list[tuple[list[int], list[int]]], padding: int) -> tuple[Tensor, Tensor]:
    length = max(len(prompt) + len(response) for prompt, response in pairs)
    ids = torch.full((len(pairs), length), padding)
    weights = torch.zeros(len(pairs), length)
    for i, (prompt, response) in enumerate(pairs):
        end = len(prompt) + len(response)
        ids[i, :end] = torch.tensor(prompt + response)
        weights[i, : len(prompt)] = PROMPT_WEIGHT
        weights[i, len(prompt) : end] = 1
    return ids, weights


def learning_rate(step: int, steps: int) -> float:
    left = (steps - step) / (steps * DECAY)
    return LEARNING_RATE * min(1, (step + 1) / WARM_UP, left)


def optimizers(model: Model) -> list[torch.optim.Optimizer]:
    """Muon for the matrices, AdamW for embedding and norms."""
    named = list(model.named_parameters())
    matrices = [p for name, p in named if p.dim() == 2 and "embed" not in name]
    others = [p for name, p in named if p.dim() != 2 or "embed" in name]
    return [
        Muon(matrices, lr=LEARNING_RATE, dtype=PRECISION),
        torch.optim.AdamW(others, lr=LEARNING_RATE, weight_decay=0, betas=(0.9, 0.98)),
    ]


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--size", choices=SIZES, default="middle")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--steps", type=int, default=12000)
    arguments.add_argument("--folder", type=Path, required=True)
    arguments.add_argument("--weights", type=Path, help="folder of a model to begin with")
    arguments.add_argument("--threads", type=int, default=2)
    options = arguments.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)

    run = options.folder / f"{options.size}-{options.seed}"
    run.mkdir(exist_ok=True)
    checkpoint = run / "checkpoint.pt"
    model = Model(SIZES[options.size])
    optimizing = optimizers(model)
    step = 0
    if checkpoint.exists():
        saved = torch.load(checkpoint)
        step = saved["step"]
        model.load_state_dict(saved["model"])
        for optimizer, state in zip(optimizing, saved["optimizers"]):
            optimizer.load_state_dict(state)
    elif options.weights:
        name = "tokenizer.json"
        if (options.weights / name).read_bytes() != (options.folder / name).read_bytes():
            raise SystemExit(f"--weights: has another {name} than {options.folder}")
        model.load_state_dict(load_file(options.weights / "model.safetensors"))
    # Merges element-wise operations: a step takes a quarter less time.
    forward = torch.compile(model, dynamic=True)
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters, from step {step}", flush=True)

    def save() -> None:
        states = [optimizer.state_dict() for optimizer in optimizing]
        torch.save({"step": step, "model": model.state_dict(), "optimizers": states}, f"{checkpoint}.new")
        Path(f"{checkpoint}.new").replace(checkpoint)

    stopped = False

    def stop(*_) -> None:
        nonlocal stopped
        stopped = True

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)

    mean = math.nan
    tokens = 0
    started = saved_at = time.monotonic()
    for ids, weights in batches(options.folder, options.seed, step):
        if step >= options.steps or stopped:
            break
        for optimizer in optimizing:
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(step, options.steps)
        with torch.autocast("cpu", torch.bfloat16, enabled=PRECISION == torch.bfloat16):
            logits = forward(ids[:, :-1])
        losses = F.cross_entropy(logits.float().flatten(0, 1), ids[:, 1:].flatten(), reduction="none")
        weight = weights[:, 1:].flatten()
        loss = (losses * weight).sum() / weight.sum()
        model.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizing:
            optimizer.step()
        step += 1
        tokens += ids.numel()
        mean = loss.item() if math.isnan(mean) else 0.98 * mean + 0.02 * loss.item()
        now = time.monotonic()
        if step % 50 == 0:
            print(f"step {step} loss {mean:.4f} tokens/s {tokens / (now - started):.0f}", flush=True)
        if now - saved_at > CHECKPOINT_SECONDS:
            save()
            saved_at = now
    save()
    print(f"stopped at step {step} of {options.steps}", flush=True)


if __name__ == "__main__":
    main()
