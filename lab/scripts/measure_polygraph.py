"""lm-polygraph's measures of answers that are already written, by its own calculators and estimators.

    python measure_polygraph.py MODEL MINILM NLI < answers.jsonl > polygraph.jsonl

lm-polygraph only scores what it writes itself, so `Written` stands for its model and "writes" the given tokens.
Its NLI model and cross-encoder come from a hub by default. Here NLI is a folder of `encoder_to_onnx.py --nli`, and
the cross-encoder is the cosine of MiniLM's sentence embeddings; flinch-bench gets the same.
"""

import argparse
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from forced import Clock, answers, by_question, log_probs, open_model, say, versions
from lm_polygraph.estimators import (
    ClaimConditionedProbability,
    LexicalSimilarity,
    MaximumSequenceProbability,
    MeanTokenEntropy,
    Perplexity,
    TokenSAR,
)
from lm_polygraph.stat_calculators.cross_encoder_similarity import CrossEncoderSimilarityMatrixCalculator
from lm_polygraph.stat_calculators.entropy import EntropyCalculator
from lm_polygraph.stat_calculators.greedy_alternatives_nli import GreedyAlternativesNLICalculator
from lm_polygraph.stat_calculators.greedy_probs import GreedyProbsCalculator
from lm_polygraph.utils.estimate_uncertainty import estimate_uncertainty
from lm_polygraph.utils.generation_parameters import GenerationParameters
from lm_polygraph.utils.model import WhiteboxModel
from sentence_transformers import SentenceTransformer
from transformers import AutoModelForSequenceClassification, AutoTokenizer


class Written(WhiteboxModel):
    """Writes the tokens that it is told to."""

    tokens: list[int] = []

    def generate(self, input_ids, **_):
        prompt = input_ids[0].tolist()
        scores = log_probs(self.model, prompt, self.tokens)
        return SimpleNamespace(sequences=torch.tensor([prompt + self.tokens]), scores=list(scores.unsqueeze(1)))


class TokenCcp(ClaimConditionedProbability):
    """log CCP of each token, which the estimator adds up."""

    def _reduce(self, logprobs):
        return np.array(logprobs)


class Cosine:
    """In the place of a cross-encoder."""

    def __init__(self, folder: Path):
        self.model = SentenceTransformer(str(folder), device="cpu")

    def predict(self, pairs, batch_size):
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        rows = self.model.encode(texts, batch_size=batch_size, normalize_embeddings=True)
        vectors = dict(zip(texts, rows))
        return np.array([float(vectors[a] @ vectors[b]) for a, b in pairs])


def nli_model(folder: Path) -> SimpleNamespace:
    """The fields of lm-polygraph's `Deberta` that its calculator reads; that class only opens DeBERTa."""
    return SimpleNamespace(
        deberta=AutoModelForSequenceClassification.from_pretrained(folder).eval(),
        deberta_tokenizer=AutoTokenizer.from_pretrained(folder),
        batch_size=10,
        device="cpu",
    )


def by_probability(record: dict, model: Written) -> tuple[dict, dict]:
    """What the pass gives, and its statistics for what else is computed."""
    clock = Clock()
    asked = [record["asked"]]
    length = len(record["tokens"])
    model.tokens = record["tokens"] + ([] if record["end"] is None else [record["end"]])
    greedy = GreedyProbsCalculator(output_attentions=False)
    stats = clock.time("pass", lambda: greedy({}, asked, model))
    if stats["input_tokens"][0] != record["prompt"]:
        raise SystemExit(f"question {record['question']}: the prompt is not the one that was answered")
    stats |= clock.time("entropy", lambda: EntropyCalculator()(stats))
    # As lm-polygraph has them: its tokens include the end token.
    as_is = {"perplexity": Perplexity()(stats)[0], "entropy": MeanTokenEntropy()(stats)[0]}
    names = ["greedy_log_likelihoods", "greedy_tokens", "greedy_tokens_alternatives", "entropy"]
    stats = {name: [stats[name][0][:length]] for name in names}
    scores = {
        "perplexity": Perplexity()(stats)[0],
        "sequence": MaximumSequenceProbability()(stats)[0],
        "entropy": MeanTokenEntropy()(stats)[0],
        "tokens": {
            "nll": (-np.array(stats["greedy_log_likelihoods"][0])).tolist(),
            "entropy": np.array(stats["entropy"][0]).tolist(),
        },
        "with_end": as_is,
        "seconds": clock.seconds,
    }
    return scores, stats


def by_meaning(record: dict, stats: dict, model: Written, nli, similarity) -> dict:
    clock = Clock()
    asked = [record["asked"]]
    stats = stats | {"input_texts": asked, "sample_texts": [[record["text"]]], "sample_tokens": [[[]]]}

    def ccp():
        found = GreedyAlternativesNLICalculator(nli)(stats, asked, model)
        return ClaimConditionedProbability()(stats | found)[0], TokenCcp()(stats | found)[0]

    def token_sar():
        found = similarity(stats, asked, model)
        return TokenSAR()(stats | found)[0]

    (score, tokens), sar = clock.time("ccp", ccp), clock.time("token_sar", token_sar)
    # The estimator negates what it reduces: -log CCP.
    return {"ccp": score, "ccp_tokens": tokens.tolist(), "token_sar": sar, "seconds": clock.seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("model", "minilm", "nli"):
        parser.add_argument(name, type=Path)
    options = parser.parse_args()
    say({"versions": versions("lm-polygraph", "sentence-transformers")})
    tokenizer = AutoTokenizer.from_pretrained(options.model)
    # lm-polygraph reads the attention weights, which only the eager implementation returns; it fails without them.
    model = Written(open_model(options.model, "eager"), tokenizer, str(options.model), instruct=True)
    nli = nli_model(options.nli)
    similarity = CrossEncoderSimilarityMatrixCalculator()
    similarity.crossencoder, similarity.crossencoder_setup = Cosine(options.minilm), True
    records = answers()
    by_probability(records[0], model)  # the first pass is slower
    statistics = []
    for record in records:
        scores, stats = by_probability(record, model)
        statistics.append(stats)
        say({"question": record["question"], "sample": record["sample"]} | scores)
    by_meaning(records[0], statistics[0], model, nli, similarity)
    for record, stats in zip(records, statistics):
        scores = by_meaning(record, stats, model, nli, similarity)
        say({"question": record["question"], "sample": record["sample"]} | scores)
    for question, own in by_question(records):
        stats = {"sample_texts": [[record["text"] for record in own[1:]]]}
        names = {"rouge_l": "rougeL", "bleu": "BLEU"}
        say({"question": question} | {name: LexicalSimilarity(metric)(stats)[0] for name, metric in names.items()})
    # As lm-polygraph is meant to be used: it writes the answer and scores that.
    parameters = GenerationParameters(max_new_tokens=max(len(record["tokens"]) for record in records))
    writer = WhiteboxModel(model.model, tokenizer, str(options.model), generation_parameters=parameters, instruct=True)
    for record in records:
        if record["sample"] == 0:
            clock = Clock()
            found = clock.time("own", lambda: estimate_uncertainty(writer, Perplexity(), record["asked"]))
            own = {"tokens": found.generation_tokens, "perplexity": found.uncertainty}
            say({"question": record["question"], "own": own, "seconds": clock.seconds})


if __name__ == "__main__":
    main()
