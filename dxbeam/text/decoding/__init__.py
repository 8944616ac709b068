"""Reading noise with public knowledge: which words were probably there, given what was drawn."""
