"""Muon (https://kellerjordan.github.io/posts/muon/) as in torch.optim.Muon, for processors without bf16: PyTorch's own
orthogonalizes in bf16, which takes twenty times as long as fp32 where the processor has to emulate it."""
import torch
from torch import Tensor

MOMENTUM = 0.95
WEIGHT_DECAY = 0.05
NEWTON_SCHULZ_STEPS = 5
NEWTON_SCHULZ = (3.4445, -4.775, 2.0315)


def orthogonal(x: Tensor, dtype: torch.dtype) -> Tensor:
    """The nearest orthogonal matrices, roughly. x: [matrices, rows, columns], at most as many rows as columns"""
    a, b, c = NEWTON_SCHULZ
    x = (x / x.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7)).to(dtype)
    for _ in range(NEWTON_SCHULZ_STEPS):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.float()


class Muon(torch.optim.Optimizer):
    """Matrices of one shape are orthogonalized at once. The step has the size that AdamW's would have."""

    def __init__(self, params: list[Tensor], lr: float, dtype: torch.dtype):
        super().__init__(params, {"lr": lr})
        self.dtype = dtype

    @torch.no_grad()
    def step(self) -> None:
        for group in self.param_groups:
            shapes: dict[tuple[int, ...], list[Tensor]] = {}
            for p in group["params"]:
                shapes.setdefault(tuple(p.shape), []).append(p)
            for (rows, columns), matrices in shapes.items():
                updates = torch.stack([self.momentum(p) for p in matrices])
                tall = rows > columns
                updates = orthogonal(updates.mT if tall else updates, self.dtype)
                size = 0.2 * max(rows, columns) ** 0.5
                for p, update in zip(matrices, updates.mT if tall else updates):
                    p.mul_(1 - group["lr"] * WEIGHT_DECAY).add_(update, alpha=-group["lr"] * size)

    def momentum(self, p: Tensor) -> Tensor:
        buffer = self.state[p].setdefault("momentum_buffer", torch.zeros_like(p))
        buffer.lerp_(p.grad, 1 - MOMENTUM)
        return p.grad.lerp(buffer, MOMENTUM)
