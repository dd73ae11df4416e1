"""Trains the tokenizer: byte-level BPE in which each digit is a token.

    python tokenizer.py --examples EXAMPLES.jsonl --out TOKENIZER.json
"""
import argparse
import itertools
import json

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

VOCABULARY = 1024
END_OF_TEXT, START, END = SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
SYSTEM = "You are a helpful assistant."
EXAMPLES = 50_000


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--examples", required=True)
    arguments.add_argument("--out", required=True)
    options = arguments.parse_args()

    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(WORDS), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=SPECIAL,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    with open(options.examples) as file:
        lines = [json.loads(line) for line in itertools.islice(file, EXAMPLES)]
    frame = [SYSTEM, "system\n", "user\n", "assistant\n"] * 2000
    texts = frame + [text for line in lines for text in (line["prompt"], line["response"])]
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.save(options.out)
    print(f"{tokenizer.get_vocab_size()} tokens, as {options.out}")


if __name__ == "__main__":
    main()
