"""The subcommands: a name, the module that has `main(argv) -> int`, and a line for `weft --help`.

Modules are imported when their command is run, never before.
"""

SUBCOMMANDS: dict[str, tuple[str, str]] = {
    "acp": ("weft.cli.acp", "offer Weft to editors and programs that speak ACP"),
    "agents": ("weft.cli.agents", "list the agents of this machine, their versions and whether they answer"),
    "completion": ("weft.cli.completion", "print shell completion for bash, zsh or fish"),
    "context": ("weft.cli.context", "show what the model is told here, from where, and what it costs"),
    "demo": ("weft.cli.demo", "see the agent fix a bug in a small bundled project, without a key"),
    "doctor": ("weft.cli.doctor", "say what was found, what is missing and what to do"),
    "eval": ("weft.cli.eval", "run a set of tasks with a model and count what succeeds"),
    "ide": ("weft.cli.ide", "offer an editor to agents over the Claude IDE protocol"),
    "mcp": ("weft.cli.mcp", "add, list, test and approve MCP servers; offer Weft's own tools as one"),
    "model": ("weft.cli.model", "bring, list, choose and remove models that run on this machine"),
    "permissions": ("weft.cli.permissions", "show what the rules decide about a call, and lint them"),
    "proxy": ("weft.cli.proxy", "give agents a nonce instead of the key, and any model instead of theirs"),
    "plugin": ("weft.cli.plugin", "make, list and check plug-ins: tools, participants, models and servers"),
    "sessions": ("weft.cli.sessions", "list, show, search, export, rename, fork, rewind and delete conversations"),
    "trust": ("weft.cli.trust", "let a folder's hooks, servers and allow rules take effect"),
    "usage": ("weft.cli.usage", "show what was asked through the proxy: tokens, dollars, by day, model and program"),
    "web": ("weft.cli.web", "work with any agent on a page in the browser"),
}
