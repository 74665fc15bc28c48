"""Entries to lines of styled text. Nothing here knows a widget; all is made from entry, width and palette."""
