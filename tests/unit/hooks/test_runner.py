"""Hooks: commands with JSON on standard input, exit codes and JSON output; functions; failures that stay outside."""

import json
from pathlib import Path

import anyio
import pytest

from weft.hooks.config import matches
from weft.hooks.outcome import fold
from weft.hooks.port import HookEvent, Verdict
from weft.hooks.runner import HookRunner, open_hooks
from weft.schema.content import Json
from weft.schema.events import AgentEvent, HookRan, Notice, Reported
from weft.settings import load_settings

EVENTS: list[AgentEvent] = []


def runs() -> list[HookRan]:
    reports = [event.report for event in EVENTS if isinstance(event, Reported)]
    return [report for report in reports if isinstance(report, HookRan)]


def runner(tmp_path: Path, hooks: object, **more: object) -> HookRunner:
    EVENTS.clear()
    settings = load_settings(tmp_path, flag=json.dumps({"hooks": hooks}), policy_files=())
    return open_hooks(settings, emit=EVENTS.append, cwd=str(tmp_path), **more)  # type: ignore[arg-type]


def command(line: str, *, event: str = "PreToolUse", matcher: str = "*", timeout: float = 5) -> Json:
    return {event: [{"matcher": matcher, "hooks": [{"type": "command", "command": line, "timeout": timeout}]}]}


async def run(hooks: HookRunner, event: HookEvent = "PreToolUse", subject: str = "Bash") -> Verdict:
    with anyio.fail_after(30):
        return await hooks.run(event, {"tool_name": subject, "n": 1}, subject=subject, tool_use_id="t1")


async def test_a_command_gets_the_input_and_the_project_and_its_output_counts(tmp_path: Path) -> None:
    line = (
        'read -r input; printf \'{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow",'
        '"permissionDecisionReason":"%s","updatedInput":{"a":1},"additionalContext":"c"},"systemMessage":"m"}\' '
        '"$CLAUDE_PROJECT_DIR"; echo "$input" > seen.json'
    )
    verdict = await run(runner(tmp_path, command(line)))
    assert verdict == Verdict(permission="allow", reason=str(tmp_path), input={"a": 1}, context=("c",), messages=("m",))
    assert json.loads((tmp_path / "seen.json").read_text()) == {"tool_name": "Bash", "n": 1}
    assert [ran.outcome for ran in runs()] == ["", "ok"]


async def test_exit_code_2_blocks_with_standard_error_as_the_reason(tmp_path: Path) -> None:
    verdict = await run(runner(tmp_path, command("echo no >&2; exit 2")))
    assert verdict.block and verdict.permission == "deny"
    assert verdict.reason == "[echo no >&2; exit 2]: no"
    assert runs()[-1].outcome == "blocked"


@pytest.mark.parametrize("line", ["exit 1", "kill -9 $$", "no-such-program-here", "echo '{not json'", "echo '[1]'"])
async def test_other_failures_and_nonsense_say_nothing(line: str, tmp_path: Path) -> None:
    assert await run(runner(tmp_path, command(line))) == Verdict()


async def test_a_hook_that_hangs_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    hooks = runner(tmp_path, command("sleep 1000 & echo $! > pid; wait", timeout=0.3))
    assert await run(hooks) == Verdict()
    assert any(isinstance(event, Notice) and event.tag == "hook_no_verdict" for event in EVENTS)
    pid = int((tmp_path / "pid").read_text())
    with anyio.fail_after(30):
        while _runs(pid):
            await anyio.sleep(0.01)


def _runs(pid: int) -> bool:
    try:
        return ") Z" not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


async def test_a_flood_of_output_is_cut_and_does_not_block(tmp_path: Path) -> None:
    await run(runner(tmp_path, command("head -c 5000000 /dev/zero")))
    assert len(runs()[-1].stdout) == 1 << 20


async def test_a_hook_that_does_not_read_its_input_is_no_error(tmp_path: Path) -> None:
    hooks = runner(tmp_path, command("exec <&-; echo '{}'"))
    with anyio.fail_after(30):
        verdict = await hooks.run("PreToolUse", {"big": "x" * 3_000_000}, subject="Bash")
    assert verdict == Verdict()


async def test_matching_hooks_run_at_the_same_time_and_equal_commands_once(tmp_path: Path) -> None:
    one = "mkdir a && while [ ! -d b ]; do sleep 0.01; done"
    two = "mkdir b && while [ ! -d a ]; do sleep 0.01; done"
    entries = [{"matcher": "Bash", "hooks": [{"type": "command", "command": line} for line in (one, two, one)]}]
    assert await run(runner(tmp_path, {"PreToolUse": entries})) == Verdict()
    ends = [ran for ran in runs() if ran.outcome]
    assert [event.outcome for event in ends] == ["ok", "ok"]


