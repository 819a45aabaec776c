//go:build tools

// Package tools pins crane, which builds images without a container engine.
package tools

import _ "github.com/google/go-containerregistry/cmd/crane"
