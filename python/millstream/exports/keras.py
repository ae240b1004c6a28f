# SPDX-License-Identifier: Apache-2.0
"""tf.keras."""


def _in(space, names):
    return " ".join(f"{space}.{n}={n}" for n in names.split())


_LOSSES = """mean_squared_error mean_absolute_error mean_absolute_percentage_error mean_squared_logarithmic_error binary_crossentropy
    categorical_crossentropy sparse_categorical_crossentropy hinge squared_hinge kullback_leibler_divergence poisson mse MSE mae MAE mape
    MAPE msle MSLE get deserialize MeanSquaredError MeanAbsoluteError BinaryCrossentropy CategoricalCrossentropy
    SparseCategoricalCrossentropy cosine_proximity cosine"""

EXPORTS = {
    "millstream.keras_v1.state": "keras.__version__=VERSION",
    "millstream.keras_v1.base_layer": "keras.Input " + _in("keras.layers", "Layer InputLayer Input InputSpec"),
    "millstream.keras_v1.core_layers": _in("keras.layers", """
        Dense Conv1D Convolution1D Conv2D Convolution2D Conv3D Convolution3D Conv2DTranspose Convolution2DTranspose SeparableConv2D
        SeparableConvolution2D DepthwiseConv2D Flatten MaxPool1D MaxPooling1D MaxPool2D MaxPooling2D MaxPool3D MaxPooling3D AvgPool1D
        AveragePooling1D AvgPool2D AveragePooling2D AvgPool3D AveragePooling3D BatchNormalization Dropout SpatialDropout2D Activation
        ReLU LeakyReLU ELU Softmax PReLU GaussianNoise GaussianDropout Embedding GlobalMaxPool1D GlobalMaxPooling1D GlobalMaxPool2D
        GlobalMaxPooling2D GlobalMaxPool3D GlobalMaxPooling3D GlobalAvgPool1D GlobalAveragePooling1D GlobalAvgPool2D
        GlobalAveragePooling2D GlobalAvgPool3D GlobalAveragePooling3D DenseFeatures"""),
    "millstream.keras_v1.norm_layers": "keras.layers.LayerNormalization=LayerNormalization",
    "millstream.keras_v1.shape_layers": _in("keras.layers", """
        Reshape Permute RepeatVector Lambda Masking ActivityRegularization ZeroPadding1D ZeroPadding2D Cropping1D Cropping2D UpSampling1D
        UpSampling2D Add Subtract Multiply Average Maximum Minimum Concatenate Dot add subtract multiply average maximum minimum
        concatenate dot"""),
    "millstream.keras_v1.rnn_layers": _in("keras.layers", """
        SimpleRNNCell GRUCell LSTMCell StackedRNNCells RNN SimpleRNN GRU LSTM CuDNNGRU CuDNNLSTM TimeDistributed Bidirectional"""),
    "millstream.keras_v1.models": "keras.Model keras.Sequential " + _in("keras.models", "Model Sequential"),
    "millstream.keras_v1.configs": _in("keras.models", "clone_model model_from_json model_from_config") + " " + _in(
        "keras.layers", "serialize deserialize"),
    "millstream.keras_v1.activations": "keras.activations=",
    "millstream.keras_v1.initializers": "keras.initializers=",
    "millstream.keras_v1.regularizers": "keras.regularizers=",
    "millstream.keras_v1.constraints": "keras.constraints=",
    "millstream.keras_v1.losses": _in("keras.losses", _LOSSES + """ Loss Huber huber_loss logcosh LogCosh categorical_hinge cosine_similarity
        CosineSimilarity Hinge SquaredHinge CategoricalHinge KLDivergence Poisson MeanAbsolutePercentageError
        MeanSquaredLogarithmicError kld KLD"""),
    "millstream.keras_v1.metrics": _in("keras.metrics", _LOSSES + """ binary_accuracy categorical_accuracy sparse_categorical_accuracy
        top_k_categorical_accuracy sparse_top_k_categorical_accuracy BinaryAccuracy CategoricalAccuracy SparseCategoricalAccuracy
        TopKCategoricalAccuracy SparseTopKCategoricalAccuracy"""),
    "millstream.keras_v1.optimizers": "keras.optimizers=",
    "millstream.keras_v1.callbacks": "keras.callbacks=",
    "millstream.keras_v1.backend": "keras.backend=",
    "millstream.keras_v1.utils": "keras.utils=",
    "millstream.keras_v1.preprocessing": _in("keras.preprocessing.sequence", "pad_sequences") + " " + _in(
        "keras.preprocessing.text", "Tokenizer text_to_word_sequence one_hot"),
}
