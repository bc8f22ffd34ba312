"""The table of stages by name. Each stage has one module or package here."""

from ctxtrim.loading.lazy_table import LazyTable, module_table
from ctxtrim.stage import Stage

STAGES: LazyTable[type[Stage]] = module_table(
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
