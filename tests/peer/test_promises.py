"""Where each promise is shown: the 62 scenarios, what the specification promises beyond them, what peers get wrong.

Each line names tests of this repository; a test here fails when one of them is gone.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

PROMISES: dict[str, list[str]] = {
    "join the caller's transaction and roll back with it": [
        "host/test_joining.py::test_order_and_instance_commit_together",
        "host/test_joining.py::test_order_and_instance_are_rolled_back_together",
    ],
    "a read-only call is refused before any activity runs": [
        "host/test_joining.py::test_reading_only_refuses_before_any_activity_runs",
    ],
    "partitions are isolated in each query and operation": [
        "stores/test_instances.py::test_nothing_of_another_partition_is_seen",
        "stores/test_tasks.py::test_tasks_of_another_partition_are_not_seen",
        "stores/test_purge.py::test_partitions_are_purged_apart",
        "services/test_operations.py::test_an_instance_of_another_partition_is_not_there",
        "services/test_external_tasks.py::test_another_partition_sees_nothing",
        "services/test_definition_timers.py::test_names_and_partitions_have_timers_of_their_own",
        "services/test_calendars.py::test_a_partition_sees_its_own_calendars_only",
    ],
    "concurrent starts with one correlation id": [
        "services/test_many_threads.py::test_one_correlation_id_is_one_instance",
    ],
    "outcome is visible to a Decision after a labelled node": [
        "engine/runtime/test_edges.py::test_without_a_label_the_edges_see_the_outcome_that_was_there_before",
    ],
    "a default edge is only a fallback on Matched nodes": [
        "engine/runtime/test_edges.py::test_matched_takes_the_default_edges_only_when_nothing_else_holds",
        "engine/runtime/test_edges.py::test_matched_with_an_unconditional_edge_does_not_take_the_default",
    ],
    "expressions of 4001 characters and 65 levels": [
        "engine/expressions/test_limits.py::test_4000_characters_are_legal_and_4001_are_not",
        "engine/expressions/test_limits.py::test_64_levels_are_legal_and_the_65th_is_not",
    ],
    "cache overflow": [
        "engine/expressions/test_evaluator.py::test_the_cache_is_cleared_whole_when_full_and_keeps_no_failures"
    ],
    "instance timeout": [
        "services/test_instance_timeouts.py::test_a_suspended_instance_has_all_its_time_when_it_goes_on",
        "services/test_instance_timeouts.py::test_an_instance_that_ends_in_time_has_no_limit_left",
    ],
    "cron definition timer, disabling included": [
        "services/test_definition_timers.py::test_a_due_timer_starts_the_workflow_once_and_is_armed_again",
        "services/test_definition_timers.py::test_disabling_removes_the_timer_and_an_older_version_takes_over",
    ],
    "EventGateway: the first wins": [
        "engine/builtin/test_event_gateway.py::test_the_first_signal_wins_and_its_name_is_the_label",
        "engine/builtin/test_event_gateway.py::test_a_timer_wins_with_its_default_label",
    ],
    "external tasks: fetch, extend, expire": [
        "services/test_external_tasks.py::test_a_fetched_task_tells_all_that_a_worker_needs",
        "services/test_external_tasks.py::test_a_lock_is_extended_from_now_on_without_a_revision",
        "services/test_external_tasks.py::test_only_who_holds_the_lock_may_act",
    ],
    "claim, release, return, urge": [
        "services/test_task_sharing.py::test_a_group_task_is_claimable_until_somebody_has_it",
        "services/test_returns.py::test_a_direct_return_comes_straight_back",
        "services/test_task_sharing.py::test_a_delegates_advice_and_reminders_show",
    ],
    "migration: every error of the mapping": [
        "engine/runtime/test_migration.py::test_every_miss_is_named_at_once",
        "engine/runtime/test_migration.py::test_a_join_whose_arrivals_have_no_place_is_refused",
    ],
    "limits of a purge": ["services/test_operations.py::test_a_purge_has_its_limits"],
    "keywords with % _ [ \\ and of full width": [
        "stores/test_instances.py::test_keywords_are_literal",
        "stores/test_tasks.py::test_keywords_are_literal_and_lie_in_one_field",
        "stores/test_keywords.py::test_folding_is_by_character",
    ],
    "tie-breakers of sorts": [
        "stores/test_instances.py::test_default_order_is_newest_first_with_ties_by_sequence_and_id",
        "stores/test_bookmarks.py::test_bookmarks_are_oldest_first_with_ties_by_sequence",
    ],
    "an empty set of correlation ids": [
        "stores/test_instances.py::test_correlation_ids_are_compared_exactly_and_an_empty_set_matches_nothing",
    ],
    "takeover of a lease after its end, and a second release": [
        "stores/test_leases.py::test_an_expired_lease_is_taken_over",
        "stores/test_leases.py::test_a_takeover_needs_the_stamp_that_was_read",
    ],
    "two pollers": [
        "services/test_housekeeping.py::test_two_pollers_run_everything_once",
        "services/test_definition_timers.py::test_two_pollers_at_once_start_it_once",
    ],
    "a lease file of its own on SQLite": [
        "stores/test_database.py::test_the_lease_file_does_not_wait_for_the_disk_and_is_made_anew_when_damaged",
        "stores/test_database.py::test_a_busy_lease_file_is_not_taken_for_a_damaged_one",
    ],
    "whose timeout it is in all five combinations of Http": [
        "engine/builtin/test_http.py::test_the_time_is_over_and_the_client_raised",
        "engine/builtin/test_http.py::test_the_time_is_over_and_the_client_answered",
        "engine/builtin/test_http.py::test_the_time_is_over_and_the_caller_has_gone_too",
        "engine/builtin/test_http.py::test_only_the_caller_has_gone",
        "engine/builtin/test_http.py::test_the_client_gave_up_by_itself",
    ],
    "faults in the reader's language": [
        "web/api/test_instances.py::test_a_fault_is_told_in_the_readers_language_and_can_be_retried",
    ],
}
"""What the specification promises and version 4 had no test for (spec 20, 11.10)."""

MISTAKES: dict[str, list[str]] = {
    "a Join that hangs after a jump": [
        "engine/runtime/test_jumping.py::test_a_full_jump_into_one_branch_does_not_leave_the_join_waiting_for_the_other",
        "engine/runtime/test_jumping.py::test_a_branch_that_jumps_into_the_other_leaves_no_dead_branch",
    ],
    "a Join that fires early after a jump": [
        "engine/runtime/test_jumping.py::test_a_jump_from_one_branch_keeps_the_other_and_its_arrival",
        "engine/runtime/test_jumping.py::test_the_next_round_of_a_loop_waits_for_both_branches_again",
        "engine/runtime/test_migration.py::test_what_a_fired_join_will_swallow_makes_no_later_join_fire_early",
    ],
    "a Join that fires twice after a jump": [
        "engine/runtime/test_jumping.py::test_a_join_that_was_gone_round_swallows_what_comes_late",
        "simulation/test_operations.py::test_after_any_jump_completing_everything_ends_a_flow_of_blocks_exactly_once",
    ],
    "a migrated instance that starts over": [
        "engine/runtime/test_migration.py::test_a_migrated_instance_does_not_start_over",
        "simulation/test_operations.py::test_a_migration_at_any_moment_changes_nothing_but_names",
    ],
    "a bookmark removed while the instance was not saved": [
        "services/test_crash_points.py::test_struck_in_each_write_in_turn_it_ends_the_same",
    ],
    "a monthly timer that fires three times": [
        "services/test_definition_timers.py::test_a_monthly_timer_fires_once_a_month"
    ],
    "bursts that catch up": [
        "services/test_definition_timers.py::test_what_was_missed",
        "services/test_definition_timers.py::test_all_means_the_last_hundred_in_order",
    ],
    "schedules that depend on when they were deployed": [
        "services/test_definition_timers.py::test_publishing_arms_the_next_time_in_its_zone",
        "services/test_definition_timers.py::test_publishing_never_arms_a_time_that_was_dealt_with",
    ],
    "a fifteen-second schedule silent for an hour in autumn": [
        "services/test_definition_timers.py::test_a_fifteen_second_schedule_is_not_silent_in_autumn",
    ],
    "republishing the same content arms timers anew": [
        "services/test_definition_timers.py::test_publishing_the_same_schedule_again_leaves_the_timer_alone",
    ],
    "one working day taken as 24 working hours": [
        "services/test_calendars.py::test_one_working_day_is_no_24_working_hours"
    ],
    "losers of a race answered with 500": [
        "services/test_many_threads.py::test_on_one_task_one_wins",
        "web/api/test_tasks.py::test_twenty_at_once_make_one_decision",
    ],
    "reminders lost after a return": ["services/test_reminders.py::test_reminders_are_armed_again_by_a_return"],
    "ratio votes miscounted": [
        "engine/tasks/test_policies.py::test_exactly_so_many_approvals_are_enough",
        "engine/runtime/test_signers.py::test_a_ratio_without_a_usable_share_is_a_fault",
    ],
    "a return from a parallel branch that starts the other branch twice": [
        "engine/runtime/test_returning.py::test_a_return_inside_a_branch_does_not_start_the_other_branch_twice",
    ],
    "a payment made twice by retrying a parent": [
        "services/test_child_retries.py::test_a_payment_is_not_made_twice_by_retrying_the_parent",
    ],
}
"""What peers get wrong."""


@cache
def functions_of(file: str) -> frozenset[str]:
    """Return the names of a file's tests."""
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    return frozenset(one.name for one in tree.body if isinstance(one, ast.FunctionDef))


@pytest.mark.parametrize("promise", [*PROMISES, *MISTAKES])
def test_it_is_shown(promise: str) -> None:
    named = (PROMISES.get(promise) or MISTAKES[promise]).copy()
    missing = [one for one in named if one.partition("::")[2] not in functions_of(one.partition("::")[0])]
    assert named
    assert missing == []


def test_each_scenario_has_its_file() -> None:
    numbers = sorted(int(file.name.split("_")[1]) for file in Path(__file__).parent.glob("test_[0-9][0-9]_*.py"))
    assert numbers == list(range(1, 63))
