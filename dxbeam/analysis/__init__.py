"""Theory and measurements, below the release path, which knows nothing of it."""
