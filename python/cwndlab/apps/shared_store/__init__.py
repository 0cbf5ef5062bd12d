"""A store that several machines or commands share."""
