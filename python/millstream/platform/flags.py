# SPDX-License-Identifier: Apache-2.0
"""tf.flags: command line flags, read when the first value is asked for. No other package is needed."""
from __future__ import annotations

import sys

_HELP = ("help", "h", "helpfull", "helpshort")


class Error(Exception):
    """A flag that is not defined, defined twice, or given a value that does not fit."""


class DuplicateFlagError(Error):
    pass


class IllegalFlagValueError(Error):
    pass


class UnrecognizedFlagError(Error):
    def __init__(self, name, value=""):
        super().__init__(f"Unknown command line flag '{name}'")
        self.flagname, self.flagvalue = name, value


class UnparsedFlagAccessError(Error):
    pass


class ValidationError(Error):
    pass


class Flag:
    """One flag; `parse` turns text into its value."""

    def __init__(self, name, default, help_text, parse, is_bool=False, kind="string", is_list=False):
        self.name = name
        self.help = help_text
        self.parse = parse
        self.boolean = is_bool
        self.kind = kind
        self.is_list = is_list
        self.present = 0
        self.default = self._valued(default)
        self.value = self.default

    def _valued(self, value):
        if value is None:
            return None
        if self.is_list and not isinstance(value, str):
            return list(value)
        try:
            return self.parse(value)
        except (TypeError, ValueError) as e:
            raise IllegalFlagValueError(f"flag --{self.name}={value}: {e}") from None

    def set(self, text):
        value = self._valued(text)
        if self.kind == "multi" and self.present:
            value = self.value + value
        self.value = value
        self.present += 1


class FlagValues:
    """The flags of the program: FLAGS.name."""

    def __init__(self):
        self.__dict__["_flags"] = {}
        self.__dict__["_parsed"] = False
        self.__dict__["_validators"] = []
        self.__dict__["_rest"] = []

    def _define(self, flag):
        if flag.name in self._flags:
            known = self._flags[flag.name]
            if (known.default, known.kind) != (flag.default, flag.kind):
                raise DuplicateFlagError(f"The flag '{flag.name}' is defined twice.")
            return known
        self._flags[flag.name] = flag
        return flag

    def __call__(self, argv, known_only=False):
        """Reads `argv`, whose first item is the program; returns what is not a flag."""
        rest = [argv[0]]
        items = iter(argv[1:])
        for item in items:
            if item == "--":
                rest.extend(items)
                break
            if not item.startswith("-") or item == "-":
                rest.append(item)
                continue
            name, equals, value = item.lstrip("-").partition("=")
            if name in _HELP and name not in self._flags:
                self._print_help(argv[0])
                sys.exit(0)
            flag, value = self._find(name, value if equals else None)
            if flag is None:
                if not known_only:
                    raise UnrecognizedFlagError(name, value)
                rest.append(item)
                continue
            if value is None:
                value = next(items, None)
                if value is None:
                    raise Error(f"Missing value for flag --{name}")
            flag.set(value)
        self.__dict__["_parsed"] = True
        self._validate()
        return rest

    def _find(self, name, value):
        for candidate in (name, name.replace("-", "_")):
            flag = self._flags.get(candidate)
            if flag is not None:
                return flag, "true" if flag.boolean and value is None else value
            if candidate.startswith("no") and candidate[2:] in self._flags and self._flags[candidate[2:]].boolean:
                return self._flags[candidate[2:]], "false"
        return None, value

    def _validate(self, only=None):
        for name, check, message in self._validators:
            if (only is None or name == only) and not check(self._flags[name].value):
                raise IllegalFlagValueError(f"flag --{name}={self._flags[name].value}: {message}")

    def _print_help(self, program):
        print(f"\nUSAGE: {program} [flags]\nflags:\n")
        for name in sorted(self._flags):
            flag = self._flags[name]
            shown = f"--[no]{name}" if flag.boolean else f"--{name}"
            print(f"  {shown}: {flag.help}\n    (default: {flag.default!r})")

    def _parse_flags(self, args=None):
        argv = sys.argv if args is None else [sys.argv[0]] + list(args)
        self.__dict__["_rest"] = self(argv, known_only=True)[1:]

    def is_parsed(self):
        return self._parsed

    def mark_as_parsed(self):
        self.__dict__["_parsed"] = True

    def unparse_flags(self):
        self.__dict__["_parsed"] = False

    def __getattr__(self, name):
        flags = self.__dict__["_flags"]
        if name.startswith("__") and name.endswith("__") and name not in flags:
            raise AttributeError(name)
        if name == "__flags":
            return {n: f.value for n, f in flags.items()}
        if not self._parsed:
            self._parse_flags()
        if name not in flags:
            raise AttributeError(name)
        return flags[name].value

    def __setattr__(self, name, value):
        if name not in self._flags:
            raise AttributeError(name)
        before, self._flags[name].value = self._flags[name].value, value
        try:
            self._validate(name)
        except IllegalFlagValueError:
            self._flags[name].value = before
            raise

    def __delattr__(self, name):
        if name not in self._flags:
            raise AttributeError(name)
        del self._flags[name]

    def __getitem__(self, name):
        return self._flags[name]

    def __contains__(self, name):
        return name in self._flags

    def __iter__(self):
        return iter(self._flags)

    def __len__(self):
        return len(self._flags)

    def __dir__(self):
        return list(self._flags)

    def flag_values_dict(self):
        return {n: f.value for n, f in self._flags.items()}

    def get_flag_value(self, name, default):
        return self._flags[name].value if name in self._flags else default

    def set_default(self, name, value):
        flag = self._flags[name]
        flag.default = flag._valued(value)
        if not flag.present:
            flag.value = flag.default


