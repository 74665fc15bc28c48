"""What is promised, where the promise comes from, and the tests that hold it.

`S` is a case of the security reference, `T` an attack of the MCP reference, `R` a promise about reliability.
`tests/suites/test_requirements.py` fails when a case is missing, has no proof, or names a test that does not exist;
`scripts/security.py` writes the table of `docs/security.md`.
"""

from typing import NamedTuple


class Requirement(NamedTuple):
    """`tried` is the attack or the fault; `outcome` what happens; each proof is `file::test`, below `tests/`."""

    id: str
    tried: str
    outcome: str
    proofs: tuple[str, ...]


_BYPASS = "unit/permissions/test_shell_bypasses.py::"
_PATHS = "unit/permissions/test_paths.py::"
_POLICY = "unit/permissions/test_policy.py::"
_MODES = "unit/permissions/test_modes_table.py::"
_INJECT = "suites/attacks/test_injection.py::"
_PROC = "suites/attacks/test_processes.py::"
_IDE = "integration/ide/test_intruders.py::"
_WEB = "integration/web/test_guard.py::"
_PROXY = "integration/test_proxy_attacks.py::"
_TOOLS = "integration/mcp/test_tool_attacks.py::"
_ASKS = "integration/mcp/test_asking_attacks.py::"
_LOGIN = "integration/mcp/test_login_attacks.py::"
_TRUST = "unit/mcp/test_trust.py::"
_NONE = (_BYPASS + "test_no_bypass_passes_by_itself", _BYPASS + "test_no_nesting_of_a_bypass_passes")
_ASKED = "asked about or denied, never passed by a rule"


def _r(id: str, tried: str, outcome: str, *proofs: str) -> Requirement:
    return Requirement(id, tried, outcome, proofs)


SHELL = (
    _r("S01", "substitutions inside an allowed command", _ASKED, *_NONE),
    _r("S02", "separators, pipes, newlines, heredocs", _ASKED, *_NONE),
    _r("S03", "line continuations", _ASKED, *_NONE),
    _r("S04", "IFS, braces, ANSI-C quotes", _ASKED, *_NONE),
    _r("S05", "escaped flags", _ASKED, *_NONE),
    _r("S06", "variables before a command, bare assignments", _ASKED, *_NONE),
    _r(
        *("S07", "wrappers: env, sudo, xargs, timeout, eval, busybox and others", _ASKED),
        *(*_NONE, _BYPASS + "test_a_deny_rule_finds_its_program_wherever_it_hides"),
    ),
    _r(
        *("S08", "readers that execute or write", _ASKED),
        *(*_NONE, _BYPASS + "test_plain_reading_passes_without_a_rule"),
        "property/test_shell_execution.py::test_bash_starts_only_what_a_safe_line_was_read_as",
    ),
    _r("S09", "redirections to protected paths", _ASKED, *_NONE),
    _r("S10", "cd into a protected folder, then write", _ASKED, *_NONE),
    _r(
        "S11",
        "write a script, then run it",
        _ASKED,
        *_NONE,
        _INJECT + "test_orders_that_came_with_data_are_obeyed_by_the_model_and_stopped_by_policy",
    ),
    _r("S12", "tests with substitutions (zsh)", _ASKED, *_NONE),
    _r(
        *("S13", "quoted #, look-alikes, bidi and zero-width characters", "asked about; hidden characters are named"),
        *(*_NONE, "unit/web/test_weave.py::test_hidden_characters_are_named_in_what_is_asked"),
        "unit/terminal/test_text.py::test_escapes_and_overrides_of_a_terminal_are_taken_out",
    ),
    _r("S14", "input that cannot be parsed", _ASKED, *_NONE, _BYPASS + "test_any_text_is_judged_without_an_error"),
    _r("S15", "docker and podman sent to another daemon", _ASKED, *_NONE),
    _r(
        *("S16", "other spellings of a denied path", "denied"),
        _BYPASS + "test_no_spelling_of_a_denied_file_is_read_by_a_command",
        _PATHS + "test_a_deny_rule_holds_for_each_name_of_the_file",
    ),
)

