"""Who may see a page: nobody without the token, nobody by another name, and no page of another site."""

from __future__ import annotations

import re

import pytest

from overnight.serving.dashboard import Dashboard
from overnight.serving.web.gate import Gate
from serving.runs_to_show import Looker

PAGES = (
    "/",
    "/accounts",
    "/changes",
    "/run/answers",
    "/run/answers/rows",
    "/run/answers/report",
    "/run/answers/cancel",
)


@pytest.mark.parametrize("path", [*PAGES, "/nothing", "/run/nothing"])
def test_without_the_token_there_is_no_page(dashboard: Dashboard, path: str) -> None:
    stranger = Looker(dashboard.address, welcome=False)
    for given in (path, f"{path}?token=", f"{path}?token=x", f"{path}?token={'x' * 32}"):
        found = stranger.get(given)
        assert found.status == 403
        assert "needs the address that `overnight serve` printed" in found.text
    stranger.cookie = "overnight-1=x"
    assert stranger.get(path).status == 403


def test_the_token_is_changed_for_a_cookie_that_scripts_and_other_sites_do_not_have(dashboard: Dashboard) -> None:
    stranger = Looker(dashboard.address, welcome=False)
    token = dashboard.address.partition("=")[2]
    found = stranger.get(f"/run/answers/rows?q=1&token={token}")
    assert found.status == 200
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(found.headers["Set-Cookie"].split("; "))
    assert token not in found.text + found.headers["Set-Cookie"]
    assert 'content="0;url=/run/answers/rows?q=1"' in found.text
    assert found.headers["Referrer-Policy"] == "same-origin"


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:{port}", "0.0.0.0:{port}", ""]
)
def test_it_answers_to_no_other_name(looker: Looker, host: str) -> None:
    port = looker.host.partition(":")[2]
    assert looker.get("/", {"Host": host.format(port=port)}).status == 403


def test_it_answers_to_localhost(looker: Looker) -> None:
    assert looker.get("/", {"Host": f"localhost:{looker.host.partition(':')[2]}"}).status == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://{host}", "http://{host}.evil.example", "http://127.0.0.1:1"]
)
def test_no_page_of_another_site_is_answered(looker: Looker, origin: str) -> None:
    given = {"Origin": origin.format(host=looker.host)}
    assert looker.get("/", given).status == 403
    assert looker.post("/run/answers/cancel", given, key="x").status == 403


def test_a_command_needs_an_origin_and_a_key_that_was_given_out_for_it(looker: Looker) -> None:
    assert looker.post("/run/answers/cancel", {"Origin": ""}, key="x").status == 403
    assert looker.post("/run/answers/cancel", {"Sec-Fetch-Site": "cross-site"}, key="x").status == 403
    for form in ({}, {"key": ""}, {"key": "x" * 32}):
        found = looker.post("/run/answers/cancel", **form)
        assert found.status == 403
        assert "Nothing was done" in found.text


def test_a_key_is_good_once_and_for_one_thing() -> None:
    gate = Gate()
    key = gate.new_key("resume one")
    assert not gate.use_key(key, "cancel one")
    assert not gate.use_key(key, "resume one")
    again = gate.new_key("resume one")
    assert gate.use_key(again, "resume one")
    assert not gate.use_key(again, "resume one")
    first = gate.new_key("first")
    for number in range(500):
        gate.new_key(str(number))
    assert not gate.use_key(first, "first")


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_there_are_no_other_methods(looker: Looker, method: str) -> None:
    assert looker.ask(method, "/run/answers").status == 405
    assert looker.ask("POST", "/run/answers").status == 405


def test_every_page_forbids_what_it_does_not_need(looker: Looker) -> None:
    for path in ("/", "/accounts", "/run/answers", "/run/answers/rows", "/nothing", "/run/nothing"):
        headers = looker.get(path).headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
        assert "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"
        assert headers["X-Frame-Options"] == "DENY"


def test_no_page_names_another_place(looker: Looker) -> None:
    for path in ("/", "/accounts", "/run/answers", "/run/answers/rows", "/run/pairs/arms"):
        page = looker.get(path).text
        fetched = re.findall(r'(?:src|href|action)="([^"#]*)"', page)
        assert [one for one in fetched if not one.startswith(("/", "data:"))] == []
        assert " style=" not in page
        assert " onclick" not in page


def test_two_dashboards_do_not_take_each_others_cookie_away(dashboard: Dashboard, looker: Looker) -> None:
    assert looker.cookie.startswith(f"overnight-{looker.host.partition(':')[2]}=")
