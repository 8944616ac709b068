"""Word-level metric differential privacy for text corpora.

``Sanitizer(vocabulary, Laplace(epsilon=10)).sanitize(documents)`` works anywhere;
``dxbeam.transforms.sanitize.SanitizeDocuments`` is the same as a Beam transform.
"""

__version__ = "0.1.0"
