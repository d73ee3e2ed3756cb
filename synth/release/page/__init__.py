"""The page for people: one file that loads nothing."""
