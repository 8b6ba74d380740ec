"""One item: all arms side by side with their differences marked, conversations, both orders of a pair, raw bytes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from overnight.core.clock import duration_text, time_text
from overnight.core.names import short_names
from overnight.core.wording import number_of
from overnight.reporting.page.html import LONGEST_TEXT
from overnight.reporting.run_sections import labels_of
from overnight.reporting.shown_text import cut, escaped
from overnight.reporting.wording import cell_text, money_text
from overnight.serving.item_records import (
    MOST_TOGETHER,
    SAID,
    SIDES,
    Bytes,
    ItemRecord,
    Later,
    ThreadRecord,
    TurnRecord,
)
from overnight.serving.known_runs import KnownRun
from overnight.serving.screens.layout import Query, Screen, chip, link, live_part, select_html, sentences_html
from overnight.serving.word_differences import pieces

# Arms that are drawn on one page; of more, those of one stage are chosen by a link.
_MOST_THREADS = 40
_LONGEST_LATER = 600
_TONES = {"answered": "good", "refused": "middling", "truncated": "light", "failed": "bad"}


def item_screen(run: KnownRun, item: ItemRecord, *, against: str, arm: str) -> Screen:
    """`against` is the arm whose answer the others are compared with; the one that was asked for stands out."""
    labels = labels_of([(thread.arm.stage, thread.arm.name) for thread in item.threads])
    body = sentences_html(item.troubles, kind="finding") + _origin_html(run, item) + _neighbours(run, item)
    body += live_part("fields", _fields_html(item))
    if len(item.threads) > 1:
        body += _against_form(item, against, labels)
    body += live_part("threads", "".join(_stages(run, item, labels, against, arm)))
    body += live_part("together", "".join(_together_html(run, item)))
    return Screen(title=item.id, body=body, run=run.name, part="item", live=True, before=item.before, after=item.after)


def _origin_html(run: KnownRun, item: ItemRecord) -> str:
    sides = list(dict.fromkeys(str(name) for one in item.threads for side in SIDES if (name := one.last.row.get(side))))
    told = ""
    if item.origin is not None:
        name, arm = item.origin
        words = f"This is about the answer of {short_names([arm])[arm]} to " if arm else "This is about answers to "
        to = link(cut(name, 120), "run", run.name, "item", query={"id": name, "arm": arm})
        told = f"<p>{escaped(words)}{to}.</p>"
    elif sides:
        rows = [link(cut(one, 120), "run", run.name, "rows", query={"q": one}) for one in sides]
        told = f"<p>All rows about {' and about '.join(rows)}.</p>"
    return told


def _together_html(run: KnownRun, item: ItemRecord) -> Iterator[str]:
    """Comparisons of the answers above, by the stages that made them."""
    for stage in dict.fromkeys(later.stage for later in item.together):
        own = [later for later in item.together if later.stage == stage]
        most = f"<p class=note>The first {MOST_TOGETHER}.</p>" if len(own) >= MOST_TOGETHER else ""
        lines = "".join(f"<li>{_later_html(run, one, _about(one))}</li>" for one in own)
        title = f"{stage}: answers beside each other"
        yield f'<section><h2>{escaped(title)}</h2><ul class="later">{lines}</ul>{most}</section>'


def _about(later: Later) -> str:
    sides = [str(later.rows[0][side]) for side in SIDES if later.rows[0].get(side)]
    return " and ".join(sides) or later.id


def _later_html(run: KnownRun, later: Later, words: str) -> str:
    """What each arm of the later stage has said, behind a link to all of it."""
    labels = labels_of([(later.stage, row["arm"]) for row in later.rows])
    told = [f"{labels[later.stage, row['arm']]}: {_said_text(row)}" for row in later.rows]
    to = link(cut(words, 120), "run", run.name, "item", query={"id": later.id})
    return f'{to} <span class="note">{escaped(cut("; ".join(told), _LONGEST_LATER))}</span>'


def _said_text(row: Mapping[str, Any]) -> str:
    """In the words of the task, where its answer could be read."""
    said = (cell_text(row[name], None) for name in SAID if row.get(name) is not None)
    return next(said, str(row["status"])).replace("_", " ")


def _neighbours(run: KnownRun, item: ItemRecord) -> str:
    links = [
        link(words, "run", run.name, "item", query={"id": name}, more=f' class="button" rel="{rel}"')
        for name, words, rel in ((item.before, "Previous item", "prev"), (item.after, "Next item", "next"))
        if name is not None
    ]
    keys = '<span class="note keys">Keys: p and n go to the previous and the next item.</span>' if links else ""
    return f'<nav class="foot" aria-label="Items">{"".join(links)}{keys}</nav>'


def _fields_html(item: ItemRecord) -> str:
    """The item as it was when it was taken in; of a pair, both that are compared."""
    blocks = []
    for (stage, name), fields in item.fields.items():
        told = "".join(
            f"<div><h4>{escaped(str(field))}</h4>"
            f'<pre tabindex="0">{escaped(cut(_value_text(value), LONGEST_TEXT))}</pre></div>'
            for field, value in fields.items()
        )
        blocks.append(f"<details><summary>{escaped(name)} in {escaped(stage)}: its fields</summary>"
                      f'<div class="texts">{told}</div></details>')  # fmt: skip
    return "".join(blocks)


def _value_text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _against_form(item: ItemRecord, against: str, labels: Mapping[tuple[str, str], str]) -> str:
    options = [("", "the first of each stage")]
    options += [(arm, label) for (_, arm), label in labels.items()]
    choice = select_html("against", "differences are marked against", against, dict(options).items())
    return (
        f'<form method="get" class="filters"><input type="hidden" name="id" value="{escaped(item.id)}">{choice}'
        '<button type="submit">Show</button></form>'
    )


def _stages(
    run: KnownRun, item: ItemRecord, labels: Mapping[tuple[str, str], str], against: str, arm: str
) -> Iterator[str]:
    for stage in dict.fromkeys(thread.arm.stage for thread in item.threads):
        own = sorted((one for one in item.threads if one.arm.stage == stage), key=_beside)
        shown = own[:_MOST_THREADS]
        basis = next((one for one in own if one.arm.name == against), own[0])
        cells = "".join(_thread_html(run, item, one, basis, labels, is_asked_for=one.arm.name == arm) for one in shown)
        more = f"<p class=note>and {number_of(len(own) - len(shown), 'more arm')}</p>" if len(own) > len(shown) else ""
        both = "".join(_both_orders(own, labels))
        yield (
            f"<section><h2>{escaped(stage)}</h2>{both}"
            f'<div class="arms{" pairs" if both else ""}">{cells}</div>{more}</section>'
        )


def _beside(thread: ThreadRecord) -> tuple[object, ...]:
    """Both orders of a pair stand next to each other."""
    arm = thread.arm
    return (
        arm.template,
        arm.model.provider,
        arm.model.name,
        str(arm.model.options.thinking),
        thread.replicate,
        arm.direction,
    )


def _both_orders(threads: Sequence[ThreadRecord], labels: Mapping[tuple[str, str], str]) -> Iterator[str]:
    """Whether a judge says the same when the two are shown the other way round."""
    known: dict[tuple[object, ...], dict[str, ThreadRecord]] = {}
    for thread in threads:
        known.setdefault(_beside(thread)[:-1], {})[thread.arm.direction] = thread
    for orders in known.values():
        rows = [orders[way].last.row for way in ("forward", "reverse") if way in orders]
        if len(rows) < 2 or not all("winner_id" in row for row in rows):
            continue
        verdicts = [row.get("winner_id") or row.get("verdict") or "nothing" for row in rows]
        judge = labels[orders["forward"].arm.stage, orders["forward"].arm.name]
        same = "the same in both orders" if verdicts[0] == verdicts[1] else "not the same in both orders"
        yield (
            f"<p>{escaped(judge)}: {same} ({escaped(verdicts[0])} with {escaped(_first(rows[0]))} first, "
            f"{escaped(verdicts[1])} with {escaped(_first(rows[1]))} first).</p>"
        )


def _first(row: Mapping[str, Any]) -> str:
    return str(row.get(SIDES[0]) or "?")


def _thread_html(
    run: KnownRun,
    item: ItemRecord,
    thread: ThreadRecord,
    basis: ThreadRecord,
    labels: Mapping[tuple[str, str], str],
    *,
    is_asked_for: bool,
) -> str:
    is_basis = thread is basis and len(item.threads) > 1
    label = labels[thread.arm.stage, thread.arm.name]
    again = f", replicate {thread.replicate + 1}" if thread.replicate else ""
    shown = "".join(_turns(thread, basis))
    query: Query = {"id": item.id, "arm": thread.arm.name, "stage": thread.arm.stage, "replicate": thread.replicate}
    raw = link("request and answer as they were sent", "run", run.name, "raw", query=query)
    name = ' class="asked-for"' if is_asked_for else ""
    way = sentences_html(filter(None, [_way_text(thread.last)]), kind="note")
    folds = f"<details><summary>Raw request and answer</summary>{way}{_raw_html(thread.last)}<p>{raw}</p></details>"
    later = "".join(f"<li>{_later_html(run, one, one.stage)}</li>" for one in thread.later)
    folds = (f'<h4>What later stages say of it</h4><ul class="later">{later}</ul>' if later else "") + folds
    marked = "<p class=note>differences of the others are marked against this one</p>" if is_basis else ""
    return f"<article{name}><h3>{escaped(label + again)}</h3>{marked}{shown}{folds}</article>"


def _raw_html(turn: TurnRecord) -> str:
    """The beginning of both; the whole is a link away."""
    parts = [("Request as sent", turn.request), ("Answer as it came", turn.line)]
    return "".join(
        f"<h4>{words}</h4>"
        + (
            sentences_html([found.trouble], kind="finding")
            if found.trouble is not None
            else f'<pre tabindex="0">{escaped(cut(found.text, LONGEST_TEXT))}</pre>'
        )
        for words, found in parts
        if found is not None
    )


def _turns(thread: ThreadRecord, basis: ThreadRecord) -> Iterator[str]:
    """A conversation from its beginning; of a single question only the answer, with the question behind a fold."""
    several = len(thread.turns) > 1
    for place, turn in enumerate(thread.turns):
        asked = [message for message in turn.messages if message.role != "assistant" or place == 0]
        new = asked if place == 0 else asked[-1:]
        told = "".join(
            f'<div class="said {escaped(message.role)}"><h4>{escaped(message.role)}</h4>'
            f'<pre tabindex="0">{escaped(cut(message.text, LONGEST_TEXT))}</pre></div>'
            for message in new
        )
        if several:
            yield f'<div class="turn"><p class="note">turn {place + 1}</p>{told}'
        elif told:
            yield f"<details><summary>The question</summary>{told}</details>"
        other = basis.turns[place] if basis is not thread and place < len(basis.turns) else None
        before = thread.turns[place - 1].own if place else {}
        yield _answer_html(turn, other, before) + ("</div>" if several else "")


def _answer_html(turn: TurnRecord, other: TurnRecord | None, before: Mapping[str, Any]) -> str:
    """`before` is what the turn before it said of itself: what is the same is not said again."""
    row = turn.row
    status = str(row.get("status", "pending"))
    words = chip(status, _TONES.get(status, "")) + (f" {escaped(row['cause'])}" if row.get("cause") else "")
    detail = sentences_html([turn.detail], kind="note") if turn.detail else ""
    thoughts = row.get("thoughts")
    fold = (
        f'<details><summary>Thoughts</summary><pre tabindex="0">{escaped(cut(thoughts, LONGEST_TEXT))}</pre></details>'
        if thoughts
        else ""
    )
    answer = row.get("answer")
    text = "" if answer is None else f'<pre tabindex="0" aria-label="Answer">{_with_marks(answer, other)}</pre>'
    return f"<p>{words}</p>{detail}{text}{fold}{_numbers_html(turn, before)}"


def _with_marks(answer: str, other: TurnRecord | None) -> str:
    basis = None if other is None else other.row.get("answer")
    shown = cut(answer, LONGEST_TEXT)
    found = None if basis is None else pieces(shown, cut(basis, LONGEST_TEXT))
    if found is None:
        return escaped(shown)
    return "".join(f"<ins>{escaped(text)}</ins>" if different else escaped(text) for text, different in found)


def _way_text(turn: TurnRecord) -> str:
    """When it came, and in what."""
    if turn.received_at is None or turn.batch is None:
        return ""
    how = "a live call" if turn.batch.live else f"batch {turn.batch.batch_id}"
    sent = turn.batch.submitted_at
    took = "" if sent is None else f", {duration_text(max(0.0, turn.received_at - sent))} after that was sent"
    return f"came {time_text(turn.received_at)} in {how} (shard {turn.batch.shard}){took}"


def _numbers_html(turn: TurnRecord, before: Mapping[str, Any]) -> str:
    row = turn.row
    new = {name: value for name, value in turn.own.items() if before.get(name) != value}
    told = {name.replace("_", " "): cell_text(value, None) for name, value in new.items()}
    if row.get("output_tokens") is not None:
        told["tokens"] = f"{row['input_tokens'] or 0:,} in, {row['output_tokens']:,} out"
    if row.get("cost") is not None:
        told["cost"] = money_text(row["cost"])
    lines = "".join(
        f"<div><dt>{escaped(name)}</dt><dd>{escaped(cut(value, 600))}</dd></div>" for name, value in told.items()
    )
    return f'<dl class="numbers">{lines}</dl>' if lines else ""


def raw_screen(run: KnownRun, item: ItemRecord, thread: ThreadRecord) -> Screen:
    """The bytes that went out and the line that came back, turn by turn."""
    back = link("back to the item", "run", run.name, "item", query={"id": item.id, "arm": thread.arm.name})
    parts = [f"<p>{escaped(thread.arm.name)}, {back}</p>"]
    for turn in thread.turns:
        name = f"Turn {turn.turn + 1}: " if len(thread.turns) > 1 else ""
        parts.append(f"<section><h2>{name}the request as it was sent</h2>{_bytes_html(turn.request)}</section>")
        line = "<p>No file holds an answer.</p>" if turn.line is None else _bytes_html(turn.line)
        way = sentences_html(filter(None, [_way_text(turn)]), kind="note")
        parts.append(f"<section><h2>{name}the answer as it came</h2>{way}{line}</section>")
    return Screen(title=item.id, body="".join(parts), run=run.name, part="raw")


def _bytes_html(found: Bytes) -> str:
    if found.trouble is not None:
        return sentences_html([found.trouble], kind="finding")
    told = f"<p class=note>{len(found.data):,} bytes, as the ledger has them</p>"
    laid_out = _laid_out(found.data)
    as_is = f'<pre class="whole" tabindex="0" aria-label="Bytes">{escaped(found.text)}</pre>'
    if laid_out is None:
        return told + as_is
    return (
        f'{told}<pre class="whole" tabindex="0" aria-label="JSON">{escaped(laid_out)}</pre>'
        f"<details><summary>The same as it stands in the file</summary>{as_is}</details>"
    )


def _laid_out(data: bytes) -> str | None:
    """JSON with its lines broken; None for what is none."""
    try:
        msgspec.json.decode(data)
        return msgspec.json.format(data.strip(), indent=2).decode(errors="replace")
    except msgspec.MsgspecError:
        return None
