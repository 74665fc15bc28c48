"""A plug-in for Weft. Nothing here is imported before it is used."""
