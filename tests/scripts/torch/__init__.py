"""As much of torch as scripts/ call, on no GPU: shapes are checked, nothing is computed, and a product takes no time worth telling."""

import time

from . import cuda, nn, version  # noqa: F401

__version__ = "0.0.stand-in"
float16, bfloat16 = "float16", "bfloat16"


class Tensor:
    def __init__(self, *shape):
        self.shape = shape

    def t(self):
        return Tensor(*reversed(self.shape))

    def repeat_interleave(self, times, dim):
        shape = list(self.shape)
        shape[dim] *= times
        return Tensor(*shape)


def randn(*shape, dtype, device):
    assert dtype in (float16, bfloat16) and device == "cuda"
    return Tensor(*shape)


def matmul(a, b):
    assert a.shape[-1] == b.shape[-2], (a.shape, b.shape)
    time.sleep(0)
    return Tensor(*a.shape[:-1], b.shape[-1])
