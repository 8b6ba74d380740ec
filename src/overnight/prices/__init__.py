"""Prices: what a row costs, what it can cost at most, and where the figure comes from.

Money is an integer of nano-dollars everywhere. A price that is not known is None, never zero.
"""

from overnight.core.arguments import checked
from overnight.prices import charges
from overnight.prices.book import PriceBook
from overnight.prices.money import NANO_PER_DOLLAR, dollars
from overnight.prices.rates import UPPER_BOUND, YOURS, Price, Processing, Rate, Tier

# Whoever prices a million rows takes them from `charges`, where nobody checks what they are given.
ceiling = checked(charges.ceiling)
cost = checked(charges.cost)
price_note = checked(charges.price_note)

__all__ = [
    "NANO_PER_DOLLAR",
    "UPPER_BOUND",
    "YOURS",
    "Price",
    "PriceBook",
    "Processing",
    "Rate",
    "Tier",
    "ceiling",
    "cost",
    "dollars",
    "price_note",
]
