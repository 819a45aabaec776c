"""What pods take of nodes beside amounts: one ledger a file, changed by a trial only."""