FLAGS = FlagValues()


def _parse_bool(text):
    if isinstance(text, bool):
        return text
    if isinstance(text, int):
        return bool(text)
    if text.lower() in ("true", "t", "1", "yes", "y"):
        return True
    if text.lower() in ("false", "f", "0", "no", "n"):
        return False
    raise ValueError("Non-boolean argument to boolean flag")


def _parse_int(text):
    return int(text, 0) if isinstance(text, str) else int(text)


def _parse_list(text):
    return [part.strip() for part in text.split(",")] if text else []


def _within(lower, upper):
    return lambda value: value is None or ((lower is None or value >= lower) and (upper is None or value <= upper))


def _bounded(parse, lower, upper):
    def bounded(text):
        value = parse(text)
        if not _within(lower, upper)(value):
            raise ValueError(f"{value} is not in [{lower}, {upper}]")
        return value
    return bounded


def _define_bounded(flag, lower, upper, flag_values):
    flag_values._define(flag)
    if lower is not None or upper is not None:  # also of values that the program sets
        flag_values._validators.append((flag.name, _within(lower, upper), f"the value must be in [{lower}, {upper}]"))


def _arguments(help, kwargs):  # pylint: disable=redefined-builtin
    return help if help is not None else kwargs.get("docstring", "")


def DEFINE_string(name, default=None, help=None, flag_values=FLAGS, **kwargs) -> None:  # pylint: disable=redefined-builtin
    """Defines a command-line flag whose value is text."""
    flag_values._define(Flag(kwargs.get("flag_name", name), default, _arguments(help, kwargs), str))


def DEFINE_boolean(name, default=None, help=None, flag_values=FLAGS, **kwargs) -> None:  # pylint: disable=redefined-builtin
    """Defines a command-line flag that is set by `--name` or `--name=true` and cleared by `--noname` or `--name=false`."""
    flag_values._define(Flag(name, default, _arguments(help, kwargs), _parse_bool, is_bool=True, kind="bool"))


DEFINE_bool = DEFINE_boolean


def DEFINE_integer(name, default=None, help=None, lower_bound=None, upper_bound=None,  # pylint: disable=redefined-builtin
                   flag_values=FLAGS, **kwargs) -> None:
    """Defines a command-line flag whose value is an integer, within the bounds if they are given."""
    parse = _bounded(_parse_int, lower_bound, upper_bound)
    _define_bounded(Flag(name, default, _arguments(help, kwargs), parse, kind="int"), lower_bound, upper_bound, flag_values)


def DEFINE_float(name, default=None, help=None, lower_bound=None, upper_bound=None,  # pylint: disable=redefined-builtin
                 flag_values=FLAGS, **kwargs) -> None:
    """Defines a command-line flag whose value is a floating-point number, within the bounds if they are given."""
    parse = _bounded(float, lower_bound, upper_bound)
    _define_bounded(Flag(name, default, _arguments(help, kwargs), parse, kind="float"), lower_bound, upper_bound, flag_values)


def DEFINE_enum(name, default, enum_values, help=None, flag_values=FLAGS, **kwargs) -> None:  # pylint: disable=redefined-builtin
    """Defines a command-line flag whose value is one of `enum_values`."""
    parse = _one_of(enum_values, kwargs.get("case_sensitive", True))
    flag_values._define(Flag(name, default, _arguments(help, kwargs), parse, kind="enum"))


def DEFINE_list(name, default=None, help=None, flag_values=FLAGS, **kwargs) -> None:  # pylint: disable=redefined-builtin
    """Defines a command-line flag whose value is a list of texts, separated by commas."""
    flag_values._define(Flag(name, default, _arguments(help, kwargs), _parse_list, kind="list", is_list=True))


def DEFINE_multi_string(name, default=None, help=None, flag_values=FLAGS, **kwargs) -> None:  # pylint: disable=redefined-builtin
    flag_values._define(Flag(name, default, _arguments(help, kwargs), lambda t: [t], kind="multi", is_list=True))


def _multi(name, default, help, parse, flag_values, kwargs):  # pylint: disable=redefined-builtin
    flag_values._define(Flag(name, default if default is None or isinstance(default, (list, tuple, str)) else [default],
                             _arguments(help, kwargs), lambda t: [parse(t)], kind="multi", is_list=True))


