package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
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
		Long: `kubectl is the whole of kubectl. It talks to the cluster that "minikcm up" runs, or
to that of KUBECONFIG if minikcm has written it. --kubeconfig, --context and --server
name any other cluster.`,
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
	missing, err := chooseKubeconfig(cmd.Context(), streams.ErrOut, args)
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
			if computesAges(args) {
				withAges(config)
			}
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

// chooseKubeconfig lets kubectl use the cluster of "minikcm up". A KUBECONFIG of another
// cluster counts only if the arguments name the cluster too, and $HOME/.kube/config never
// does: a tutorial's deletes must not reach a cluster in earnest. missing is the file that
// there is not, as no cluster runs.
func chooseKubeconfig(ctx context.Context, errOut io.Writer, args []string) (missing string, err error) {
	if names(args, "--kubeconfig") {
		return "", nil
	}
	path, err := defaultKubeconfig()
	env := os.Getenv(clientcmd.RecommendedConfigPathEnvVar)
	switch {
	case env == "" && err != nil:
		return "", err
	case env == "":
		if _, err := os.Stat(path); err != nil {
			missing = path
		}
	case isOurs(env), names(args, "--context", "--cluster", "--server", "-s"), isLocal(args):
		return "", nil
	case err != nil || !answers(ctx, path):
		return "", fmt.Errorf("KUBECONFIG=%s is no cluster of minikcm's, and \"minikcm up\" runs none: start one, or write minikcm kubectl --kubeconfig %s ... to reach that one", env, shellQuote(env))
	default:
		_, _ = fmt.Fprintf(errOut, "minikcm: this is the cluster of \"minikcm up\" (%s), not that of KUBECONFIG=%s\n", path, env)
	}
	if err := os.Setenv(clientcmd.RecommendedConfigPathEnvVar, path); err != nil {
		return "", fmt.Errorf("setting KUBECONFIG: %w", err)
	}
	return missing, nil
}

// isLocal reports whether kubectl's arguments need no cluster.
func isLocal(args []string) bool {
	return len(args) == 0 || names(args, "--help", "-h") ||
		slices.Contains([]string{"completion", "config", "help", "kustomize", "options", "plugin", "__complete"}, args[0])
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

// names reports whether one of the flags is among the arguments, before a "--".
func names(args []string, flags ...string) bool {
	for _, arg := range args {
		if arg == "--" {
			return false
		}
		flag, _, _ := strings.Cut(arg, "=")
		if slices.Contains(flags, flag) {
			return true
		}
	}
	return false
}
