"""What commands show, as data: pure functions of objects, tested with YAML and goldens."""
