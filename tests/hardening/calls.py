"""One good call of every public function, to be spoiled an argument at a time."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import polars as pl

import overnight
from hardening.good_studies import GOOD
from hardening.wrong_kinds import wrong_kinds
from overnight import analysis, prices, rank, speceval
from overnight.core.ask import Model
from overnight.core.errors import OvernightError
from overnight.core.result import Usage
from overnight.prices import Price, Rate
from overnight.study.study import DEFAULTS
from overnight.study.task_registry import own_keys, task_kind

VERDICTS = {
    "object1": ["a", "b", "c", "a", "b", "c"],
    "object2": ["b", "c", "a", "c", "a", "b"],
    "result": [1.0, 0.0, 1.0, 1.0, 0.0, 0.5],
    "judge": ["x", "y", "x", "y", "x", "y"],
}
PAIRS = {"ID1": ["a", "b", "c"], "ID2": ["b", "c", "a"], "better_id": ["a", "b", "c"]}
REVERSED = {"ID1": ["b", "c", "a"], "ID2": ["a", "b", "c"], "better_id": ["a", "b", "a"]}
SAID = {
    "first_id": ["a", "b", "a", "b"],
    "second_id": ["b", "c", "b", "c"],
    "verdict": ["first", "tie", "second", "first"],
    "judge": ["x", "x", "y", "y"],
}
SCORES = {
    "item_id": ["1", "2", "3", "1", "2", "3"],
    "model": ["m", "m", "m", "n", "n", "n"],
    "judge": ["m", "n", "m", "n", "m", "n"],
    "label": ["yes", "no", "yes", "yes", "no", "no"],
    "score": [1, 0, 1, 1, 0, 0],
}
FIVE = [1, 0, 1, 1, 0]
PRICE = Price(provider="openai", model="m", processing="batch", rate=Rate(input=1, output=2))


class Public(NamedTuple):
    """A function, how a good call of it looks, and what it is called in a report."""

    name: str
    function: Callable[..., Any]
    good: dict[str, Any]


def public_functions() -> list[Public]:
    """Everything that `overnight`, its statistics and its prices show to programs."""
    found, fitting = [], _fitting()
    for module in (overnight, analysis, rank, prices):
        for name in module.__all__:
            one = getattr(module, name)
            if inspect.isfunction(one):
                found.append(Public(f"{module.__name__}.{name}", one, good_call(one, fitting)))
    book = prices.PriceBook()
    model = Model(provider="openai", name="gpt-4.1")
    return [
        *found,
        Public("overnight.Study.load", overnight.Study.load, {"path": "study.yaml"}),
        Public("overnight.Study.from_mapping", overnight.Study.from_mapping, {"mapping": {}, "where": "here"}),
        Public("overnight.prices.PriceBook", prices.PriceBook, {}),
        Public("overnight.prices.PriceBook.price", book.price, {"model": model, "processing": "batch"}),
        *_spec_evaluation(),
    ]


def _spec_evaluation() -> Iterator[Public]:
    """Everything of `overnight.speceval`: models and pipelines, and what they do."""
    asker = speceval.OpenAIBatchedModel("gpt-4.1-mini")
    judging: dict[str, Any] = {"spec_path": "rules.jsonl", "candidate_generation_dirs": ["a", "b"]}
    good: dict[str, dict[str, Any]] = {
        "BatchedGenerationPipeline": {"spec_path": None, "batched_model": asker, "pregenerated_inputs_dir": "inputs"},
        "BatchedRankingPipeline": {**judging, "ranking_judge": asker},
        "BatchedCompliancePipeline": {**judging, "compliance_judge": asker},
    }
    for name in speceval.__all__:
        made = getattr(speceval, name)
        fitting = good.get(name, {"model_name": "gpt-4.1-mini"})
        yield Public(f"overnight.speceval.{name}", made, fitting)
        if name in good:
            one = made(**fitting)
            yield Public(f"overnight.speceval.{name}.run", one.run, {})
            yield Public(f"overnight.speceval.{name}.submit", one.submit, {})
    metadata = {"model": "openai/gpt-4.1-mini", "run": "fruit", "runs": "runs", "emulated": False, "prompts": 3}
    looks = {"metadata": metadata}
    yield Public("overnight.speceval.BatchedModel.generate_batch", asker.generate_batch, {"prompts": ["Say a."]})
    yield Public("overnight.speceval.BatchedModel.check_batch_progress", asker.check_batch_progress, looks)
    yield Public("overnight.speceval.BatchedModel.get_batch_results", asker.get_batch_results, looks)


def good_call(function: Callable[..., Any], fitting: dict[str, Any]) -> dict[str, Any]:
    """Values that fit, by the names of parameters; what has a default may be left out."""
    own = {
        "judge_bias": {"judge": "judge", "model": "model"},
        "rate": {"outcomes": FIVE},
        "rate_table": {"outcome": "score"},
        "rows_for_rate": {"rate": 0.5},
        "prediction_powered_mean": {"judge": FIVE, "human": FIVE},
        "rogan_gladen": {"judge": FIVE, "human": FIVE},
    }.get(function.__name__, {})
    good = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if name in own:
            good[name] = own[name]
        elif parameter.default is parameter.empty and parameter.kind not in (
            parameter.VAR_KEYWORD,
            parameter.VAR_POSITIONAL,
        ):
            good[name] = fitting[name]
    return good


def _fitting() -> dict[str, Any]:
    bt_data = pl.DataFrame(VERDICTS)
    return {
        "run": "fruit", "study": "study.yaml", "shard": 1, "results": PAIRS, "probabilities": [0.1, 0.9, 0.5, 0.4, 0.6],
        "outcomes": FIVE, "consistency": analysis.compute_reverse_consistency(PAIRS, REVERSED).details,
        "a": FIVE, "b": [1, 1, 0, 1, 0], "data": SCORES, "score": "score", "main_results": PAIRS,
        "reverse_results": REVERSED, "cluster_size": 3, "icc": 0.1, "bt_data": bt_data,
        "elo_data": rank.build_elo_data(PAIRS), "ratings": [["x", "y"], ["x", "x"], ["y", "y"]],
        "p": np.array([0.1, 0.2]), "n_pairs": 100, "n_items": 10, "difference": 0.1, "between": 0.2, "both": 3,
        "only_a": 1, "only_b": 2, "neither": 4, "half_width": 0.1, "win_rate": 0.6, "judge_unlabelled": FIVE,
        "outcome": "score", "successes": 3, "n": 5, "fit": rank.fit_bt_model(bt_data), "frame": bt_data,
        "names": ["object1"], "price": PRICE, "input_tokens": 3, "max_output_tokens": 4,
        "usage": Usage(input=3, output=4), "nano": 5, "to": "elsewhere", "batch_id": "batch_1", "verdicts": SAID,
        "models": ["openai/gpt-4.1-mini"],
    }  # fmt: skip


# What a caller's own functions do, and what the caller calls a place, is the caller's business.
_THEIR_OWN = ("say", "tell", "where")


def spoiled_calls() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every parameter of every public function with every wrong kind of value, and a word too many."""
    for public in public_functions():
        parameters = inspect.signature(public.function).parameters
        for parameter in [name for name in parameters if name not in _THEIR_OWN]:
            for kind in wrong_kinds():
                yield f"{public.name}({parameter}={kind})", _call(public, parameter, kind)
        yield f"{public.name}(nonsense=1)", lambda public=public: public.function(**public.good, nonsense=1)
        yield f"{public.name}()", lambda public=public: public.function()
    yield from _spoiled_studies()


