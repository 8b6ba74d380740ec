"""The information matrix of a comparison model, and how to solve with it.

In the abilities it is the Laplacian of a weighted graph: one edge per compared pair, weighted by what the
comparisons tell. A few columns (position, covariates, tie) border it. A Laplacian cannot see a common shift, so
abilities are held to sum to zero within each *group* of items, and a small constant added to the group's block
makes the matrix invertible without changing any answer. Small systems are factorised; in large ones the steps
are found by conjugate gradients, and only the final covariance needs a factorisation.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
from scipy.linalg import cho_solve, lapack
from scipy.sparse import coo_array, csr_array

from overnight.rank.arrays import Floats, Ints, inner, summed
from overnight.rank.outcomes import Curvature
from overnight.rank.tally import Cells

FACTORISE_UP_TO: Final = 300
EXACT_ERRORS_UP_TO: Final = 20_000
_CG_TOLERANCE: Final = 1e-11
_CG_MOST_STEPS: Final = 3_000
_COLUMNS_AT_A_TIME: Final = 1_024
# LAPACK starts threads for its inverse whatever the size; on a busy machine that costs more than it saves
_TOO_SMALL_FOR_THREADS: Final = 64


class SingularInformationError(ArithmeticError):
    """The information matrix cannot be factorised: some combination of parameters is not determined."""


@dataclass(frozen=True)
class Groups:
    """Items whose abilities are held to sum to zero together."""

    label: Ints
    size: Floats = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", np.bincount(self.label).astype(np.float64))

    @cached_property
    def members(self) -> list[Ints]:
        """The items of each group."""
        return np.split(np.argsort(self.label, kind="stable"), np.cumsum(np.bincount(self.label))[:-1])

    def centred(self, values: Floats) -> Floats:
        """Values with their group's mean taken away (columns of a matrix each on their own)."""
        if len(self.size) == 1:
            return np.asarray(values - values.mean(axis=0))
        sums = np.zeros((len(self.size), *values.shape[1:]))
        np.add.at(sums, self.label, values)
        means = (sums.T / self.size).T
        return np.asarray(values - means[self.label])

    def add_within(self, matrix: Floats, constants: Floats) -> None:
        """Add a constant of its own to each group's block of a matrix."""
        if len(self.size) == 1:
            matrix += constants[0]
            return
        for members, constant in zip(self.members, constants, strict=True):
            matrix[np.ix_(members, members)] += constant


@dataclass(frozen=True)
class Covariance:
    """An inverse information: abilities (summing to zero), the other parameters, and the two across."""

    abilities: Floats
    across: Floats
    others: Floats

    def scaled(self, factor: float) -> "Covariance":
        return Covariance(self.abilities * factor, self.across * factor, self.others * factor)

    def full(self) -> Floats:
        return np.block([[self.abilities, self.across], [self.across.T, self.others]])


