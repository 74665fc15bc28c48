"""Custom agents and skills: where they come from and what they may say."""

from pathlib import Path

import pytest

from weft.agent import definitions, skills
from weft.agent.folders import Where
from weft.context.places import Homes
from weft.errors import UsageError


class Disk:
    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "project" / ".git").mkdir(parents=True)
        home = root / "home"
        homes = Homes(home, home / ".weft", home / ".claude", root / "etc")
        self.where = Where(cwd=root / "project", homes=homes)

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path)


FULL = """---
name: reviewer
description: reviews: with care
tools: Read, Grep, Bash(git diff:*)
disallowedTools:
  - Write
model: haiku
permissionMode: plan
maxTurns: 7
skills: [a, b]
mcpServers:
  - github
  - local:
      command: x
hooks:
  Stop: []
memory: project
background: yes
effort: low
isolation: worktree
color: blue
initialPrompt: go
x-unknown: kept
---
You review.
"""


def test_every_field_of_a_definition_is_read_and_unknown_ones_are_kept(disk: Disk) -> None:
    path = disk.write("project/.claude/agents/deep/r.md", FULL)
    agent = definitions.find(disk.where)["reviewer"]
    assert agent.path == path and agent.origin == "project" and agent.prompt == "You review."
    assert agent.description == "reviews: with care"
    assert agent.tools == ("Read", "Grep", "Bash(git diff:*)") and agent.disallowed_tools == ("Write",)
    assert (agent.model, agent.permission_mode, agent.max_turns) == ("haiku", "plan", 7)
    assert agent.skills == ("a", "b") and agent.background and agent.effort == "low"
    assert agent.fields["x-unknown"] == "kept"
    assert (agent.memory, agent.isolation, agent.color, agent.initial_prompt) == ("project", "worktree", "blue", "go")


def test_values_that_yaml_cannot_read_do_not_lose_the_file(disk: Disk) -> None:
    text = "---\nname: x\ndescription: Use when: the user says: hello\ntools: Read\n---\nbody"
    disk.write("project/.claude/agents/x.md", text)
    agent = definitions.find(disk.where)["x"]
    assert agent.description == "Use when: the user says: hello" and agent.tools == ("Read",)


def test_proper_yaml_gives_servers_and_hooks_and_an_untrusted_project_loses_them(disk: Disk) -> None:
    disk.write("project/.claude/agents/r.md", FULL.replace("reviews: with care", "reviews"))
    agent = definitions.find(disk.where)["reviewer"]
    assert agent.mcp_servers == ("github", {"local": {"command": "x"}}) and agent.hooks == {"Stop": []}
    tame = definitions.find(disk.where, trusted=False)["reviewer"]
    assert tame.mcp_servers == () and tame.hooks is None and tame.permission_mode is None and tame.tools == agent.tools


def test_the_order_is_organisation_caller_project_person_builtin(disk: Disk) -> None:
    for place in ("etc/weft", "project/.claude", "home/.claude"):
        disk.write(f"{place}/agents/a.md", f"---\nname: a\ndescription: {place}\n---\nx")
    disk.write("home/.weft/agents/b.md", "---\nname: b\ndescription: person\n---\nx")
    disk.write("project/.claude/agents/b.md", "---\nname: b\ndescription: project\n---\nx")
    disk.write("home/.claude/agents/Explore.md", "---\nname: Explore\ndescription: mine\n---\nx")
    found = definitions.find(disk.where, given={"a": {"description": "c", "prompt": "p"}})
    assert found["a"].description == "etc/weft" and found["b"].description == "project"
    assert found["Explore"].origin == "user" and found["Plan"].origin == "builtin"
    given = definitions.find(disk.where, given={"b": {"description": "c", "prompt": "p", "tools": ["Read"]}})
    assert given["b"].origin == "caller" and given["b"].tools == ("Read",)


