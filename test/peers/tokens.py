"""Token ids as `transformers` gives them, to compare flinch's with.

    python tokens.py FOLDER < IN.json > OUT.json

IN.json: `texts` (strings), `conversations` (lists of messages), `ids` (lists of token ids).
OUT.json: for each text its `ids`, its `plain` ids, with names of special tokens as text, and the text `decoded` from
`ids`; for each conversation the rendered `text` and its `ids`; for each list of ids its text.
"""

import json
import sys

from transformers import AutoTokenizer


def well_formed(text: str) -> str:
    """Halves of surrogate pairs, which UTF-8 cannot hold, become U+FFFD, as in JavaScript."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def main(folder: str) -> None:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    given = json.load(sys.stdin)

    def decode(ids):
        return tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)

    texts = []
    for text in map(well_formed, given["texts"]):
        ids = tokenizer.encode(text, add_special_tokens=False)
        plain = tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True)
        texts.append({"ids": ids, "plain": plain, "decoded": decode(ids)})
    conversations = []
    for messages in given["conversations"]:
        messages = [{**message, "content": well_formed(message["content"])} for message in messages]
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
        conversations.append({"text": text, "ids": ids})
    json.dump({"texts": texts, "conversations": conversations, "ids": [decode(ids) for ids in given["ids"]]}, sys.stdout)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(sys.argv[1])
