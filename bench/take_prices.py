"""`make prices`: the figures of the installed genai-prices into the list that comes with Overnight.

Run it in an environment with the newest genai-prices. One model has one line, so that a change of prices can be read
in the history.
"""

from datetime import UTC, datetime
from importlib.metadata import distribution
from pathlib import Path

import msgspec

from overnight.prices.genai import SOURCE, read_installed
from overnight.prices.price_list import SNAPSHOT, PriceList, Seller

PLACE = Path(__file__).parents[1] / "src" / "overnight" / "prices"


def written(prices: PriceList) -> str:
    """JSON with one line for each model."""
    head = {"source": prices.source, "version": prices.version, "date": prices.date}
    sellers = ",\n".join(map(seller_lines, prices.sellers))
    return f'{encoded(head)[:-1]},"sellers":[\n{sellers}\n]}}\n'


def seller_lines(seller: Seller) -> str:
    if not seller.models:
        return encoded(seller)
    head = encoded(msgspec.structs.replace(seller, models=()))
    models = ",\n".join(f"  {encoded(model)}" for model in seller.models)
    return f'{head[:-1]},"models":[\n{models}\n]}}'


def encoded(value: object) -> str:
    return msgspec.json.encode(value).decode()


def main() -> None:
    prices = msgspec.structs.replace(read_installed(), date=datetime.now(UTC).date().isoformat())
    text = written(prices)
    assert msgspec.json.decode(text, type=PriceList) == prices
    (PLACE / SNAPSHOT).write_text(text, encoding="utf-8")
    (licence,) = [file for file in distribution(SOURCE).files or () if file.name == "LICENSE"]
    (PLACE / "snapshot-licence.txt").write_text(licence.read_text(encoding="utf-8"), encoding="utf-8")
    models = sum(len(seller.models) for seller in prices.sellers)
    print(f"{SNAPSHOT}: {models:,} models of {len(prices.sellers)} sellers, {SOURCE} {prices.version} of {prices.date}")


if __name__ == "__main__":
    main()
