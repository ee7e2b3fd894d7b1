"""Published datasets: the catalog, the readers of raw files, and the cache of processed ones."""
