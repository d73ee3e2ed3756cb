"""The job: what a run does, in order, and what surrounds it; read `pipeline` first."""
