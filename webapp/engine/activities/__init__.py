"""What an activity is: its contract, its registry, definitions compiled for running."""
