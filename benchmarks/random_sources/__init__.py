"""Random sources and neighbours of them, counted by the engines themselves."""
