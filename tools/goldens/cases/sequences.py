# SPDX-License-Identifier: Apache-2.0
"""Batches of SequenceExamples."""
from record import apply, script, tf

F, I, STR = tf.float32, tf.int64, tf.string


def feature(**kw):
  return tf.train.Feature(**kw)


def floats(*v):
  return feature(float_list=tf.train.FloatList(value=v))


def ints(*v):
  return feature(int64_list=tf.train.Int64List(value=v))


def words(*v):
  return feature(bytes_list=tf.train.BytesList(value=v))


def example(context, lists):
  return tf.train.SequenceExample(
      context=tf.train.Features(feature=context),
      feature_lists=tf.train.FeatureLists(feature_list={k: tf.train.FeatureList(feature=v) for k, v in lists.items()})
  ).SerializeToString(deterministic=True)


FULL = example({'a': floats(1, 2), 'n': ints(7), 'w': words(b'x', b'yy')},
               {'f': [floats(1, 2), floats(3, 4)], 's': [words(b'p'), words(), words(b'q', b'r')], 'i': [ints(1), feature(), ints(2, 3)]})
SHORT = example({'a': floats(8, 9)}, {'f': [floats(5, 6)], 'i': []})
BAD = example({'a': floats(8, 9)}, {'f': [floats(5)]})


def older(serialized, names=(), missing=(), dense=('f',)):
  return apply('ParseSequenceExample', serialized=serialized, debug_name=tf.constant(list(names), STR), context_dense_defaults=[tf.constant([], F)],
               feature_list_dense_missing_assumed_empty=list(missing), context_sparse_keys=['n', 'w'], context_dense_keys=['a'],
               feature_list_sparse_keys=['s', 'i'], feature_list_dense_keys=list(dense), Ncontext_dense=1, context_sparse_types=[I, STR],
               context_dense_shapes=[[2]], feature_list_sparse_types=[STR, I], feature_list_dense_types=[F] * len(dense),
               feature_list_dense_shapes=[[2]] * len(dense), Ncontext_sparse=2, Nfeature_list_sparse=2, Nfeature_list_dense=len(dense)).outputs


def newer(serialized, names=(), missing=(False,), dense=('f',), splits=I):
  return apply('ParseSequenceExampleV2', serialized=serialized, debug_name=tf.constant(list(names), STR), context_sparse_keys=tf.constant(['n']),
               context_dense_keys=tf.constant(['a']), context_ragged_keys=tf.constant(['w']), feature_list_sparse_keys=tf.constant(['s']),
               feature_list_dense_keys=tf.constant(list(dense)), feature_list_ragged_keys=tf.constant(['i', 'none']),
               feature_list_dense_missing_assumed_empty=tf.constant(list(missing)), context_dense_defaults=[tf.constant([], F)],
               context_sparse_types=[I], context_ragged_value_types=[STR], context_ragged_split_types=[splits], context_dense_shapes=[[2]],
               feature_list_sparse_types=[STR], feature_list_dense_types=[F] * len(dense), feature_list_ragged_value_types=[I, STR],
               feature_list_ragged_split_types=[splits, splits], feature_list_dense_shapes=[[2]] * len(dense), Ncontext_sparse=1,
               Nfeature_list_sparse=1, Nfeature_list_dense=len(dense)).outputs


def cases():
  batch = lambda *v: tf.constant(list(v), STR)
  for name, parse in (('ParseSequenceExample', older), ('ParseSequenceExampleV2', newer)):
    with script(name, 'batch') as s:
      s.run(parse(batch(FULL, SHORT), ['one', 'two']))
    with script(name, 'bad_size') as s:
      s.run(parse(batch(FULL, BAD)), error=True)
    with script(name, 'bad_bytes') as s:
      s.run(parse(batch(b'\\x0a\\x7f')), error=True)
    with script(name, 'required') as s:
      s.run(parse(batch(FULL), ['me'], dense=('absent',)), error=True)
  with script('ParseSequenceExampleV2', 'both') as s:
    s.run(newer(batch(FULL), dense=('s',)), error=True)
  with script('ParseSequenceExample', 'missing') as s:
    s.run(older(batch(FULL, SHORT), missing=['absent'], dense=('f', 'absent')))
  with script('ParseSequenceExampleV2', 'missing') as s:
    s.run(newer(batch(FULL, SHORT), missing=[False, True], dense=('f', 'absent'), splits=tf.int32))
  with script('ParseSequenceExampleV2', 'single') as s:
    # The outer splits of one example mean nothing, nor do those of its context.
    out = newer(tf.constant(FULL))
    s.run(out[:5] + out[6:-4] + out[-2:])
