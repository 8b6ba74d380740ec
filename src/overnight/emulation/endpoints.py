"""Where a model's rows go: to its vendor, to another address if the user agrees, or to the rehearsal's emulator."""

from collections.abc import Mapping, Sequence

import msgspec

from overnight.consent import Place, Source, check_place, check_variable, grant_place, own_variable
from overnight.core.ask import Model
from overnight.providers import Endpoint, Vendor, bucket_scheme, bucket_variables, emulated_endpoint
from overnight.settings import Settings

# Where the batches of a rehearsal were sent, as its ledger has it.
REHEARSAL = "rehearsal"


def endpoint_of(vendor: Vendor, model: Model | None, settings: Settings, emulated: str | None) -> Endpoint:
    """Where to call: the vendor's own place, another one if the user agrees to it, or the rehearsal's."""
    if emulated is None:
        check_place(real_place(vendor, model, settings), _named(vendor, model))
        return vendor.endpoint(settings.environ, model)
    place = emulated_endpoint(vendor, emulated, "rehearsal-needs-no-key", model)
    return msgspec.structs.replace(place, identity=REHEARSAL)


def agree_to(vendor: Vendor, model: Model, settings: Settings) -> None:
    """The user's own program names this model: its address and its key are the user's word."""
    grant_place(real_place(vendor, model, settings))


def real_place(vendor: Vendor, model: Model | None, settings: Settings) -> Place:
    """Where a model's rows would really go, and on whose word."""
    environ = settings.environ
    if model is not None and model.key is not None:
        check_variable(vendor, model.key, _named(vendor, model))
    endpoint = vendor.endpoint(environ, model)
    variable = _key_variable(vendor, model, endpoint, environ)
    buckets = model is not None and model.buckets is not None
    named = None if endpoint.buckets is None else _source(bucket_variables(vendor), settings)
    return Place(
        vendor=vendor,
        endpoint=endpoint,
        variable=variable,
        address_from=_address_source(vendor, model, settings),
        # A path or a profile in a `.env` only names credentials, which are the user's wherever they lie.
        key_from="env file" if endpoint.key and variable in settings.env_file else "environment",
        buckets_from="study" if buckets else named,
    )


def _key_variable(vendor: Vendor, model: Model | None, endpoint: Endpoint, environ: Mapping[str, str]) -> str:
    """The variable whose key is sent; empty where none is. Credentials of a cloud always prove who asks."""
    if model is not None and model.key is not None:
        return model.key
    if not endpoint.key:
        proves = endpoint.credentials is not None or bucket_scheme(vendor.name) is not None
        return vendor.key_variable if proves else ""
    held = (name for name, value in environ.items() if own_variable(vendor, name) and value.strip() == endpoint.key)
    return next(held, vendor.key_variable)


def _address_source(vendor: Vendor, model: Model | None, settings: Settings) -> Source:
    variable = vendor.base_url_variable
    named = settings.environ.get(variable, "").strip()
    if model is not None and model.base_url is not None:
        # What a study names as well as the user's environment is the user's word all the same.
        return "environment" if model.base_url == named and variable not in settings.env_file else "study"
    return _source((variable,), settings) if named else "vendor"


def _source(variables: Sequence[str], settings: Settings) -> Source:
    return "env file" if any(name in settings.env_file for name in variables) else "environment"


def _named(vendor: Vendor, model: Model | None) -> str:
    return vendor.name if model is None else f"{vendor.name}/{model.name}"
