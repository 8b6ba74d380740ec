"""How commands end: every kind of trouble is one line on stderr and the right exit code."""

import signal
import threading

import pytest

from overnight.cli.ending import exit_code_of, terminated_like_interrupted
from overnight.cli.flags import Flags, Voice
from overnight.core import errors


def raising(error: BaseException):
    def command() -> int:
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.StudyError("the study is wrong"), 2),
        (errors.RunBusy("another process"), 2),
        (errors.RowsFailed("rows failed"), 3),
        (errors.Unauthorized("no key"), 4),
        (errors.BudgetExceeded("too dear"), 5),
        (PermissionError(13, "Permission denied", "runs"), 2),
        (KeyboardInterrupt(), 130),
        (KeyError("a bug"), 1),
    ],
)
def test_one_line_and_a_code(error: BaseException, code: int, capsys: pytest.CaptureFixture[str]):
    assert exit_code_of(raising(error), Voice()) == code
    seen = capsys.readouterr()
    assert seen.out == ""
    assert seen.err.startswith("overnight: ")
    assert seen.err.count("\n") == 1


def test_codes_of_commands_pass_through():
    assert exit_code_of(lambda: 3, Voice()) == 3
    assert exit_code_of(lambda: None, Voice()) == 0


def test_verbose_shows_where_it_came_from(capsys: pytest.CaptureFixture[str]):
    assert exit_code_of(raising(errors.StudyError("wrong")), Voice(verbose=True)) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("Traceback")
    assert lines[-1] == "overnight: wrong"


def test_a_provider_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]):
    exit_code_of(raising(errors.ProviderError("red \x1b[31m and\nmore\x07")), Voice())
    assert capsys.readouterr().err == "overnight: red \\x1b[31m and\\nmore\\x07\n"


def test_advice_names_the_same_place(capsys: pytest.CaptureFixture[str]):
    error = errors.RunBusy("busy; later: overnight resume fruit")
    exit_code_of(raising(error), Flags(emulate=True))
    assert capsys.readouterr().err == "overnight: busy; later: overnight resume --emulate fruit\n"


def test_what_may_pass_says_how_to_go_on(capsys: pytest.CaptureFixture[str]):
    assert exit_code_of(raising(errors.Unavailable("openai does not answer")), Voice()) == 4
    assert capsys.readouterr().err == (
        "overnight: openai does not answer; nothing is lost: the same command again goes on from here\n"
    )


def test_a_reader_that_left_is_no_error(capfd: pytest.CaptureFixture[str]):
    assert exit_code_of(raising(BrokenPipeError()), Voice()) == 0
    assert capfd.readouterr().err == ""


def test_sigterm_interrupts_and_is_given_back():
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), terminated_like_interrupted():
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before


def test_signals_are_left_alone_outside_the_main_thread():
    before = signal.getsignal(signal.SIGTERM)
    inside = []

    def work() -> None:
        with terminated_like_interrupted():
            inside.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert inside == [before]
