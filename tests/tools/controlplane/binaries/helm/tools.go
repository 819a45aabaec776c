//go:build tools

// Package tools pins the Helm client that installs the chart in the end-to-end tests.
package tools

import _ "helm.sh/helm/v4/cmd/helm"
