"""Serves a model repository of `flinch export triton` with KServe's SDK and Python's onnxruntime.

python inference_server.py REPOSITORY HTTP_PORT GRPC_PORT

Models with sequences are left out: the SDK has none.
"""

import sys
from pathlib import Path

import kserve
import numpy as np
import onnxruntime
from kserve import InferOutput, InferRequest, InferResponse

DATATYPES = {"tensor(float)": ("FP32", np.float32), "tensor(int64)": ("INT64", np.int64)}


def metadata(values):
    return [
        {"name": v.name, "datatype": DATATYPES[v.type][0], "shape": [d if isinstance(d, int) else -1 for d in v.shape]}
        for v in values
    ]


class Graph(kserve.Model):
    def __init__(self, folder):
        super().__init__(folder.name)
        self.session = onnxruntime.InferenceSession(folder / "1" / "model.onnx" / "model.onnx")
        self.ready = True

    async def get_input_types(self):
        return metadata(self.session.get_inputs())

    async def get_output_types(self):
        return metadata(self.session.get_outputs())

    def predict(self, payload: InferRequest, headers=None, response_headers=None):
        types = {v.name: DATATYPES[v.type][1] for v in self.session.get_inputs()}
        feeds = {i.name: np.asarray(i.as_numpy(), types[i.name]).reshape(i.shape) for i in payload.inputs}
        names = [output.name for output in payload.request_outputs]
        outputs = []
        for name, array in zip(names, self.session.run(names, feeds)):
            datatype = "INT64" if array.dtype == np.int64 else "FP32"
            output = InferOutput(name, list(array.shape), datatype)
            output.set_data_from_numpy(array, binary_data=True)
            outputs.append(output)
        return InferResponse(payload.id, self.name, outputs, requested_outputs=payload.request_outputs)


if __name__ == "__main__":
    repository, http_port, grpc_port = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    folders = [f for f in sorted(repository.iterdir()) if "sequence_batching" not in (f / "config.pbtxt").read_text()]
    models = [Graph(folder) for folder in folders]
    kserve.ModelServer(http_port=http_port, grpc_port=grpc_port, workers=1).start(models)
