"""Chooses the units which say most within a number of tokens."""

import heapq
from collections.abc import Sequence

from perdure.memory.extract.score import Value

REPEATED = 750
LEAN = 0
BASE = 500
LQ = 2500
LP = 1500
"""Thousandths of its weight which a word keeps each time it was said before."""


def ranked(
    values: Sequence[Value], costs: Sequence[int], groups: Sequence[int], ctx: Sequence, overhead: int, budget: int
) -> list[int]:
    """Indices in the order of choice, best first, until `budget` tokens are spent.

    Each step takes the unit with the most fresh weight per token; a group (one speaker's line)
    costs `overhead` tokens once. Ties go to the earlier unit.
    """
    said: dict[str, int] = {}
    lift: dict[int,int] = {}
    opened: dict[int, int] = {}
    members: dict[int, list[int]] = {}
    for index, group in enumerate(groups):
        members.setdefault(group, []).append(index)

    def rank(index: int) -> int:
        fresh = 0
        value=values[index]
        for stem, weight in value.weights:
            times = said.get(stem, 0)
            if times:
                weight = weight * REPEATED ** min(times, 2) // 1000 ** min(times, 2)
            fresh += weight
        gain= max(1, fresh-BASE) * value.factor // 1000
        cost = costs[index] + (0 if groups[index] in opened else overhead)
        r= gain * 1000 // (cost+LEAN)
        return r*lift.get(index,1000)//1000

    heap = [(-rank(index), index) for index in range(len(values))]
    heapq.heapify(heap)
    taken: dict[int, None] = {}
    spent = 0
    while heap:
        promised, index = heapq.heappop(heap)
        if index in taken or promised == 0:
            continue
        now = -rank(index)
        if now > promised:
            heapq.heappush(heap, (now, index))
            continue
        cost = costs[index] + (0 if groups[index] in opened else overhead)
        if spent + cost > budget:
            continue
        spent += cost
        taken[index] = None
        for stem, _ in values[index].weights:
            said[stem] = said.get(stem, 0) + 1
        for other,kind in ctx[index]:
            if other not in taken:
                lift[other]=max(lift.get(other,1000),LQ if kind=='q' else LP)
                heapq.heappush(heap, (-rank(other), other))
        if groups[index] not in opened:
            opened[groups[index]] = index
            for sibling in members[groups[index]]:
                if sibling not in taken:
                    heapq.heappush(heap, (-rank(sibling), sibling))
    return list(taken)
