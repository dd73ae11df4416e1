"""Token ids and embeddings of texts by sentence-transformers.

    python embed.py MINILM < texts.json > embeddings.json

The input is a list of texts, the output a list of {"tokens": [...], "embedding": [...]}.
"""

import json
import sys

from sentence_transformers import SentenceTransformer


def main() -> None:
    model = SentenceTransformer(sys.argv[1], device="cpu")
    texts = json.load(sys.stdin)
    embeddings = model.encode(texts, normalize_embeddings=True).tolist()
    encoded = [model.tokenizer(text, truncation=True, max_length=model.max_seq_length).input_ids for text in texts]
    json.dump([{"tokens": ids, "embedding": row} for ids, row in zip(encoded, embeddings)], sys.stdout)


if __name__ == "__main__":
    main()
