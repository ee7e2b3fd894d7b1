"""Generated graphs with known answers; they need no files."""
