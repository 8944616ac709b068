"""What an attacker learns of single words from a release, measured on words that were released.

| attacker | sees | knows |
|---|---|---|
| guess_the_output (success.py) | the released word | nothing |
| noisy_vector.py | the noisy vector, which is not released | the noise's density and a prior |
| channel.py and what is next to it | the released word | the mechanism and a prior |
| context.py | the released words of a text, in order | as before, and which words follow which |
| noisy_context.py | the noisy vectors of a text, in order | the noise's density, and the same |

An attacker returns its guesses, int64 [B, k] with the best first; success.py counts how many were
right and says what chance and the prior would have got. Everything is computed from draws and
random numbers that come in as arguments: nothing here draws, reads or releases.
"""
