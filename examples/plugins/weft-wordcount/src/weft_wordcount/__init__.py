"""A plug-in for Weft. Nothing here is imported before one of its tools is called."""