PLACES = (
    _r(
        "S17",
        "a sibling with the same beginning",
        "outside",
        _PATHS + "test_a_sibling_with_the_same_beginning_is_outside",
    ),
    _r(
        *("S18", "symlinks, hard links, links swapped after the check", "judged and opened by what they really are"),
        _PATHS + "test_symlinks_are_resolved_whatever_part_of_the_path_they_are",
        _PATHS + "test_a_hard_link_is_edited_only_after_asking",
        _PATHS + "test_a_link_swapped_after_the_decision_is_refused_at_the_last_look",
        "unit/workspace/test_local.py::test_a_link_swapped_in_after_the_gate_looked_is_seen_at_the_open_file",
    ),
    _r(
        "S19",
        "rewinding through a symlink",
        "not followed",
        "unit/tools/test_checkpoints.py::test_a_link_put_in_the_way_is_not_followed",
    ),
    _r(
        *("S20", "other case, other normal form", "a deny rule still holds, an allow rule is not widened"),
        _PATHS + "test_case_and_normal_form_do_not_get_around_a_deny_rule",
        _PATHS + "test_case_and_normal_form_do_not_widen_an_allow_rule",
    ),
    _r(
        *("S21", "pipes, devices, /proc, sparse giants", "asked about, refused, never waited for"),
        _PATHS + "test_pipes_and_devices_are_asked_about",
        "unit/workspace/test_local.py::test_a_pipe_does_not_block_and_is_refused",
        "unit/workspace/test_local.py::test_devices_and_the_system_s_own_files_are_refused",
        "unit/workspace/test_local.py::test_a_sparse_giant_is_refused_before_it_is_read",
    ),
    _r(
        "S22",
        "Windows spellings",
        "not judged by their text",
        _PATHS + "test_windows_spellings_are_not_judged_by_their_text",
    ),
    _r(
        *("S23", "files outside, asked of an ACP host", "refused"),
        "suites/attacks/test_host_files.py::test_a_hosted_agent_reads_and_writes_only_inside",
        "unit/workspace/test_acp_workspace.py::test_a_file_outside_the_editors_folders_is_refused_also_behind_a_link",
    ),
    _r(
        "S24",
        "denied files in search results",
        "not found",
        "unit/tools/test_search.py::test_files_that_may_not_be_read_are_not_found",
    ),
    _r(
        *("S25", "writing files that steer programs, also missing ones", "never by a mode or a wide rule"),
        _PATHS + "test_files_that_steer_other_programs_are_never_written_by_a_mode_or_a_wide_rule",
        "conformance/sandbox/test_boxes.py::test_bubblewrap_keeps_steering_files_also_those_that_are_missing",
        _INJECT + "test_orders_that_came_with_data_are_obeyed_by_the_model_and_stopped_by_policy",
    ),
    _r(
        *("S26", "a hostile project before trust, also with -p", "nothing runs, nothing connects elsewhere"),
        _PROC + "test_nothing_of_a_hostile_folder_runs_or_connects_before_trust",
        _POLICY + "test_nothing_of_an_untrusted_project_takes_effect_but_what_restricts",
        "unit/hooks/test_runner.py::test_hooks_of_an_untrusted_project_do_not_count_and_it_cannot_switch_others_off",
    ),
    _r(
        *("S27", "git configuration, branch and file names with shell characters", "reach no shell"),
        _PROC + "test_names_and_values_of_a_repository_reach_no_shell",
        "unit/context/test_assemble.py::test_nothing_that_a_repository_configures_is_run",
    ),
    _r(
        "S28",
        "a project's .env",
        "is not read",
        _PROC + "test_nothing_of_a_hostile_folder_runs_or_connects_before_trust",
    ),
    _r(
        *("S29", "an MCP entry or a tool that changed after approval", "asked about again"),
        _TRUST + "test_t02_any_edit_after_approval_makes_it_void",
        _TOOLS + "test_t07_a_changed_definition_disables_the_tool_and_shows_the_difference",
    ),
)

