"""The drivers are run by `test_acceptance.py`, with the real command in front of them; not by themselves."""

collect_ignore = ["drivers"]
