"""The editors that Weft offers to agents: one without a screen, Neovim, and the web page."""
