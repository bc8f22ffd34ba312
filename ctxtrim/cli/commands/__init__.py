"""The commands, one module each. A command's module is imported when the command runs."""
