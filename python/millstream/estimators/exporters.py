# SPDX-License-Identifier: Apache-2.0
"""What EvalSpec(exporters=...) does after an evaluation."""
from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from millstream.events import writer
from millstream.platform import gfile
from millstream.platform.local_files import local_path

if TYPE_CHECKING:
    from typing import Any


class Exporter:
    """Writes a model when train_and_evaluate() has evaluated it."""

    @property
    def name(self) -> Any:
        raise NotImplementedError

    def export(self, estimator: Any, export_path: Any, checkpoint_path: Any, eval_result: Any, is_the_final_export: Any) -> Any:
        raise NotImplementedError


class _SavedModelExporter(Exporter):
    def __init__(self, name: str, serving_input_receiver_fn: Any, assets_extra: Any = None, as_text: bool = False) -> None:
        self._name, self._receiver_fn, self._assets, self._as_text = name, serving_input_receiver_fn, assets_extra, as_text

    @property
    def name(self) -> Any:
        return self._name

    def _save(self, estimator, export_path, checkpoint_path):
        return estimator.export_saved_model(export_path, self._receiver_fn, assets_extra=self._assets, as_text=self._as_text,
                                            checkpoint_path=checkpoint_path)


class LatestExporter(_SavedModelExporter):
    """A model after every evaluation; keeps the last few."""

    def __init__(self, name: str, serving_input_receiver_fn: Any, assets_extra: Any = None, as_text: bool = False,
                 exports_to_keep: Any = 5) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text)
        if exports_to_keep is not None and exports_to_keep <= 0:
            raise ValueError("`exports_to_keep`, if provided, must be a positive number. Got: {}".format(exports_to_keep))
        self._keep = exports_to_keep

    def export(self, estimator: Any, export_path: Any, checkpoint_path: Any, eval_result: Any, is_the_final_export: Any) -> Any:
        saved = self._save(estimator, export_path, checkpoint_path)
        if self._keep is not None:
            for old in sorted(n for n in os.listdir(local_path(export_path)) if n.isdigit())[:-self._keep]:
                shutil.rmtree(os.path.join(local_path(export_path), old), ignore_errors=True)
        return saved


class FinalExporter(_SavedModelExporter):
    """One model, after the last evaluation."""

    def export(self, estimator: Any, export_path: Any, checkpoint_path: Any, eval_result: Any, is_the_final_export: Any) -> Any:
        return self._save(estimator, export_path, checkpoint_path) if is_the_final_export else None


def _lower_loss(best_eval_result, current_eval_result):
    for result in (best_eval_result, current_eval_result):
        if not result or "loss" not in result:
            raise ValueError("eval results cannot be empty or have no loss")
    return best_eval_result["loss"] > current_eval_result["loss"]


class BestExporter(LatestExporter):
    """A model whenever it is better than all before it."""

    def __init__(self, name: str = "best_exporter", serving_input_receiver_fn: Any = None, event_file_pattern: Any = None,
                 compare_fn: Any = _lower_loss, assets_extra: Any = None, as_text: bool = False,
                 exports_to_keep: Any = 5) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, exports_to_keep)
        self._better, self._best, self._event_files, self._model_dir = compare_fn, None, event_file_pattern, None

    def _earlier_best(self, model_dir):
        """The best result that evaluations of an earlier run have left in event files."""
        best = None
        for path in sorted(gfile.Glob(f"{model_dir}/{self._event_files}")):
            for event in writer.summary_iterator(path):
                result = {v.tag: v.simple_value for v in event.summary.value if v.HasField("simple_value")}
                if result and (best is None or self._better(best_eval_result=best, current_eval_result=result)):
                    best = result
        return best

    def export(self, estimator: Any, export_path: Any, checkpoint_path: Any, eval_result: Any, is_the_final_export: Any) -> Any:
        if self._event_files and self._model_dir != estimator.model_dir:
            self._model_dir, self._best = estimator.model_dir, self._earlier_best(estimator.model_dir)
        if self._best is not None and not self._better(best_eval_result=self._best, current_eval_result=eval_result):
            return None
        self._best = eval_result
        return super().export(estimator, export_path, checkpoint_path, eval_result, is_the_final_export)
