"""The editor's tools for the model, as a plug-in that comes with Weft. It is written like any other."""