def DEFINE_multi_integer(name, default=None, help=None, lower_bound=None, upper_bound=None,  # pylint: disable=redefined-builtin
                         flag_values=FLAGS, **kwargs) -> None:
    _multi(name, default, help, _bounded(_parse_int, lower_bound, upper_bound), flag_values, kwargs)


def DEFINE_multi_float(name, default=None, help=None, lower_bound=None, upper_bound=None,  # pylint: disable=redefined-builtin
                       flag_values=FLAGS, **kwargs) -> None:
    _multi(name, default, help, _bounded(float, lower_bound, upper_bound), flag_values, kwargs)


def _one_of(enum_values, case_sensitive=True):
    known = {v if case_sensitive else v.lower(): v for v in enum_values}

    def parse(text):
        key = text if case_sensitive else text.lower()
        if key not in known:
            raise ValueError(f"value should be one of <{'|'.join(enum_values)}>")
        return known[key]
    return parse


def DEFINE_multi_enum(name, default, enum_values, help=None, flag_values=FLAGS, case_sensitive=True,  # pylint: disable=redefined-builtin
                      **kwargs):
    _multi(name, default, help, _one_of(enum_values, case_sensitive), flag_values, kwargs)


def _member(enum_class, case_sensitive):
    name_of = _one_of([m.name for m in enum_class], case_sensitive)
    return lambda value: value if isinstance(value, enum_class) else enum_class[name_of(value)]


def DEFINE_enum_class(name, default, enum_class, help=None, flag_values=FLAGS, module_name=None,  # pylint: disable=redefined-builtin
                      case_sensitive=False, **kwargs):
    flag_values._define(Flag(name, default, _arguments(help, kwargs), _member(enum_class, case_sensitive), kind="enum"))


def DEFINE_multi_enum_class(name, default, enum_class, help=None, flag_values=FLAGS, module_name=None,  # pylint: disable=redefined-builtin
                            case_sensitive=False, **kwargs):
    _multi(name, default, help, _member(enum_class, case_sensitive), flag_values, kwargs)


def DEFINE_spaceseplist(name, default=None, help=None, comma_compat=False, flag_values=FLAGS,  # pylint: disable=redefined-builtin
                        **kwargs):
    flag_values._define(Flag(name, default, _arguments(help, kwargs), lambda t: t.replace(",", " ").split() if comma_compat else t.split(),
                             kind="list", is_list=True))


def set_default(flag_holder, value, flag_values=FLAGS):
    flag_values.set_default(getattr(flag_holder, "name", flag_holder), value)


def register_multi_flags_validator(flag_names, multi_flags_checker, message="Flags validation failed", flag_values=FLAGS):
    """`multi_flags_checker` gets a dict of the values of `flag_names`."""
    register_validator(flag_names[0], lambda _: multi_flags_checker({n: flag_values._flags[n].value for n in flag_names}), message,
                       flag_values)


def multi_flags_validator(flag_names, message="Flag validation failed", flag_values=FLAGS):
    def decorate(function):
        register_multi_flags_validator(flag_names, function, message, flag_values)
        return function
    return decorate


def mark_flags_as_mutual_exclusive(flag_names, required=False, flag_values=FLAGS):
    def check(values):
        count = sum(v is not None for v in values.values())
        return count == 1 or not required and count == 0
    register_multi_flags_validator(flag_names, check, f"{'Exactly' if required else 'At most'} one of ({', '.join(flag_names)}) must have "
                                   "a value other than None.", flag_values)


def mark_bool_flags_as_mutual_exclusive(flag_names, required=False, flag_values=FLAGS):
    def check(values):
        count = sum(bool(v) for v in values.values())
        return count == 1 or not required and count == 0
    register_multi_flags_validator(flag_names, check, f"{'Exactly' if required else 'At most'} one of ({', '.join(flag_names)}) must be "
                                   "True.", flag_values)


def declare_key_flag(flag_name, flag_values=FLAGS):
    """Of use to --help of several modules only; here all flags are listed."""


def adopt_module_key_flags(module, flag_values=FLAGS):
    """As declare_key_flag."""


def disclaim_key_flags():
    """As declare_key_flag."""


def DEFINE_alias(name, original_name, flag_values=FLAGS, **kwargs):
    flag_values._flags[name] = flag_values._flags[original_name]


def mark_flag_as_required(flag_name, flag_values=FLAGS):
    register_validator(flag_name, lambda v: v is not None, "Flag must have a value other than None.", flag_values)


def mark_flags_as_required(flag_names, flag_values=FLAGS):
    for name in flag_names:
        mark_flag_as_required(name, flag_values)


def register_validator(flag_name, checker, message="Flag validation failed", flag_values=FLAGS):
    flag_values._validators.append((flag_name, checker, message))


def validator(flag_name, message="Flag validation failed", flag_values=FLAGS):
    def decorate(function):
        register_validator(flag_name, function, message, flag_values)
        return function
    return decorate


def tf_decorator(*_args, **_kwargs):
    raise NotImplementedError("tf.flags.tf_decorator")
