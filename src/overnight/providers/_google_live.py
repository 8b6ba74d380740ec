"""Live replies of Google's models: sent once, and kept as lines of a batch's output."""

import msgspec

from overnight.providers._complaint import complaint_of, scrub
from overnight.providers._contract import Reply
from overnight.providers._google_body import IdField
from overnight.providers._wire import Wire

_json = msgspec.json.Encoder()


async def call(wire: Wire, path: str, body: bytes) -> Reply:
    """How long to wait is told in the body; the account's limits are told nowhere."""
    sending = await wire.send_once("call", path, body)
    reply = sending.reply
    if reply is None:
        return Reply(sent=sending.sent, status=sending.status, problem=sending.problem)
    advised = reply.retry_after
    if advised is None and not reply.ok:
        advised = complaint_of(reply.body).retry_after
    return Reply(sent=True, status=reply.status, body=reply.body, retry_after=advised)


def live_line(id_field: IdField, custom_id: str, reply: Reply) -> bytes:
    """A body that is not Google's (a gateway's page, nothing at all) becomes an error by its status."""
    named = b'{"%b":%b' % (id_field.encode(), _json.encode(custom_id))
    body = _one_line(reply.body)
    if reply.status == 200 and body is not None:
        return b'%b,"response":%b}' % (named, body)
    if body is None or not body.startswith((b'{"error":', b'[{"error":')):
        body = _json.encode({"code": reply.status or 503, "message": _words(reply)})
    return b'%b,"error":%b}' % (named, body)


def _words(reply: Reply) -> str:
    text = reply.body[:300].decode("utf-8", "replace").strip()
    said = "" if text.startswith("<") else text
    return scrub(said or reply.problem or f"HTTP {reply.status}")


def _one_line(body: bytes) -> bytes | None:
    """The body without the line breaks that JSON allows between its parts; None when it is no JSON."""
    try:
        return msgspec.json.format(body, indent=-1)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
