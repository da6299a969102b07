"""Chooses the units which say most within a number of tokens."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from perdure.memory.extract.importance import Value

REPEATED = 750
"""Thousandths of its weight which a word keeps each time it was said before (at most twice)."""

SLIGHT = 500
"""Weight of about half a word, which a unit must offer before it counts at all."""

ASKED = 2_500
"""Thousandths of its rank which a question has once its answer was chosen."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A unit to choose: its value, its tokens (at least 1), its line, and what it answers.

    `asked` is the index of the question before it, or -1.
    """

    value: Value
    cost: int
    line: int
    asked: int


def ranked(candidates: Sequence[Candidate], overhead: int, budget: int) -> list[int]:
    """Indices in the order of choice, best first, until `budget` tokens are spent.

    Each step takes the unit with the most fresh weight per token. The first unit of a line costs
    `overhead` tokens more. Ties go to the earlier unit, so the order depends on nothing else.
    """
    return _Choice(candidates, overhead).take(budget)


class _Choice:
    """A greedy choice with a heap of promises which are checked when they come up."""

    def __init__(self, candidates: Sequence[Candidate], overhead: int) -> None:
        self.candidates = candidates
        self.overhead = overhead
        self.said: dict[str, int] = {}
        self.answered: dict[int, None] = {}
        self.members: dict[int, list[int]] = {}
        self.opened: dict[int, None] = {}
        self.taken: dict[int, None] = {}
        for index, candidate in enumerate(candidates):
            self.members.setdefault(candidate.line, []).append(index)
        self.heap = [(-self.rank(index), index) for index in range(len(candidates))]
        heapq.heapify(self.heap)

    def take(self, budget: int) -> list[int]:
        while self.heap:
            promised, index = heapq.heappop(self.heap)
            if index in self.taken:
                continue
            now = -self.rank(index)
            if now > promised:
                heapq.heappush(self.heap, (now, index))
            elif self.cost(index) <= budget:
                budget -= self.cost(index)
                self.choose(index)
        return list(self.taken)

    def cost(self, index: int) -> int:
        candidate = self.candidates[index]
        return candidate.cost + (0 if candidate.line in self.opened else self.overhead)

    def rank(self, index: int) -> int:
        value = self.candidates[index].value
        gain = -SLIGHT
        for stem, weight in value.weights:
            times = min(self.said.get(stem, 0), 2)
            gain += weight * REPEATED**times // 1000**times
        density = max(1, gain) * value.factor // self.cost(index)
        return density * ASKED // 1000 if index in self.answered else density

    def choose(self, index: int) -> None:
        candidate = self.candidates[index]
        self.taken[index] = None
        for stem, _ in candidate.value.weights:
            self.said[stem] = self.said.get(stem, 0) + 1
        better: list[int] = []
        if candidate.asked >= 0:
            self.answered[candidate.asked] = None
            better.append(candidate.asked)
        if candidate.line not in self.opened:
            self.opened[candidate.line] = None
            better.extend(self.members[candidate.line])
        for other in better:
            if other not in self.taken:
                heapq.heappush(self.heap, (-self.rank(other), other))
