# SPDX-License-Identifier: Apache-2.0
"""tf.resource_loader: files beside the program."""
import os
import sys


def get_data_files_path():
    """The folder of the caller's file."""
    return os.path.dirname(os.path.abspath(sys._getframe(1).f_code.co_filename))


def get_root_dir_with_all_resources():
    return os.path.dirname(os.path.abspath(sys._getframe(1).f_code.co_filename))


def get_path_to_datafile(path):
    return os.path.join(os.path.dirname(os.path.abspath(sys._getframe(1).f_code.co_filename)), path)


def load_resource(path):
    with open(os.path.join(os.path.dirname(os.path.abspath(sys._getframe(1).f_code.co_filename)), path), "rb") as f:
        return f.read()


def readahead_file_path(path, readahead="128M"):
    del readahead
    return path
