"""Slash commands: the built-in ones, those of files and skills, and those of servers."""
