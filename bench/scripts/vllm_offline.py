"""Writes the responses of `flinch bench run --responses` with vLLM's offline engine. Not run by flinch's tests.

    flinch bench plan ... --requests requests.jsonl
    python vllm_offline.py MODEL requests.jsonl responses.jsonl
    flinch bench run ... --responses responses.jsonl

Lines that responses.jsonl has already are kept, and not written again. Arguments after these three go to
vllm.LLM as NAME=VALUE, such as tensor_parallel_size=4.
See docs.vllm.ai: "Offline Inference", vllm.LLM, vllm.SamplingParams, vllm.RequestOutput.
"""

import json
import sys
from pathlib import Path

from vllm import LLM, SamplingParams

AT_ONCE = 1024


def read(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()] if path.exists() else []


def value_of(text: str):
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def sampling(request: dict) -> SamplingParams:
    """Not the checkpoint's defaults: nothing else than temperature and top_p restricts what is drawn."""
    names = ("temperature", "top_p", "max_tokens", "seed")
    # logprobs=0: of the token itself, at temperature 1.
    return SamplingParams(**{name: request[name] for name in names}, logprobs=0)


def line_of(request: dict, output) -> dict:
    (completion,) = output.outputs
    token_ids = list(completion.token_ids)
    return {
        "id": request["id"],
        "sample": request["sample"],
        "prompt_token_ids": list(output.prompt_token_ids),
        "token_ids": token_ids,
        # Rounding can make the log-probability of a certain token positive.
        "logprobs": [min(0.0, told[token].logprob) for token, told in zip(token_ids, completion.logprobs, strict=True)],
        "finish_reason": completion.finish_reason,
    }


def main() -> None:
    model, requests, responses = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    options = dict(argument.split("=", 1) for argument in sys.argv[4:])
    written = {(line["id"], line["sample"]) for line in read(responses)}
    missing = [request for request in read(requests) if (request["id"], request["sample"]) not in written]
    llm = LLM(model=model, **{name: value_of(text) for name, text in options.items()})
    with responses.open("a") as file:
        for start in range(0, len(missing), AT_ONCE):
            part = missing[start : start + AT_ONCE]
            prompts = [{"prompt_token_ids": request["prompt_token_ids"]} for request in part]
            for request, output in zip(part, llm.generate(prompts, [sampling(one) for one in part]), strict=True):
                file.write(json.dumps(line_of(request, output)) + "\n")
            file.flush()


if __name__ == "__main__":
    main()
