// Command mpi-operator is that of the module, with a port for its health that can be chosen:
// there it is always 8080, which two of them on one machine cannot have.
package main

import (
	"flag"
	_ "unsafe" // For go:linkname.

	"github.com/kubeflow/mpi-operator/cmd/mpi-operator/app"
	"github.com/kubeflow/mpi-operator/cmd/mpi-operator/app/options"
	"k8s.io/klog"
)

//go:linkname healthCheckPort github.com/kubeflow/mpi-operator/cmd/mpi-operator/app.healthCheckPort
var healthCheckPort int

func main() {
	klog.InitFlags(nil)
	flag.IntVar(&healthCheckPort, "health-port", healthCheckPort, "the port of /healthz")
	option := options.NewServerOption()
	option.AddFlags(flag.CommandLine)
	flag.Parse()
	if err := app.Run(option); err != nil {
		klog.Fatalf("%v\n", err)
	}
}
