"""inspect_ai: an evaluation of each vendor's model, live and by its own batches, with a tool and without."""

from __future__ import annotations

import tempfile

import inspect_ai
from inspect_ai.dataset import Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import includes
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import tool
from telling import manual, tell

MODELS = {
    "openai": "openai/gpt-4.1",
    "anthropic": "anthropic/claude-haiku-4-5",
    "google": "google/gemini-2.5-flash",
}


@tool
def find_city():
    async def execute(country: str) -> str:  # noqa: ARG001 - what it is told does not matter
        """Find a city.

        Args:
            country: The country.
        """
        return "Rome and its hills"

    return execute


def run(model: str, rows: int, *, batch: bool = False, tools: bool = False) -> str:
    """Every answer must repeat the number of its own question."""
    asked = "Use find_city for Row {}." if tools else "Row {}?"
    target = "hills" if tools else "Row {}"
    samples = [Sample(input=asked.format(n), target=target.format(n)) for n in range(rows)]
    solver = [use_tools(find_city()), generate()] if tools else [generate()]
    config = GenerateConfig(batch=1000, max_tokens=2000) if batch else GenerateConfig(max_tokens=2000)
    with tempfile.TemporaryDirectory() as logs:
        (log,) = inspect_ai.eval(
            inspect_ai.Task(dataset=samples, solver=solver, scorer=includes(ignore_case=False), config=config),
            model=model,
            log_dir=logs,
            display="none",
        )
    assert log.status == "success", log.error
    assert log.results is not None
    right = log.results.scores[0].metrics["accuracy"].value
    assert right == 1.0, f"{right:.0%} right"
    return f"{rows} of {rows} rows right"


# The manual's first: inspect_ai 0.3.285 sends nothing in a further evaluation of a process that has had batches.
deeds = {"manual": manual("inspect_ai")}
for name, model in MODELS.items():
    deeds[f"{name}_live"] = lambda model=model: run(model, 5)
    deeds[f"{name}_tool"] = lambda model=model: run(model, 2, tools=True)
    deeds[f"{name}_batch"] = lambda model=model: run(model, 20, batch=True)
tell("inspect-ai", **deeds)
