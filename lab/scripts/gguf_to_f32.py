"""Writes a GGUF file with its weights in float32, as its own rule of dequantisation gives them.

    python gguf_to_f32.py MODEL.gguf F32.gguf
"""

import sys

import numpy as np
from gguf import GGUFReader, GGUFValueType, GGUFWriter, LlamaFileType, dequantize

from checkpoint_to_gguf import finish

WRITTEN_BY_WRITER = ("general.architecture", "general.file_type")


def main(source: str, target: str) -> None:
    reader = GGUFReader(source)
    part = f"{target}.part"
    writer = GGUFWriter(part, reader.fields["general.architecture"].contents())
    writer.add_file_type(LlamaFileType.ALL_F32)
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name in WRITTEN_BY_WRITER:
            continue
        kind, *rest = field.types
        writer.add_key_value(name, field.contents(), kind, rest[-1] if kind == GGUFValueType.ARRAY else None)
    for tensor in reader.tensors:
        weight = dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        writer.add_tensor(tensor.name, np.ascontiguousarray(weight.reshape(tensor.shape[::-1])))
    finish(writer, part, target)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(sys.argv[1], sys.argv[2])
