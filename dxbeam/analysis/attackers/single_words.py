"""Every attacker on single words, on the same draws."""

from __future__ import annotations

from dxbeam.analysis.attackers.channel import Channel, guess_from_words
from dxbeam.analysis.attackers.draws import Draws
from dxbeam.analysis.attackers.noisy_vector import guess_from_vectors
from dxbeam.analysis.attackers.success import (
    Success,
    counted,
    guess_the_output,
    guesses_in,
    prior_alone,
)
from dxbeam.mechanisms import Mechanism
from dxbeam.space.search.neighbors import NeighborSearch

PRIOR, OUTPUT = "prior", "output"
RELEASED_WORD, NOISY_VECTOR = "released_word", "noisy_vector"


def attack_all(
    mechanism: Mechanism, drawn: Draws, channel: Channel, search: NeighborSearch
) -> dict[str, Success]:
    """Counts what each attacker gets.

    Args:
      mechanism: with its epsilon.
      drawn: words that were released.
      channel: of mechanism and rank resampling together, with the prior all attackers have.
      search: the vocabulary.

    Returns:
      By attacker: ``PRIOR`` sees nothing, ``OUTPUT`` knows nothing and takes what was released,
      ``RELEASED_WORD`` is Bayes on the released word, and ``NOISY_VECTOR``, where the mechanism has
      a noise density, Bayes on the noisy vector.
    """
    count = guesses_in(len(search.vocabulary))
    successes = {
        PRIOR: prior_alone(channel.prior, drawn.ids),
        OUTPUT: counted(guess_the_output(drawn.released, search), drawn.ids),
        RELEASED_WORD: counted(guess_from_words(channel, drawn.released, count), drawn.ids),
    }
    if drawn.noisy is not None:
        guesses = guess_from_vectors(mechanism, drawn.noisy, channel.prior, count, search)
        successes[NOISY_VECTOR] = counted(guesses, drawn.ids)
    return successes
