"""Checks an inference server, and the repository that it serves, with NVIDIA's tritonclient.

python triton_client.py REPOSITORY HOST:PORT

Reads every config.pbtxt with NVIDIA's own model_config.proto, compares it with the server's metadata, and sends each
model one request of ones. Prints the outputs' shapes as JSON, by model.
"""

import json
import sys
from pathlib import Path

import numpy as np
import tritonclient.http as client
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2

TYPES = {"FP32": np.float32, "INT64": np.int64}
repository, address = Path(sys.argv[1]), sys.argv[2]
server = client.InferenceServerClient(address)
assert server.is_server_live() and server.is_server_ready()
shapes = {}
for folder in sorted(repository.iterdir()):
    config = text_format.Parse((folder / "config.pbtxt").read_text(), model_config_pb2.ModelConfig())
    assert config.name == folder.name and config.backend == "onnxruntime" and config.max_batch_size == 0
    assert server.is_model_ready(config.name)
    metadata = server.get_model_metadata(config.name)
    for side in ("input", "output"):
        told = [(t["name"], "TYPE_" + t["datatype"], t["shape"]) for t in metadata[side + "s"]]
        written = [
            (t.name, model_config_pb2.DataType.Name(t.data_type), list(t.dims)) for t in getattr(config, side)
        ]
        assert told == written, (told, written)
    inputs = []
    for tensor in metadata["inputs"]:
        # Nothing before the window: one row, no key.
        before = tensor["name"].startswith(("past_", "inner_", "key.", "value."))
        shape = [(0 if before else 1) if dim == -1 else dim for dim in tensor["shape"]]
        values = np.zeros(shape, TYPES[tensor["datatype"]])
        given = client.InferInput(tensor["name"], shape, tensor["datatype"])
        given.set_data_from_numpy(values, binary_data=True)
        inputs.append(given)
    outputs = [client.InferRequestedOutput(t["name"], binary_data=True) for t in metadata["outputs"]]
    result = server.infer(config.name, inputs, outputs=outputs)
    arrays = {t["name"]: result.as_numpy(t["name"]) for t in metadata["outputs"]}
    assert all(np.isfinite(array).all() for array in arrays.values())
    shapes[config.name] = {name: list(array.shape) for name, array in arrays.items()}
print(json.dumps(shapes))
