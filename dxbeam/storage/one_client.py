"""Beam's file system of S3 with one client of boto3.

Beam makes a client for every request, which takes a tenth of a second of processor time, more than
most requests do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from apache_beam.io.aws import s3io
from apache_beam.io.aws.clients.s3.boto3_client import Client
from apache_beam.io.aws.s3filesystem import S3FileSystem
from apache_beam.io.filesystem import (
    BeamIOError,
    CompressedFile,
    CompressionTypes,
    FileMetadata,
    FileSystem,
)


class _Requests(Client):
    """Beam's wrapper of a client, which remembers the download that is under way."""

    def __init__(self, client: Any):
        self.client = client
        self._download_request = self._download_stream = None
        self._download_pos = 0


class OneClientFileSystem(S3FileSystem):
    """What is listed, opened and renamed as Beam does it, by a client that threads share."""

    def __init__(self, options: Any, client: Any):
        super().__init__(options)
        self._client = client

    @classmethod
    def scheme(cls) -> str:
        """Of no path: Beam itself looks for the file system of s3:// among all classes."""
        return "s3-of-one-client"

    def _io(self) -> s3io.S3IO:
        return s3io.S3IO(client=_Requests(self._client))

    def _list(self, dir_or_prefix: str) -> Iterator[FileMetadata]:
        try:
            for path, metadata in self._io().list_files(dir_or_prefix, with_metadata=True):
                yield FileMetadata(path, *metadata)
        except Exception as error:
            raise BeamIOError("List operation failed", {dir_or_prefix: error}) from None

    def _path_open(
        self,
        path: str,
        mode: str,
        mime_type: str = "application/octet-stream",
        compression_type: str = CompressionTypes.AUTO,
    ) -> Any:
        kind = FileSystem._get_compression_type(path, compression_type)
        file = self._io().open(path, mode, mime_type=CompressionTypes.mime_type(kind, mime_type))
        if kind == CompressionTypes.UNCOMPRESSED:
            return file
        return CompressedFile(file, compression_type=kind)

    def rename(self, sources: Sequence[str], targets: Sequence[str]) -> None:
        """Renames each source to the target at its place."""
        pairs = list(zip(sources, targets, strict=True))
        failed = {
            (source, target): error
            for source, target, error in self._io().rename_files(pairs)
            if error is not None
        }
        if failed:
            raise BeamIOError("Rename operation failed", failed)
