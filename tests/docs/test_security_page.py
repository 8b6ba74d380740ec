"""Every sentence of docs/security.md, and the tests that would fail if it were not so.

Whoever writes another sentence there says here what holds it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
PAGE = TESTS.parent / "docs" / "security.md"

# How a sentence begins, and the tests (file, name) that hold it; none for what promises nothing.
SENTENCES: dict[str, list[tuple[str, str]]] = {
    "Studies and run folders travel": [],
    "What follows is what each": [],
    "A study file may be": [],
    "Without a word from you": [],
    "send its rows to the providers' own": [
        ("consent/test_addresses.py", "test_the_usual_key_at_the_usual_address"),
        ("consent/test_addresses.py", "test_this_machine_and_the_users_environment_are_trusted"),
        ("consent/test_addresses.py", "test_own_hosts_are_whole_names"),
    ],
    "use the provider's usual key": [("consent/test_variables.py", "test_a_key_of_another_account_looks_like_one")],
    "read files in its own folder": [
        ("consent/test_files.py", "test_what_lies_in_the_folder_is_its_own"),
        ("consent/test_files.py", "test_hidden_means_below_the_root"),
    ],
    "It needs your consent": [],
    "any other address, with the key": [
        ("scenarios/test_strangers.py", "test_an_address_is_not_called_without_a_word"),
        ("consent/test_addresses.py", "test_an_address_that_only_the_study_names_needs_a_word"),
    ],
    "`--allow-host gateway.example`": [("consent/test_given.py", "test_a_host_may_be_typed_as_an_address")],
    "At Azure every customer": [("consent/test_addresses.py", "test_a_resource_at_azure_is_somebodys")],
    "`--allow-host lab.openai.azure.com`": [("consent/test_addresses.py", "test_a_resource_at_azure_is_somebodys")],
    "one provider's usual key at another": [
        ("consent/test_addresses.py", "test_one_vendors_key_is_not_for_another"),
        ("scenarios/test_strangers.py", "test_no_other_key_leads_out_without_a_word"),
    ],
    "a bucket that the study names": [
        ("consent/test_addresses.py", "test_a_bucket_that_the_study_names_needs_a_word"),
        ("consent/test_addresses.py", "test_a_bucket_at_amazon_needs_a_word_too"),
    ],
    "`--allow-host gs://bucket`": [("consent/test_addresses.py", "test_a_bucket_that_the_study_names_needs_a_word")],
    "whoever it would tell of": [("cli/test_notifying.py", "test_a_strangers_study_tells_nobody_without_a_word")],
    "`--allow-host hooks.example`": [("cli/test_notifying.py", "test_a_strangers_study_tells_nobody_without_a_word")],
    "That is remembered with the variable": [("cli/test_notifying.py", "test_a_word_is_kept_without_the_address")],
    "any file or folder outside": [
        ("scenarios/test_strangers.py", "test_no_file_outside_the_folder_is_read_without_a_word"),
        ("consent/test_files.py", "test_every_way_out_needs_a_word"),
    ],
    "`--allow-path DIR`": [
        ("scenarios/test_strangers.py", "test_a_word_for_a_path_is_remembered"),
        ("consent/test_files.py", "test_a_word_for_a_folder_is_good_for_what_lies_in_it"),
    ],
    "In a terminal you are asked": [
        ("cli/test_consenting.py", "test_the_user_is_asked_by_name"),
        ("consent/test_given.py", "test_a_question_is_asked_where_somebody_can_answer"),
        ("consent/test_given.py", "test_a_refusal_names_the_flag_and_the_line_of_python"),
    ],
    "In Python and notebooks": [("scenarios/test_strangers.py", "test_python_is_refused_with_the_line_that_allows")],
    "What you agree to is remembered": [
        ("scenarios/test_strangers.py", "test_a_word_by_name_is_remembered_for_the_user_and_not_in_the_run"),
        ("consent/test_given.py", "test_what_is_remembered_is_the_host_with_its_key"),
    ],
    "Remove a line there": [("consent/test_given.py", "test_what_was_allowed_is_kept_for_the_user_alone")],
    "Nothing allows these": [],
    "a key from a variable that holds another": [
        ("scenarios/test_strangers.py", "test_other_secrets_are_never_keys"),
        ("consent/test_variables.py", "test_other_secrets_do_not"),
    ],
    "If it does hold one": [],
    "a key, or an address from a variable": [
        ("consent/test_addresses.py", "test_no_key_travels_in_the_open"),
        ("hardening/test_bad_surroundings.py", "test_a_key_that_would_travel_unencrypted_stays_here"),
        ("cli/test_notifying.py", "test_a_strangers_study_tells_nobody_without_a_word"),
    ],
    "Use `https://`, or a tunnel": [],
    "What you type on the command line": [
        ("scenarios/test_strangers.py", "test_what_the_user_types_or_programs_is_a_word"),
        ("consent/test_addresses.py", "test_what_a_program_of_the_users_names_is_good_for_a_later_resume"),
    ],
    "`Study.load(path)` reads a file": [
        ("scenarios/test_strangers.py", "test_python_is_refused_with_the_line_that_allows")
    ],
    "It is read from the working folder": [("scenarios/test_strangers.py", "test_an_env_file_does_not_interpolate")],
    "It may set variables that look like keys": [
        ("consent/test_variables.py", "test_an_env_file_sets_keys_and_what_goes_with_them_only"),
        ("test_settings.py", "test_an_env_file_holds_no_setting"),
    ],
    "An address in it gets no key": [
        ("scenarios/test_strangers.py", "test_an_env_file_redirects_no_key_but_its_own"),
        ("consent/test_addresses.py", "test_an_env_file_sends_no_key_but_its_own"),
        ("consent/test_addresses.py", "test_to_name_the_users_credentials_does_not_make_them_the_env_files_own"),
    ],
    "`${NAME}` stands for itself": [("scenarios/test_strangers.py", "test_an_env_file_does_not_interpolate")],
    "Where runs are kept, whether": [("test_settings.py", "test_an_env_file_holds_no_setting")],
    "Everything else in it is passed over": [
        ("consent/test_variables.py", "test_an_env_file_sets_keys_and_what_goes_with_them_only"),
        ("consent/test_addresses.py", "test_an_env_file_names_no_other_store"),
    ],
    "`overnight resume`, `cancel` and the other verbs": [
        ("scenarios/test_strangers.py", "test_a_strangers_run_sends_nothing_anywhere"),
        ("scenarios/test_strangers.py", "test_a_strangers_folder_leads_nowhere_through_adopt"),
        ("cli/test_notifying.py", "test_a_strangers_run_tells_nobody_without_a_word"),
    ],
    "Its ledger can only name files": [
        ("scenarios/test_strange_folders.py", "test_no_path_leads_out"),
        ("scenarios/test_strange_folders.py", "test_no_link_is_written_through"),
        ("scenarios/test_strange_folders.py", "test_no_linked_folder_is_entered"),
        ("scenarios/test_strange_folders.py", "test_no_verb_reads_a_table_behind_a_link"),
        ("store/test_local.py", "test_what_is_strange_is_neither_read_nor_written"),
    ],
    "`overnight resume` may replace one": [
        ("scenarios/test_strange_folders.py", "test_a_linked_raw_file_is_replaced_by_the_providers")
    ],
    "The run's own folder may be a link": [
        ("scenarios/test_strange_folders.py", "test_a_folder_that_the_user_linked_is_the_users_own")
    ],
    "A provider, or a gateway on the way": [
        ("providers/wire/test_http.py", "test_the_key_goes_with_every_call_and_cookies_do_not"),
        ("providers/wire/test_redirects.py", "test_a_download_sent_to_another_origin_goes_without_the_key"),
        ("providers/wire/test_redirects.py", "test_no_other_call_follows_to_another_origin"),
        ("providers/wire/test_calls.py", "test_a_redirect_is_an_answer_and_the_key_stays_here"),
    ],
    "What comes back is only ever read": [("providers/test_total.py", "test_any_bytes")],
    "A key, an access token or a proxy's": [
        ("providers/reading/test_secrets.py", "test_every_spelling_is_found"),
        ("providers/reading/test_secrets.py", "test_a_reply_that_repeats_the_proxys_password_is_kept_without_it"),
        ("providers/reading/test_secrets.py", "test_a_token_that_was_made_anew_hides_the_one_before_too"),
        ("scenarios/test_echoes.py", "test_rows_that_repeat_the_key"),
        ("scenarios/test_echoes.py", "test_errors_that_repeat_the_key"),
    ],
    "Secrets of fewer than 12 characters": [
        ("providers/reading/test_secrets.py", "test_short_words_and_other_headers_are_left_alone")
    ],
    "Who answers at an `https` address": [
        ("providers/wire/test_routes.py", "test_a_stranger_is_sent_nothing"),
        ("providers/wire/test_routes.py", "test_a_certificate_of_another_name_is_none"),
        ("providers/wire/test_http.py", "test_a_failed_handshake_was_not_sent"),
    ],
    "An authority of your own": [
        ("providers/wire/test_routes.py", "test_an_authority_of_ones_own_is_believed_by_name"),
        ("providers/wire/test_routes.py", "test_a_folder_of_authorities_is_believed"),
        ("providers/wire/test_routes.py", "test_batches_believe_the_same_authorities"),
    ],
    "`SSL_CERT_FILE` takes the place": [("providers/wire/test_routes.py", "test_a_stranger_is_sent_nothing")],
    "`HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`": [
        ("providers/wire/test_headers.py", "test_the_environment_names_the_proxy"),
        ("providers/wire/test_routes.py", "test_a_tunnel_hides_all_but_the_place"),
    ],
    "Texts from anywhere": [
        ("cli/test_output.py", "test_no_text_steers_the_terminal"),
        ("cli/test_ending.py", "test_a_provider_cannot_steer_the_terminal"),
        ("hardening/test_strange_ids.py", "test_strange_ids_survive_the_whole_way"),
    ],
    "`--json` and files have them": [
        ("hardening/test_strange_ids.py", "test_strange_ids_survive_the_whole_way"),
    ],
    "| `runs/<name>/`": [("scenarios/test_strange_folders.py", "test_runs_are_for_their_owner_alone")],
    "| `runs/accounts.db`": [
        ("scenarios/test_strange_folders.py", "test_runs_are_for_their_owner_alone"),
        ("scenarios/test_breaker.py", "test_the_key_is_nowhere"),
    ],
    "| `runs/.rehearsal/`": [("scenarios/test_strange_folders.py", "test_runs_are_for_their_owner_alone")],
    "| `~/.config/overnight/allowed.json`": [
        ("consent/test_given.py", "test_what_was_allowed_is_kept_for_the_user_alone")
    ],
    "Keys are in none of them": [
        ("scenarios/test_breaker.py", "test_the_key_is_nowhere"),
        ("notifying/test_telling.py", "test_no_log_holds_an_address"),
        ("cli/test_notifying.py", "test_a_word_is_kept_without_the_address"),
    ],
    "The ledger has the names": [
        ("scenarios/test_sharing.py", "test_a_fingerprint_tells_keys_apart_in_its_own_run_only")
    ],
    "Zip the folder when nothing works on it": [
        ("scenarios/test_sharing.py", "test_whoever_gets_a_run_reads_it_and_checks_it")
    ],
    "It holds every item and every answer": [],
    "Paths in it are relative": [("scenarios/test_sharing.py", "test_whoever_gets_a_run_reads_it_and_checks_it")],
    "Whoever gets it can read": [
        ("scenarios/test_sharing.py", "test_whoever_gets_a_run_reads_it_and_checks_it"),
        ("scenarios/test_sharing.py", "test_whoever_gets_a_run_goes_on_with_a_key_of_their_own"),
    ],
    "A CSV that is meant for a spreadsheet": [
        ("cli/test_spreadsheets.py", "test_formulas_become_text_where_that_is_asked_for")
    ],
    "`overnight results RUN -o answers.csv": [
        ("cli/test_spreadsheets.py", "test_formulas_become_text_where_that_is_asked_for")
    ],
}


def sentences(text: str) -> Iterator[str]:
    for block in re.split(r"\n\s*\n|\n(?=- |\| )", text):
        line = " ".join(block.split())
        if line and not line.startswith("#") and not set(line) <= set("|- "):
            yield from re.split(r"(?<=[.;:])\s+(?=[A-Z`(])", line.removeprefix("- "))


def test_every_sentence_is_held() -> None:
    written = list(sentences(PAGE.read_text()))
    unknown = [one for one in written if not any(one.startswith(beginning) for beginning in SENTENCES)]
    gone = [beginning for beginning in SENTENCES if not any(one.startswith(beginning) for one in written)]
    assert (unknown, gone) == ([], [])


@cache
def names_in(file: str) -> set[str]:
    tree = ast.parse((TESTS / file).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@pytest.mark.parametrize(("file", "name"), sorted({held for every in SENTENCES.values() for held in every}))
def test_what_holds_it_is_there(file: str, name: str) -> None:
    assert name in names_in(file)
