"""Injective numbers for words, rows and multisets: what both halves of the library color with."""
