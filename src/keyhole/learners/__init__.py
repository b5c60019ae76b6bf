"""One file per algorithm, named after it; `keyhole` itself has all their names."""
