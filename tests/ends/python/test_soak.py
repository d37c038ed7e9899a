"""The soak, in short: a few runs with a fixed seed. `make soak` plays it in full."""

import soak


def test_every_call_has_one_result_whatever_happens_to_its_line():
    print(soak.play(seed="short", seconds=6, runs=12, state=True))
