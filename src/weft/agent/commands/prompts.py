"""Built-in commands that ask the model for something."""

from weft.agent.commands.port import Builtin, Desk, Taken
from weft.schema.content import Text

INIT = """\
Look at this project and write an AGENTS.md at its top for agents who will work on it; if it or a CLAUDE.md is there \
already, improve that file instead and keep what is right in it.

Say only what cannot be seen at a glance and would otherwise have to be found out again:
- the commands to set up, build, check and test, and how to run one single test;
- how the code is laid out and how its main parts meet, in a few lines;
- conventions that a newcomer would break, and traps that have bitten.

Find these out from the files themselves (README, build files, CI, rules of other agents) and try the commands where \
that is safe. Write nothing that you did not see, no general advice, and not more than a page."""

REVIEW = """\
Review the changes {target}. Read the diff, and the code around it that you need to judge it.

Look for, in this order: errors in what it does, cases that were not thought of, security, lost or changed behaviour, \
missing tests, then clarity. Prove what you can by running or reading; do not report what you have not checked.

For each finding: `path:line`, what is wrong, what happens because of it, how to put it right, and how sure you are. \
The most serious first. If it is good, say so in a sentence. Change no files."""


async def _init(arguments: str, desk: Desk) -> Taken:
    return Taken(content=(Text(INIT + (f"\n\nAlso: {arguments}" if arguments else "")),))


async def _review(arguments: str, desk: Desk) -> Taken:
    target = (
        f"of {arguments} (a pull request, a branch, a commit or a path: find out which)"
        if arguments
        else "that are not committed; if there are none, those of this branch against the main one"
    )
    return Taken(content=(Text(REVIEW.format(target=target)),))


COMMANDS = (
    Builtin(
        name="init",
        description="write what agents should know about this project",
        hint="[what else]",
        run=_init,
        kind="prompt",
    ),
    Builtin(
        name="review",
        description="review changes, or a pull request",
        hint="[what]",
        run=_review,
        kind="prompt",
    ),
)
