"""Rows whose dates and texts are numbers already, for who reads many of them; and what a feature may hold."""

from elman.models._values import KINDS, Coded, Kind

__all__ = ["KINDS", "Coded", "Kind"]
