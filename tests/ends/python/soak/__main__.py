"""python -m soak: plays the soak, and prints what has happened. TOOLBOOTH_BIN names the program."""

import argparse
import secrets
import sys

from . import play


def main() -> int:
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--seed", default="", help="decides what happens; without it, a random one")
    parser.add_argument("--seconds", type=float, default=600, help="how long runs are begun (600)")
    parser.add_argument("--runs", type=int, default=50, help="how many runs there are at once (50)")
    parser.add_argument("--state", action="store_true", help="let the booth keep its state in files, and not in memory")
    asked = parser.parse_args()
    seed = asked.seed or secrets.token_hex(4)
    print(f"seed {seed}", flush=True)
    try:
        print(play(seed, asked.seconds, asked.runs, asked.state))
    except AssertionError as failure:
        print(failure, file=sys.stderr)
        return 1
    return 0


sys.exit(main())
