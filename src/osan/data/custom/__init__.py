"""Your data: tables of molecules, files of graphs, and how they are split."""
