"""AUROC and average precision of scikit-learn, prediction-rejection ratios of lm-polygraph.

    python answer_metrics.py < cases.json > metrics.json

A case is {"scores", "wrong"}: the score of each answer, and whether it is wrong.
"""

import importlib.util
import json
import sys
import types

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

# The packages' own __init__ load torch and transformers, of which these metrics need nothing.
for name in ("lm_polygraph", "lm_polygraph.ue_metrics"):
    package = types.ModuleType(name)
    package.__path__ = list(importlib.util.find_spec(name).submodule_search_locations)
    sys.modules[name] = package

from lm_polygraph.ue_metrics.pred_rej_area import PredictionRejectionArea  # noqa: E402
from lm_polygraph.ue_metrics.ue_metric import get_random_scores, normalize_metric  # noqa: E402

ORDERS = 2000


def ratio(scores: np.ndarray, quality: np.ndarray) -> dict:
    """PRR as lm-polygraph has it; with the expectation of random rejection; and that as a mean over the orders of ties."""
    area = PredictionRejectionArea()
    oracle, mean = area(-quality, quality), quality.mean()
    random = np.random.default_rng(1)
    gaps = np.diff(np.unique(scores))
    least = gaps.min() if len(gaps) > 0 else 1.0
    orders = [area(scores + random.uniform(0, least / 2, len(scores)), quality) for _ in range(ORDERS)]
    return {
        "own": normalize_metric(area(scores, quality), oracle, get_random_scores(area, quality)),
        "expected": normalize_metric(area(scores, quality), oracle, mean),
        "ofOrders": normalize_metric(float(np.mean(orders)), oracle, mean),
    }


def metrics(case: dict) -> dict:
    scores, wrong = np.array(case["scores"]), np.array(case["wrong"])
    quality = 1.0 - wrong
    return {
        "auroc": roc_auc_score(wrong, scores),
        "averagePrecision": average_precision_score(wrong, scores),
        "prr": ratio(scores, quality),
    }


print(json.dumps([metrics(case) for case in json.load(sys.stdin)]))