def test_the_other_editors_forms_are_agents_too(disk: Disk) -> None:
    disk.write(
        "project/.github/agents/helper.agent.md",
        "---\ndescription: helps\ntools: ['edit', 'search', 'github/*']\nmodel: [big, small]\nhandoffs:\n"
        "  - label: Go\n    agent: b\n---\nHelp.",
    )
    disk.write(
        "project/.github/prompts/my.prompt.md", "---\nname: myAgent\ndescription: d\nagent: agent\n---\nThe prompt."
    )
    disk.write("project/.github/prompts/plain.prompt.md", "---\ndescription: d\nagent: ask\n---\nNo agent.")
    found = definitions.find(disk.where)
    helper = found["helper"]
    assert helper.tools == ("Edit", "Write", "NotebookEdit", "Grep", "Glob", "mcp__github")
    assert (helper.model, helper.fallback_models) == ("big", ("small",))
    assert helper.handoffs == ({"label": "Go", "agent": "b"},)
    assert found["myAgent"].prompt == "The prompt." and "plain" not in found


@pytest.mark.parametrize("head", ["description: no name", "name: no-description", "name: 'a, b'\ndescription: x"])
def test_a_file_that_is_no_definition_is_left_out(disk: Disk, head: str) -> None:
    disk.write("project/.claude/agents/x.md", f"---\n{head}\n---\nbody")
    assert set(definitions.find(disk.where)) == {"general-purpose", "Explore", "Plan"}


@pytest.mark.parametrize(
    "given",
    [{"a,b": {"description": "d", "prompt": "p"}}, {"a": []}, {"a": {"prompt": "p"}}, {"a": {"description": 1}}],
)
def test_a_wrong_definition_from_the_caller_is_an_error(disk: Disk, given: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        definitions.find(disk.where, given=given)


def test_the_builtin_agents_that_only_read_cannot_change_anything() -> None:
    for agent in definitions.BUILTIN[1:]:
        assert agent.tools is not None and not {"Edit", "Write", "Bash", "NotebookEdit", "Task"} & set(agent.tools)


# --- skills -------------------------------------------------------------------------------------------------


def test_a_skill_is_its_description_until_it_is_used(disk: Disk) -> None:
    path = disk.write(
        "project/.claude/skills/pdf/SKILL.md",
        "---\nname: pdf\ndescription: works on PDFs\nallowed-tools: Read\nuser-invocable: no\ncontext: fork\n---\n"
        "Run ${CLAUDE_SKILL_DIR}/x.py on $0 for ${CLAUDE_SESSION_ID}",
    )
    skill = skills.find(disk.where)["pdf"]
    assert skill.description == "works on PDFs" and skill.allowed_tools == ("Read",)
    assert not skill.for_person and skill.for_model and skill.fork
    text = "".join(part.text for part in skill.parts("a.pdf", session_id="s9"))
    assert f"Run {path.parent}/x.py on a.pdf for s9" in text
    path.unlink()
    assert skill.body() == ""


def test_skills_are_found_in_all_places(disk: Disk) -> None:
    places = ("project/.github", "project/.agents", "home/.claude", "home/.weft", "home/.agents", "etc/claude-code")
    for number, place in enumerate(places):
        disk.write(f"{place}/skills/s{number}/SKILL.md", f"---\nname: s{number}\ndescription: d\n---\nx")
    assert set(skills.find(disk.where)) == {f"s{number}" for number in range(6)}


@pytest.mark.parametrize("name", ["a,Bash(rm:*)", "a b", "../x", "x" * 80, "a\nb"])
def test_a_skills_name_is_a_plain_word(disk: Disk, name: str) -> None:
    disk.write("project/.claude/skills/ok/SKILL.md", f"---\nname: {name!r}\ndescription: d\n---\nx")
    assert skills.find(disk.where) == {}


def test_a_home_is_not_a_project(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".git").mkdir(parents=True)
    (home / "work").mkdir()
    path = home / ".claude" / "skills" / "s" / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text("---\nname: s\ndescription: d\n---\nx")
    homes = Homes(home, home / ".weft", home / ".claude", tmp_path / "etc")
    assert skills.find(Where(cwd=home / "work", homes=homes))["s"].origin == "user"
