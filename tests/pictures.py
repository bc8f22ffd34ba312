"""An image for tests: the header of a PNG of 1024×768 pixels, the only part that is read."""

import base64
import struct


def png(width: int = 1024, height: int = 768) -> str:
    """The header of a PNG and some bytes after it, in base64."""
    header = struct.pack(">I4sIIBBBBB", 13, b"IHDR", width, height, 8, 6, 0, 0, 0)
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + header + bytes(80)).decode()


PICTURE = png()
URL = f"data:image/png;base64,{PICTURE}"
