"""`models`: the models that are known here, what they cost, what they take and refuse, and until when."""

from datetime import date

import msgspec

from overnight.core.arguments import checked
from overnight.core.ask import Model
from overnight.core.money import DOLLAR
from overnight.prices import PriceBook, Processing
from overnight.prices.catalogue import CATALOGUE_IDS
from overnight.prices.known_models import known_models
from overnight.providers import ModelRules, owners, rules_of, takes_batches, takes_calls, vendor, vendors

# Parts of the names of models that are not asked questions: they hear, speak, paint or measure.
_OTHER_USES = (
    *("audio", "dall-e", "davinci", "embedding", "image", "live", "moderation", "realtime", "robotics", "sora"),
    *("transcribe", "translate", "tts", "whisper"),
)


class Rates(msgspec.Struct, frozen=True, kw_only=True):
    """US dollars for a million tokens in and out; None where the price is unknown."""

    input: float | None
    output: float | None
    # How far the price can be trusted, where there is something to say.
    note: str = ""


class ModelCard(msgspec.Struct, frozen=True, kw_only=True):
    """A model: its prices, and the rules of its family; None for what is unknown."""

    provider: str
    model: str
    # None: the provider has no batches, or takes no calls.
    batch: Rates | None
    live: Rates | None
    rules: ModelRules | None

    @property
    def ends(self) -> date | None:
        """Its announced last day."""
        return None if self.rules is None else self.rules.ends


@checked
def models(text: str | None = None, *, provider: str | None = None) -> list[ModelCard]:
    """Known models by provider and name; those with `text` in their name, or of one provider."""
    names = [vendor(provider).name] if provider is not None else list(vendors())
    book = PriceBook()
    wanted = (text or "").lower()
    return [
        _card(name, model, book)
        for name in names
        for model in sorted(_of_text(name))
        if wanted in f"{name}/{model}".lower()
    ]


def _of_text(provider: str) -> list[str]:
    """Models that are asked questions; some entries of the list are only the beginning of a name."""
    names = (name for name in known_models(provider) if name[-1] not in "-:.")
    asked = (name for name in names if not any(use in name.lower() for use in _OTHER_USES))
    return [name for name in asked if _is_own(provider, name)]


def _is_own(provider: str, name: str) -> bool:
    """Whether the provider has the model by that name here; a cloud's list also has what it resells of others."""
    owned_by = owners(name)
    if vendor(provider).models:
        return provider in owned_by
    shelf = CATALOGUE_IDS.get(provider, provider)
    return not owned_by or any(CATALOGUE_IDS.get(owner, owner) == shelf for owner in owned_by)


def _card(provider: str, name: str, book: PriceBook) -> ModelCard:
    model, seller = Model(provider=provider, name=name), vendor(provider)
    return ModelCard(
        provider=provider,
        model=name,
        batch=_rates(model, "batch", book) if takes_batches(seller) else None,
        live=_rates(model, "live", book) if takes_calls(seller) else None,
        rules=rules_of(seller, name),
    )


def _rates(model: Model, processing: Processing, book: PriceBook) -> Rates:
    price = book.price(model, processing)
    if price is None:
        return Rates(input=None, output=None)
    return Rates(input=_dollars(price.rate.input), output=_dollars(price.rate.output), note=price.note)


def _dollars(nano: int | None) -> float | None:
    return None if nano is None else nano / DOLLAR
