//go:build tools

// Package tools pins the version of Prometheus and promtool, which are built from their own package.
package tools

import (
	_ "github.com/prometheus/prometheus/cmd/prometheus"
	_ "github.com/prometheus/prometheus/cmd/promtool"
)
