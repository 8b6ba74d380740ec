"""What SpecEval got wrong, and the test that would fail if we did the same.

Whoever changes one of these tests, or takes it away, finds here what it stands for.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]

# What SpecEval does, and the tests (file, name) that it would fail.
DEFECTS: dict[str, list[tuple[str, str]]] = {
    # Google batches, which its page marks as broken.
    "google: requests carry no key, so that results cannot be joined": [
        ("scenarios/test_google.py", "test_shuffled_answers_find_their_questions"),
        ("scenarios/test_google.py", "test_a_line_without_a_key_is_loud_and_was_paid_for"),
    ],
    "google: results of the generation pipeline end in a KeyError, and nothing is saved": [
        ("speceval/test_pipelines.py", "test_answers_of_every_vendor"),
    ],
    "google: the first output under a shared prefix is read, which is another job's": [
        ("providers/vertex/test_connection.py", "test_two_jobs_with_one_output_prefix_do_not_read_each_others_files"),
        ("providers/vertex/test_connection.py", "test_every_shard_of_a_jobs_own_folder_is_read"),
        ("scenarios/test_google.py", "test_two_runs_share_their_buckets_and_nothing_else"),
    ],
    "google: answers are matched to prompts that are much alike, or differ in spaces": [
        ("scenarios/test_google.py", "test_prompts_that_are_nearly_alike_are_not_mistaken_for_each_other"),
    ],
    "google: ids of batches have slashes, and files named by them cannot be written": [
        ("scenarios/test_google.py", "test_a_batch_whose_id_is_a_path_is_adopted_and_found"),
        ("providers/vertex/test_connection.py", "test_ids_of_another_project_are_used_as_they_are"),
        ("speceval/test_models.py", "test_sent_kept_as_json_and_collected"),
        ("speceval/test_pipelines.py", "test_answers_of_every_vendor"),
        ("tasks/test_speceval_flags.py", "test_names_are_safe_as_files"),
    ],
    "google: states it does not know are polled for ever": [
        ("providers/vertex/test_connection.py", "test_every_state_ends_or_goes_on"),
        ("providers/gemini/test_connection.py", "test_states_in_both_spellings"),
        ("scenarios/test_google.py", "test_an_expired_gemini_batch_ends_and_all_its_rows_are_asked_again"),
        ("scenarios/test_google.py", "test_an_expired_vertex_job_gives_up_what_it_finished"),
    ],
    # Specifications.
    "bad lines are skipped, a word it does not know becomes a guideline, and an id that is missing an empty one": [
        ("tasks/test_spec.py", "test_what_is_wrong_with_a_statement_is_told_with_its_line"),
    ],
    # Everywhere.
    "names are sorted and folders are not: answers are credited to the wrong model": [
        ("tasks/test_candidates.py", "test_names_go_with_their_folders_whatever_their_order"),
        ("speceval/test_folders.py", "test_folders_of_speceval_and_of_its_together_script_are_ranked_and_judged"),
        ("speceval/test_pipelines.py", "test_rankings_and_compliance"),
    ],
    "a result file is opened anew for each batch: a statement in two batches keeps the last": [
        ("speceval/test_pipelines.py", "test_answers_of_every_vendor"),
        ("speceval/test_folders.py", "test_folders_of_speceval_and_of_its_together_script_are_ranked_and_judged"),
        ("speceval/test_folders.py", "test_answers_that_we_write_are_read_as_speceval_s_are_and_judged_again"),
        ("docs/test_from_speceval.py", "test_what_we_write_a_reader_of_the_format_can_read"),
    ],
    "an errored row of Anthropic drops every row after it": [
        ("providers/anthropic/test_rows.py", "test_errors_have_their_causes"),
        ("scenarios/test_anthropic_verbs.py", "test_rows_that_fail_or_expire_are_asked_again"),
        ("speceval/test_models.py", "test_a_row_that_fails_keeps_its_place_and_moves_no_other"),
    ],
    "what is missing, failed or unreadable is a tie, or not compliant": [
        ("tasks/test_spec_tables.py", "test_what_was_not_read_is_counted_and_is_no_verdict"),
        ("tasks/test_spec_tables.py", "test_matches_count_every_verdict_once_for_each_side"),
        ("tasks/test_spec_tables_by_hand.py", "test_strengths_and_the_place_that_sways"),
        ("tasks/test_spec_tables_by_hand.py", "test_wins_losses_and_what_holds_in_both_orders"),
        ("tasks/test_spec_tables_by_hand.py", "test_how_often_the_longer_answer_wins"),
        ("tasks/test_spec_tables_by_hand.py", "test_judges_of_pairs_are_compared_question_by_question"),
        (
            "tasks/test_spec_tables_by_hand.py",
            "test_what_a_judge_has_not_said_is_on_neither_side_of_its_bias_and_no_agreement",
        ),
        ("tasks/test_spec_tables_by_hand.py", "test_a_pair_that_a_judge_has_not_decided_gives_nobody_half_a_point"),
        ("tasks/test_judged_form.py", "test_compliance_is_read_strictly"),
        ("tasks/test_judged_form.py", "test_grades_are_read_strictly"),
        ("tasks/test_rank.py", "test_no_tie_is_invented"),
        ("tasks/test_rank.py", "test_no_tie_is_invented_where_answers_are_held_to_a_schema"),
        ("tasks/test_rank.py", "test_other_words_for_not_being_able_to_tell_are_no_tie_and_not_unreadable"),
        ("speceval/test_pipelines.py", "test_names_of_any_kind_keep_their_verdicts_apart"),
        ("speceval/test_pipelines.py", "test_a_judge_that_did_not_answer_is_told_from_one_that_cannot_tell"),
        ("tasks/test_rank.py", "test_a_failed_row_has_no_verdict_and_was_not_unreadable"),
        ("scenarios/test_spec.py", "test_what_fails_is_never_judged_and_what_cannot_be_read_is_asked_again"),
    ],
    "ERROR, Error during generation and EXPIRED are stored as outputs, and judged later": [
        ("tasks/test_candidates.py", "test_what_is_no_answer_is_never_judged_but_counted"),
        ("tasks/test_rank.py", "test_an_empty_answer_is_never_held_to_a_statement"),
        ("speceval/test_folders.py", "test_folders_of_speceval_and_of_its_together_script_are_ranked_and_judged"),
        ("speceval/test_folders.py", "test_answers_that_we_write_are_read_as_speceval_s_are_and_judged_again"),
    ],
    "nothing is taken up again: batches are known to one process only, and Ctrl-C means paying twice": [
        ("speceval/test_models.py", "test_another_process_takes_it_up"),
        ("speceval/test_models.py", "test_a_killed_process_leaves_nothing_to_be_paid_again"),
        ("speceval/test_pipelines.py", "test_a_killed_program_goes_on"),
        ("speceval/test_pipelines.py", "test_stopped_by_the_user_and_begun_again"),
        ("speceval/test_pipelines.py", "test_it_is_the_run_of_the_command"),
        ("speceval/test_pipelines.py", "test_submitted_here_and_collected_there"),
        ("scenarios/test_spec.py", "test_killed_and_resumed_the_planted_truth_is_recovered"),
        ("scenarios/test_passes.py", "test_what_one_process_has_sent_another_takes_up"),
    ],
    "a download that fails drops its batch": [
        ("scenarios/test_arrivals.py", "test_a_download_cut_at_sixty_percent_is_taken_again"),
        ("speceval/test_models.py", "test_downloads_that_fail_drop_no_batch"),
        ("speceval/test_models.py", "test_a_provider_that_is_away_is_unknown_and_nothing_is_lost"),
    ],
    "openai: a line whose error is null ends the reading": [
        ("providers/openai_api/test_rows.py", "test_chat_answers"),
        ("providers/openai_api/test_rows.py", "test_answers_that_are_none"),
    ],
    "openai: a batch that completes with an error file only is a ValueError": [
        ("scenarios/test_arrivals.py", "test_a_batch_of_errors_only_has_its_rows_and_their_reasons"),
        ("speceval/test_models.py", "test_a_batch_of_nothing_but_failures_has_failed"),
    ],
    "openai: what an expired batch has finished is lost": [
        ("scenarios/test_arrivals.py", "test_an_expired_batch_gives_up_what_it_finished"),
        ("scenarios/test_passes.py", "test_what_an_expired_batch_has_finished_is_collected"),
    ],
    "openai: the reason at response.body.error is not read": [
        ("scenarios/test_arrivals.py", "test_a_batch_of_errors_only_has_its_rows_and_their_reasons"),
        ("providers/openai_api/test_rows.py", "test_http_failures_have_causes"),
    ],
    "a part that could not be submitted is only logged": [
        ("scenarios/test_submission.py", "test_a_server_error_on_create_is_looked_into"),
    ],
    "a result that is None ends the compliance script": [
        ("speceval/test_models.py", "test_what_has_not_come_yet_is_none"),
        ("tasks/test_candidates.py", "test_what_is_no_answer_is_never_judged_but_counted"),
        ("tasks/test_rank.py", "test_a_judge_that_says_nothing_has_no_verdict"),
        ("tasks/test_rank.py", "test_a_judge_of_two_answers_that_says_nothing_has_no_verdict"),
    ],
    "doubled braces reach the judge, and N/A is offered in one place of two": [
        ("tasks/test_judged_form.py", "test_braces_reach_the_judge_as_they_are_meant"),
        ("tasks/test_judged_form.py", "test_what_is_asked_for_is_what_is_read"),
        ("tasks/test_rank.py", "test_a_judge_may_say_that_it_cannot_tell"),
        ("tasks/test_rank.py", "test_all_that_a_judge_is_offered_is_read"),
    ],
    "the pattern that reads verdicts is too strict": [
        ("tasks/test_judged_form.py", "test_compliance_is_read_strictly"),
        ("tasks/test_judged_form.py", "test_reading_is_total"),
        ("tasks/test_answer_form.py", "test_tags"),
    ],
    "together: models that think fail, 429 is not asked again, qps is a number of calls at once": [
        ("speceval/test_pipelines.py", "test_a_model_that_thinks_aloud_at_together"),
        ("providers/openai_api/test_lookalike.py", "test_thoughts_in_tags_are_no_part_of_the_answer"),
        ("scenarios/test_live.py", "test_every_row_is_answered_in_the_end"),
        ("tasks/test_speceval_flags.py", "test_together_is_live_with_so_many_calls_at_once"),
        ("speceval/test_models.py", "test_calls_in_a_second_are_a_rate_and_no_number_of_calls_at_once"),
    ],
    "together: results are saved at the end only": [
        ("speceval/test_models.py", "test_a_killed_process_that_asks_call_by_call_goes_on"),
        ("scenarios/test_passes.py", "test_answers_of_calls_are_on_record_when_the_process_dies"),
    ],
    "keys of the config are ignored": [
        ("tasks/test_speceval_flags.py", "test_every_key_of_a_config_is_used"),
        ("tasks/test_speceval_flags.py", "test_another_value_of_a_key_is_another_study"),
        ("tasks/test_speceval_flags.py", "test_a_key_in_a_config_is_used_and_kept_nowhere"),
        ("tasks/test_speceval_flags.py", "test_keys_that_are_typed_are_used_and_kept_nowhere"),
        ("speceval/test_configs.py", "test_every_key_does_what_it_says"),
    ],
    "folders are split at x, and a verdict of None is negated": [
        ("speceval/test_pipelines.py", "test_names_of_any_kind_keep_their_verdicts_apart"),
        ("tasks/test_candidates.py", "test_odd_names_reach_the_address_and_come_back"),
        (
            "tasks/test_candidates.py",
            "test_a_file_bears_its_statement_s_name_however_the_letters_are_put_together",
        ),
        ("tasks/test_spec.py", "test_inputs_bear_their_statement_s_name_however_the_letters_are_put_together"),
        ("speceval/test_pipelines.py", "test_statements_that_would_share_a_file_are_told_and_none_is_written_over"),
        ("tasks/test_speceval_flags.py", "test_a_file_may_bear_an_id_whose_marks_no_name_can_have"),
        ("tasks/test_speceval_flags.py", "test_files_that_would_have_one_name_are_told_apart"),
        ("speceval/test_folders.py", "test_folders_of_speceval_and_of_its_together_script_are_ranked_and_judged"),
    ],
    "names of models are of a closed list": [
        ("tasks/test_speceval_flags.py", "test_models_go_to_their_owners"),
        ("speceval/test_models.py", "test_a_new_model_that_looks_mistyped"),
        ("tasks/test_candidates.py", "test_a_candidate_is_called_by_the_nearest_folder_that_names_it"),
    ],
    "usage and cost are not kept, settings are ignored, and inputs are in no order": [
        ("providers/openai_api/test_rows.py", "test_chat_answers"),
        ("providers/google_api/test_rows.py", "test_what_is_billed_is_what_is_priced"),
        ("speceval/test_models.py", "test_what_is_set_is_sent"),
        ("providers/anthropic/test_rows.py", "test_an_answer_with_everything_that_was_read_as_input"),
        ("scenarios/test_bill.py", "test_the_bill_is_known"),
        ("scenarios/test_bill.py", "test_what_nobody_bills_is_presumed"),
        ("speceval/test_folders.py", "test_answers_that_we_write_are_read_as_speceval_s_are_and_judged_again"),
        ("tasks/test_spec.py", "test_every_input_is_an_item_that_carries_its_statement"),
        ("docs/test_from_speceval.py", "test_what_we_write_a_reader_of_the_format_can_read"),
    ],
    "the place of an answer sways a judge, and nothing is done about it": [
        ("tasks/test_rank.py", "test_every_two_candidates_are_shown_in_both_orders"),
        ("tasks/test_spec_tables_by_hand.py", "test_strengths_and_the_place_that_sways"),
        ("tasks/test_spec_tables_by_hand.py", "test_consistency_and_bias_of_the_place"),
        ("scenarios/test_spec.py", "test_killed_and_resumed_the_planted_truth_is_recovered"),
    ],
}


@pytest.mark.parametrize(
    ("file", "name"), sorted({place for places in DEFECTS.values() for place in places}), ids=lambda part: part
)
def test_the_test_that_is_named_is_there(file: str, name: str) -> None:
    tree = ast.parse((TESTS / file).read_text())
    assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
