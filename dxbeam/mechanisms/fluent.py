"""The exponential mechanism with a public language model that reads what has been released.

Words are released in order. With x_t the original word and y_<t the words released before it,

    P(y_t | x_t, y_<t)  proportional to  q(y_t | y_<t) exp(-epsilon min(d(x_t, y_t), gamma) / 2),

q being a public n-gram model (dxbeam/language). So probable words come back, in an order that
reads like a text, and rare words are no better protected or exposed than by distance.

Proof. Fix the released prefix y_<t. Then q(. | y_<t) is a public function of y, the same for every
original word, and it cancels in the ratio of two weights:

    weight(y | x) / weight(y | x')  =  exp(epsilon (min(d(x', y), gamma) - min(d(x, y), gamma)) / 2)
                                    <= exp(epsilon min(d(x, x'), gamma) / 2),

as min(d, gamma) is a metric. Z, a sum of such weights, changes by as much at most. So each word's
probability changes by a factor of at most exp(epsilon min(d(x_t, x_t'), gamma)), whatever the
prefix. By the chain rule P(y | x) is the product of the factors of its places, so for every prefix
and for the whole document the factor is at most exp(sum of epsilon min(d(x_t, x_t'), gamma)). q may
be 0 for some words and need not add up to 1. The prefix is what the mechanism itself has released,
before any rank resampling, which is post-processing of the whole document. (McSherry and Talwar:
Mechanism design via differential privacy, 2007, theorem 6, for one word; adaptive composition for
the rest.)

What would break it: a model that reads raw words, before or after this one, or a model made from
the private corpus. Where a sentence starts is read from the public gaps between words.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

import numpy as np

from dxbeam.guarantees import EUCLIDEAN, Guarantee, pure
from dxbeam.language.model import LanguageModel
from dxbeam.mechanisms.exponential_choice import ROUNDED_CHOICE
from dxbeam.mechanisms.fluent_choice import DRAWS, Levels, choose_fluently
from dxbeam.mechanisms.near_words import NearWords
from dxbeam.mechanisms.parameters import checked_epsilon, checked_positive
from dxbeam.randomness import Random
from dxbeam.space.neighbors import Ids, NeighborSearch