async def test_plain_output_is_context_only_where_it_is_documented_to_be(tmp_path: Path) -> None:
    for event, context in (("UserPromptSubmit", ("hi",)), ("SessionStart", ("hi",)), ("SetUpEnvironment", ("hi",))):
        hooks = runner(tmp_path, command("echo hi", event=event))
        assert (await run(hooks, event, "x")).context == context  # type: ignore[arg-type]
    assert (await run(runner(tmp_path, command("echo hi")))).context == ()


async def test_continue_false_ends_the_turn_with_its_reason(tmp_path: Path) -> None:
    verdict = await run(runner(tmp_path, command('echo \'{"continue":false,"stopReason":"enough"}\'')))
    assert verdict.stop and verdict.stop_reason == "enough"


async def test_functions_of_this_process_are_hooks_too_and_may_fail(tmp_path: Path) -> None:
    hooks = runner(tmp_path, {})
    seen: list[tuple[Json, str | None]] = []

    async def good(input: Json, tool_use_id: str | None) -> Json:
        seen.append((input, tool_use_id))
        return {"decision": "block", "reason": "not today"}

    async def bad(input: Json, tool_use_id: str | None) -> Json:
        raise RuntimeError("broken")

    async def slow(input: Json, tool_use_id: str | None) -> Json:
        await anyio.sleep_forever()
        return {}

    hooks.add("PreToolUse", good, matcher="Bash")
    hooks.add("PreToolUse", bad)
    hooks.add("PreToolUse", slow, timeout=0.05)
    verdict = await run(hooks)
    assert verdict.block and verdict.permission == "deny" and verdict.reason == "not today"
    assert seen == [({"tool_name": "Bash", "n": 1}, "t1")]


async def test_callbacks_of_a_host_are_called_by_id_and_may_block_on_failure(tmp_path: Path) -> None:
    asked: list[tuple[str, Json]] = []

    async def ask(request_id: str, subtype: str, fields: Json) -> Json:
        asked.append((subtype, fields))
        if fields["callback_id"] == "cb2":
            raise OSError("gone")
        return {"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "why"}}

    given: Json = {
        "PreToolUse": [
            {"matcher": "Bash", "hookCallbackIds": ["cb1"], "timeout": 5},
            {"matcher": None, "hookCallbackIds": ["cb2"], "onFailure": "block"},
        ]
    }
    settings = load_settings(tmp_path, policy_files=())
    hooks = open_hooks(settings, given, emit=EVENTS.append, ask_host=ask)
    verdict = await run(hooks)
    assert verdict.permission == "deny" and "gone" in verdict.reason
    assert [subtype for subtype, _ in asked] == ["hook_callback", "hook_callback"]
    assert asked[0][1]["tool_use_id"] == "t1"


def test_hooks_of_an_untrusted_project_do_not_count_and_it_cannot_switch_others_off(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_text(
        json.dumps({"hooks": command("touch pwned", event="SessionStart"), "disableAllHooks": True})
    )
    flag = json.dumps({"hooks": command("true", event="Stop")})
    for trusted in (False, True):
        settings = load_settings(tmp_path, trusted=trusted, flag=flag, policy_files=())
        hooks = open_hooks(settings, emit=EVENTS.append)
        assert hooks.wants("SessionStart") is trusted
        assert hooks.wants("Stop")


def test_policy_can_leave_only_its_own_hooks(tmp_path: Path) -> None:
    policy = tmp_path / "managed.json"
    policy.write_text(json.dumps({"allowManagedHooksOnly": True, "hooks": command("true", event="Stop")}))
    flag = json.dumps({"disableAllHooks": True, "hooks": command("true", event="SessionStart")})
    settings = load_settings(tmp_path, flag=flag, policy_files=(policy,))
    hooks = open_hooks(settings, emit=EVENTS.append)
    assert hooks.wants("Stop") and not hooks.wants("SessionStart")


@pytest.mark.parametrize(
    ("matcher", "subject", "found"),
    [
        ("*", "Bash", True),
        ("", "Bash", True),
        ("Bash", "Bash", True),
        ("Bash", "BashOutput", False),
        ("Edit|Write", "Write", True),
        ("Edit|Write", "MultiEdit", False),
        ("mcp__.*", "mcp__a__b", True),
        ("mcp__a__.*", "mcp__b__c", False),
        ("(", "Bash", False),
        ("startup", "resume", False),
    ],
)
def test_matchers(matcher: str, subject: str, found: bool) -> None:
    assert matches(matcher, subject) is found


def test_the_strictest_verdict_wins_and_keeps_its_reason() -> None:
    folded = fold(
        [
            Verdict(permission="allow", reason="fine", context=("a",)),
            Verdict(permission="deny", reason="no"),
            Verdict(permission="ask", reason="hm", context=("b",)),
        ]
    )
    assert (folded.permission, folded.reason, folded.context) == ("deny", "no", ("a", "b"))
