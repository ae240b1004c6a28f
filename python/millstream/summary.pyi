# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.events.summary_ops import audio as audio
from millstream.events.summary_ops import get_summary_description as get_summary_description
from millstream.events.summary_ops import histogram as histogram
from millstream.events.summary_ops import image as image
from millstream.events.summary_ops import merge as merge
from millstream.events.summary_ops import merge_all as merge_all
from millstream.events.summary_ops import scalar as scalar
from millstream.events.summary_ops import tensor_summary as tensor_summary
from millstream.events.summary_ops import text as text
from millstream.events.writer import FileWriter as FileWriter
from millstream.events.writer import summary_iterator as summary_iterator
from millstream.events.writer_cache import FileWriterCache as FileWriterCache
from millstream.framework.config import Event as Event
from millstream.framework.config import SessionLog as SessionLog
from millstream.framework.config import Summary as Summary
from millstream.framework.config import TaggedRunMetadata as TaggedRunMetadata

__all__ = [
    "Event",
    "FileWriter",
    "FileWriterCache",
    "SessionLog",
    "Summary",
    "TaggedRunMetadata",
    "audio",
    "get_summary_description",
    "histogram",
    "image",
    "merge",
    "merge_all",
    "scalar",
    "summary_iterator",
    "tensor_summary",
    "text",
]
