"""The page between a wish and a command: what would be done, and one button that says so."""

from typing import Literal

from overnight.api.run_words import open_batches
from overnight.api.status import unfinished
from overnight.core.wording import number_of
from overnight.reporting.shown_text import escaped
from overnight.serving.commands import Commands
from overnight.serving.known_runs import KnownRun
from overnight.serving.screens.layout import Screen, address, link, sentences_html
from overnight.serving.screens.runs import money_text, waits_text

Verb = Literal["resume", "cancel"]
VERBS: tuple[Verb, ...] = ("resume", "cancel")


def refusal(run: KnownRun, verb: Verb, commands: Commands) -> str | None:
    """Why it cannot be done now, in words; None when it can."""
    if run.status.trouble is not None:
        return f"The run cannot be read: {run.status.trouble}"
    if verb == "cancel":
        if run.status.cancelled:
            return f"'{run.name}' is called off already; resume collects what its batches had finished."
        if not unfinished(run.folder):
            return f"'{run.name}' is finished: there is nothing to call off."
        return None
    if commands.works(run.name, "resume") or run.status.worked_on:
        return f"'{run.name}' is being worked on already; it needs no second process."
    if not unfinished(run.folder):
        return f"'{run.name}' is finished: there is nothing to go on with."
    return None


def confirm_screen(run: KnownRun, verb: Verb, why_not: str | None, key: str) -> Screen:
    back = link("Back to the run", "run", run.name, more=' class="button"')
    title = f"{verb.capitalize()} {run.name}?"
    if why_not is not None:
        body = f"{sentences_html([why_not], kind='finding')}<p>{back}</p>"
        return Screen(title=title, body=body, run=run.name, part=verb)
    told = sentences_html(_about(run, verb))
    form = (
        f'<form method="post" action="{escaped(address("run", run.name, verb))}">'
        f'<input type="hidden" name="key" value="{escaped(key)}">'
        f'<p class="doing"><button type="submit">{_BUTTONS[verb]}</button> {back}</p></form>'
    )
    return Screen(title=title, body=told + form, run=run.name, part=verb)


_BUTTONS = {"resume": "Yes, go on with it", "cancel": "Yes, call it off"}


def _about(run: KnownRun, verb: Verb) -> list[str]:
    status = run.status
    pending = number_of(status.total("pending"), "row")
    if verb == "resume":
        sends = (
            "It was called off, so that nothing more is sent: what its batches finished is collected."
            if status.cancelled
            else f"{pending} are open. What is not sent yet may be sent, within the budget of the study."
        )
        ends = "It ends with the dashboard; the same command goes on from there, and nothing is paid twice."
        return [f"This is `overnight resume {run.name}`.", sends, f"{money_text(run)}.", ends]
    there = sum(batch.batch_id is not None for batch in open_batches(status.batches))
    batches = number_of(there, "batch", "batches")
    return [
        f"This is `overnight cancel {run.name}`.",
        f"{pending} are open. {batches} at the provider would be cancelled.",
        "What they have finished by then is collected, and is paid.",
        "Nothing more is sent until somebody types `overnight run`.",
        *filter(None, [waits_text(status)]),
    ]


def said_screen(title: str, text: str, run: str | None = None) -> Screen:
    """A page that says one thing."""
    return Screen(title=title, body=sentences_html([text], kind="finding"), run=run, part="said" if run else None)
