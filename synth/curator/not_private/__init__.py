"""What the keeper of the raw data may look at: no noise, no guarantee, and never part of a run."""
