"""Which address shows which screen. What is read, is read in a thread, so that one slow page holds up no other."""

import asyncio
from collections.abc import Callable, Mapping
from typing import cast

from aiohttp import web

from overnight.core.errors import OvernightError, UnknownName
from overnight.ledger.checks import diagnosed
from overnight.ledger.homes import home_of
from overnight.serving.item_records import ItemRecord, ThreadRecord, item_record
from overnight.serving.known_runs import KnownRun
from overnight.serving.records import Records
from overnight.serving.screens.accounts import accounts_screen, queues_of
from overnight.serving.screens.comparison import comparison_screen
from overnight.serving.screens.confirming import VERBS, Verb, confirm_screen, refusal, said_screen
from overnight.serving.screens.item import item_screen, raw_screen
from overnight.serving.screens.layout import Screen, address, page_html, script, script_name, style, style_name
from overnight.serving.screens.rows import Wanted, rows_screen
from overnight.serving.screens.run import run_screen
from overnight.serving.screens.runs import runs_screen
from overnight.serving.web.changes import Followers
from overnight.serving.web.gate import REPORT_POLICY, Answer, Gate

Query = Mapping[str, str]
Make = Callable[[KnownRun, Query], Screen]
# A form holds a key, and nothing else.
_LARGEST_FORM = 4_096


class Routes:
    """The dashboard's addresses."""

    def __init__(self, records: Records, gate: Gate, followers: Followers) -> None:
        self._records = records
        self._gate = gate
        self._followers = followers

    def app(self) -> web.Application:
        app = web.Application(middlewares=[self._gate.guard, self._told], client_max_size=_LARGEST_FORM)
        app.router.add_get("/", self._runs)
        app.router.add_get("/accounts", self._accounts)
        app.router.add_get("/changes", self._changes)
        app.router.add_get("/favicon.ico", self._icon)
        app.router.add_get(f"/{style_name()}", self._style)
        app.router.add_get(f"/{script_name()}", self._script)
        for part, make in (
            ("", self._run),
            ("/rows", self._rows),
            ("/item", self._item),
            ("/raw", self._raw),
            ("/arms", self._compare),
        ):
            app.router.add_get(f"/run/{{name}}{part}", self._page_of(make))
        app.router.add_get("/run/{name}/report", self._report)
        for verb in VERBS:
            app.router.add_get(f"/run/{{name}}/{verb}", self._confirm)
            app.router.add_post(f"/run/{{name}}/{verb}", self._do)
        return app

    @web.middleware
    async def _told(self, request: web.Request, handler: Answer) -> web.StreamResponse:
        """What is wrong is a page that says so."""
        try:
            return await handler(request)
        except OvernightError as error:
            status = 404 if isinstance(error, UnknownName) else 409
            return self._shown(said_screen("That cannot be shown", str(error)), status)
        except web.HTTPException as error:
            if error.status < 400:
                raise
            return self._shown(said_screen("There is no such page", error.reason), error.status)

    def _shown(self, screen: Screen, status: int = 200) -> web.Response:
        text = page_html(screen, rehearsal=self._records.settings.emulate)
        return web.Response(
            status=status, body=text.encode(errors="replace"), content_type="text/html", charset="utf-8"
        )

    async def _runs(self, _: web.Request) -> web.Response:
        runs = await asyncio.to_thread(self._records.runs.everything)
        return self._shown(runs_screen(runs, self._records.settings.where))

    async def _accounts(self, _: web.Request) -> web.Response:
        def make() -> Screen:
            book, trouble = self._records.accounts()
            return accounts_screen(book, queues_of(self._records.runs.everything()), trouble)

        return self._shown(await asyncio.to_thread(make))

    async def _icon(self, _: web.Request) -> web.Response:
        """Browsers ask for one with every page that names none, as the report; there is none."""
        return web.Response(status=204)

    async def _style(self, _: web.Request) -> web.Response:
        return web.Response(text=style(), content_type="text/css", headers={"Cache-Control": "private, max-age=86400"})

    async def _script(self, _: web.Request) -> web.Response:
        headers = {"Cache-Control": "private, max-age=86400"}
        return web.Response(text=script(), content_type="text/javascript", headers=headers)

    async def _changes(self, request: web.Request) -> web.StreamResponse:
        run = request.query.get("run")
        return await self._followers.follow(request, lambda: self._records.changes(run))

    def _page_of(self, make: Make) -> Answer:
        async def page(request: web.Request) -> web.Response:
            def made() -> Screen:
                run = self._records.runs.named(request.match_info["name"])
                with diagnosed(home_of(run.folder)):
                    return make(run, request.query)

            return self._shown(await asyncio.to_thread(made))

        return page

    def _run(self, run: KnownRun, _: Query) -> Screen:
        return run_screen(run, self._records.rate(run), self._records.commands.newest(run.name, VERBS))

    def _rows(self, run: KnownRun, query: Query) -> Screen:
        wanted = Wanted.of(query)
        table = self._records.table(run)
        screen = rows_screen(run, table, wanted)
        if table is not None and not table.is_there():  # it was made anew while it was read
            screen = rows_screen(run, self._records.table(run), wanted)
        return screen

    def _item(self, run: KnownRun, query: Query) -> Screen:
        item = item_record(run.folder, query.get("id", ""))
        return item_screen(run, item, against=query.get("against", ""), arm=query.get("arm", ""))

    def _raw(self, run: KnownRun, query: Query) -> Screen:
        item = item_record(run.folder, query.get("id", ""))
        return raw_screen(run, item, _thread(item, query))

    def _compare(self, run: KnownRun, query: Query) -> Screen:
        return comparison_screen(run, self._records.table(run), dict(query))

    async def _report(self, request: web.Request) -> web.Response:
        def make() -> str:
            return self._records.report(self._records.runs.named(request.match_info["name"]))

        page = await asyncio.to_thread(make)
        headers = {"Content-Security-Policy": REPORT_POLICY}
        return web.Response(text=page, content_type="text/html", headers=headers)

    async def _confirm(self, request: web.Request) -> web.Response:
        name, verb = _asked(request)

        def make() -> Screen:
            run = self._records.runs.named(name)
            why_not = refusal(run, verb, self._records.commands)
            return confirm_screen(run, verb, why_not, self._gate.new_key(f"{verb} {name}"))

        return self._shown(await asyncio.to_thread(make))

    async def _do(self, request: web.Request) -> web.Response:
        name, verb = _asked(request)
        key = (await request.post()).get("key")
        if not isinstance(key, str) or not self._gate.use_key(key, f"{verb} {name}"):
            text = "This button was used already, or its page is too old; open the page once more."
            return self._shown(said_screen("Nothing was done", text, name), 403)

        def begin() -> str | None:
            run = self._records.runs.named(name)
            why_not = refusal(run, verb, self._records.commands)
            if why_not is None:
                self._records.commands.start(name, verb, verb)
            return why_not

        why_not = await asyncio.to_thread(begin)
        if why_not is not None:
            return self._shown(said_screen("Nothing was done", why_not, name), 409)
        raise web.HTTPSeeOther(address("run", name))


def _asked(request: web.Request) -> tuple[str, Verb]:
    return request.match_info["name"], cast("Verb", request.path.rpartition("/")[2])


def _thread(item: ItemRecord, query: Query) -> ThreadRecord:
    for thread in item.threads:
        wanted = (query.get("stage"), query.get("arm"), query.get("replicate", "0"))
        if (thread.arm.stage, thread.arm.name, str(thread.replicate)) == wanted:
            return thread
    raise UnknownName(f"nothing was asked about {item.id!r} in that arm")
