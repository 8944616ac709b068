"""English words of the closed classes: public lists, for bags of words and for importance.

Our own lists. They are lower-case and hold the pieces into which contractions are split, such as
"don" and "t". A word of two classes is in both.
"""

from __future__ import annotations

ENGLISH = frozenset(
    """
    a about above after again against all also although am among an and any are around as at be
    because been before being below between both but by can cannot could d did do does doing don
    down during each either else ever every few for from further get gets got had has have having he
    her here hers herself him himself his how i if in into is it its itself just ll m may me might
    more most much must my myself neither no nor not now of off often on once one only onto or other
    ought our ours ourselves out over own per quite rather re s same shall she should since so some
    such t than that the their theirs them themselves then there these they this those though
    through to too toward towards under until up upon us ve very was we were what when where whether
    which while who whom whose why will with within without would yet you your yours yourself
    yourselves
    """.split()
)
"""Stop words: English function words, and the pieces into which contractions are split."""

CLASSES: dict[str, frozenset[str]] = {
    name: frozenset(words.split())
    for name, words in {
        "determiners": """
            a all an another any both each either enough every few fewer half her his its less many
            more most much my neither no other our own several some such that the their these this
            those what whatever which whichever whose your
            """,
        "pronouns": """
            another anybody anyone anything each everybody everyone everything he her hers herself
            him himself his i it its itself me mine myself nobody none nothing one oneself ours
            ourselves she somebody someone something that theirs them themselves these they this
            those us we what whatever who whoever whom whose you yours yourself yourselves
            """,
        "prepositions": """
            about above across after against along alongside amid among amongst around as at before
            behind below beneath beside besides between beyond but by despite down during except for
            from in inside into like near of off on onto opposite out outside over past per since
            than through throughout till to toward towards under underneath unlike until up upon via
            with within without
            """,
        "conjunctions": """
            after although and as because before both but either for if lest neither nor once or
            since so than that though till unless until when whenever where whereas wherever whether
            while yet
            """,
        "auxiliaries": """
            am are be been being can cannot could d did do does doing don had has have having is ll
            m may might must ought re s shall should t ve was were will would
            """,
    }.items()
}
"""By part of speech; those that take no new words, so no name or subject is among them."""

FUNCTION_WORDS = frozenset().union(*CLASSES.values())
"""All classes together."""
