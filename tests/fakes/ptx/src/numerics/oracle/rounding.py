"""Writes rounding.txt: directed rounding worked out with rational numbers. Run: python3 rounding.py > rounding.txt"""
from fractions import Fraction
from random import Random
from struct import pack, unpack

FORMATS = {"f32": (8, 23, "<f", "<I", 0), "f64": (11, 52, "<d", "<Q", 0), "f16": (5, 10, "<e", "<H", 0), "bf16": (8, 7, "<f", "<I", 16)}
OPERATIONS = [("add", 2), ("mul", 2), ("fma", 3), ("div", 2), ("sqrt", 1)]


def value(name, code):
    _, _, float_code, int_code, shift = FORMATS[name]
    return Fraction(unpack(float_code, pack(int_code, code << shift))[0])


def rounded(name, exact, mode, root_of=None):
    """The code of the value next to `exact` (or to its square root) in the direction of `mode`, found by bisection over the codes."""
    exponent, fraction = FORMATS[name][:2]
    sign_bit, infinity = 1 << (exponent + fraction), ((1 << exponent) - 1) << fraction
    target = abs(exact)
    below = lambda v: v * v <= target if root_of else v <= target
    low, high = 0, infinity - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if below(value(name, middle)) else (low, middle - 1)
    here = value(name, low)
    if (here * here if root_of else here) == target:
        return low | (sign_bit if exact < 0 else 0)
    away = {"rz": False, "rm": exact < 0, "rp": exact > 0}.get(mode)
    if away is None:
        step = here - (value(name, low - 1) if low else 0)
        above = value(name, low + 1) if low + 1 < infinity else here + step
        middle = (here + above) / 2
        square = middle * middle if root_of else middle
        away = square < target or (square == target and low % 2 == 1)
    return (low + away) | (sign_bit if exact < 0 else 0)


def operand(random, name):
    exponent, fraction = FORMATS[name][:2]
    bias = (1 << (exponent - 1)) - 1
    field = random.choice([bias + random.randint(-4, 4), bias + random.randint(-30, 30), random.randint(0, 2 * bias), random.randint(0, 3), 2 * bias])
    field = min(max(field, 0), 2 * bias)
    bits = random.choice([random.getrandbits(fraction), 0, (1 << fraction) - 1, 1, 1 << (fraction - 1)])
    return random.getrandbits(1) << (exponent + fraction) | field << fraction | bits


def main():
    random = Random(20261121)
    for name in FORMATS:
        short = name in ("f16", "bf16")  # PTX divides no 16-bit floats
        for operation, count in OPERATIONS[:3] if short else OPERATIONS:
            for _ in range(200 if short else 40):
                codes = [operand(random, name) for _ in range(count)]
                if operation == "sqrt":
                    codes[0] &= (1 << (sum(FORMATS[name][:2]))) - 1
                values = [value(name, code) for code in codes]
                if operation == "div" and values[1] == 0:
                    continue
                exact = {
                    "add": lambda a, b: a + b,
                    "mul": lambda a, b: a * b,
                    "fma": lambda a, b, c: a * b + c,
                    "div": lambda a, b: a / b,
                    "sqrt": lambda a: a,
                }[operation](*values)
                if exact == 0:
                    continue
                results = [rounded(name, exact, mode, operation == "sqrt") for mode in ("rn", "rz", "rm", "rp")]
                digits = sum(FORMATS[name][:2], 4) // 4
                print(name, operation, *(f"{code:0{digits}x}" for code in codes), "=", *(f"{code:0{digits}x}" for code in results))


main()
