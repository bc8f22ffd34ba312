"""What is loaded when it is first used: rows of tables, and patterns."""
