"""Training: settings, the Lightning module, safe checkpoints and run folders."""
