"""`weft eval`: task files, run in fresh folders with a real session, and judged by running something."""
