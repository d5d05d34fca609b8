"""Writes approx.txt: the `.approx` functions to 17 digits, worked out to 60. Run, with mpmath: python3 approx.py > approx.txt"""
from random import Random
from struct import pack, unpack

from mpmath import mp, mpf

mp.dps = 60
FUNCTIONS = {
    "ex2": lambda x: mpf(2) ** x,
    "lg2": lambda x: mp.log(x) / mp.log(2),
    "rcp": lambda x: 1 / x,
    "sqrt": mp.sqrt,
    "rsqrt": lambda x: 1 / mp.sqrt(x),
    "sin": mp.sin,
    "cos": mp.cos,
    "tanh": mp.tanh,
}
# Where the ISA's bounds differ, and subnormals.
RANGES = {
    "ex2": [(-1, 1), (-126, 127.9), (-149, -126)],
    "lg2": [(0.5, 2), (0.99, 1.01), (2, 3e38), (1e-38, 0.5), (1e-45, 1e-38)],
    "rcp": [(1, 2), (1e-37, 1e38), (-1e38, -1e-37)],
    "sqrt": [(1, 4), (1e-38, 3e38), (1e-45, 1e-38)],
    "rsqrt": [(1, 4), (1e-38, 3e38), (1e-45, 1e-38)],
    "sin": [(-6.28, 6.28), (1e-30, 1), (-314, 314)],
    "cos": [(-6.28, 6.28), (1e-30, 1), (-314, 314)],
    "tanh": [(-1, 1), (-9, 9), (1e-38, 1), (-100, 100)],
}


def operand(random, low, high):
    """Even over the exponents of a range of one sign, even over the range otherwise."""
    drawn = random.uniform(low, high)
    if low * high > 0:
        drawn = low * (high / low) ** random.random()
    return unpack("<f", pack("<f", drawn))[0]


def main():
    random = Random(20261121)
    for name, function in FUNCTIONS.items():
        for low, high in RANGES[name]:
            for _ in range(24):
                x = operand(random, low, high)
                if x != 0:
                    print(name, pack(">f", x).hex(), "=", mp.nstr(function(mpf(x)), 17))


main()
