"""uqlm's scorers of answers that are already written.

    python measure_uqlm.py MODEL MINILM GRAPHS < answers.jsonl > uqlm.jsonl

uqlm reads the log-probabilities that a server returns with an answer, in OpenAI's format. Here a pass through the
model in `transformers` makes them. GRAPHS is a JSON list of matrices, claims by responses, for its graph scorer.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from forced import Clock, answers, by_question, log_probs, open_model, say, versions
from uqlm.black_box.cosine import CosineScorer
from uqlm.black_box.match import MatchScorer
from uqlm.longform.graph.graph_scorer import GraphScorer
from uqlm.white_box.sampled_logprobs import SampledLogprobsScorer
from uqlm.white_box.single_logprobs import SingleLogprobsScorer
from uqlm.white_box.top_logprobs import TopLogprobsScorer

TOP = 15  # uqlm's own choice


def served(model, record: dict) -> list[dict]:
    """`choices[0].logprobs.content` of OpenAI's format, as far as uqlm reads it."""
    rows = log_probs(model, record["prompt"], record["tokens"])
    top = rows.topk(TOP).values.tolist()
    return [
        {"logprob": rows[i, token].item(), "top_logprobs": [{"logprob": one} for one in top[i]]}
        for i, token in enumerate(record["tokens"])
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("model", "minilm", "graphs"):
        parser.add_argument(name, type=Path)
    options = parser.parse_args()
    say({"versions": versions("uqlm", "sentence-transformers", "numpy", "networkx")})
    model = open_model(options.model)
    cosine = CosineScorer(str(options.minilm))
    records = answers()
    served(model, records[0])  # the first pass is slower
    content = {}
    for record in records:
        clock = Clock()
        found = clock.time("pass", lambda: served(model, record))
        content[record["question"], record["sample"]] = found
        single = clock.time("single", lambda: SingleLogprobsScorer().evaluate([found]))
        top = clock.time("top", lambda: TopLogprobsScorer().evaluate([found]))
        scores = {name: values[0] for name, values in (single | top).items()}
        say({"question": record["question"], "sample": record["sample"], **scores, "seconds": clock.seconds})
    sampled = SampledLogprobsScorer(scorers=["monte_carlo_probability"])
    for question, own in by_question(records):
        texts = [record["text"] for record in own]
        first, *others = [content[question, record["sample"]] for record in own]
        clock = Clock()
        scores = {
            **sampled.evaluate(texts[:1], [texts[1:]], [first], [others]),
            "cosine": clock.time("cosine", lambda: cosine.evaluate(texts[:1], [texts[1:]])),
            "match": MatchScorer().evaluate(texts[:1], [texts[1:]]),
        }
        say({"question": question, **{name: values[0] for name, values in scores.items()}, "seconds": clock.seconds})
    # The scorer would open an NLI model for the matrices; these are given.
    graph = GraphScorer.__new__(GraphScorer)
    for number, matrix in enumerate(json.loads(options.graphs.read_text())):
        edges = np.array(matrix, dtype=float)
        claims = [str(i) for i in range(edges.shape[0])]
        scores = graph._process_single_graph(0, [""] * edges.shape[1], claims, claims, edges, 0.5)
        say({"graph": number, "closeness": [one.scores["closeness_centrality"] for one in scores]})


if __name__ == "__main__":
    main()
