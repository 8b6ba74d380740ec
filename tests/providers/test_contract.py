"""Every vendor against the emulator: what the engine relies on, through good nights and bad ones."""

import asyncio
from pathlib import Path

import msgspec
import pytest
from aiohttp import web

from overnight.core.ask import Model
from overnight.core.errors import Unavailable
from overnight.engine.decisions import how_far
from overnight.providers import (
    BatchConnection,
    batch_format,
    emulated_endpoint,
    resolve_model,
    takes_batches,
    vendor,
    vendors,
)
from overnight_emulator.simulate import expected_answer
from providers.asking import KEY, ask
from providers.emulated import (
    ENDED,
    FILLED,
    IDS_ONCE,
    MODELS,
    RESULTS_IN_PAGES,
    SEED,
    UNSTOPPABLE,
    WORDLESS,
    EmulatedVendor,
    causes,
    claimed,
    end_of,
    fence_at,
    rows_of,
    submit,
    told_apart,
)
from providers.scripted_server import serving


def test_every_vendor_has_a_model_here_and_owns_it() -> None:
    assert set(MODELS) == {name for name, one in vendors().items() if takes_batches(one) and one.emulator_path}
    assert all(resolve_model(f"{name}/{model}") == (name, model) for name, model in MODELS.items())


@pytest.mark.parametrize("name", [*MODELS, "vllm"])
def test_a_request_is_not_an_answer(name: str) -> None:
    """An input file in the place of an output says nothing of its rows."""
    reader, model = batch_format(vendor(name)), Model(provider=name, name=MODELS.get(name, "qwen3"))
    line = reader.line(model, "o-1", reader.encode(ask(model, "Name a fruit.")))
    assert reader.decode(line).result is None


def test_a_batch_from_upload_to_answers(emulated: EmulatedVendor) -> None:
    asks = emulated.asks(25)
    intent = emulated.intent(asks)

    async def work(provider: BatchConnection) -> None:
        file_id = await provider.upload(intent)
        assert await provider.knows_file(file_id) == emulated.files
        fence = await fence_at(emulated, provider)
        answer = await provider.create(intent, file_id)
        assert (answer.sent, answer.refusal, answer.problem) == (True, None, None)
        batch = answer.batch
        assert batch is not None
        assert emulated.format.ours(batch, intent, file_id) == ("yes" if emulated.format.tags else "maybe")
        assert batch.input_ref == (file_id if emulated.files else None)
        assert batch.created_at is None or (fence.date or 0) - 300 < batch.created_at
        ended = await end_of(provider, batch)
        counted = 25 if emulated.counts else 0
        assert (ended.phase, ended.counts.total, ended.counts.completed) == ("completed", counted, counted)
        rows = await rows_of(emulated, provider, ended)
        answers = {line.custom_id: line.result for part in rows.values() for line in part}
        assert len(answers) == 25
        for n, one in enumerate(asks):
            result = answers[f"o{intent.token}-{n}"]
            assert result is not None
            assert (result.outcome, result.cause) == ("answered", None)
            assert result.answer == expected_answer(
                SEED,
                msgspec.json.decode(emulated.format.encode(one)),
                dialect=emulated.vendor.name,
                model=emulated.model.name,
            )
            assert result.usage.input
            assert result.usage.output
        if emulated.vendor.name not in FILLED:
            await provider.remove_file(file_id)
            assert not await provider.knows_file(file_id)

    emulated.run(work)


def test_a_lost_answer_is_found_again(emulated: EmulatedVendor) -> None:
    emulated.emulator.arm([{"on": "create", "do": "drop_answer", "times": 1}])
    intent = emulated.intent(emulated.asks(2))

    async def work(provider: BatchConnection) -> None:
        file_id = await provider.upload(intent)
        fence = await fence_at(emulated, provider)
        answer = await provider.create(intent, file_id)
        assert (answer.sent, answer.status, answer.batch, answer.refusal) == (True, None, None, None)
        seen = await provider.recent(how_far(fence), 5)
        assert seen.complete
        assert len(claimed(emulated, seen, fence, intent, file_id)) == 1

    emulated.run(work)
    made = emulated.emulator.log(calls=False)["batches"]
    assert len([one for one in made if intent.token in f"{one['metadata']} {one['name']}"]) == 1


def test_a_lost_request_is_as_open_but_nothing_is_found(emulated: EmulatedVendor) -> None:
    emulated.emulator.arm([{"on": "create", "do": "lose_request", "times": 1}])
    intent = emulated.intent(emulated.asks(1))

    async def work(provider: BatchConnection) -> None:
        file_id = await provider.upload(intent)
        fence = await fence_at(emulated, provider)
        answer = await provider.create(intent, file_id)
        assert (answer.sent, answer.status) == (True, None)
        seen = await provider.recent(how_far(fence), 5)
        assert seen.complete
        assert claimed(emulated, seen, fence, intent, file_id) == []

    emulated.run(work)


def test_two_batches_of_one_create_are_both_seen(emulated: EmulatedVendor) -> None:
    if emulated.vendor.name in IDS_ONCE:
        pytest.skip("there cannot be two of one id")
    emulated.emulator.arm([{"on": "create", "do": "twice", "times": 1}])
    intent = emulated.intent(emulated.asks(1))

    async def work(provider: BatchConnection) -> None:
        file_id = await provider.upload(intent)
        fence = await fence_at(emulated, provider)
        assert (await provider.create(intent, file_id)).batch is None
        seen = await provider.recent(how_far(fence), 5)
        assert len(claimed(emulated, seen, fence, intent, file_id)) == 2

    emulated.run(work)


