"""The conversation in a terminal. `model` folds events, `paint` turns its entries into lines, the widgets show them."""
