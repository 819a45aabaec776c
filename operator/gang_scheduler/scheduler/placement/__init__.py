"""Where members go. `gangs.py` places a gang; `binpack.py` and `spread.py` choose nodes."""
