"""Numbered lines of a file, as every parser of text takes them."""

Line = tuple[int, str]
ByteLine = tuple[int, bytes]
