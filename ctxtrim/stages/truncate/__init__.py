"""The stage `truncate`: shorten tool results that are too old or too long."""

from ctxtrim.stages.truncate.stage import Truncate

__all__ = ["Truncate"]
