"""A second vendor, as another package would bring one: it speaks OpenAI's format at an address of its own."""

from overnight.providers import Limits
from overnight.providers.openai_api.lookalike import Lookalike, LookalikeBatches, LookalikeVendor

provider = LookalikeVendor(
    Lookalike(
        name="twin",
        title="Twin",
        key_variable="TWIN_API_KEY",
        base_url_variable="TWIN_BASE_URL",
        default_base_url="http://127.0.0.1:9/v1",
        models=("twin-*",),
        chat_path="/chat/completions",
        models_path="/models",
        address="http://127.0.0.1:9/v1",
        thinking=lambda _: None,
        batches=LookalikeBatches(limits=Limits(requests=50_000, bytes=200_000_000, retention_days=30)),
        emulator_path="/openai/v1",
    )
)
