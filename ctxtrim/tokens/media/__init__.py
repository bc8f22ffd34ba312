"""The token cost of attachments: sizes from file headers, and the rules of each model family."""
