//go:build tools

// Package tools pins the controller of LeaderWorkerSets.
package tools

import _ "sigs.k8s.io/lws/cmd"
