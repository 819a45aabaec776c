"""All settings, by subject. Open `policy` first."""
