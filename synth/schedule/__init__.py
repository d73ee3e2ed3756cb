"""Series of releases, unattended: what is due, how it stands, and what may be tidied away."""
