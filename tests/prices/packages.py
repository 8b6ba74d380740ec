"""Installed packages, made up: of any version, with any prices."""

from pathlib import Path

# In the form of genai-prices, as far as we read it: one model that costs $1.50, and half of it in a batch.
DATA = """
from decimal import Decimal
from types import SimpleNamespace as Some

half = Some(input_mtok=Decimal("0.75"), output_mtok=Decimal(3))
providers = [
    Some(
        id="openai",
        api_pattern="https://api.openai.com",
        fallback_model_providers=None,
        models=[
            Some(
                id="gpt-4.1",
                match=Some(equals="gpt-4.1"),
                prices=Some(input_mtok=Decimal("1.5"), output_mtok=Decimal(6)),
                price_variants=[Some(when={"processing": "batch"}, constraint=None, prices=half)],
            )
        ],
    )
]
"""


def a_package(folder: Path, version: str, data: str = DATA) -> Path:
    """A folder of packages with a genai-prices in it."""
    package = folder / "genai_prices"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "data.py").write_text(data)
    metadata = folder / f"genai_prices-{version}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: genai-prices\nVersion: {version}\n")
    return folder
