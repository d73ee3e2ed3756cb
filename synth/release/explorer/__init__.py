"""The page that answers queries: the data that it holds, and its programs as templates."""
