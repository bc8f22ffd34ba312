"""The table of stages by name. Each stage has one module or package here."""

from ctxtrim.stage import Stage
from ctxtrim.stages.check import Check
from ctxtrim.stages.compact import Compact
from ctxtrim.stages.count import LargestMessages
from ctxtrim.stages.cutoff import Cutoff
from ctxtrim.stages.drop_images import DropImages
from ctxtrim.stages.repair import Repair
from ctxtrim.stages.summarize import Summarize
from ctxtrim.stages.trim import Trim
from ctxtrim.stages.truncate.stage import Truncate

STAGES: dict[str, type[Stage]] = {
    "count": LargestMessages,
    "drop-images": DropImages,
    "truncate": Truncate,
    "cutoff": Cutoff,
    "compact": Compact,
    "trim": Trim,
    "summarize": Summarize,
    "repair": Repair,
    "check": Check,
}
