"""Which checkpoints a kill matrix kills at: all of them on request, else an even sample that every suite can afford."""

import os

EVERY = "OVERNIGHT_EVERY_KILL"


def parts(most: int, sampled: int) -> range:
    """Into how many tests a matrix is cut: each pays for an undisturbed run of its own."""
    return range(most if os.environ.get(EVERY) else sampled)


def kills(checkpoints: int, part: int, parts: int, sample: int) -> range:
    """The numbers of one part; all parts together are every checkpoint, or about `sample` of them."""
    stride = parts if os.environ.get(EVERY) else parts * max(1, checkpoints // sample)
    return range(1 + part * (stride // parts), checkpoints + 1, stride)
