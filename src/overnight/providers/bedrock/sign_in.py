"""Whether what signing for AWS takes is installed."""

from importlib.util import find_spec

from overnight.core.errors import StudyError

INSTALL = "pip install 'overnight[bedrock]'"


def check_installed() -> None:
    """One clear line, before anything is sent."""
    if find_spec("botocore") is None:
        raise StudyError(f"bedrock: signing for AWS needs one more package: {INSTALL}")
