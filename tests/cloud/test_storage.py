"""Writes that happen once, over HTTP, also where answers are lost and servers busy."""

from __future__ import annotations

import pytest

from dxbeam import storage
from dxbeam.errors import OutputError
from dxbeam.release import ledger
from tests.cloud.bucket import names, put
from tests.cloud.front import BUCKET, Front
from tests.support import calls
from tests.support.ledgers import entry

ONCE = f"gs://{BUCKET}/once"


def test_the_first_writer_wins_and_a_repeat_is_accepted(cloud: Front) -> None:
    storage.create_once(ONCE, b"one")
    storage.create_once(ONCE, b"one")
    with pytest.raises(OutputError, match="another run"):
        storage.create_once(ONCE, b"two")
    assert storage.read(ONCE) == b"one"
    assert len(cloud.writes) == 1


def test_of_many_writers_at_once_one_wins(cloud: Front) -> None:
    won = calls.at_once(8, 8, lambda number: storage.create_once(ONCE, b"%d" % number))
    assert sum(won) == 1
    assert storage.read(ONCE) == b"%d" % won.index(True)


@pytest.mark.parametrize("failure", ["unavailable", "dropped", "lost"])
def test_a_busy_server_and_a_lost_answer_are_no_conflict(cloud: Front, failure: str) -> None:
    setattr(cloud, failure, 1)
    storage.create_once(ONCE, b"one")
    assert getattr(cloud, failure) == 0, "the failure happened"
    assert storage.read(ONCE) == b"one"


def test_a_read_only_bucket_is_said_to_be_one(cloud: Front) -> None:
    cloud.read_only = True
    with pytest.raises(OSError, match="Forbidden"):
        storage.create_once(ONCE, b"one")
    with pytest.raises(OutputError, match="cannot be written"):
        storage.append(ONCE, lambda _: (0, b"one"))


@pytest.mark.parametrize("name", ["rel[1]", "*", "r?l", "{a,b}"])
def test_a_prefix_is_named_literally(cloud: Front, name: str) -> None:
    for other in ("rel1", "ral", "other/below", "b", "y"):
        put(f"{other}/part-1", b"1")
    for own in ("part-1", "below/[2]", "part-1*"):
        put(f"{name}/{own}", b"1")
    before, place = names(), f"gs://{BUCKET}/{name}"
    found = sorted(storage.names_below(f"{place}/"))
    assert found == sorted(["below/[2]", "part-1", "part-1*"])
    storage.delete(f"{place}/part-1*")
    assert sorted(storage.names_below(place)) == ["below/[2]", "part-1"]
    storage.delete(place)
    storage.delete(place)
    assert set(before) - set(names()) == {f"{name}/{own}" for own in found}


def test_the_mark_of_an_empty_folder_is_no_file(cloud: Front) -> None:
    put("folder/", b"")
    assert storage.first_file_below(f"gs://{BUCKET}/folder") is None


def test_files_are_matched_copied_moved_and_deleted(cloud: Front) -> None:
    put("a/1", b"1")
    put("a/b/2", b"22")
    below = f"gs://{BUCKET}/a"
    assert storage.match(f"{below}/*") == [(f"{below}/1", 1)]
    assert storage.first_file_below(below) is not None
    storage.copy(f"{below}/1", f"{below}/3")
    storage.move(f"{below}/3", f"{below}/4")
    assert storage.sha256(f"{below}/4") == storage.sha256(f"{below}/1")
    assert not storage.exists(f"{below}/3")
    storage.delete(f"{below}/4")
    assert not storage.exists(f"{below}/4")
    assert storage.first_file_below(f"gs://{BUCKET}/none") is None


@pytest.mark.parametrize("failure", ["", "unavailable", "dropped", "lost"])
def test_a_ledger_takes_each_line_once(cloud: Front, failure: str) -> None:
    """Also if the answer to the writer is lost: it must not believe another was faster."""
    path = f"gs://{BUCKET}/ledger"
    ledger.begin(path, entry("1"), 30.0)
    if failure:
        setattr(cloud, failure, 1)
    ledger.begin(path, entry("2", key="k2"), 30.0)
    ledger.begin(path, entry("3", key="k3"), 30.0)
    assert [e.run for e in ledger.read(path)] == ["1", "2", "3"]
    with pytest.raises(OutputError, match="pass `max_epsilon`"):
        ledger.begin(path, entry("4", key="k4"), 30.0)


def test_of_many_that_begin_at_once_as_many_do_as_the_cap_allows(cloud: Front) -> None:
    path = f"gs://{BUCKET}/ledger"

    def begin(number: int) -> str:
        return ledger.begin(path, entry(str(number), key=f"k{number}"), 30.0)

    assert sum(calls.at_once(6, 6, begin)) == 3
    assert ledger.spent(ledger.read(path), "notes") == (30.0, 0)
