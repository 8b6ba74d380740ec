"""Any server that speaks OpenAI's chat completions: vLLM, llama.cpp and others, named by its address."""

from typing import Any

from overnight.core.ask import Thinking
from overnight.providers.contract import Vendor
from overnight.providers.openai_api.lookalike import Lookalike, LookalikeVendor

_REMARKS = """\
For vLLM, llama.cpp's server, and whatever else answers `POST /chat/completions` as OpenAI does:
`{model: compatible/NAME, base_url: "http://localhost:8000/v1"}`. `thinking: off` and `on` are sent as
`chat_template_kwargs.enable_thinking`, levels as `reasoning_effort`, a token budget as `thinking_token_budget`.
`extra` may hold any other field of the server.
"""


def thinking(setting: Thinking) -> dict[str, Any]:
    if isinstance(setting, int):
        return {"thinking_token_budget": setting}
    if setting in ("off", "on"):
        return {"chat_template_kwargs": {"enable_thinking": setting == "on"}}
    return {"reasoning_effort": setting}


provider: Vendor = LookalikeVendor(
    Lookalike(
        name="compatible",
        title="server's",
        key_variable="COMPATIBLE_API_KEY",
        base_url_variable="COMPATIBLE_BASE_URL",
        chat_path="/chat/completions",
        models_path="/models",
        address="http://localhost:8000/v1",
        needs_key=False,
        thinking=thinking,
        emulator_path="/openai/v1",
        remarks=_REMARKS,
    )
)
