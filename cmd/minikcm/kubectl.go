package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/plugin"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
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
	missing, err := chooseKubeconfig(args)
	if err != nil {
		return err
	}
	// kubectl ends its process itself. It does so on Ctrl-C too.
	signal.Reset(os.Interrupt, syscall.SIGTERM)
	cmdutil.BehaviorOnFatal(func(message string, code int) {
		sayFatal(streams.ErrOut, message, missing)
		os.Exit(code)
	})
	release := kubectlVersion()
	if err := setKubectlVersion(release); err != nil {
		return err
	}
	flags := genericclioptions.NewConfigFlags(true).WithDeprecatedPasswordFlag().WithDiscoveryBurst(300).WithDiscoveryQPS(50.0).WithWarningPrinter(streams).
		WithWrapConfigFn(func(config *rest.Config) *rest.Config {
			config.UserAgent = kubectlUserAgent(release)
			return config
		})
	root := kubectl.NewDefaultKubectlCommandWithArgs(kubectl.KubectlOptions{
		PluginHandler: kubectl.NewDefaultPluginHandler(plugin.ValidPluginFilenamePrefixes),
		Arguments:     append([]string{"kubectl"}, args...),
		ConfigFlags:   flags,
		IOStreams:     streams,
	})
	root.SetArgs(args)
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	cmdutil.CheckErr(cli.RunNoErrOutput(root))
	return nil
}

// chooseKubeconfig lets kubectl use the cluster of "minikcm up" unless KUBECONFIG or
// a flag names another. It never falls back to $HOME/.kube/config: that may be a
// cluster in earnest. missing is the file that there is not, as no cluster runs.
func chooseKubeconfig(args []string) (missing string, err error) {
	if os.Getenv("KUBECONFIG") != "" || names(args, "--kubeconfig") {
		return "", nil
	}
	path, err := defaultKubeconfig()
	if err != nil {
		return "", err
	}
	if err := os.Setenv("KUBECONFIG", path); err != nil {
		return "", fmt.Errorf("setting KUBECONFIG: %w", err)
	}
	if _, err := os.Stat(path); err != nil {
		missing = path
	}
	return missing, nil
}

// withoutServer is whom kubectl asks if no kubeconfig names a server.
const withoutServer = "localhost:8080"

// sayFatal prints kubectl's last words.
func sayFatal(w io.Writer, message, missing string) {
	if message == "" {
		return
	}
	// Nothing can be told to somebody who does not listen any more.
	_, _ = fmt.Fprintln(w, strings.TrimSuffix(message, "\n"))
	if missing != "" && strings.Contains(message, withoutServer) {
		_, _ = fmt.Fprintf(w, "There is no %s: start a cluster with \"minikcm up\", or set KUBECONFIG.\n", missing)
	}
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
