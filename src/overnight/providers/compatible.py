"""Any server that speaks OpenAI's chat completions, named by its address; and some whose addresses are known."""

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


def _preset(name: str, title: str, address: str, remarks: str, models: tuple[str, ...] = ()) -> Vendor:
    """A service of others, asked as any such server is."""
    return LookalikeVendor(
        Lookalike(
            name=name,
            title=title,
            key_variable=f"{name.upper()}_API_KEY",
            base_url_variable=f"{name.upper()}_BASE_URL",
            default_base_url=address,
            models=models,
            chat_path="/chat/completions",
            models_path="/models",
            address=address if address.count("/") > 2 else f"{address}/v1",
            thinking=lambda _: None,
            emulator_path="/openai/v1",
            remarks=remarks,
        )
    )


deepseek = _preset(
    "deepseek",
    "DeepSeek",
    "https://api.deepseek.com/v1",
    """\
Asked as [compatible](#compatible) is. `thinking` is refused: a model's name says whether it thinks, and `extra` may
hold any field of the API. Thoughts in `reasoning_content` are kept apart from the answer.
""",
)
openrouter = _preset(
    "openrouter",
    "OpenRouter",
    "https://openrouter.ai/api/v1",
    """\
Asked as [compatible](#compatible) is; a model's name has its maker in front: `openrouter/qwen/qwen3-32b`. `thinking` is
refused: what a model takes differs from maker to maker, and `extra` may hold any field of the API.
""",
)
