"""Token counts: tokenizers, budgets, and what providers charge for a request."""