ALGEBRA = (
    _r(
        *("S30", "allow rules, hooks, callbacks, rewritten input against a deny rule", "deny wins"),
        _POLICY + "test_deny_beats_ask_beats_allow_whatever_the_scopes",
        "contract/test_gate.py::test_a_deny_rule_wins_over_what_is_added_later",
        "unit/hooks/test_runner.py::test_the_strictest_verdict_wins_and_keeps_its_reason",
        "integration/test_hook_events.py::test_a_permission_hook_cannot_put_an_input_in_place_that_a_rule_denies",
        _MODES + "test_a_deny_rule_holds_in_every_mode",
    ),
    _r("S31", "loosening what policy says", "refused", _POLICY + "test_policy_beats_flags_and_cannot_be_loosened"),
    _r(
        *("S32", "a subagent with more rights than its parent", "has the parent's at most"),
        _POLICY + "test_a_subagent_is_never_allowed_what_its_parent_is_not",
        _INJECT + "test_a_subagent_is_held_by_the_rules_of_its_parent",
    ),
    _r("S33", "a skill that gives itself tools", "widens nothing", _INJECT + "test_a_skill_cannot_give_itself_tools"),
    _r(
        "S34",
        "bypass where policy disables it",
        "refused",
        _POLICY + "test_bypass_is_refused_where_settings_disable_it",
    ),
    _r(
        *("S35", "a corrupt settings file", "told with its place; everything is asked about, or refused for policy"),
        _POLICY + "test_a_broken_policy_refuses_everything_and_says_why",
        _POLICY + "test_a_broken_file_with_rules_asks_about_everything",
    ),
    _r(
        *("S36", "rules smuggled in names: commas, parentheses, newlines", "one string is one rule or none"),
        _POLICY + "test_one_string_is_one_rule_or_none",
        _POLICY + "test_a_name_of_any_kind_survives_as_one_specifier",
    ),
)

SERVERS = (
    _r(
        *("S37", "no token, a wrong one, one in the address, timing", "refused"),
        _IDE + "test_only_the_right_token_in_the_right_header_opens_the_socket",
        _WEB + "test_without_the_cookie_nothing_is_given",
        _WEB + "test_the_cookie_in_the_address_does_not_count",
        _PROXY + "test_no_token_a_wrong_one_and_one_in_the_address_are_refused",
        _PROXY + "test_the_time_of_a_refusal_does_not_tell_how_much_was_right",
        "unit/transports/test_websocket.py::test_a_wrong_token_never_reaches_the_handler",
    ),
    _r(
        *("S38", "a web page's Origin, null, look-alikes", "refused, also with the token"),
        _IDE + "test_a_web_page_is_refused_even_with_the_token",
        _WEB + "test_another_origin_gets_no_socket_even_with_the_cookie",
        _WEB + "test_a_frame_is_let_in_only_where_the_person_allowed_it",
        _WEB + "test_nobody_is_allowed_to_embed_by_a_word_that_lets_anybody_in",
        "e2e/web/test_frames.py::test_nobody_else_can_show_it_in_a_frame",
        _PROXY + "test_a_web_page_is_refused_even_with_the_nonce",
    ),
    _r(
        *("S39", "a name rebound to this machine", "refused"),
        _IDE + "test_a_rebound_name_is_refused",
        _WEB + "test_a_name_that_was_rebound_is_refused",
        _PROXY + "test_a_name_that_was_rebound_to_this_machine_is_refused",
    ),
    _r(
        *("S40", "other interfaces, lock files others can read or plant", "loopback only; private; links refused"),
        _IDE + "test_it_listens_on_the_loopback_only",
        _WEB + "test_it_listens_on_127_0_0_1_only_and_on_a_port_of_chance",
        "unit/ide/test_lock_files.py::test_a_lock_is_private_whole_and_removed_only_by_its_writer",
        "unit/ide/test_lock_files.py::test_a_symlinked_folder_is_refused_and_an_open_one_is_closed",
        "unit/ide/test_lock_files.py::test_a_port_that_another_user_listens_on_is_not_an_editor_of_ours",
    ),
    _r(
        *("S41", "giant, torn, deep, doubled and senseless frames; slow clients", "at most their own socket ends"),
        _IDE + "test_noise_ends_at_most_its_own_socket",
        _WEB + "test_nonsense_on_the_socket_is_answered_and_then_cut_off",
        _WEB + "test_a_frame_that_is_too_large_closes_only_that_socket",
        _WEB + "test_a_frame_that_is_not_masked_closes_the_socket",
        _WEB + "test_pieces_and_a_flood_of_pings_do_no_harm",
        _WEB + "test_a_head_that_does_not_come_whole_in_time_ends_its_connection",
        _PROXY + "test_slow_clients_are_left",
        _PROXY + "test_heads_and_bodies_that_are_too_large_are_refused",
        "unit/ide/test_host.py::test_an_id_that_is_in_use_is_refused_and_so_is_a_flood",
        "property/test_acp_untrusted.py::test_any_bytes_are_some_frame",
    ),
    _r(
        *("S42", "answering another session's question; an old nonce", "not counted; worthless"),
        _WEB + "test_an_answer_counts_only_in_the_conversation_that_asked",
        _IDE + "test_one_agent_cannot_answer_or_close_for_another",
        _PROXY + "test_a_nonce_is_worthless_when_its_child_ended_or_its_time_ran_out",
    ),
    _r(
        *("S43", "scripts in model text, output, names, resources", "nothing runs, nothing is fetched"),
        "unit/web/test_markdown.py::test_hostile_markdown_runs_nothing_and_fetches_nothing",
        _WEB + "test_every_answer_has_the_strict_policy",
        "e2e/web/test_pages.py::test_a_hostile_message_does_nothing",
    ),
    _r(
        "S44",
        "the real key behind the proxy",
        "in nothing that leaves",
        _PROXY + "test_the_real_key_is_in_nothing_that_leaves",
    ),
)

