# SPDX-License-Identifier: Apache-2.0
EXPORTS = {
    "millstream.events.projector": "contrib.tensorboard.plugins.projector=",
    "millstream.events.summary_ops": """
        summary.scalar summary.histogram summary.image summary.audio summary.text summary.tensor_summary summary.merge
        summary.merge_all summary.get_summary_description scalar_summary histogram_summary image_summary audio_summary
        merge_summary merge_all_summaries""",
    "millstream.events.writer": """
        summary.FileWriter train.SummaryWriter=FileWriter train.summary_iterator=summary_iterator
        summary.summary_iterator=summary_iterator""",
    "millstream.events.writer_cache": "summary.FileWriterCache train.SummaryWriterCache=FileWriterCache",
}
