"""Exports the transformer of a sentence-transformers folder to ONNX, as flinch-bench reads encoders.

    python sentence_model_to_onnx.py SOURCE FOLDER

FOLDER gets all of SOURCE, and `onnx/model.onnx` (weights in float32, output `last_hidden_state`).
Mean pooling and normalisation are not part of the graph.
"""

import os
import shutil
import sys
from pathlib import Path

import torch
from transformers import AutoModel

INPUTS = ["input_ids", "attention_mask", "token_type_ids"]


class Encoder(torch.nn.Module):
    def __init__(self, model: torch.nn.Module):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, token_type_ids):
        return self.model(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
        ).last_hidden_state


def main(source: str, folder: str) -> None:
    model = AutoModel.from_pretrained(source, dtype=torch.float32, attn_implementation="eager").eval()
    out = Path(folder)
    # All of it, for sentence-transformers reads the same folder.
    shutil.copytree(source, out, dirs_exist_ok=True)
    (out / "onnx").mkdir(exist_ok=True)

    # Two rows, the second one padded: an example of one row, or without padding, could be taken for the rule.
    ids = torch.ones(2, 7, dtype=torch.long)
    mask = torch.ones_like(ids)
    mask[1, 4:] = 0
    part = out / "onnx" / "model.onnx.part"
    torch.onnx.export(
        Encoder(model).eval(),
        (ids, mask, torch.zeros_like(ids)),
        str(part),
        input_names=INPUTS,
        output_names=["last_hidden_state"],
        dynamic_shapes={name: {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC} for name in INPUTS},
        external_data=False,
        dynamo=True,
    )
    # Last and in one step: a folder with a graph is whole.
    os.replace(part, out / "onnx" / "model.onnx")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(sys.argv[1], sys.argv[2])
