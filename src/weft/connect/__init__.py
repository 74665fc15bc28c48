"""Agents driven by us, whoever wrote them."""
