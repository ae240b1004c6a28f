# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.gen_ops import extract_jpeg_shape as extract_jpeg_shape
from millstream.ops.image.image_boxes import adjust_jpeg_quality as adjust_jpeg_quality
from millstream.ops.image.image_boxes import combined_non_max_suppression as combined_non_max_suppression
from millstream.ops.image.image_boxes import decode_and_crop_jpeg as decode_and_crop_jpeg
from millstream.ops.image.image_boxes import extract_glimpse as extract_glimpse
from millstream.ops.image.image_boxes import non_max_suppression_overlaps as non_max_suppression_overlaps
from millstream.ops.image.image_boxes import non_max_suppression_padded as non_max_suppression_padded
from millstream.ops.image.image_boxes import non_max_suppression_with_scores as non_max_suppression_with_scores
from millstream.ops.image.image_boxes import random_jpeg_quality as random_jpeg_quality
from millstream.ops.image.image_boxes import sample_distorted_bounding_box as sample_distorted_bounding_box
from millstream.ops.image.image_color_ops import adjust_brightness as adjust_brightness
from millstream.ops.image.image_color_ops import adjust_contrast as adjust_contrast
from millstream.ops.image.image_color_ops import adjust_gamma as adjust_gamma
from millstream.ops.image.image_color_ops import adjust_hue as adjust_hue
from millstream.ops.image.image_color_ops import adjust_saturation as adjust_saturation
from millstream.ops.image.image_color_ops import convert_image_dtype as convert_image_dtype
from millstream.ops.image.image_color_ops import grayscale_to_rgb as grayscale_to_rgb
from millstream.ops.image.image_color_ops import hsv_to_rgb as hsv_to_rgb
from millstream.ops.image.image_color_ops import image_gradients as image_gradients
from millstream.ops.image.image_color_ops import per_image_standardization as per_image_standardization
from millstream.ops.image.image_color_ops import per_image_standardization as per_image_whitening
from millstream.ops.image.image_color_ops import psnr as psnr
from millstream.ops.image.image_color_ops import random_brightness as random_brightness
from millstream.ops.image.image_color_ops import random_contrast as random_contrast
from millstream.ops.image.image_color_ops import random_hue as random_hue
from millstream.ops.image.image_color_ops import random_saturation as random_saturation
from millstream.ops.image.image_color_ops import rgb_to_grayscale as rgb_to_grayscale
from millstream.ops.image.image_color_ops import rgb_to_hsv as rgb_to_hsv
from millstream.ops.image.image_color_ops import rgb_to_yiq as rgb_to_yiq
from millstream.ops.image.image_color_ops import rgb_to_yuv as rgb_to_yuv
from millstream.ops.image.image_color_ops import total_variation as total_variation
from millstream.ops.image.image_color_ops import yiq_to_rgb as yiq_to_rgb
from millstream.ops.image.image_color_ops import yuv_to_rgb as yuv_to_rgb
from millstream.ops.image.image_ops import ResizeMethod as ResizeMethod
from millstream.ops.image.image_ops import central_crop as central_crop
from millstream.ops.image.image_ops import crop_and_resize as crop_and_resize
from millstream.ops.image.image_ops import crop_to_bounding_box as crop_to_bounding_box
from millstream.ops.image.image_ops import decode_jpeg as decode_jpeg
from millstream.ops.image.image_ops import decode_png as decode_png
from millstream.ops.image.image_ops import draw_bounding_boxes as draw_bounding_boxes
from millstream.ops.image.image_ops import encode_jpeg as encode_jpeg
from millstream.ops.image.image_ops import encode_png as encode_png
from millstream.ops.image.image_ops import extract_image_patches as extract_image_patches
from millstream.ops.image.image_ops import extract_patches as extract_patches
from millstream.ops.image.image_ops import flip_left_right as flip_left_right
from millstream.ops.image.image_ops import flip_up_down as flip_up_down
from millstream.ops.image.image_ops import non_max_suppression as non_max_suppression
from millstream.ops.image.image_ops import pad_to_bounding_box as pad_to_bounding_box
from millstream.ops.image.image_ops import random_flip_left_right as random_flip_left_right
from millstream.ops.image.image_ops import random_flip_up_down as random_flip_up_down
from millstream.ops.image.image_ops import resize_area as resize_area
from millstream.ops.image.image_ops import resize_bicubic as resize_bicubic
from millstream.ops.image.image_ops import resize_bilinear as resize_bilinear
from millstream.ops.image.image_ops import resize_image_with_crop_or_pad as resize_image_with_crop_or_pad
from millstream.ops.image.image_ops import resize_image_with_crop_or_pad as resize_with_crop_or_pad
from millstream.ops.image.image_ops import resize_image_with_pad as resize_image_with_pad
from millstream.ops.image.image_ops import resize_images as resize
from millstream.ops.image.image_ops import resize_images as resize_images
from millstream.ops.image.image_ops import resize_nearest_neighbor as resize_nearest_neighbor
from millstream.ops.image.image_ops import rot90 as rot90
from millstream.ops.image.image_ops import transpose_image as transpose
from millstream.ops.image.image_ops import transpose_image as transpose_image
from millstream.ops.image.image_quality_ops import decode_bmp as decode_bmp
from millstream.ops.image.image_quality_ops import decode_gif as decode_gif
from millstream.ops.image.image_quality_ops import decode_image as decode_image
from millstream.ops.image.image_quality_ops import is_jpeg as is_jpeg
from millstream.ops.image.image_quality_ops import sobel_edges as sobel_edges
from millstream.ops.image.image_quality_ops import ssim as ssim
from millstream.ops.image.image_quality_ops import ssim_multiscale as ssim_multiscale
from millstream.ops.random.random_ops import random_crop as random_crop

__all__ = [
    "ResizeMethod",
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_jpeg_quality",
    "adjust_saturation",
    "central_crop",
    "combined_non_max_suppression",
    "convert_image_dtype",
    "crop_and_resize",
    "crop_to_bounding_box",
    "decode_and_crop_jpeg",
    "decode_bmp",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "draw_bounding_boxes",
    "encode_jpeg",
    "encode_png",
    "extract_glimpse",
    "extract_image_patches",
    "extract_jpeg_shape",
    "extract_patches",
    "flip_left_right",
    "flip_up_down",
    "grayscale_to_rgb",
    "hsv_to_rgb",
    "image_gradients",
    "is_jpeg",
    "non_max_suppression",
    "non_max_suppression_overlaps",
    "non_max_suppression_padded",
    "non_max_suppression_with_scores",
    "pad_to_bounding_box",
    "per_image_standardization",
    "per_image_whitening",
    "psnr",
    "random_brightness",
    "random_contrast",
    "random_crop",
    "random_flip_left_right",
    "random_flip_up_down",
    "random_hue",
    "random_jpeg_quality",
    "random_saturation",
    "resize",
    "resize_area",
    "resize_bicubic",
    "resize_bilinear",
    "resize_image_with_crop_or_pad",
    "resize_image_with_pad",
    "resize_images",
    "resize_nearest_neighbor",
    "resize_with_crop_or_pad",
    "rgb_to_grayscale",
    "rgb_to_hsv",
    "rgb_to_yiq",
    "rgb_to_yuv",
    "rot90",
    "sample_distorted_bounding_box",
    "sobel_edges",
    "ssim",
    "ssim_multiscale",
    "total_variation",
    "transpose",
    "transpose_image",
    "yiq_to_rgb",
    "yuv_to_rgb",
]