MCP = (
    _r(
        *("S45", "poisoned descriptions, shadowed and colliding names", "flagged and cleaned; names stay apart"),
        _TOOLS + "test_t06_hidden_characters_and_orders_in_a_description_are_flagged_and_taken_out",
        _TOOLS + "test_t10_names_that_become_equal_after_mapping_stay_apart",
    ),
    _r(
        *("S46", "noise on stdout, giant lines, silence, double answers", "left out, capped, failed with words"),
        _TOOLS + "test_t15_junk_on_stdout_is_left_out",
        _TOOLS + "test_t14_a_huge_line_fails_the_server_and_nothing_else",
        _TOOLS + "test_t15_a_server_that_dies_or_hangs_at_the_start_is_failed_with_its_words",
        _TOOLS + "test_t15_a_server_that_answers_twice_is_no_trouble",
    ),
    _r(
        "S47",
        "storms of list_changed",
        "few refreshes",
        _TOOLS + "test_t14_a_storm_of_notifications_becomes_few_refreshes",
    ),
    _r(
        *("S48", "forms that want secrets, addresses of other kinds", "marked; never shown"),
        _ASKS + "test_t27_a_form_that_wants_a_secret_is_marked",
        _ASKS + "test_t28_an_address_of_another_kind_is_never_shown",
    ),
    _r("S49", "loops of requests to the model", "stopped", _ASKS + "test_t26_a_loop_of_requests_is_stopped"),
    _r(
        *("S50", "logins: other issuer, redirects, shell characters, reuse", "refused; reach no shell"),
        _LOGIN + "test_t18_t19_a_login_that_does_not_add_up_is_refused",
        _LOGIN + "test_t24_shell_characters_in_an_address_reach_no_shell",
        _LOGIN + "test_t21_a_token_never_leaves_its_server",
    ),
    _r("S51", "events and lists without end", "cut", _TOOLS + "test_t14_a_list_without_end_is_cut"),
    _r(
        *("S52", "resources that lead elsewhere", "named, never fetched"),
        _TOOLS + "test_t12_links_in_a_result_are_named_and_never_fetched",
        _ASKS + "test_t29_roots_are_the_granted_folders_as_they_really_are",
    ),
)

