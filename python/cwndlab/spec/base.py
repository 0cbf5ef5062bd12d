"""What all sections of a study file are made of."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, TypeAlias, cast

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from cwndlab.errors import ArgumentError, StudyError

from .place import dotted_key
from .units import parse_time

#: A name used in dotted keys and in record tables, but not in expressions.
Label = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_+-]*$", max_length=64)]


Renamed: TypeAlias = Mapping[str, Callable[[Mapping[str, object]], str]]

if TYPE_CHECKING:  # pydantic does not export the type of its models
    from pydantic._internal._model_construction import ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)


class _Models(ModelMetaclass):
    """Whose constructors raise StudyError where a value does not fit."""

    def __call__(cls, *args: object, **keys: object) -> object:  # noqa: N805 - of a type of types
        try:
            return super().__call__(*args, **keys)
        except ValidationError:
            from .validate import validate  # which knows the models

            try:
                return validate(cast("type[BaseModel]", cls), keys)
            except StudyError as error:
                key = ".".join([cls.__name__, *filter(None, [dotted_key(keys, error.path or ())])])
                raise error.replace(key=key, others=()) from None


class _Frozen(BaseModel, metaclass=_Models):
    def __setattr__(self, name: str, value: object) -> None:
        cls = type(self).__name__
        raise ArgumentError(f"{name} of a {cls} cannot be changed; make another: {cls}({name}={value!r}, …)")


class Strict(_Frozen):
    """Unknown keys are errors, types are not coerced."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)
    #: Keys that it had once, and what to write in place of one, given its table.
    renamed: ClassVar[Renamed] = {}


class Open(_Frozen):
    """A `kind` (or profile) and its knobs, which the core checks."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True, defer_build=True)

    def knobs(self) -> dict[str, Any]:
        """The keys that the schema leaves to the core."""
        return dict(self.model_extra or {})


class Drawn(Strict):
    """A start that is drawn for each flow and replicate, uniformly from an interval."""

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
        """The ends of the interval."""
        low, high = self.uniform
        return parse_time(low) / 1e9, parse_time(high) / 1e9
