package main

import (
	"os"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	kubectl "k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/plugin"
)

// newKubectl embeds kubectl: nothing else need be installed.
func newKubectl() *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl [ARG...]",
		Short: "Run the kubectl that is built in",
		Long: `kubectl is the whole of kubectl. Without KUBECONFIG and --kubeconfig it talks to
the cluster that "minikcm up" runs.`,
		DisableFlagParsing: true,
		// What comes before the flags of kubectl's own is none of ours.
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		RunE: func(cmd *cobra.Command, args []string) error {
			return runKubectl(cmd, args)
		},
	}
}

func runKubectl(cmd *cobra.Command, args []string) error {
	streams := genericiooptions.IOStreams{In: cmd.InOrStdin(), Out: cmd.OutOrStdout(), ErrOut: cmd.ErrOrStderr()}
	flags := genericclioptions.NewConfigFlags(true).WithDeprecatedPasswordFlag().WithDiscoveryBurst(300).WithDiscoveryQPS(50.0)
	if os.Getenv("KUBECONFIG") == "" && !names(args, "--kubeconfig") {
		if path, err := defaultKubeconfig(); err == nil {
			if _, err := os.Stat(path); err == nil {
				*flags.KubeConfig = path
			}
		}
	}
	root := kubectl.NewKubectlCommand(kubectl.KubectlOptions{
		PluginHandler: kubectl.NewDefaultPluginHandler(plugin.ValidPluginFilenamePrefixes),
		Arguments:     append([]string{"kubectl"}, args...),
		ConfigFlags:   flags,
		IOStreams:     streams,
	})
	root.SetArgs(args)
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	root.SilenceUsage = true
	return root.ExecuteContext(cmd.Context())
}

// names reports whether a flag is among the arguments, before a "--".
func names(args []string, flag string) bool {
	for _, arg := range args {
		if arg == "--" {
			return false
		}
		if arg == flag || strings.HasPrefix(arg, flag+"=") {
			return true
		}
	}
	return false
}