def _spoiled_studies() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Studies that a program makes: every key of every task with every wrong kind of value."""
    for label, good in GOOD.items():
        keys = dict.fromkeys((*DEFAULTS, *own_keys(task_kind(str(good["task"])))))
        for key, kind in itertools.product(keys, wrong_kinds()):
            yield (
                f"overnight.plan(Study({label}, {key}={kind}))",
                lambda good=good, key=key, kind=kind: overnight.plan(
                    overnight.Study(**{**good, key: wrong_kinds()[kind]})
                ),
            )


def _call(public: Public, parameter: str, kind: str) -> Callable[[], Any]:
    def call() -> Any:
        good = {name: value for name, value in public.good.items() if name != parameter}
        return public.function(**good, **{parameter: wrong_kinds()[kind]})

    return call


def waits(name: str) -> bool:
    """For a browser, or until somebody stops it, where the odd value happens to be right."""
    return name.startswith(("overnight.serve(", "overnight.watch("))


def sends(name: str) -> bool:
    """Calls that may reach for a provider, or wait for a browser, when the odd value happens to be right."""
    senders = ("run", "submit", "resume", "keys", "emulate", "serve", "plan(pilot", "plan(truth", "plan(Study")
    by_spec = (".run(", ".submit(", ".generate_batch(")
    return name.startswith(tuple(f"overnight.{sender}" for sender in senders)) or (
        name.startswith("overnight.speceval.") and any(verb in name for verb in by_spec)
    )


def complaint_about(call: Callable[[], Any]) -> str | None:
    """What is wrong with how a call ended; None for an answer, or for one clear line of ours."""
    try:
        call()
    except OvernightError as error:
        return None if _is_one_line(str(error)) else f"not one line: {error!r}"
    except Exception as error:  # noqa: BLE001 - this is what is looked for
        return f"{type(error).__name__}: {error}"
    return None


def _is_one_line(text: str) -> bool:
    return bool(text.strip()) and "\n" not in text and len(text) < 1_000
