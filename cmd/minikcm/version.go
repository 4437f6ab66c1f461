package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/apiserver"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of minikcm and of its Kubernetes API",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "minikcm %s\nKubernetes API %s\n%s %s/%s\n",
				minikcm.Version(), apiserver.DefaultVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
