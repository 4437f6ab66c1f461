//go:build race

package main

import (
	"flag"
	"io"

	"k8s.io/klog/v2"
)

// init discards what kubectl logs as information: with the race detector, it logs that on each run,
// among the output that tests compare.
func init() {
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{"logtostderr": "false", "stderrthreshold": "WARNING"} {
		if err := flags.Set(name, value); err != nil {
			panic(err)
		}
	}
	klog.SetOutput(io.Discard)
}