ORDERS = (
    _r(
        *("S53", "orders in files, output, searches and memory, with a model that obeys", "policy stops every one"),
        _INJECT + "test_orders_that_came_with_data_are_obeyed_by_the_model_and_stopped_by_policy",
    ),
    _r(
        "S54",
        "pictures and links that carry data out",
        "not fetched",
        "unit/web/test_markdown.py::test_hostile_markdown_runs_nothing_and_fetches_nothing",
        "e2e/web/test_pages.py::test_a_hostile_message_does_nothing",
    ),
    _r(
        *("S55", "curl, ping, name lookups", "no network in the box; asked about without"),
        "conformance/sandbox/test_boxes.py::test_there_is_no_network_unless_it_is_allowed",
        _INJECT + "test_orders_that_came_with_data_are_obeyed_by_the_model_and_stopped_by_policy",
    ),
    _r(
        *(
            "S56",
            "hosts by suffix, prefix, IDN, userinfo, redirect, rebinding",
            "compared by labels; judged where used",
        ),
        _POLICY + "test_domains_are_compared_label_by_label",
        "unit/tools/test_web.py::test_the_address_that_was_judged_is_the_one_that_is_used",
        "unit/tools/test_web.py::test_a_redirect_within_the_host_is_followed_and_one_elsewhere_is_told",
    ),
    _r(
        *("S57", "secrets in logs and transcripts", "not there"),
        _PROC + "test_a_key_is_in_no_log_line_and_in_no_transcript",
        _IDE + "test_the_token_is_in_no_log_line",
    ),
    _r(
        "S58",
        "a model that rewrites its memory",
        "asked about",
        _INJECT + "test_a_memory_file_of_the_project_is_not_rewritten_unasked",
    ),
)

LASTING = (
    _r(
        *(
            "S59",
            "kills at every write, torn lines, two writers, full disk, no home, clock back",
            "what was confirmed is there",
        ),
        "suites/crash/test_kills.py::test_no_confirmed_record_is_lost_by_kills_one_after_another",
        "suites/crash/test_kills.py::test_a_log_cut_at_every_byte_of_its_last_records_resumes",
        "suites/crash/test_kills.py::test_a_file_that_is_replaced_is_always_whole",
        "suites/crash/test_places.py::test_two_writers_of_one_session_keep_every_line",
        "suites/crash/test_places.py::test_a_disk_that_fills_up_is_told_and_what_was_written_is_readable",
        "suites/crash/test_places.py::test_a_home_that_cannot_be_written_is_told",
        "suites/crash/test_places.py::test_a_clock_that_goes_back_loses_no_order",
        "property/test_session_log.py::test_any_cut_of_the_file_is_a_prefix_of_its_records",
    ),
    _r(
        *("S60", "SIGKILL of the parent", "no child is left"),
        _PROC + "test_a_kill_of_weft_leaves_no_command_behind",
        _PROC + "test_a_kill_of_the_host_ends_the_agents_and_servers_it_started",
        "integration/mcp/test_start_up.py::test_sigkill_of_the_agent_leaves_no_server_behind",
        "unit/transports/test_process.py::test_nothing_is_left_when_we_are_killed_ourselves",
    ),
    _r(
        "S61",
        "a compaction that does not shrink",
        "given up",
        "unit/sessions/test_compaction.py::test_a_compaction_that_does_not_shrink_is_given_up",
    ),
    _r("S62", "asking with nobody there", "refused at once", _PROC + "test_asking_with_nobody_there_ends_soon"),
)

