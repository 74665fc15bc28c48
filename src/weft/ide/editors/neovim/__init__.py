"""Neovim as an editor for agents, over its own RPC socket. Nothing is installed into it."""