def test_a_create_that_cannot_connect_was_not_sent(emulated: EmulatedVendor, tmp_path: Path) -> None:
    intent = emulated.intent(emulated.asks(1))

    async def work(_: BatchConnection) -> None:
        nowhere = emulated.vendor.connect(emulated_endpoint(emulated.vendor, "http://127.0.0.1:1", KEY))
        answer = await nowhere.create(intent, "file-1")
        assert (answer.sent, answer.status, answer.batch) == (False, None, None)
        with pytest.raises(Unavailable):
            await nowhere.newest()
        await nowhere.close()

    emulated.run(work)


def test_a_listing_of_many_pages_is_complete_or_says_that_it_is_not(emulated: EmulatedVendor) -> None:
    count = 105
    intents = [emulated.intent(emulated.asks(1)) for _ in range(count)]

    async def work(provider: BatchConnection) -> None:
        file_id = await provider.upload(intents[0])
        fence = await fence_at(emulated, provider)
        if emulated.vendor.name in FILLED:
            answers = [await provider.create(intent, await provider.upload(intent)) for intent in intents]
        else:
            answers = [await provider.create(intent, file_id) for intent in intents]
        made = [answer.batch for answer in answers if answer.batch is not None]
        seen = await provider.recent(how_far(fence), 5)
        assert seen.complete
        ids = [batch.id for batch in seen.batches]
        assert len(ids) == len(set(ids))
        assert len({batch.id for batch in made} & set(ids)) == count
        if emulated.format.tags:
            assert all(claimed(emulated, seen, fence, intent, file_id) for intent in intents)
        if not emulated.pages:
            return
        assert not (await provider.recent(how_far(fence), 1)).complete
        emulated.emulator.arm([{"on": "list", "do": "incomplete"}])
        partial = await provider.recent(how_far(fence), 5)
        assert not partial.complete
        assert len(partial.batches) == 100

    emulated.run(work)


def test_an_expired_batch_gives_up_what_it_finished(emulated: EmulatedVendor) -> None:
    emulated.emulator.arm([{"on": "batch", "do": "expire", "share": 0.5, "seconds": 100}])
    intent = emulated.intent(emulated.asks(40))

    async def work(provider: BatchConnection) -> None:
        ended = await end_of(provider, await submit(provider, intent))
        answered, failed = told_apart(await rows_of(emulated, provider, ended))
        assert ended.phase == "expired"
        assert len(answered) == (20 if emulated.gives_partial else 0)
        assert causes(answered) <= {None}
        assert causes(failed) <= {"expired"}
        assert len(failed) == (20 if emulated.names_unfinished else 0)

    emulated.run(work)


def test_a_cancelled_batch_ends_and_says_so(slowly_emulated: EmulatedVendor) -> None:
    if slowly_emulated.vendor.name in UNSTOPPABLE:
        pytest.skip("it ends by itself")
    intent = slowly_emulated.intent(slowly_emulated.asks(4))

    async def work(provider: BatchConnection) -> None:
        batch = await submit(provider, intent)
        cancelled = await provider.cancel(batch.id)
        assert cancelled is not None
        assert cancelled.id == batch.id
        slowly_emulated.emulator.advance(1200)
        ended = await end_of(provider, cancelled)
        assert ended.phase == "cancelled"
        rows = [line for part in (await rows_of(slowly_emulated, provider, ended)).values() for line in part]
        assert len(rows) == (4 if slowly_emulated.names_unfinished else 0)
        assert causes(rows) <= {"cancelled"}
        assert await provider.cancel(batch.id) is not None
        assert await provider.cancel("batch_of_nobody") is None

    slowly_emulated.run(work)


def test_an_unknown_status_word_means_running(slowly_emulated: EmulatedVendor) -> None:
    if slowly_emulated.vendor.name in WORDLESS:
        pytest.skip("it has no words for states")
    slowly_emulated.emulator.arm([{"on": "batch", "do": "status_word", "word": "meditating"}])
    intent = slowly_emulated.intent(slowly_emulated.asks(1))

    async def work(provider: BatchConnection) -> None:
        batch = await submit(provider, intent)
        async with asyncio.timeout(20):
            while batch.known_status and batch.phase not in ENDED:
                batch = await provider.retrieve(batch.id) or batch
        assert (batch.phase, batch.status, batch.known_status) == ("running", "meditating", False)

    slowly_emulated.run(work)


def test_results_at_another_origin_are_fetched_without_the_key(emulated: EmulatedVendor) -> None:
    if emulated.vendor.name in RESULTS_IN_PAGES:
        pytest.skip("results are no file")
    intent = emulated.intent(emulated.asks(1))

    async def work(provider: BatchConnection) -> None:
        ended = await end_of(provider, await submit(provider, intent))
        rows = bytearray()
        await provider.fetch(ended.parts[0][1], rows.extend)

        async def give(_: web.Request) -> web.StreamResponse:
            return web.Response(body=bytes(rows))

        async with serving(give) as elsewhere:
            emulated.emulator.arm([{"on": "content", "do": "redirect", "to": f"{elsewhere.url}/signed?sig=1"}])
            got = bytearray()
            assert await provider.fetch(ended.parts[0][1], got.extend) == len(rows)
            assert got == rows
            (request,) = elsewhere.seen
            assert KEY not in str(request.raw_headers)
            secrets = {"authorization", "openai-organization", "openai-project", "x-api-key", "x-goog-api-key"}
            assert not secrets & {name.lower() for name in request.headers}

    emulated.run(work)


def test_a_working_key_is_confirmed(emulated: EmulatedVendor) -> None:
    async def work(provider: BatchConnection) -> None:
        assert KEY not in await provider.check_key()

    emulated.run(work)
