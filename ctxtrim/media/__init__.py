"""What a message holds beside text: how large it is, and what the model is charged for it.

Sizes come from headers; no picture, sound or page is ever decoded, and base64 is never text.
"""

from ctxtrim.media.blocks import media_of
from ctxtrim.media.headers import image_size
from ctxtrim.media.media import Media
from ctxtrim.media.policies import POLICIES, Policy

__all__ = ["POLICIES", "Media", "Policy", "image_size", "media_of"]
