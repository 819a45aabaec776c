//go:build tools

// Package tools pins the controller of PyTorchJobs and their like.
package tools

import _ "github.com/kubeflow/training-operator/cmd/training-operator.v1"
