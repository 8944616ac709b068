"""The card of a release as a page."""

from __future__ import annotations

from dxbeam.analysis.pages.model import Page
from dxbeam.analysis.pages.page import render
from dxbeam.release.card import Card


def card_page(card: Card) -> str:
    """The page as HTML."""
    title = f"Release card: {card.name}"
    return render("card.html.jinja", Page(title, title), card=card)
