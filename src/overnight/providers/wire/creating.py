"""A create, whoever it is sent to: once, and exactly what is known afterwards."""

from collections.abc import Callable

from overnight.core.errors import ProviderError
from overnight.providers.contract import Batch, CreateAnswer, Refusal
from overnight.providers.reading.responses import Response
from overnight.providers.wire.bodies import Envelope
from overnight.providers.wire.http import Wire


async def create_once(
    wire: Wire,
    path: str,
    body: bytes | Envelope,
    *,
    read: Callable[[bytes], Batch],
    refusal: Callable[[Response], Refusal | None],
) -> CreateAnswer:
    """`read` makes a batch of what was accepted; `refusal` says no only where the vendor certainly did."""
    sending = await wire.send_once("create", path, body)
    reply = sending.reply
    if reply is None:
        return CreateAnswer(sent=sending.sent, status=sending.status, problem=sending.problem)
    if not reply.ok:
        problem = wire.explain(f"POST {path}", reply)
        return CreateAnswer(sent=True, status=reply.status, refusal=refusal(reply), problem=problem)
    try:
        return CreateAnswer(sent=True, status=reply.status, batch=read(reply.body))
    except ProviderError as error:
        return CreateAnswer(sent=True, status=reply.status, problem=str(error))
