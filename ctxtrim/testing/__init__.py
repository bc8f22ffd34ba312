"""For test suites: a pytest plugin, and snapshots of transcripts for syrupy."""
