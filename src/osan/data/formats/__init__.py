"""File formats: tables, rows of numbers, TU folders and ``torch.save`` files."""
