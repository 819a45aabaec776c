"""What pods take of nodes that is not an amount: one ledger a file, changed by a trial alone."""
