"""What a study or a run folder may do only with the user's word: other addresses, other keys, files elsewhere."""

from overnight.consent.addresses import (
    Place,
    Source,
    check_place,
    check_told,
    check_variable,
    grant_place,
    grant_told,
    is_loopback,
)
from overnight.consent.files import check_path
from overnight.consent.given import Ask, allow, ask_with, forget
from overnight.consent.variables import in_env_file, own_variable, place_variables

__all__ = [
    "Ask",
    "Place",
    "Source",
    "allow",
    "ask_with",
    "check_path",
    "check_place",
    "check_told",
    "check_variable",
    "forget",
    "grant_place",
    "grant_told",
    "in_env_file",
    "is_loopback",
    "own_variable",
    "place_variables",
]
