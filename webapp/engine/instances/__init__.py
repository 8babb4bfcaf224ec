"""Running instances: what a wave reads and changes."""
