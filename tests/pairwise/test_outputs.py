import json

import pytest

from overnight.core.errors import StudyError
from overnight.pairwise import make_pairs
from overnight.pairwise.outputs import parse_openai_batch_output

PAIRS = make_pairs([{"ID": name, "text": name} for name in ("S_01", "S_02", "x_vs_y")])


def line(name, content, status=200, **body):
    answer = {"role": "assistant", "content": content}
    body = {
        "object": "chat.completion",
        "model": "gpt-4.1",
        "choices": [{"index": 0, "message": answer, "finish_reason": "stop"}],
        **body,
    }
    return {"id": "r", "custom_id": name, "response": {"status_code": status, "body": body}, "error": None}


USAGE = {
    "prompt_tokens": 440,
    "completion_tokens": 95,
    "prompt_tokens_details": {"cached_tokens": 8},
    "completion_tokens_details": {"reasoning_tokens": 64},
}
LINES = [
    line("EXP_S_01_vs_S_02", "<BETTER_SAMPLE>SAMPLE_2</BETTER_SAMPLE>", usage=USAGE),
    line("EXP_S_01_vs_x_vs_y", "<BETTER_SAMPLE>SAMPLE_1</BETTER_SAMPLE> <BETTER_SAMPLE>SAMPLE_2</BETTER_SAMPLE>"),
    {
        "id": "r",
        "custom_id": "EXP_S_02_vs_x_vs_y",
        "response": {"status_code": 400, "body": {"error": {"message": "too long", "type": "invalid_request_error"}}},
        "error": None,
    },
]


@pytest.fixture(params=[None, 2], ids=["lines", "broken into lines"])
def output(tmp_path, request):
    path = tmp_path / "batch_01_output.jsonl"
    path.write_text("\n".join(json.dumps(one, indent=request.param) for one in LINES))
    return path


def test_rows_with_their_verdicts_tokens_and_errors(output):
    good, torn, bad = parse_openai_batch_output(output, pairs=PAIRS).iter_rows(named=True)
    assert (good["ID1"], good["ID2"], good["better_sample"], good["better_id"]) == ("S_01", "S_02", "SAMPLE_2", "S_02")
    assert [
        good[name]
        for name in ("prompt_tokens", "prompt_cached_tokens", "completion_tokens", "reasoning_tokens", "total_tokens")
    ] == [440, 8, 95, 64, 535]
    assert (good["object_type"], good["status_code"], good["model"]) == ("chat.completion", 200, "gpt-4.1")
    assert (torn["ID2"], torn["better_sample"], torn["better_id"]) == ("x_vs_y", None, None)
    assert bad["status_code"] == 400
    assert "too long" in bad["error_message"]


def test_without_pairs_ids_are_not_guessed(output):
    frame = parse_openai_batch_output(output)
    assert frame["custom_id"][0] == "EXP_S_01_vs_S_02"
    assert frame["ID1"].null_count() == 3
    assert frame["better_sample"].to_list() == ["SAMPLE_2", None, None]


def test_a_row_that_fits_no_pair_is_said(output):
    with pytest.raises(StudyError, match="the row 'EXP_S_01_vs_S_02' could be no pair"):
        parse_openai_batch_output(output, pairs=PAIRS[2:])


def test_what_is_no_output(tmp_path):
    with pytest.raises(StudyError, match="there is no such file"):
        parse_openai_batch_output(tmp_path / "nope.jsonl")
    (tmp_path / "x.jsonl").write_text('{"custom_id": "a"}\n{nope')
    with pytest.raises(StudyError, match=r"x.jsonl:2: not JSON"):
        parse_openai_batch_output(tmp_path / "x.jsonl")
