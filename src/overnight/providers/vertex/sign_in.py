"""Who asks Vertex: where the usual credentials are, and whether what they take is installed."""

from importlib.util import find_spec

from overnight.core.errors import StudyError

USUAL_FILE = "GOOGLE_APPLICATION_CREDENTIALS"
INSTALL = "pip install 'overnight[vertex]'"


def check_installed() -> None:
    """One clear line, before anything is sent."""
    try:
        found = find_spec("google.auth") and find_spec("requests")
    except ModuleNotFoundError:
        found = None
    if found is None:
        raise StudyError(f"vertex: Google's credentials need one more package: {INSTALL}")
