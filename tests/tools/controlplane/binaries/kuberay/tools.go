//go:build tools

// Package tools pins the controller of RayClusters, RayJobs and RayServices.
package tools

import _ "github.com/ray-project/kuberay/ray-operator"
