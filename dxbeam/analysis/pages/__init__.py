"""What all pages share: templates, figures, how they are filled."""
