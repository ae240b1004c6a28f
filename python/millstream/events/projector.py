# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.tensorboard.plugins.projector: tells TensorBoard which variables are embeddings."""
import os


class _Sprite:
    def __init__(self):
        self.image_path, self.single_image_dim = "", []

    def _lines(self):
        return [f'image_path: "{self.image_path}"'] * bool(self.image_path) + [f"single_image_dim: {d}" for d in self.single_image_dim]


class EmbeddingInfo:
    def __init__(self, tensor_name="", metadata_path="", tensor_path="", bookmarks_path=""):
        self.tensor_name, self.metadata_path = tensor_name, metadata_path
        self.tensor_path, self.bookmarks_path = tensor_path, bookmarks_path
        self.tensor_shape, self.sprite = [], _Sprite()

    def _lines(self):
        texts = [f'{n}: "{getattr(self, n)}"' for n in ("tensor_name", "metadata_path", "tensor_path", "bookmarks_path")
                 if getattr(self, n)]
        texts += [f"tensor_shape: {d}" for d in self.tensor_shape]
        sprite = self.sprite._lines()
        return texts + (["sprite {"] + ["  " + line for line in sprite] + ["}"] if sprite else [])


class _Embeddings(list):
    def add(self, **kwargs):
        self.append(EmbeddingInfo(**kwargs))
        return self[-1]


class ProjectorConfig:
    def __init__(self):
        self.embeddings, self.model_checkpoint_path, self.model_checkpoint_dir = _Embeddings(), "", ""

    def __str__(self):
        lines = [f'{n}: "{getattr(self, n)}"' for n in ("model_checkpoint_path", "model_checkpoint_dir") if getattr(self, n)]
        for embedding in self.embeddings:
            lines += ["embeddings {"] + ["  " + line for line in embedding._lines()] + ["}"]
        return "\n".join(lines) + "\n"


def visualize_embeddings(summary_writer, config):
    """Writes the configuration beside the event files of a FileWriter (or into a folder)."""
    folder = summary_writer if isinstance(summary_writer, (str, os.PathLike)) else summary_writer.get_logdir()
    if folder is None:
        raise ValueError("Expected logdir to be a path, but got None")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "projector_config.pbtxt"), "w", encoding="utf-8") as f:
        f.write(str(config))
