"""Live replies of Google's models: what they tell, and how they are kept as lines of a batch's output."""

import msgspec

from overnight.providers.contract import Reply
from overnight.providers.google_api.body import IdField
from overnight.providers.reading.complaints import complaint_of, scrub
from overnight.providers.reading.patient_json import as_text, one_line_json

_json = msgspec.json.Encoder()


def told_to_wait(reply: Reply) -> Reply:
    """How long to wait is told in the body; the account's limits are told nowhere."""
    if reply.status in (None, 200) or reply.retry_after is not None:
        return reply
    return msgspec.structs.replace(reply, retry_after=complaint_of(reply.body).retry_after)


def live_line(id_field: IdField, custom_id: str, reply: Reply) -> bytes:
    """A body that is not Google's (a gateway's page, nothing at all) becomes an error by its status.

    With status 200 it is an answer that cannot be read: it was run, and is paid for.
    """
    named = b'{"%b":%b' % (id_field.encode(), _json.encode(custom_id))
    body = one_line_json(reply.body)
    if reply.status == 200:
        return b'%b,"response":%b}' % (named, body or as_text(reply.body))
    if body is None or not body.startswith((b'{"error":', b'[{"error":')):
        body = _json.encode({"code": reply.status or 503, "message": _words(reply)})
    return b'%b,"error":%b}' % (named, body)


def _words(reply: Reply) -> str:
    text = reply.body[:300].decode("utf-8", "replace").strip()
    said = "" if text.startswith("<") else text
    return scrub(said or reply.problem or f"HTTP {reply.status}")
