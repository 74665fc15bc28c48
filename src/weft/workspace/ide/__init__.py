"""The agent's side of the Claude IDE protocol: finding editors, attaching to one, and working with it in between."""
