"""`python -m gang_scheduler` is the command `py-gang-scheduler`."""

from gang_scheduler.cli import main

if __name__ == "__main__":
    main()
