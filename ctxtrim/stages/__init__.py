"""The table of stages by name. Each stage has one module or package here."""

from ctxtrim.errors import UsageError
from ctxtrim.loading import LazyTable, module_table
from ctxtrim.stage import Stage


class StageTable(LazyTable[type[Stage]]):
    """Stages by name, to which a program may add its own."""

    def __setitem__(self, name: str, value: type[Stage]) -> None:
        """Add or replace a stage; a `UsageError` for anything but a subclass of `Stage`."""
        if not (isinstance(value, type) and issubclass(value, Stage)):
            raise UsageError(f"stage {name}: expected a subclass of ctxtrim.Stage")
        super().__setitem__(name, value)


_MODULES: LazyTable[type[Stage]] = module_table(
    "ctxtrim.stages",
    {
        "count": "count:LargestMessages",
        "drop-images": "drop_images:DropImages",
        "truncate": "truncate.stage:Truncate",
        "cutoff": "cutoff:Cutoff",
        "compact": "compact:Compact",
        "trim": "trim.stage:Trim",
        "summarize": "summarize:Summarize",
        "repair": "repair:Repair",
        "check": "check:Check",
    },
)

STAGES = StageTable(_MODULES, _MODULES.__getitem__)
"""The stages by name."""
