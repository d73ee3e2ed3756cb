"""synth: publish a sensitive table once, as private synthetic data."""
