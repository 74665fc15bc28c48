"""Small statistics over a list of numbers."""


def mean(numbers):
    return sum(numbers) / len(numbers)


def median(numbers):
    """The middle value; of an even count, the mean of the two in the middle."""
    ordered = sorted(numbers)
    return ordered[len(ordered) // 2]


def spread(numbers):
    return max(numbers) - min(numbers)
