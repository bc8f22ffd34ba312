"""What programs call: plain message lists in, new lists and small frozen values out, nothing changed in place."""
