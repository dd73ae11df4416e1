"""Checks an inference server, and the repository that it serves, with NVIDIA's tritonclient.

python triton_client.py REPOSITORY HOST:PORT

Reads every config.pbtxt with NVIDIA's own model_config.proto, compares it with the server's metadata and configuration,
and sends each model one request of ones, and two of a sequence where a model has them. A model that the server does not
have is left out. Prints the outputs' shapes as JSON, by model.
"""

import json
import sys
from pathlib import Path

import numpy as np
from google.protobuf import json_format, text_format
import tritonclient.http as client
from tritonclient.grpc import model_config_pb2
from tritonclient.utils import InferenceServerException

TYPES = {"FP32": np.float32, "INT64": np.int64}
repository, address = Path(sys.argv[1]), sys.argv[2]
server = client.InferenceServerClient(address)
assert server.is_server_live() and server.is_server_ready()


def ready(name):
    try:
        return server.is_model_ready(name)
    except Exception:  # a server says no to what it does not have
        return False


shapes = {}
for folder in sorted(repository.iterdir()):
    config = text_format.Parse((folder / "config.pbtxt").read_text(), model_config_pb2.ModelConfig())
    assert config.name == folder.name and config.backend == "onnxruntime" and config.max_batch_size == 0
    if not ready(config.name):
        continue
    metadata = server.get_model_metadata(config.name)
    states = config.sequence_batching.state
    if states:
        told = server.get_model_config(config.name)
        told = json_format.ParseDict(told, model_config_pb2.ModelConfig())
        assert told.sequence_batching == config.sequence_batching
        assert all(list(state.dims) == [-1, *state.dims[1:]] and -1 not in state.dims[1:] for state in states)
    for side in ("input", "output"):
        told = [(t["name"], "TYPE_" + t["datatype"], [int(d) for d in t["shape"]]) for t in metadata[side + "s"]]
        written = [
            (t.name, model_config_pb2.DataType.Name(t.data_type), list(t.dims)) for t in getattr(config, side)
        ]
        assert told == written, (told, written)
    inputs = []
    for tensor in metadata["inputs"]:
        # Nothing before the window: one row, and no key but the one that no row sees.
        before = tensor["name"].startswith(("past_", "inner_"))
        shape = [(0 if before else 1) if int(dim) == -1 else int(dim) for dim in tensor["shape"]]
        values = np.zeros(shape, TYPES[tensor["datatype"]])
        given = client.InferInput(tensor["name"], shape, tensor["datatype"])
        given.set_data_from_numpy(values, binary_data=True)
        inputs.append(given)
    outputs = [client.InferRequestedOutput(t["name"], binary_data=True) for t in metadata["outputs"]]
    run = lambda **more: server.infer(config.name, inputs, outputs=outputs, **more)
    if states:
        # Of a sequence that was not begun.
        try:
            run(sequence_id="none")
            raise AssertionError("a sequence without a start was accepted")
        except InferenceServerException as error:
            assert "START" in str(error), error
        first = run(sequence_id="one", sequence_start=True)
        result = run(sequence_id="one", sequence_end=True)
        # Nothing before; a row of the lead and one of the window after the first.
        assert [int(r.as_numpy("held")[0]) for r in (first, result)] == [0, 2]
    else:
        result = run()
    arrays = {t["name"]: result.as_numpy(t["name"]) for t in metadata["outputs"]}
    assert all(np.isfinite(array).all() for array in arrays.values())
    shapes[config.name] = {name: list(array.shape) for name, array in arrays.items()}
print(json.dumps(shapes))
