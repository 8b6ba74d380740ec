"""Every vendor against the emulator: refusals, broken rows and broken wires, each by its name."""

from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
import pytest

from overnight.core.errors import Gone, OutOfCredit, OvernightError, Rejected, Throttled, Unauthorized, Unavailable
from overnight.providers import BatchConnection
from providers.asking import KEY
from providers.emulated import DEAD, POOR, EmulatedVendor, causes, end_of, rows_of, submit, told_apart


def test_rows_that_fail_are_read_with_their_causes(emulated: EmulatedVendor) -> None:
    fault = {"on": "row", "do": "error", "status": 500, "code": "server_error", "message": "Oh.", "odds": 0.5}
    emulated.emulator.arm([fault])
    intent = emulated.intent(emulated.asks(40))

    async def work(provider: BatchConnection) -> None:
        ended = await end_of(provider, await submit(provider, intent))
        answered, failed = told_apart(await rows_of(emulated, provider, ended))
        assert ended.phase == "completed"
        assert causes(answered) == {None}
        assert causes(failed) == {"server_error"}
        counted = (len(answered), len(failed)) if emulated.counts else (0, 0)
        assert (ended.counts.completed, ended.counts.failed) == counted
        assert len(answered) + len(failed) == 40

    emulated.run(work)


@pytest.mark.parametrize("nothing", [None, ""])
def test_a_batch_in_which_nothing_succeeded_has_no_output(emulated: EmulatedVendor, nothing: str | None) -> None:
    emulated.emulator.arm(
        [{"on": "batch", "do": "empty_output", "as": nothing}, {"on": "row", "do": "error", "status": 500}]
    )
    intent = emulated.intent(emulated.asks(3))

    async def work(provider: BatchConnection) -> None:
        ended = await end_of(provider, await submit(provider, intent))
        assert ended.phase == "completed"
        answered, _ = told_apart(await rows_of(emulated, provider, ended))
        assert answered == []

    emulated.run(work)


def test_a_validation_failure_is_a_refusal(emulated: EmulatedVendor) -> None:
    emulated.emulator.arm(
        [{"on": "batch", "do": "fail", "code": "invalid_json_line", "message": "Line 1 is not JSON."}]
    )
    intent = emulated.intent(emulated.asks(1))

    async def work(provider: BatchConnection) -> None:
        ended = await end_of(provider, await submit(provider, intent))
        if ended.phase == "failed":
            assert ended.refusal is not None
            assert (ended.refusal.kind, ended.refusal.message) == ("invalid", "Line 1 is not JSON.")
        else:  # where batches do not fail, all of their rows do
            answered, failed = told_apart(await rows_of(emulated, provider, ended))
            assert (answered, causes(failed)) == ([], {"invalid_request"})

    emulated.run(work)


def test_an_unknown_model_is_told_apart(emulated: EmulatedVendor) -> None:
    typo = msgspec.structs.replace(emulated.model, name=emulated.model.name + "-typo")

    async def work(provider: BatchConnection) -> None:
        intent = emulated.intent(emulated.asks(1, typo))
        answer = await provider.create(intent, await provider.upload(intent))
        ended = await end_of(provider, answer.batch) if answer.batch is not None else None
        refusal = answer.refusal if ended is None else ended.refusal
        if refusal is not None:
            assert refusal.kind == "unknown_model"
        else:
            assert ended is not None
            _, failed = told_apart(await rows_of(emulated, provider, ended))
            assert causes(failed) == {"unknown_model"}

    emulated.run(work)


def test_a_deleted_input_keeps_a_late_create_from_running(emulated: EmulatedVendor) -> None:
    if not emulated.files:
        pytest.skip("the input travels with the create")
    intent = emulated.intent(emulated.asks(1))

    async def work(provider: BatchConnection) -> None:
        file_id = await provider.upload(intent)
        await provider.remove_file(file_id)
        answer = await provider.create(intent, file_id)
        refusal = answer.refusal
        if answer.batch is not None:
            refusal = (await end_of(provider, answer.batch)).refusal
        assert refusal is not None
        assert refusal.kind == "file_not_ready"

    emulated.run(work)


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (429, "rate_limit_exceeded", "throttled"),
        (400, "billing_hard_limit_reached", "no_credit"),
        (413, None, "too_large"),
        (400, "invalid_value", "invalid"),
    ],
)
def test_a_definite_no_to_a_create(emulated: EmulatedVendor, status: int, code: str | None, kind: str) -> None:
    fault: dict[str, Any] = {"on": "create", "do": "status", "status": status, "message": "No.", "retry_after": 3}
    emulated.emulator.arm([fault | ({"code": code} if code else {})])
    intent = emulated.intent(emulated.asks(1))

    async def work(provider: BatchConnection) -> None:
        answer = await provider.create(intent, await provider.upload(intent))
        assert (answer.sent, answer.status, answer.batch) == (True, status, None)
        assert answer.refusal is not None
        assert (answer.refusal.kind, answer.refusal.retry_after) == (kind, 3.0)

    emulated.run(work)


def test_trouble_at_the_provider_leaves_a_create_open(emulated: EmulatedVendor) -> None:
    emulated.emulator.arm([{"on": "create", "do": "status", "status": 503}])
    intent = emulated.intent(emulated.asks(1))

    async def work(provider: BatchConnection) -> None:
        answer = await provider.create(intent, await provider.upload(intent))
        assert (answer.sent, answer.status, answer.batch, answer.refusal) == (True, 503, None, None)

    emulated.run(work)


