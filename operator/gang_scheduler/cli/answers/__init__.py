"""The work of each command after its line is parsed. A module is imported when it is needed.

Help and completion need none of these modules, and importing them would take longer than everything
else. Open `explain` first.
"""
