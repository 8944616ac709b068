"""One text under every epsilon, on a page that needs no server: drawn, counted and rendered.

The page is made of the raw text and holds it, so it is no release. Its draws use new keys that
nobody keeps: with a kept key of a release the page would show what that release hides.
"""