@dataclass(frozen=True)
class Information:
    """Minus the Hessian at one point, with `ridge` added to every ability's diagonal."""

    cells: Cells
    curvature: Curvature
    groups: Groups
    ridge: float
    has_tie: bool

    @property
    def n_items(self) -> int:
        return len(self.groups.label)

    @cached_property
    def border(self) -> Floats:
        """Abilities against the other parameters."""
        columns = [self._by_item(self.curvature.lead * column) for column in self.cells.features.T]
        if self.has_tie:
            columns.append(self._by_item(self.curvature.cross))
        return np.column_stack(columns) if columns else np.zeros((self.n_items, 0))

    @cached_property
    def corner(self) -> Floats:
        """The other parameters against one another."""
        features, width = self.cells.features.T, self.cells.features.shape[1]
        corner = np.zeros((width + self.has_tie, width + self.has_tie))
        for at, feature in enumerate(features):
            weighted = self.curvature.lead * feature
            corner[at, :width] = [inner(weighted, other) for other in features]
            if self.has_tie:
                corner[at, width] = corner[width, at] = inner(feature, self.curvature.cross)
        if self.has_tie:
            corner[width, width] = self.curvature.tie.sum()
        return corner

    def solve(self, score: Floats) -> Floats:
        """The step that this information makes of a score."""
        n = self.n_items
        solved = self.solve_abilities(np.column_stack([score[:n], self.border]))
        by_score, by_border = solved[:, 0], solved[:, 1:]
        schur = self.corner - self.border.T @ by_border
        try:
            others = np.linalg.solve(schur, score[n:] - self.border.T @ by_score)
        except np.linalg.LinAlgError as error:
            raise SingularInformationError from error
        return np.concatenate([by_score - by_border @ others, others])

    def solve_abilities(self, right: Floats) -> Floats:
        """The ability block alone, for several right-hand sides that sum to zero in each group."""
        if self.n_items <= FACTORISE_UP_TO:
            return self.groups.centred(cho_solve((self._factor, True), right))
        solved = [self._conjugate_gradients(column) for column in right.T]
        if any(column is None for column in solved):
            return self.groups.centred(cho_solve((self._factor, True), right))
        return np.column_stack([column for column in solved if column is not None])

    def covariance(self) -> Covariance:
        factor = self._factorised()
        by_border = self.groups.centred(cho_solve((factor, True), self.border))
        root = self._others_root(by_border)
        abilities = _inverse(factor)
        # what the added constant contributed is the variance of each group's common shift
        self.groups.add_within(abilities, -1 / (self.groups.size * (self.ridge + self._shift * self.groups.size)))
        shared = by_border @ root
        for strip in _strips(len(abilities)):
            abilities[:, strip] += shared @ shared[strip].T
        return Covariance(abilities, -shared @ root.T, root @ root.T)

    def log_determinant(self) -> float:
        """Over all parameters, with abilities that sum to zero in each group."""
        schur = self.corner - self.border.T @ self.solve_abilities(self.border)
        sign, of_others = np.linalg.slogdet(schur)
        if sign <= 0:
            raise SingularInformationError
        of_shifts = np.log(self.ridge + self._shift * self.groups.size).sum()
        return float(2 * np.log(self._factor.diagonal()).sum() - of_shifts + of_others)

    def retained(self) -> Floats:
        """For each parameter beside the abilities: the share of its information that the abilities leave it."""
        schur = self.corner - self.border.T @ self.solve_abilities(self.border)
        kept = np.zeros(len(schur))
        basis: list[int] = []
        for at in range(len(schur)):
            across = schur[at, basis]
            explained = across @ np.linalg.solve(schur[np.ix_(basis, basis)], across) if basis else 0.0
            kept[at] = (schur[at, at] - explained) / self.corner[at, at] if self.corner[at, at] > 0 else 0.0
            if kept[at] > 1e-9:
                basis.append(at)
        return kept

    def _others_root(self, by_border: Floats) -> Floats:
        """A square root of the covariance of the parameters beside the abilities."""
        schur = self.corner - self.border.T @ by_border
        values, vectors = np.linalg.eigh((schur + schur.T) / 2)
        if (values <= 0).any():
            raise SingularInformationError
        return np.asarray(vectors / np.sqrt(values))

    def _by_item(self, by_cell: Floats) -> Floats:
        n = self.n_items
        return summed(self.cells.first, by_cell, n) - summed(self.cells.second, by_cell, n)

    @cached_property
    def _factor(self) -> Floats:
        return self._factorised()

    def _factorised(self) -> Floats:
        """The lower Cholesky factor of the ability block, in memory of its own."""
        n = self.n_items
        if n > EXACT_ERRORS_UP_TO:
            raise SingularInformationError
        low, high = np.minimum(self.cells.first, self.cells.second), np.maximum(self.cells.first, self.cells.second)
        # Column by column, as LAPACK has it.
        block = summed(low * n + high, -self.curvature.lead, n * n).reshape(n, n).T
        block[np.diag_indices(n)] = self._diagonal
        self.groups.add_within(block, np.full(len(self.groups.size), self._shift))
        factor, failed = lapack.dpotrf(block, lower=1, overwrite_a=1, clean=0)
        if failed:
            raise SingularInformationError
        return np.asarray(factor)

    @cached_property
    def _diagonal(self) -> Floats:
        n, weight = self.n_items, self.curvature.lead
        return summed(self.cells.first, weight, n) + summed(self.cells.second, weight, n) + self.ridge

    @cached_property
    def _shift(self) -> float:
        return float(self._diagonal.mean() / self.n_items) or 1.0

    @cached_property
    def _edges(self) -> csr_array:
        """The weights as a matrix from first to second item; counted cells are already in its order."""
        n, cells = self.n_items, self.cells
        if np.any(np.diff(cells.first) < 0):
            return coo_array((self.curvature.lead, (cells.first, cells.second)), shape=(n, n)).tocsr()
        starts = np.concatenate([[0], np.cumsum(np.bincount(cells.first, minlength=n))])
        return csr_array((self.curvature.lead, cells.second, starts), shape=(n, n))

    def _times(self, values: Floats) -> Floats:
        return np.asarray(self._diagonal * values - self._edges @ values - self._edges.T @ values)

    def _conjugate_gradients(self, right: Floats) -> Floats | None:
        """Solve the singular but consistent system in the space of zero-sum vectors; None if it takes too long."""
        scale = 1 / np.maximum(self._diagonal, np.finfo(float).tiny)
        solution = np.zeros_like(right)
        residual = self.groups.centred(right)
        enough = _CG_TOLERANCE * float(np.linalg.norm(residual))
        scaled = self.groups.centred(scale * residual)
        direction = scaled.copy()
        energy = float(residual @ scaled)
        for _ in range(_CG_MOST_STEPS):
            if float(np.linalg.norm(residual)) <= enough:
                return self.groups.centred(solution)
            image = self._times(direction)
            length = energy / float(direction @ image)
            solution += length * direction
            residual -= length * image
            scaled = self.groups.centred(scale * residual)
            energy, before = float(residual @ scaled), energy
            direction *= energy / before
            direction += scaled
        return None


def _inverse(factor: Floats) -> Floats:
    """The inverse of a matrix from its lower Cholesky factor, which a large one overwrites."""
    n = len(factor)
    if n <= _TOO_SMALL_FOR_THREADS:
        return np.asarray(cho_solve((factor, True), np.eye(n)))
    inverse, failed = lapack.dpotri(factor, lower=1, overwrite_c=1)
    if failed:
        raise SingularInformationError
    _mirror_lower(inverse)
    return np.asarray(inverse)


def _strips(n: int) -> list[slice]:
    """Columns in portions, so that large matrices are changed without a second one beside them."""
    return [slice(start, min(start + _COLUMNS_AT_A_TIME, n)) for start in range(0, n, _COLUMNS_AT_A_TIME)]


def _mirror_lower(matrix: Floats) -> None:
    for strip in _strips(len(matrix)):
        matrix[strip, strip.stop :] = matrix[strip.stop :, strip].T
        square = matrix[strip, strip]
        matrix[strip, strip] = np.tril(square) + np.tril(square, -1).T


__all__ = ["EXACT_ERRORS_UP_TO", "Covariance", "Groups", "Information", "SingularInformationError"]
