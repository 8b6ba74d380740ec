"""Who asks Azure: what an endpoint says of it, and whether what it takes is installed."""

from importlib.util import find_spec

from overnight.core.errors import Unauthorized

# What `credentials` of an endpoint says, where it is no key: a token that was given, or the usual sign-in.
TOKEN, USUAL = "token", "usual"
INSTALL = "pip install 'overnight[azure]'"


def check_installed(variable: str) -> None:
    """One clear line, before anything is sent."""
    try:
        found = find_spec("azure.identity")
    except ModuleNotFoundError:
        found = None
    if found is None:
        raise Unauthorized(
            f"{variable} is not set: put the Azure OpenAI key there or into a .env file, or sign in with Entra: "
            f"{INSTALL} (`--emulate` rehearses without one)"
        )
