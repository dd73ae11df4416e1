"""thinkbooster's measures of answers that are already written.

    python measure_thinkbooster.py MODEL < answers.jsonl > thinkbooster.jsonl

Its other token measures are lm-polygraph's. Its generators and the reward models need a hub or CUDA.
"""

import argparse
from pathlib import Path

import numpy as np
from forced import Clock, answers, by_question, log_probs, open_model, say, versions
from thinkbooster.scorers.estimator_uncertainty_pd import PDGap
from thinkbooster.scorers.majority_voting import ChainMajorityVotingScorer
from thinkbooster.strategies.deepconf.utils import compute_token_confidence_from_logprobs

TOP = 20  # thinkbooster's own choice


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    options = parser.parse_args()
    say({"versions": versions("thinkbooster", "lm-polygraph")})
    model = open_model(options.model)
    records = answers()
    log_probs(model, records[0]["prompt"], records[0]["tokens"])  # the first pass is slower

    def entropy(rows) -> float:
        top = [[{"logprob": value} for value in row] for row in rows.topk(TOP).values.tolist()]
        return float(np.mean([compute_token_confidence_from_logprobs(row, TOP, "entropy") for row in top]))

    for record in records:
        clock = Clock()
        rows = clock.time("pass", lambda: log_probs(model, record["prompt"], record["tokens"]))
        scores = {
            "pd_gap": clock.time("pd_gap", lambda: PDGap()({"greedy_log_probs": [rows.numpy()]})[0]),
            "entropy": clock.time("entropy", lambda: entropy(rows)),
        }
        say({"question": record["question"], "sample": record["sample"], **scores, "seconds": clock.seconds})
    scorer = ChainMajorityVotingScorer(data_name="gsm8k")
    for question, own in by_question(records):
        texts = [record["text"] for record in own]
        votes = scorer.score_complete_chains(texts)
        say({"question": question, "votes": votes, "answers": [scorer.extract_answer(text) for text in texts]})


if __name__ == "__main__":
    main()
