"""Exports an encoder of the Hugging Face layout to ONNX, as flinch-bench reads encoders.

    python encoder_to_onnx.py SOURCE FOLDER

SOURCE is a folder with a model for natural language inference (such as microsoft/deberta-large-mnli), a cross-encoder
(such as cross-encoder/stsb-roberta-large) or a sentence encoder (such as sentence-transformers/all-MiniLM-L6-v2). Which
it is follows from `architectures` in its config.json.

FOLDER gets all of SOURCE, `tokenizer.json`, and `onnx/model.onnx` (weights in float32, beside it where they are more
than 2 GB). The output is `logits` of classifiers, else `last_hidden_state`: mean pooling and normalisation are not part
of the graph.

Needs torch, transformers, onnx and onnxscript.
"""

import json
import os
import shutil
import sys
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification, AutoTokenizer


class Encoder(torch.nn.Module):
    """A model with one output."""

    def __init__(self, model: torch.nn.Module, output: str):
        super().__init__()
        self.model, self.output = model, output

    def forward(self, input_ids, attention_mask, token_type_ids=None):
        types = {} if token_type_ids is None else {"token_type_ids": token_type_ids}
        return getattr(self.model(input_ids=input_ids, attention_mask=attention_mask, **types), self.output)


def main(source: str, folder: str) -> None:
    if not Path(source, "config.json").exists():
        # A name that is no folder would be looked up on the hub.
        raise SystemExit(f"{source}: has no config.json")
    config = AutoConfig.from_pretrained(source)
    names = json.loads(Path(source, "config.json").read_text()).get("architectures") or []
    is_classifier = any(name.endswith("ForSequenceClassification") for name in names)
    kind, output = (
        (AutoModelForSequenceClassification, "logits") if is_classifier else (AutoModel, "last_hidden_state")
    )
    model = kind.from_pretrained(source, dtype=torch.float32, attn_implementation="eager").eval()
    # RoBERTa has one type of token, DeBERTa none.
    inputs = ["input_ids", "attention_mask"]
    if getattr(config, "type_vocab_size", 0) > 1:
        inputs.append("token_type_ids")

    out = Path(folder)
    # All of it, for sentence-transformers reads the same folder.
    shutil.copytree(source, out, dirs_exist_ok=True)
    (out / "onnx").mkdir(exist_ok=True)
    # Older models have only the files of the slow tokenizer.
    if not (out / "tokenizer.json").exists():
        AutoTokenizer.from_pretrained(source).save_pretrained(out)

    # Two rows, the second one padded: an example of one row, or without padding, could be taken for the rule.
    ids = torch.ones(2, 7, dtype=torch.long)
    mask = torch.ones_like(ids)
    mask[1, 4:] = 0
    part = out / "onnx" / "part"
    part.mkdir(exist_ok=True)
    size = sum(parameter.numel() for parameter in model.parameters())
    torch.onnx.export(
        Encoder(model, output).eval(),
        (ids, mask, torch.zeros_like(ids))[: len(inputs)],
        str(part / "model.onnx"),
        input_names=inputs,
        output_names=[output],
        dynamic_shapes={name: {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC} for name in inputs},
        external_data=size * 4 > 1.9e9,
        dynamo=True,
    )
    # The graph last and in one step: a folder with a graph is whole.
    for file in sorted(part.iterdir(), key=lambda path: path.name == "model.onnx"):
        os.replace(file, out / "onnx" / file.name)
    part.rmdir()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(sys.argv[1], sys.argv[2])
