"""Comparisons drawn from known truths, and small published tables typed as constants."""

from dataclasses import dataclass

import numpy as np
import polars as pl

# Citations among statistics journals: wins of the first, wins of the second (Stigler 1994, in Agresti 2002).
CITATIONS = [
    ("Biometrika", "CommStat", 730, 33),
    ("Biometrika", "JASA", 498, 320),
    ("Biometrika", "JRSSB", 221, 284),
    ("CommStat", "JASA", 68, 813),
    ("CommStat", "JRSSB", 17, 276),
    ("JASA", "JRSSB", 142, 325),
]

# American League East 1987: at home, away, home wins, away wins (Agresti 2002).
BASEBALL = """
MIL DET 4 3, MIL TOR 4 2, MIL NYY 4 3, MIL BOS 6 1, MIL CLE 4 2, MIL BAL 6 0,
DET MIL 3 3, DET TOR 4 2, DET NYY 4 3, DET BOS 6 0, DET CLE 6 1, DET BAL 4 3,
TOR MIL 2 5, TOR DET 4 3, TOR NYY 2 4, TOR BOS 4 3, TOR CLE 4 2, TOR BAL 6 0,
NYY MIL 3 3, NYY DET 5 1, NYY TOR 2 5, NYY BOS 4 3, NYY CLE 4 2, NYY BAL 6 1,
BOS MIL 5 1, BOS DET 2 5, BOS TOR 3 3, BOS NYY 4 2, BOS CLE 5 2, BOS BAL 6 0,
CLE MIL 2 5, CLE DET 3 3, CLE TOR 3 4, CLE NYY 4 3, CLE BOS 4 2, CLE BAL 2 4,
BAL MIL 2 5, BAL DET 1 5, BAL TOR 1 6, BAL NYY 2 4, BAL BOS 1 6, BAL CLE 3 4
"""


def counted(table):
    """Rows with counts from (first, second, wins of the first, wins of the second)."""
    rows = []
    for first, second, wins, losses in table:
        rows.append({"object1": first, "object2": second, "result": 1.0, "count": wins})
        rows.append({"object1": first, "object2": second, "result": 0.0, "count": losses})
    return pl.DataFrame(rows)


def baseball():
    games = [game.split() for game in BASEBALL.replace("\n", " ").split(",")]
    return counted([(home, away, int(won), int(lost)) for home, away, won, lost in games])


def spelled(text):
    """Rows from a shorthand: `A>B` (A, shown first, won), `A<B`, `A=B`."""
    results = {">": 1.0, "<": 0.0, "=": 0.5}
    return pl.DataFrame([{"object1": word[0], "object2": word[2], "result": results[word[1]]} for word in text.split()])


@dataclass(frozen=True)
class Truth:
    theta: np.ndarray
    position: float = 0.0
    tie: float = -40.0

    @property
    def n(self):
        return len(self.theta)

    def draw(self, rng, m, *, cluster_size=1):
        """m comparisons. Those of one cluster share one random number per pair: alike, but each by itself as modelled."""
        first = rng.integers(0, self.n, m)
        # items with small codes are compared more often: unequal counts
        second = (first + 1 + np.floor(rng.random(m) ** 2 * (self.n - 1)).astype(int)) % self.n
        cluster = np.arange(m) // cluster_size
        luck = rng.random(m)[cluster] if cluster_size > 1 else rng.random(m)
        if cluster_size > 1:
            # within a cluster the same pair is judged again and again, half the time with the same luck
            first, second = first[cluster * cluster_size], second[cluster * cluster_size]
            luck = np.where(rng.random(m) < 0.5, luck, rng.random(m))
        won, tied, _ = self.chances(first, second)
        result = np.where(luck < won, 1.0, np.where(luck < won + tied, 0.5, 0.0))
        return pl.DataFrame({"object1": first, "object2": second, "result": result, "prompt": cluster})

    def chances(self, first, second):
        lead = self.theta[first] - self.theta[second] + self.position
        odds = np.exp([lead / 2, np.full_like(lead, self.tie), -lead / 2])
        return odds / odds.sum(axis=0)


def centred(values):
    values = np.asarray(values, dtype=float)
    return values - values.mean()
