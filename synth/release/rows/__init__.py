"""The rows of a release: what is published of every column, and the files that hold it."""
