"""A list of published prices: who sells which models, by which names they are asked for, and what they cost when.

The list that comes with the package is `snapshot.json`: the figures of one version of genai-prices, taken on one day
by `make prices`. The file that says under which licence they were gathered lies beside it.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from functools import cache
from importlib.resources import files

import msgspec

SNAPSHOT = "snapshot.json"
_COMPACT_DAY = re.compile(r"-(20[0-9]{2})([0-9]{2})([0-9]{2})(?=-|:|$)")


class Stepped(msgspec.Struct, frozen=True):
    """A price that rises, or falls, with the length of the prompt."""

    base: Decimal
    above: dict[int, Decimal]


Amount = Decimal | Stepped


class Prices(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Dollars for a million tokens of each kind, and for a thousand requests. None: no price is listed."""

    input: Amount | None = None
    cached: Amount | None = None
    cache_write: Amount | None = None
    cache_write_1h: Amount | None = None
    output: Amount | None = None
    thousand_requests: Amount | None = None

    def named(self) -> dict[str, Amount]:
        amounts = ((name, getattr(self, name)) for name in self.__struct_fields__)
        return {name: amount for name, amount in amounts if amount is not None}


class Terms(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Prices, and what must hold for them: a first day and hours of the day, in UTC; circumstances of a request."""

    prices: Prices
    since: date | None = None
    hours: tuple[time, time] | None = None
    when: dict[str, str] = {}

    def hold(self, moment: datetime) -> bool:
        if self.since is not None and moment.date() < self.since:
            return False
        if self.hours is None:
            return True
        start, end = self.hours
        now = moment.time()
        return start <= now < end if start <= end else now >= start or now < end


class Clause(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which names are a model's. One of the fields is given; letters count in lower case, but for `regex`."""

    equals: str | None = None
    starts_with: str | None = None
    ends_with: str | None = None
    contains: str | None = None
    regex: str | None = None
    any: "tuple[Clause, ...] | None" = None
    all: "tuple[Clause, ...] | None" = None

    def first_whole(self) -> str | None:
        """The first name that is given in full."""
        return self.equals or next((name for part in self.any or () if (name := part.first_whole())), None)

    def fits(self, name: str) -> bool:
        """Whether a name, in lower case, is one of them."""
        if self.any is not None:
            return any(part.fits(name) for part in self.any)
        if self.all is not None:
            return all(part.fits(name) for part in self.all)
        if self.regex is not None:
            return re.search(self.regex, name) is not None
        if self.equals is not None:
            return name == self.equals.lower()
        if self.starts_with is not None:
            return name.startswith(self.starts_with.lower())
        if self.ends_with is not None:
            return name.endswith(self.ends_with.lower())
        return self.contains is not None and self.contains.lower() in name


class Listing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A model at a seller. Of `standard` the last that holds counts, and the first when none does.

    `special` are prices in circumstances, a batch for instance. They replace the standard price kind by kind, the
    earlier before the later.
    """

    id: str
    match: Clause
    standard: tuple[Terms, ...]
    special: tuple[Terms, ...] = ()

    @property
    def asked_as(self) -> str:
        """What it is called when it is asked: its id, unless only another name is taken."""
        return self.id if self.match.fits(self.id.lower()) else self.match.first_whole() or self.id

    def standard_at(self, moment: datetime) -> Prices:
        holding = (terms.prices for terms in reversed(self.standard) if terms.hold(moment))
        return next(holding, self.standard[0].prices)

    def special_at(self, moment: datetime, context: Mapping[str, str]) -> dict[str, Amount] | None:
        """What has a price of its own in these circumstances; None when nothing is said about them."""
        fitting = [
            terms.prices.named()
            for terms in self.special
            if terms.hold(moment) and terms.when.items() <= context.items()
        ]
        if not fitting:
            return None
        return {name: amount for prices in reversed(fitting) for name, amount in prices.items()}

    def by_the_hour(self) -> bool:
        return any(terms.hours is not None for terms in (*self.standard, *self.special))


class Seller(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whoever sells models. `address` is a pattern of its base URLs; `resells` are sellers whose models it has, too."""

    id: str
    address: str
    resells: tuple[str, ...] = ()
    models: tuple[Listing, ...] = ()

    def find(self, name: str) -> Listing | None:
        return next((listing for listing in self.models if listing.match.fits(name)), None)


class PriceList(msgspec.Struct, frozen=True, kw_only=True):
    """`source` and `version` are whose figures they are, and `date` the day on which they were taken."""

    source: str
    version: str
    date: str
    sellers: tuple[Seller, ...]

    def seller(self, wanted: str | None) -> Seller | None:
        return next((seller for seller in self.sellers if seller.id == wanted), None)

    def seller_at(self, address: str) -> Seller | None:
        return next((seller for seller in self.sellers if re.match(seller.address, address)), None)

    def find(self, seller: Seller, name: str) -> tuple[Seller, Listing] | None:
        """A model as this seller knows it, and who lists it: itself, or one whose models it has, too."""
        for spelled in dict.fromkeys((name.lower(), _with_dashes(name.lower()))):
            for one in self._shelves(seller):
                found = one.find(spelled)
                if found is not None:
                    return one, found
        return None

    def find_short(self, seller: Seller, name: str) -> tuple[Seller, Listing] | None:
        """The same, also by what the list itself calls a model: Fireworks takes such short names."""
        called = (listing for listing in seller.models if listing.id.lower() == name.lower())
        return self.find(seller, name) or next(((seller, listing) for listing in called), None)

    def _shelves(self, seller: Seller) -> Iterator[Seller]:
        yield seller
        for other in seller.resells:
            found = self.seller(other)
            if found is not None:
                yield found


def _with_dashes(name: str) -> str:
    """`gpt-5.2-20251211` is asked for as `gpt-5.2-2025-12-11`, too."""

    def dashed(found: re.Match[str]) -> str:
        try:
            day = date(*map(int, found.groups()))
        except ValueError:
            return found[0]
        return f"-{day.isoformat()}"

    return _COMPACT_DAY.sub(dashed, name)


@cache
def snapshot() -> PriceList:
    """The list that comes with the package."""
    return msgspec.json.decode((files(__package__) / SNAPSHOT).read_bytes(), type=PriceList)
