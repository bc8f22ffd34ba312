"""What attachments cost: sizes from their headers, and the rule of each family of models."""
