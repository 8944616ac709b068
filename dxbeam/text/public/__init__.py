"""Public knowledge from files and names: weights, base measures, constants, models."""
