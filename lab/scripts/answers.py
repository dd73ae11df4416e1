"""Writes the answers that the peers and flinch compare, as JSON Lines.

    python answers.py MODEL > answers.jsonl

Each question gets one answer at temperature 0; those with a number for an answer also get five at temperature 0.7.
"""

import json
import sys

import torch
from forced import open_model
from transformers import AutoTokenizer

MAX_TOKENS = 64
SAMPLES = 5
INSTRUCTION = "\n\nLet's think step by step, and put your final answer within \\boxed{}."

QUESTIONS = [
    "What is the capital of France?",
    "Why is the sky blue? Answer in two sentences.",
    "Name three planets and one fact about each.",
    "Who wrote the novel Moby-Dick, and what is it about?",
    "Write a two-line poem about a river — with “quotes”, a café and an emoji 🙂.",
    "Tom has 12 apples and buys 7 more. He eats 5. How many apples are left?" + INSTRUCTION,
    "A train travels 60 km in one hour. How far does it travel in 3 hours?" + INSTRUCTION,
    "A book costs $8. Anna buys 4 books and pays with $50. How much change does she get?" + INSTRUCTION,
    "There are 24 pupils. Half of them are girls, and 5 girls are ill. How many girls are not ill?" + INSTRUCTION,
    "What is 15 + 27 - 9?" + INSTRUCTION,
]




def write(model, tokenizer, numbers: list[int], temperature: float) -> list[dict]:
    chats = [[{"role": "user", "content": QUESTIONS[number]}] for number in numbers]
    prompts = [tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False) for chat in chats]
    batch = tokenizer(prompts, padding=True, padding_side="left", add_special_tokens=False, return_tensors="pt")
    how = {"do_sample": True, "temperature": temperature, "top_k": 0, "top_p": 1.0} if temperature else {"do_sample": False}
    torch.manual_seed(0)
    rows = model.generate(**batch, **how, max_new_tokens=MAX_TOKENS)
    answers = []
    for number, prompt, row in zip(numbers, prompts, rows[:, batch.input_ids.shape[1] :].tolist()):
        end = row.index(tokenizer.eos_token_id) if tokenizer.eos_token_id in row else len(row)
        answers.append(
            {
                "question": number,
                "temperature": temperature,
                "asked": QUESTIONS[number],
                "prompt": tokenizer(prompt, add_special_tokens=False).input_ids,
                "tokens": row[:end],
                "end": tokenizer.eos_token_id if end < len(row) else None,
                "text": tokenizer.decode(row[:end]),
            }
        )
    return answers


def main(folder: str) -> None:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = open_model(folder)
    first = write(model, tokenizer, list(range(len(QUESTIONS))), 0)
    sampled = [number for number, question in enumerate(QUESTIONS) if question.endswith(INSTRUCTION)]
    others = write(model, tokenizer, sampled * SAMPLES, 0.7)
    for answer in first:
        own = [answer] + [other for other in others if other["question"] == answer["question"]]
        for sample, record in enumerate(own):
            print(json.dumps({"sample": sample} | record, ensure_ascii=False))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(sys.argv[1])
