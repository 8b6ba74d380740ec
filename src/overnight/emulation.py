"""The emulator as a child process, for rehearsals. It dies with us, and its state outlives both."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from overnight.consent import Place, Source, check_place, check_variable, grant_place, own_variable
from overnight.core.ask import Model
from overnight.core.errors import Unavailable
from overnight.core.opening import make_private_folder
from overnight.core.surroundings import disk_trouble
from overnight.providers import Endpoint, Vendor, bucket_scheme, bucket_variables, emulated_endpoint
from overnight.settings import Settings
from overnight.store.lock import take_lock

_TRIES, _BETWEEN = 100, 0.01


@contextmanager
def emulator(settings: Settings, keep: Callable[[], bool] = lambda: True) -> Iterator[str | None]:
    """Its address while the block runs; None when this is not a rehearsal.

    Its state is removed at the end only by who made it, when it is not to be kept and nobody else uses it.
    """
    if not settings.emulate:
        yield None
        return
    state = state_of(settings)
    made, in_use = _taken(state)
    try:
        child = _start(state, settings.truth, settings.time_scale)
        try:
            yield _address(child)
        finally:
            if child.stdin is not None:
                child.stdin.close()
            if child.stdout is not None:
                child.stdout.close()
            child.wait(timeout=30)
    finally:
        os.close(in_use)
        if made and not keep():
            _remove(state)


def _taken(state: Path) -> tuple[bool, int]:
    """Whether the folder was made here, and a lock that all users of it share."""
    made = False
    for left in reversed(range(_TRIES)):
        try:
            if not state.is_dir():
                state.parent.parent.mkdir(parents=True, exist_ok=True)
                make_private_folder(state.parent)
                make_private_folder(state)
                made = True
            return made, take_lock(state / "in-use", shared=True)
        except (FileNotFoundError, BlockingIOError) as error:
            # Somebody is about to remove what they made; then it is made anew.
            if not left:
                raise disk_trouble(state, error, "cannot keep the rehearsal there") from error
            time.sleep(_BETWEEN)
        except OSError as error:
            raise disk_trouble(state, error, "cannot keep the rehearsal there") from error
    raise AssertionError


def _remove(state: Path) -> None:
    with suppress(OSError):  # others use it, or it is gone
        alone = take_lock(state / "in-use")
        try:
            shutil.rmtree(state, ignore_errors=True)
        finally:
            os.close(alone)


def state_of(settings: Settings) -> Path:
    """Where the rehearsals' provider keeps what it has been sent."""
    return settings.root / ".emulator"


def _start(state: Path, truth: Path | None, scale: float) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "overnight_emulator", "--port", "0", "--state", str(state)]
    command += ["--time-scale", str(scale), "--until-stdin-closes"]
    if truth is not None:
        command += ["--truth", str(truth)]
    # Ctrl-C in a terminal reaches every process of the group: the emulator must outlive the drain.
    return subprocess.Popen(  # noqa: S603 - our own module
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )


def _address(child: "subprocess.Popen[str]") -> str:
    line = child.stdout.readline() if child.stdout is not None else ""
    prefix = "listening on "
    if not line.startswith(prefix):
        message = "the emulator did not start; `overnight emulator` shows why"
        raise Unavailable(message)
    return line.removeprefix(prefix).strip()


def endpoint_of(vendor: Vendor, model: Model | None, settings: Settings, emulated: str | None) -> Endpoint:
    """Where to call: the vendor's own place, another one if the user agrees to it, or the rehearsal's."""
    if emulated is None:
        check_place(real_place(vendor, model, settings), _named(vendor, model))
        return vendor.endpoint(settings.environ, model)
    place = emulated_endpoint(vendor, emulated, "rehearsal-needs-no-key", model)
    return msgspec.structs.replace(place, identity="rehearsal")


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
        key_from="env file" if variable in settings.env_file else "environment",
        buckets_from="study" if buckets else named,
    )


def _key_variable(vendor: Vendor, model: Model | None, endpoint: Endpoint, environ: Mapping[str, str]) -> str:
    """The variable whose key is sent; empty where none is. A vendor with buckets always proves who asks."""
    if model is not None and model.key is not None:
        return model.key
    if not endpoint.key:
        return vendor.key_variable if bucket_scheme(vendor.name) is not None else ""
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
