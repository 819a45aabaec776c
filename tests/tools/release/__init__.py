"""What a release consists of, and how it is made: image, chart, wheel, checksums."""
