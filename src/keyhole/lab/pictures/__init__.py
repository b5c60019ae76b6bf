"""Pictures for papers: drawn from tables of results and from nothing else, legible in print and to everybody."""

from keyhole.lab.pictures.curves import draw_curves, learning_curves
from keyhole.lab.pictures.style import SUFFIXES, check_picture_name, save_picture

__all__ = ["SUFFIXES", "check_picture_name", "draw_curves", "learning_curves", "save_picture"]
