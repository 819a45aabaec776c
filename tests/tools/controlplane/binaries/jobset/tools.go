//go:build tools

// Package tools pins the controller of JobSets.
package tools

import _ "sigs.k8s.io/jobset"
