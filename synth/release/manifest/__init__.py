"""The privacy manifest: an allow-list of fields, each with its place in a closed schema."""
