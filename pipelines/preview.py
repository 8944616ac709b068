"""Shows what a release of a text would be, with sliders, on one page.

    dxbeam preview --text "A short text." --vocabulary demo --output page.html
    dxbeam preview --input letter.txt --vocabulary vocabulary --output page.html

writes a page that needs no server and asks nobody for anything. It shows the text as it would be
released: every epsilon of mechanisms whose noise epsilon only scales, 60 values of epsilon of the
others and of decoders, with and without rank resampling, in eight draws. Next to the sliders are
the words that are left, what attackers get, and what is promised. A longer text than 200 words and
a corpus are shown by a sample.

The page holds the raw text, so it is readable for its owner only and is written nowhere near a
release. Its draws use new keys that nobody keeps.

    --mechanisms laplace,gaussian:delta=1e-6      others than the four by default
    --language_model demo                         with the decoders prior and context
    --input 'corpus/*.jsonl' --text_field body    a sample of a corpus
"""

from __future__ import annotations

import importlib.util
import shlex
from collections.abc import Sequence

from dxbeam.commands import program
from dxbeam.commands.preview_files import check_page_place, read_texts, write_page
from dxbeam.errors import ConfigurationError
from dxbeam.language.artifact import open_language_model
from dxbeam.space.artifact.artifact import open_vocabulary
from dxbeam.space.search.neighbors import NeighborSearch


def preview(argv: Sequence[str]) -> int:
    """Writes the page and prints where it is; returns the exit code."""
    arguments = _arguments().parse_args(argv)
    if (arguments.input is None) == (arguments.text is None):
        raise ConfigurationError("name the text by `input`, a file, or by `text`: one of the two")
    if importlib.util.find_spec("jinja2") is None or importlib.util.find_spec("scipy") is None:
        raise ConfigurationError(
            "a preview needs scipy and jinja2; install them with: pip install 'dxbeam[report]'"
        )
    from dxbeam.analysis.measure.settings import named_mechanisms
    from dxbeam.analysis.preview.model import MECHANISMS
    from dxbeam.analysis.preview.page import Places, page
    from dxbeam.analysis.preview.sample import sample_of

    check_page_place(arguments.output)
    mechanisms = named_mechanisms(arguments.mechanisms or MECHANISMS)
    texts, corpus = [arguments.text], "--input …"
    if arguments.input is not None:
        texts, flags = read_texts(arguments.input, arguments.input_format, arguments.text_field)
        corpus = " ".join(f"--{name} {shlex.quote(value)}" for name, value in flags.items())
    search = NeighborSearch(open_vocabulary(arguments.vocabulary))
    model = None
    if arguments.language_model:
        model = open_language_model(arguments.language_model, search.vocabulary)
    sample = sample_of(texts, search.vocabulary)
    places = Places(arguments.vocabulary, arguments.language_model or "", corpus)
    write_page(arguments.output, page(sample, mechanisms, search, model, places).html)
    print(f"Page: {arguments.output}\nIt holds the raw text: keep it with the corpus.")
    return 0


def _arguments() -> program.Arguments:
    parser = program.Arguments("preview", __doc__ or "")
    parser.add_argument("--input", metavar="FILE", help="a text file, or a corpus as GLOB")
    parser.add_argument(
        "--text",
        metavar="TEXT",
        help="the text itself; other users of this machine may "
        "see it in the list of processes, so name a file if there are any",
    )
    parser.add_argument(
        "--input_format",
        metavar="FORMAT",
        help="of a corpus: jsonl, parquet or text (default: by the file's name; any other file is "
        "one plain text)",
    )
    parser.add_argument(
        "--text_field",
        default="text",
        metavar="FIELD",
        help="field or column that holds the text (default text)",
    )
    parser.add_argument(
        "--vocabulary", required=True, metavar="DIR", help="the vocabulary, or 'demo'"
    )
    parser.add_argument(
        "--mechanisms",
        metavar="NAME,…",
        help="with parameters as in gaussian:delta=1e-6 (default laplace, mahalanobis, santext "
        "and tem)",
    )
    parser.add_argument(
        "--language_model",
        metavar="DIR",
        help="a public language model to decode with, or 'demo' (default: none)",
    )
    parser.add_argument(
        "--output", required=True, metavar="FILE", help="the page; no file of this name exists yet"
    )
    return parser


if __name__ == "__main__":
    program.main(preview)
