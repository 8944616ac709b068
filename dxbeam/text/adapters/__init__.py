"""The Sanitizer in the shapes of other libraries: tables, and scikit-learn's transformers."""