ATTACKS = (
    _r(
        "T01",
        "a server in a cloned project",
        "waits, shown whole",
        _TRUST + "test_t01_a_cloned_projects_server_waits_and_is_shown_whole",
        _TRUST + "test_t01_the_host_never_starts_it",
    ),
    _r(
        "T02",
        "an entry edited after approval",
        "approval is void",
        _TRUST + "test_t02_any_edit_after_approval_makes_it_void",
    ),
    _r(
        "T03",
        "a repository that approves itself",
        "ignored",
        _TRUST + "test_t03_settings_in_the_repository_approve_nothing",
    ),
    _r(
        "T04",
        "no person there",
        "only an explicit flag starts it",
        _TRUST + "test_t04_without_a_person_only_an_explicit_flag_starts_it",
    ),
    _r(
        "T05",
        "a secret sent to a foreign host",
        "named and confirmed",
        _TRUST + "test_t05_a_secret_that_would_go_to_a_foreign_host_is_named",
    ),
    _r(
        "T06",
        "hidden characters and orders in a description",
        "flagged, taken out",
        _TOOLS + "test_t06_hidden_characters_and_orders_in_a_description_are_flagged_and_taken_out",
    ),
    _r(
        "T07",
        "a tool that changes later",
        "disabled, difference shown",
        _TOOLS + "test_t07_a_changed_definition_disables_the_tool_and_shows_the_difference",
        _TOOLS + "test_t07_a_change_across_a_reconnect_is_seen_too",
    ),
    _r(
        "T08",
        "always-allow after a change",
        "void",
        _TOOLS + "test_t08_a_changed_tool_voids_what_was_always_allowed_until_a_person_says_so_again",
    ),
    _r(
        "T09",
        "a read-only hint that flips",
        "allows nothing",
        _TOOLS + "test_t09_a_hint_that_flips_is_a_change_of_the_definition",
    ),
    _r(
        "T10",
        "tools of the same name or look",
        "never share one",
        _TOOLS + "test_t10_tools_of_the_same_name_or_look_never_share_one",
    ),
    _r("T11", "orders in a result", "marked as data", _TOOLS + "test_t11_orders_in_a_result_are_marked_as_data"),
    _r("T12", "links in a result", "never fetched", _TOOLS + "test_t12_links_in_a_result_are_named_and_never_fetched"),
    _r("T13", "one malformed tool", "the others stay", _TOOLS + "test_t13_one_malformed_tool_leaves_the_others"),
    _r(
        "T14",
        "floods and bombs",
        "capped, server failed",
        _TOOLS + "test_t14_a_flood_of_tools_is_cut",
        _TOOLS + "test_t14_a_schema_bomb_costs_nothing",
        _TOOLS + "test_t14_a_huge_line_fails_the_server_and_nothing_else",
    ),
    _r(
        "T15",
        "junk, death, hanging",
        "an error, a restart",
        _TOOLS + "test_t15_death_in_mid_call_is_an_error_for_the_model_and_the_server_comes_back",
        _TOOLS + "test_t15_a_hanging_call_ends_at_its_limit_and_can_be_cancelled",
    ),
    _r(
        "T16",
        "children left, keys leaked",
        "ended; masked",
        _TOOLS + "test_t16_children_of_a_server_end_with_the_host",
        _TOOLS + "test_t16_keys_do_not_reach_servers_and_their_stderr_is_masked",
    ),
    _r(
        "T17",
        "metadata at internal addresses",
        "not fetched",
        _LOGIN + "test_t17_addresses_are_judged_by_what_they_are",
        _LOGIN + "test_t17_a_name_is_connected_to_by_the_address_that_was_checked",
    ),
    _r("T18", "no PKCE", "refused", _LOGIN + "test_t18_t19_a_login_that_does_not_add_up_is_refused"),
    _r(
        "T19",
        "state, issuer or resource that differ",
        "refused",
        _LOGIN + "test_t18_t19_a_login_that_does_not_add_up_is_refused",
    ),
    _r(
        "T20",
        "another authorization server",
        "another registration",
        _LOGIN + "test_t20_another_authorization_server_means_another_registration",
    ),
    _r("T21", "a token sent elsewhere", "never", _LOGIN + "test_t21_a_token_never_leaves_its_server"),
    _r("T22", "a loop of scopes", "stopped", _LOGIN + "test_t22_a_server_that_always_wants_more_is_stopped"),
    _r(
        "T23",
        "the callback server",
        "one request, nothing raw",
        _LOGIN + "test_t23_the_callback_takes_one_request_for_us_and_shows_nothing_raw",
    ),
    _r(
        "T24",
        "addresses of other kinds, shell characters",
        "rejected, no shell",
        _LOGIN + "test_t24_only_web_addresses_are_opened",
        _LOGIN + "test_t24_shell_characters_in_an_address_reach_no_shell",
    ),
    _r(
        "T25",
        "a confused deputy",
        "consent names server and rights",
        _LOGIN + "test_t25_a_login_names_the_server_and_its_rights_and_is_kept_for_the_person_alone",
    ),
    _r(
        "T26",
        "requests to the model",
        "consent, caps, alone",
        _ASKS + "test_t26_a_servers_request_to_the_model_is_shown_capped_and_alone",
        _ASKS + "test_t26_tools_in_a_request_are_only_told_of",
    ),
    _r("T27", "a form for a password", "warned of", _ASKS + "test_t27_a_form_that_wants_a_secret_is_marked"),
    _r(
        "T28",
        "an odd address",
        "shown whole, warned of",
        _ASKS + "test_t28_an_odd_address_is_shown_whole_with_its_warning",
    ),
    _r("T29", "roots", "granted folders only", _ASKS + "test_t29_roots_are_the_granted_folders_as_they_really_are"),
    _r(
        "T30",
        "our own servers",
        "token, Host, Origin",
        "integration/mcp/test_serve.py::test_t30_over_http_it_wants_its_token_its_own_name_and_no_web_page",
    ),
    _r(
        "T31",
        "pages of apps",
        "no rights, own server only",
        "unit/mcp/test_apps.py::test_t31_the_frame_has_no_origin_of_ours_and_cannot_move_the_page",
        "integration/mcp/test_session.py::test_t31_a_call_of_an_apps_page_goes_through_the_gate_and_only_to_tools_for_apps",
        "e2e/web/test_apps.py::test_t31_an_app_is_shown_and_told_its_result_and_reaches_nothing_else",
    ),
    _r(
        "T32",
        "a skill with another digest",
        "not used",
        "unit/mcp/test_skills.py::test_t32_another_size_or_digest_is_not_used",
    ),
)

