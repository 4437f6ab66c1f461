package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"minikcm.dev/minikcm/apiserver"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of minikcm and of the API that it serves",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			version := "unknown"
			if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
				version = info.Main.Version
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "minikcm %s\nKubernetes API %s\n%s %s/%s\n",
				version, apiserver.DefaultVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
