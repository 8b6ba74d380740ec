"""Money: whole nano-dollars inside, dollars for people."""

from fractions import Fraction

from overnight.core.arguments import checked

NANO_PER_DOLLAR = 1_000_000_000
_CENT = NANO_PER_DOLLAR // 100


def half_up(amount: Fraction) -> int:
    """The nearest whole number; a half goes up."""
    return (2 * amount.numerator + amount.denominator) // (2 * amount.denominator)


@checked
def dollars(nano: int) -> str:
    """`$1,234.50`, `$0.0042`: cents from a dollar on, two digits that count below; `$0.00` is nothing at all."""
    sign = "-" if nano < 0 else ""
    whole, rest = divmod(_for_people(abs(nano)), NANO_PER_DOLLAR)
    decimals = f"{rest:09d}".rstrip("0").ljust(2, "0")
    return f"{sign}${whole:,}.{decimals}"


def _for_people(nano: int) -> int:
    """The amount without the digits that nobody reads."""
    unit = _CENT if nano >= NANO_PER_DOLLAR else 10 ** max(0, len(str(nano)) - 2)
    return half_up(Fraction(nano, unit)) * unit
