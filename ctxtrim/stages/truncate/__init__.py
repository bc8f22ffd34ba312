"""The stage `truncate`: shorten tool results that are too old or too long."""
