"""Rows packed into a page: a hundred thousand of them in about a megabyte.

Four bytes with the length of a heading, the heading as JSON, then the columns. Each column is a list of codes, in the
fewest bytes that hold them: all first bytes of a column, then all second ones, so that like stands beside like. A
text's code is its place among the column's words, which are sorted; a number's is its distance from the least, plus
one. Nought is nothing. All of it is deflated, and written in base64, which no text in it can break out of.
"""

import base64
import sys
import zlib
from array import array
from collections.abc import Mapping
from typing import Any

import msgspec
import polars as pl

from overnight.reporting.shown_text import cut, plain

# Texts in a row are names; what is longer is read elsewhere.
_LONGEST_WORD = 120
_MOST_CODES = 2**32 - 2


def packed(frame: pl.DataFrame, decimals: Mapping[str, int] | None = None) -> str:
    """`decimals` says how many a column of fractions has; the others are whole numbers, texts, or yes and no."""
    heads, planes = [], []
    for column in frame.iter_columns():
        head, codes = _coded(column, (decimals or {}).get(column.name, 0))
        width = max(1, (int(codes.max() or 0).bit_length() + 7) // 8) if codes.len() else 1  # type: ignore[arg-type]
        heads.append({"name": plain(column.name), "bytes": width, **head})
        raw = _big_endian(codes)
        planes += [raw[byte::4] for byte in range(4 - width, 4)]
    heading = msgspec.json.encode({"rows": frame.height, "columns": heads})
    whole = len(heading).to_bytes(4, "big") + heading + b"".join(planes)
    return base64.b64encode(zlib.compress(whole, 9)).decode()


def _big_endian(codes: pl.Series) -> bytes:
    """Four bytes each. By way of numpy it would be faster, if that were not 20 MB to load for it alone."""
    numbers = array("I", codes.to_list())
    if sys.byteorder == "little":
        numbers.byteswap()
    return numbers.tobytes()


def _coded(column: pl.Series, decimals: int) -> tuple[dict[str, Any], pl.Series]:
    if column.dtype.is_numeric():
        return _numbers(column, decimals)
    texts = (
        column.replace_strict({True: "yes", False: "no"}, default=None, return_dtype=pl.String)
        if column.dtype == pl.Boolean
        else column.cast(pl.String)
    )
    known = texts.unique().drop_nulls().sort()
    if _are_words(known):  # as names nearly always are: no text of them has to be looked at alone
        codes = known.search_sorted(texts).cast(pl.UInt32) + 1
        return {"words": ["", *known.to_list()]}, codes.set(texts.is_null(), 0)
    shown = [cut(plain(text), _LONGEST_WORD) for text in known.to_list()]
    words = ["", *sorted(set(shown) - {""})]
    places = {word: place for place, word in enumerate(words)}
    codes = pl.Series([places[word] for word in shown], dtype=pl.UInt32)
    return {"words": words}, texts.replace_strict(known, codes, default=0, return_dtype=pl.UInt32)


def _are_words(texts: pl.Series) -> bool:
    """Whether all can be shown as they are, and none is empty."""
    return bool(texts.str.contains(rf"^[ -~]{{1,{_LONGEST_WORD}}}$").all())


def _numbers(column: pl.Series, decimals: int) -> tuple[dict[str, Any], pl.Series]:
    """Fewer decimals where four bytes would not hold them."""
    values = column.cast(pl.Float64).fill_nan(None)
    values = values.set(values.is_infinite().fill_null(value=False), None)
    least, most = float(values.min() or 0), float(values.max() or 0)  # type: ignore[arg-type]
    while (most - least) * 10.0**decimals >= _MOST_CODES:
        decimals -= 1
    whole = (values * 10.0**decimals).round().cast(pl.Int64)
    begin = int(whole.min() or 0)  # type: ignore[arg-type]
    return {"decimals": max(decimals, 0), "least": begin}, (whole - begin + 1).fill_null(0).cast(pl.UInt32)
