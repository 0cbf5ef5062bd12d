"""The base classes of all sections of a study file."""

from collections.abc import Iterator, Mapping
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, cast

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator
from pydantic.fields import FieldInfo

from cwndlab.base.errors import ArgumentError, StudyError

from .place import dotted_key
from .units import parse_time

#: A name for dotted keys and record tables; it may have characters that expressions do not allow.
Label = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_+-]*$", max_length=64)]


if TYPE_CHECKING:  # pydantic does not export the metaclass of its models
    from pydantic._internal._model_construction import ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)


class _Models(ModelMetaclass):
    """The metaclass of models whose constructors raise StudyError if a value is invalid."""

    def __call__(cls, *args: object, **keys: object) -> object:  # noqa: N805 - a metaclass
        own = cast("type[_Frozen]", cls)
        if len(args) > len(own.positional):
            names = ", ".join(f"{name}=…" for name in own.model_fields)
            raise ArgumentError(f"{cls.__name__} takes its keys by name: {names}")
        keys, laws = own.name_laws({**dict(zip(own.positional, args, strict=False)), **keys})
        try:
            model = super().__call__(**keys)
            if laws:
                model.__pydantic_private__["_laws"] = laws
            return model
        except ValidationError:
            from .validate import validate  # only for errors

            try:
                return validate(cast("type[BaseModel]", cls), keys)
            except StudyError as error:
                key = ".".join([cls.__name__, *filter(None, [dotted_key(keys, error.path or ())])])
                raise error.replace(key=key, others=()) from None

    def __dir__(cls) -> list[str]:  # noqa: N805
        """The methods that `help` describes: those that cwndlab defines, not pydantic."""
        ours = {name for base in cls.__mro__ if base.__module__.startswith("cwndlab.") for name in vars(base)}
        return sorted(name for name in ours - {*vars(BaseModel), *_OF_CLASSES} if not name.startswith("_"))

    @property
    def __signature__(cls) -> Signature:  # noqa: N805 - pydantic's has the validators of every key
        own = cast("type[_Frozen]", cls)
        names = [*own.positional, *(name for name in own.model_fields if name not in own.positional)]
        kinds = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
        return Signature(
            [
                Parameter(name, kinds[name not in own.positional], default=_default(own.model_fields[name]))
                for name in names
            ]
        )

    @__signature__.setter
    def __signature__(cls, value: object) -> None:  # noqa: N805 - ignores pydantic's signature
        pass


#: Attributes of the classes that `help` leaves out: users of the objects do not need them.
_OF_CLASSES = ("model_config", "positional", "name_laws")


def _default(field: FieldInfo) -> object:
    """The default of a key for the signature; `Parameter.empty` for a required key."""
    default = field.get_default(call_default_factory=True, validated_data={})
    return Parameter.empty if field.is_required() else default


class _Frozen(BaseModel, metaclass=_Models):
    #: The keys that the constructor also accepts by position, in this order.
    positional: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def name_laws(cls, keys: Mapping[str, object]) -> tuple[dict[str, object], Mapping[str, type]]:
        """The keys with each class of a congestion control replaced by its name, and the classes by name."""
        return dict(keys), {}

    def __dir__(self) -> list[str]:
        """The keys, and the methods that cwndlab defines."""
        return sorted({*type(self).model_fields, *dir(type(self))})

    def __repr_args__(self) -> Iterator[tuple[str | None, object]]:
        """The keys that were given, with values as the constructor accepts them."""
        plain = self.model_dump(mode="json", exclude_unset=True)
        for name in (*type(self).model_fields, *(self.model_extra or ())):
            if name in plain:
                value = getattr(self, name)
                yield name, value if _holds_model(value) else plain[name]

    def __str__(self) -> str:
        return repr(self)

    def __setattr__(self, name: str, value: object) -> None:
        cls = type(self).__name__
        raise ArgumentError(f"{name} of a {cls} cannot be changed; make another: {cls}({name}={value!r}, …)")


def _holds_model(value: object) -> bool:
    """Whether a value is a model, or a list of models."""
    return isinstance(value, BaseModel) or (isinstance(value, list) and any(map(_holds_model, value)))


class Strict(_Frozen):
    """A table that rejects unknown keys and does not convert types."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class Open(_Frozen):
    """A table with a `kind` (or profile) and knobs of that kind, which the engine checks."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True, defer_build=True)

    def knobs(self) -> dict[str, Any]:
        """The keys that are not in the schema, which the engine checks."""
        return dict(self.model_extra or {})


class Drawn(Strict):
    """A start time that is drawn for each flow and replicate, uniformly from an interval."""

    uniform: list[str] = Field(
        min_length=2, max_length=2, examples=[["0s", "1s"]], description="the ends of the interval"
    )

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        low, high = self.seconds
        if low >= high:
            raise ValueError("this interval ends before it begins")
        return self

    @property
    def seconds(self) -> tuple[float, float]:
        """The ends of the interval, in seconds."""
        low, high = self.uniform
        return parse_time(low) / 1e9, parse_time(high) / 1e9