RELIABILITY = (
    _r(
        "R01",
        "any fault of the model, by seed",
        "every turn ends with a reason, the next works",
        "suites/faults/test_turns.py::test_every_turn_ends_with_a_reason_and_the_next_one_works",
    ),
    _r(
        "R02",
        "a cancel at any moment",
        "the turn ends, the next works",
        "suites/faults/test_turns.py::test_a_cancel_at_any_moment_ends_the_turn_and_the_next_one_works",
        "contract/test_tool_cancel.py::test_a_call_cancelled_wherever_it_waits_leaves_nothing_half_done",
    ),
    _r(
        "R03",
        "faults between us and the model",
        "every turn ends",
        "conformance/wires/test_wires.py::test_between_us_and_the_model",
    ),
    _r(
        "R04",
        "faults between a host and its agent",
        "the turn ends, the next agent works",
        "conformance/wires/test_wires.py::test_between_a_host_and_its_agent",
    ),
    _r(
        "R05",
        "a damaged log",
        "mended without losing a record",
        "suites/crash/test_kills.py::test_repair_keeps_every_record_that_can_be_read",
        "suites/crash/test_places.py::test_doctor_mends_a_damaged_log",
    ),
    _r(
        "R06",
        "the same call or text again and again",
        "stopped with a reason",
        "integration/test_turns.py::test_the_same_call_again_and_again_is_stopped",
        "suites/faults/test_spirals.py::test_the_same_words_before_ever_new_calls_are_stopped",
    ),
    _r(
        *("R07", "agents that start agents on one budget", "one account, asked before each call"),
        "suites/faults/test_spirals.py::test_a_budget_is_one_account_with_subagents_and_is_asked_before_each_call",
    ),
    _r(
        *("R08", "mutated input for every parser and protocol core", "only the documented errors"),
        "suites/faults/test_cores.py::test_no_mutation_raises_anything_else",
    ),
)

REQUIREMENTS = (*SHELL, *PLACES, *ALGEBRA, *SERVERS, *MCP, *ORDERS, *LASTING, *ATTACKS, *RELIABILITY)
