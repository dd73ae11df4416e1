"""Makes an NLI model of MiniLM's body and a head drawn at random, where no trained NLI model can be had.

    python nli_stand_in.py MINILM FOLDER

Its labels mean nothing. Two programs that are given the same labels must compute the same from them; that is all it
shows. FOLDER gets the model in the Hugging Face layout, and `onnx/model.onnx` with the same weights for flinch-bench.
"""

import sys
from pathlib import Path

import torch
from transformers import AutoTokenizer, BertForSequenceClassification

LABELS = ["CONTRADICTION", "NEUTRAL", "ENTAILMENT"]
INPUTS = ["input_ids", "attention_mask", "token_type_ids"]
# What all pairs of these have in common is taken off: else one label would win for every pair.
WORDS = "the of Paris 7 twelve not therefore cat France sum minus red quickly 3.5 because Monday".split()


def main(minilm: str, folder: str) -> None:
    tokenizer = AutoTokenizer.from_pretrained(minilm)
    model = BertForSequenceClassification.from_pretrained(
        minilm,
        num_labels=3,
        id2label=dict(enumerate(LABELS)),
        label2id={label: i for i, label in enumerate(LABELS)},
        attn_implementation="eager",
    ).eval()
    pairs = [(a, b) for a in WORDS for b in WORDS]
    with torch.no_grad():
        encoded = tokenizer([a for a, _ in pairs], [b for _, b in pairs], padding=True, return_tensors="pt")
        features = model.bert(**encoded).pooler_output
        weight = torch.randn(len(LABELS), features.shape[1], generator=torch.Generator().manual_seed(0))
        model.classifier.weight.copy_(weight)
        model.classifier.bias.copy_(-weight @ features.mean(0))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    graph = Path(folder, "onnx", "model.onnx")
    graph.parent.mkdir(exist_ok=True)
    # A row without padding and one with it: else the exporter takes it for granted that there is none.
    ids, mask = torch.ones(2, 2, 8, dtype=torch.long)
    mask[1, 5:] = 0
    free = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    torch.onnx.export(
        model,
        (ids, mask, torch.zeros_like(ids)),
        graph,
        input_names=INPUTS,
        output_names=["logits"],
        dynamic_shapes={name: free for name in INPUTS},
        external_data=False,
        dynamo=True,
    )


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
