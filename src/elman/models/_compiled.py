"""A compiled model, its sizes and its state: made, grown as rows ask for it, saved and read again."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self

from elman import limits, state
from elman._core import core
from elman.arguments import instance, whole_number
from elman.models._locked import Locked
from elman.models._rows import UNBOUNDED, Bounds, Columns, Outputs
from elman.models._values import KINDS
from elman.models.tickets import MAX_PENDING

if TYPE_CHECKING:
    from elman._core import Model as CoreModel
    from elman.configuration.members import Member
    from elman.configuration.part import Part


class Compiled(Locked, ABC):
    """What a model is made of. Subclasses say who learns in the compiled core."""

    kind: ClassVar[str]
    """What a saved model of this class is called in its bytes."""

    def __init__(
        self,
        *,
        lags: int,
        seed: int | None,
        max_pending: int = MAX_PENDING,
        bounds: Bounds = UNBOUNDED,
    ) -> None:
        super().__init__()
        whole_number("lags", lags, at_least=0, at_most=limits.LAGS)
        whole_number("max_pending", max_pending, at_least=1, at_most=limits.PENDING)
        self.lags = int(lags)
        self.max_pending = int(max_pending)
        self.seed = checked_seed(seed)
        self._native: CoreModel | None = None
        self._columns = Columns()
        self._outputs = Outputs(bounds=bounds)

    def _shown_limit(self) -> str:
        """Return `max_pending` as it is printed: not at all, unless it was chosen."""
        return "" if self.max_pending == MAX_PENDING else f", max_pending={self.max_pending}"

    # What a subclass provides

    @abstractmethod
    def _members_for(self, n_inputs: int) -> tuple[Member, ...]:
        """Return who learns rows of `n_inputs` features."""

    @abstractmethod
    def _options(self) -> dict[str, Any]:
        """Return the options of the core's model besides sizes and members."""

    @abstractmethod
    def _configuration(self) -> dict[str, Any]:
        """Return what `_configured` needs, as JSON values."""

    @classmethod
    @abstractmethod
    def _configured(cls, configuration: dict[str, Any]) -> Self:
        """Return a new model of the configuration."""

    # Saving and loading

    def to_bytes(self) -> bytes:
        """Return the whole model as bytes; `from_bytes` continues bit for bit."""
        with self._lock:
            arrays = ([], b"") if self._native is None else self._native.state()
            return state.dump(self._header(), state.Arrays(*arrays))

    @classmethod
    def from_bytes(cls, blob: bytes) -> Self:
        """Return the model that `to_bytes` wrote.

        Anything else is a ValueError that says what is wrong. No code is run.
        """
        header, arrays = state.parse(blob)
        with state.damaged_if_rejected():
            if header["kind"] != cls.kind:
                raise ValueError(f"it is a saved {header['kind']}, not a saved {cls.kind}")
            model = cls._configured(header["configuration"])
            model.max_pending = header.get("max_pending", MAX_PENDING)
            whole_number("max_pending", model.max_pending, at_least=1, at_most=limits.PENDING)
            model._restore(header["shape"], arrays)  # noqa: SLF001 - a model of this class
        return model

    def _restore(self, shape: dict[str, Any], arrays: state.Arrays) -> None:
        check_shape(**shape)
        names = shape["names"]
        kinds = tuple(shape.get("kinds", ()))
        columns = Columns(shape["n_inputs"], None if names is None else tuple(names), kinds)
        outputs = Outputs(shape["n_outputs"], shape["scalar"], self._outputs.bounds)
        if arrays.table:
            self._refuse_fewer_bytes(columns, outputs.count or 1, len(arrays.body))
            native = self._new_native(columns, outputs.count or 1)
            native.restore(arrays.table, arrays.body)
            self._keep(native, columns, outputs)
        self._columns, self._outputs = columns, outputs

    def _refuse_fewer_bytes(self, columns: Columns, n_outputs: int, n_bytes: int) -> None:
        """Raise ValueError unless there are as many bytes as the weights and their covariances alone have.

        So a few damaged bytes cannot make the core take memory for a model that they do not hold.
        """
        n_inputs = columns.n_coded(n_outputs)
        joint = self._options()["joint"]
        lags = self.lags * (n_outputs if joint else 1)
        fewest = (1 if joint else n_outputs) * sum(
            member.fewest_bytes(member.n_inputs(n_inputs, lags), n_outputs if joint else 1)
            for member in self._members_for(n_inputs)
        )
        moments = 24 * (n_inputs + n_outputs * (self.lags + 1))
        if fewest + moments > n_bytes:
            raise ValueError("the sizes in the header are not those of the arrays")

    def _header(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "configuration": self._configuration(),
            "max_pending": self.max_pending,
            "shape": {
                "n_inputs": self._columns.count,
                "names": self._columns.names,
                **({"kinds": self._columns.kinds} if self._columns.kinds else {}),
                "n_outputs": self._outputs.count,
                "scalar": self._outputs.scalar,
            },
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_bytes, (self.to_bytes(),)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return type(self).from_bytes(self.to_bytes())

    # The compiled model behind it

    def twin(self) -> Self:
        """Return another model of the same configuration; both have learned nothing.

        They share all that never changes, so that many of them cost little more than their arrays.
        """
        with self._lock:
            if self._native is not None and self._native.meters()[0]:
                raise ValueError("a model that has learned something has no twin: copy it instead")
            twin = object.__new__(type(self))
            twin.__dict__.update(self.__dict__)
            Locked.__init__(twin)
            twin._native = None if self._native is None else self._native.twin(seed_words(self.seed))
            return twin

    def _new_native(self, columns: Columns, n_outputs: int) -> CoreModel:
        _refuse_beyond("targets", n_outputs, limits.OUTPUTS, "values")
        width = columns.n_coded(n_outputs) + self.lags * n_outputs
        _refuse_beyond("rows", width, limits.COLUMNS, "columns, past targets included")
        numbered = self._numbered(self._members_for(columns.n_coded(n_outputs)))
        return core.Model(
            features=columns.all_kinds,
            n_outputs=n_outputs,
            lags=self.lags,
            lowest=self._outputs.bounds.lowest,
            highest=self._outputs.bounds.highest,
            members=[described(place, member) for place, member in numbered],
            **self._options(),
        )

    def _numbered(self, members: tuple[Member, ...]) -> list[tuple[int, Member]]:
        """Return each member with a number that it keeps when the model grows."""
        return list(enumerate(members))

    def _fitting(self, columns: Columns, outputs: Outputs) -> CoreModel:
        """Return the compiled model that fits: the present one, a grown copy of it, or a new one."""
        if self._native is not None and columns == self._columns and outputs == self._outputs:
            return self._native
        return self._grown(columns, outputs)

    def _grown(self, columns: Columns, outputs: Outputs) -> CoreModel:
        """Return a new compiled model of these sizes that knows what the present one knows."""
        native = self._new_native(columns, outputs.count or 1)
        native.initialise(seed_words(self.seed))
        if self._native is not None:
            native.grow_from(self._native)
        return native

    def _keep(self, native: CoreModel, columns: Columns, outputs: Outputs) -> None:
        """Make a compiled model, and the columns and outputs that it has, the model's own."""
        if native is self._native:
            return
        # A plain target must not slip in before the first one is recorded.
        native.expect(columns.names, outputs.scalar and outputs.count is not None)
        self._native, self._columns, self._outputs = native, columns, outputs


def check_shape(*, n_inputs: Any, names: Any, n_outputs: Any, scalar: Any, kinds: Any = ()) -> None:
    """Raise unless rows and targets can be so: the core trusts that there is a name for every input."""
    if names is not None and not (
        all(isinstance(name, str) for name in names) and len(set(names)) == len(names) == n_inputs
    ):
        raise ValueError(f"{n_inputs!r} inputs cannot have the names {names!r}")
    if n_inputs is not None:
        whole_number("n_inputs", n_inputs, at_least=0, at_most=limits.COLUMNS)
    if kinds and not (len(kinds) == n_inputs and all(kind in KINDS for kind in kinds)):
        raise ValueError(f"{n_inputs!r} inputs cannot hold {kinds!r}")
    instance("scalar", scalar, bool)
    if n_outputs is None and not scalar:
        raise ValueError("before the first target nobody can know that targets are arrays")
    if n_outputs is not None:
        whole_number("n_outputs", n_outputs, at_least=1, at_most=limits.OUTPUTS)
        if scalar and n_outputs > 1:
            raise ValueError(f"targets of {n_outputs} values cannot be plain numbers")


def _refuse_beyond(what: str, size: int, limit: int, unit: str) -> None:
    if size > limit:
        raise ValueError(f"{what} may have at most {limit:,} {unit}, got {size:,}")


def described(place: int, member: Member) -> tuple[Any, ...]:
    """Return a member and its number as the core takes it."""
    parts = (_part(part) for part in (member.cell, member.training, member.readout))
    return (place, member.training.window, *parts, member.lagged, member.features, member.absolute)


def _part(configuration: Part) -> tuple[str, dict[str, list[float]]]:
    """Return a part as the core takes it: its name and its fields as lists of numbers."""
    return type(configuration).__name__, configuration.numbers()


def checked_seed(seed: Any) -> int:
    """Return the seed, or one drawn at random for None."""
    if seed is None:
        return secrets.randbits(63)
    whole_number("seed", seed, at_least=0)
    return int(seed)


def seed_words(seed: int) -> list[int]:
    """Return a seed as words of 32 bits, the lowest first, as NumPy's SeedSequence takes it."""
    words = [seed & 0xFFFFFFFF]
    while seed := seed >> 32:
        words.append(seed & 0xFFFFFFFF)
    return words
