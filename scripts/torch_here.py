"""The torch of this Python, for the scripts beside: or the sentence why there is nothing to compare with, and exit code 3."""

import os
import sys


def give_up(why):
    name = os.path.splitext(os.path.basename(sys.argv[0]))[0]
    print(f"{name}: {why}", file=sys.stderr)
    sys.exit(3)


def load_torch():
    try:
        import torch
    except ImportError as error:
        give_up(f"this Python has no torch ({error}); nothing was compared")
    if not torch.cuda.is_available():
        give_up("torch finds no GPU; nothing was compared")
    return torch