@pytest.mark.parametrize(
    ("fault", "family"),
    [
        ({"do": "status", "status": 429, "retry_after": 2}, Throttled),
        ({"do": "status", "status": 500}, Unavailable),
        ({"do": "status", "status": 529}, Unavailable),
        ({"do": "status", "status": 400}, Rejected),
        ({"do": "drop_answer"}, Unavailable),
    ],
    ids=lambda value: str(value.get("status", "drop")) if isinstance(value, dict) else "",
)
def test_trouble_in_other_calls_has_a_name(
    emulated: EmulatedVendor, fault: dict[str, Any], family: type[OvernightError]
) -> None:
    intent = emulated.intent(emulated.asks(1))

    fresh = emulated.intent(emulated.asks(1))

    async def work(provider: BatchConnection) -> None:
        ended = await end_of(provider, await submit(provider, intent))
        ref = ended.parts[0][1]
        emulated.emulator.arm([{"on": on, **fault} for on in ("upload", "list", "retrieve", "content", "delete")])
        calls: tuple[Callable[[], Coroutine[Any, Any, Any]], ...] = (
            lambda: provider.upload(fresh),
            provider.newest,
            lambda: provider.retrieve(ended.id),
            lambda: provider.fetch(ref, lambda _: None),
            lambda: provider.remove_file(ref),
        )
        # A deletion whose answer is lost is repeated on a new connection, and finds the work done.
        last = len(calls) - int(fault["do"] == "drop_answer")
        for call in calls[:last] if emulated.files else calls[1:-1]:
            with pytest.raises(family) as caught:
                await call()
            assert KEY not in repr(caught.value)
            if isinstance(caught.value, Throttled):
                assert caught.value.retry_after == 2.0

    emulated.run(work)


@pytest.mark.parametrize(("key", "family"), [(DEAD, Unauthorized), (POOR, OutOfCredit)])
def test_a_key_that_does_not_work_is_never_shown(
    emulated: EmulatedVendor, key: str, family: type[OvernightError]
) -> None:
    intent = emulated.intent(emulated.asks(1))

    async def work(provider: BatchConnection) -> None:
        told = []
        if family is Unauthorized:
            with pytest.raises(Unauthorized) as caught:
                await provider.check_key()
            told.append(repr(caught.value))
        else:
            answer = await provider.create(intent, await provider.upload(intent))
            assert answer.refusal is not None
            assert answer.refusal.kind == "no_credit"
            told += [answer.refusal.message, answer.problem or ""]
        assert all(key not in words for words in told)

    emulated.run(work, key)


def test_a_download_cut_short_is_unavailable(emulated: EmulatedVendor) -> None:
    intent = emulated.intent(emulated.asks(30))

    async def work(provider: BatchConnection) -> None:
        ended = await end_of(provider, await submit(provider, intent))
        emulated.emulator.arm([{"on": "content", "do": "cut", "at": 0.5, "times": 1}])
        with pytest.raises(Unavailable):
            await rows_of(emulated, provider, ended)
        assert sum(len(part) for part in (await rows_of(emulated, provider, ended)).values()) == 30

    emulated.run(work)


def test_results_past_their_time_are_gone(emulated: EmulatedVendor) -> None:
    async def work(provider: BatchConnection) -> None:
        with pytest.raises(Gone):
            await provider.fetch("file-of-nobody", lambda _: None)

    emulated.run(work)


@pytest.mark.parametrize("misdeed", ["malformed", "empty_body", "no_usage", "duplicate", "unknown_id"])
def test_odd_rows_are_read_for_what_they_are(emulated: EmulatedVendor, misdeed: str) -> None:
    emulated.emulator.arm([{"on": "row", "do": misdeed, "odds": 0.5}])
    intent = emulated.intent(emulated.asks(20))

    async def work(provider: BatchConnection) -> None:
        rows = [
            line
            for part in (
                await rows_of(emulated, provider, await end_of(provider, await submit(provider, intent)))
            ).values()
            for line in part
        ]
        results = [line.result for line in rows if line.result is not None]
        nameless = [line for line in rows if line.custom_id is None]
        foreign = [line for line in rows if line.custom_id and not line.custom_id.startswith(f"o{intent.token}-")]
        assert bool(nameless) == (misdeed == "malformed")
        assert bool(foreign) == (misdeed == "unknown_id")
        assert any(one.cause == "unreadable" for one in results) == (misdeed == "empty_body")
        assert any(one.outcome == "answered" and one.usage.input is None for one in results) == (misdeed == "no_usage")
        assert (len(rows) > 20) == (misdeed in ("duplicate", "unknown_id"))

    emulated.run(work)


def test_another_batch_than_the_one_that_was_asked_for_is_no_answer(emulated: EmulatedVendor) -> None:
    """A cache on the way: what it says of that batch is no news of this one."""
    first, second = (emulated.intent(emulated.asks(count)) for count in (1, 2))
    emulated.emulator.arm([{"on": "retrieve", "do": "cached"}])

    async def work(provider: BatchConnection) -> None:
        batches = [await submit(provider, intent) for intent in (first, second)]
        found = await provider.retrieve(batches[0].id)
        assert found is not None
        assert found.id == batches[0].id
        with pytest.raises(Unavailable, match=f"answered with {batches[0].id}"):
            await provider.retrieve(batches[1].id)

    emulated.run(work)
