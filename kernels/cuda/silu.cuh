// The gate of a feed-forward part.
#pragma once
#include "common.cuh"

__device__ __forceinline__ float silu(float x) { return x / (1.0f + expf(-x)); }
