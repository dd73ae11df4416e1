"""What a model says of answers that are already written: shared by the scripts that run the peers."""

import json
import sys
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM


def answers() -> list[dict]:
    """Of answers.jsonl, from standard input."""
    return [json.loads(line) for line in sys.stdin if line.strip()]


def say(record: dict) -> None:
    """One line of results, on standard output, which libraries also print to: results begin with `{`."""
    print(json.dumps(record, default=float), flush=True)


def versions(*names: str) -> dict[str, str]:
    return {name: version(name) for name in (*names, "torch", "transformers")}


def open_model(folder: Path, attention: str | None = None) -> torch.nn.Module:
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation=attention).eval()


def log_probs(model: torch.nn.Module, prompt: list[int], tokens: list[int]) -> torch.Tensor:
    """Natural logarithms of the distributions that the tokens were drawn from, at temperature 1: [tokens, vocabulary]."""
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([prompt + tokens])).logits[0]
    return logits[len(prompt) - 1 : -1].log_softmax(-1)


class Clock:
    """Seconds of processor time by name: what else runs on the machine does not count."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def time(self, name: str, work):
        start = time.process_time()
        result = work()
        self.seconds[name] = time.process_time() - start
        return result


def by_question(records: list[dict]) -> Iterator[tuple[int, list[dict]]]:
    """Questions with at least two samples, which can be compared: the answer at temperature 0 first."""
    for question in sorted({record["question"] for record in records}):
        own = sorted((record for record in records if record["question"] == question), key=lambda one: one["sample"])
        if len(own) > 2:
            yield question, own
