"""`models`: what is known of each, and what is not."""

import json
import re

import pytest

from cli.shell import STUDY
from overnight.cli import main
from overnight.prices.catalogue import CATALOGUE_IDS, newest


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["models", *arguments]) == 0
    return capsys.readouterr().out


def test_prices_rules_and_last_days(capsys: pytest.CaptureFixture[str]):
    lines = [re.sub(" +", " ", line).strip() for line in shown(capsys, "openai/gpt-").splitlines()]
    assert "gpt-4.1-mini $0.4 $1.6 $0.2 $0.8 off ends 2027-01-14" in lines
    assert "gpt-5-mini $0.25 $2 $0.125 $1 minimal to high no temperature, top_p, stop; ends 2026-12-11" in lines
    assert not [line for line in lines if "image" in line or "audio" in line]
    assert newest().origin in lines[-1]


def test_every_provider_with_listed_prices_shows_models(capsys: pytest.CaptureFixture[str]):
    everything = json.loads(shown(capsys, "--json"))
    listed = {name for name, seller in CATALOGUE_IDS.items() if seller is not None}
    assert {card["provider"] for card in everything} == listed
    names = [card["model"] for card in everything if card["provider"] == "fireworks"]
    assert "accounts/fireworks/models/deepseek-v3p2" in names, "by the name that it is asked for with"


def test_for_programs(capsys: pytest.CaptureFixture[str]):
    (card,) = json.loads(shown(capsys, "claude-haiku-4-5", "--provider", "claude", "--json"))
    assert (card["live"]["input"], card["batch"]["output"], card["rules"]["longest"]) == (1.0, 2.5, 64_000)
    everything = json.loads(shown(capsys, "--json"))
    assert {card["provider"] for card in everything} >= {"openai", "anthropic", "gemini", "vertex", "together"}
    # What nobody has said is null, never nought.
    assert all(card["rules"] is None for card in everything if card["provider"] == "openrouter")
    assert all(card["batch"] is None for card in everything if card["provider"] == "openrouter")
    assert not [card for card in everything if card["provider"] == "gemini" and "claude" in card["model"]]


def test_nothing_fits(capsys: pytest.CaptureFixture[str]):
    assert shown(capsys, "no-such") == "no known model fits; one that is not known here can be asked all the same\n"
    assert main(["models", "--provider", "opnai"]) == 2
    assert "did you mean 'openai'?" in capsys.readouterr().err


@pytest.mark.usefixtures("study")
def test_a_slip_is_refused_before_anything_is_sent(capsys: pytest.CaptureFixture[str]):
    from pathlib import Path

    Path("fruit.yaml").write_text(STUDY.replace("gpt-4.1-mini", "gpt-4.1-mnii"))
    assert main(["run", "fruit.yaml", "--emulate"]) == 2
    said = capsys.readouterr().err
    assert (
        "fruit.yaml:5:10: models[0]: no model 'openai/gpt-4.1-mnii' is known; did you mean 'openai/gpt-4.1-mini'?"
        in said
    )
    assert "say so: {model: openai/gpt-4.1-mnii, new: true}" in said
    assert not Path("runs").exists()
    Path("fruit.yaml").write_text(STUDY.replace("openai/gpt-4.1-mini", "{model: openai/gpt-4.1-mnii, new: true}"))
    assert main(["plan", "fruit.yaml"]) == 0
    Path("fruit.yaml").write_text(STUDY.replace("gpt-4.1-mini", "gpt-4.2-mini"))
    assert main(["plan", "fruit.yaml"]) == 0
    assert "gpt-4.2-mini is not known here (the nearest is openai/gpt-4.1-mini)" in capsys.readouterr().out
    flags = ("--items", "items.csv", "--prompt", "{text}", "--emulate", "-q", "--model", "openai/gpt-4.1-mnii")
    assert main(["generate", *flags]) == 2
    assert main(["generate", *flags, "--new-model"]) in (0, 3)
