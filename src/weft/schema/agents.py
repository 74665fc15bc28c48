"""Agents as surfaces show them: who there is, and whom a person may go on with."""

import msgspec


class Handoff(msgspec.Struct, frozen=True):
    """What a person may go on with after an agent's work: another agent, with a prompt for it. `typed` is the line that
    does it; with `send` it need not be looked at first."""

    label: str
    agent: str = ""
    prompt: str = ""
    send: bool = False
    model: str = ""
    typed: str = ""


class AgentInfo(msgspec.Struct, frozen=True):
    """An agent that work can be given to, as surfaces show it. `color` is a word such as `blue`, empty for none."""

    name: str
    description: str = ""
    color: str = ""
    argument_hint: str = ""
    model: str = ""
    origin: str = ""
