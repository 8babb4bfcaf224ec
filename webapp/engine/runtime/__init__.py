"""The engine at work: the wave, its operations, and the facade that services call (spec 3)."""
