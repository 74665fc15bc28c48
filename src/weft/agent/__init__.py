"""The agent: intake, loop, accumulator, dispatch, session, subagents."""
