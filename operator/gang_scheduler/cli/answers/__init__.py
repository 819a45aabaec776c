"""What each command does once its line is parsed, imported when the command is called.

Help and completion need none of these modules, and importing them would take longer than
everything else. Open `explain` first.
"""
