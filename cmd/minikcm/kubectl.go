package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/component-base/cli"
	"k8s.io/klog/v2"
	kubectl "k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/plugin"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
)

// newKubectl embeds kubectl, so that no separate installation is needed.
func newKubectl() *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl [ARG...]",
		Short: "Run the built-in kubectl",
		Long: `Run the built-in kubectl, with all of its commands. It connects to the cluster that
"minikcm up" runs, or to that of KUBECONFIG if minikcm wrote that file. --kubeconfig,
--context and --server select any other cluster; --kubeconfig also takes the name of one that
"minikcm up" runs.`,
		DisableFlagParsing: true,
		ValidArgsFunction:  completeKubectl,
		// kubectl sets up its own logging, so the root command's --log-level does not apply.
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
	return kubectlMain(streams, args, missing)
}

// kubectlMain runs kubectl with its own choice of a cluster, and ends the process after an
// error. missing is the kubeconfig that errors without a server name; empty: none.
func kubectlMain(streams genericiooptions.IOStreams, args []string, missing string) error {
	// kubectl ends its process itself, also on Ctrl-C.
	signal.Reset(os.Interrupt, syscall.SIGTERM)
	cmdutil.BehaviorOnFatal(func(message string, code int) {
		printFatal(streams.ErrOut, message, missing)
		os.Exit(code)
	})
	if !names(args, "-v", "--v") {
		if err := quietDiscovery(streams.ErrOut); err != nil {
			return err
		}
	}
	release := kubectlVersion()
	if err := setKubectlVersion(release); err != nil {
		return err
	}
	var root *cobra.Command
	flags := genericclioptions.NewConfigFlags(true).WithDeprecatedPasswordFlag().WithDiscoveryBurst(300).WithDiscoveryQPS(50.0).WithWarningPrinter(streams).
		WithWrapConfigFn(func(config *rest.Config) *rest.Config {
			config.UserAgent = kubectlUserAgent(release)
			if computesAges(root, args) {
				withAges(config)
			}
			return config
		})
	root = kubectl.NewDefaultKubectlCommandWithArgs(kubectl.KubectlOptions{
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

// quietDiscovery lets kubectl log without the lines about failed attempts to read discovery, which come
// before the message that says why.
func quietDiscovery(errOut io.Writer) error {
	if err := setLogFlags(map[string]string{"logtostderr": "false", "stderrthreshold": "FATAL", "one_output": "true"}); err != nil {
		return fmt.Errorf("setting up logging: %w", err)
	}
	klog.SetOutput(withoutLines{errOut, regexp.MustCompile(`^[EW]\d{4} .* memcache\.go:\d+\]`)})
	return nil
}

// withoutLines is a Writer of lines that drops matching lines.
type withoutLines struct {
	next io.Writer
	omit *regexp.Regexp
}

// Write implements io.Writer. klog writes each line at once.
func (w withoutLines) Write(line []byte) (int, error) {
	if w.omit.Match(line) {
		return len(line), nil
	}
	return w.next.Write(line)
}

// chooseKubeconfig makes kubectl use the cluster of "minikcm up". KUBECONFIG selects another
// cluster only if the arguments name that cluster too, and $HOME/.kube/config is never used:
// the deletes in a tutorial must not reach a production cluster. missing is the path of the
// default kubeconfig if it does not exist because no cluster runs.
func chooseKubeconfig(ctx context.Context, errOut io.Writer, args []string) (missing string, err error) {
	if names(args, "--kubeconfig") {
		replaceNames(args)
		return "", nil
	}
	path, err := defaultKubeconfig()
	env := os.Getenv(clientcmd.RecommendedConfigPathEnvVar)
	if broken := checkKubeconfigs(env); broken != nil && !isLocal(args) {
		return "", badInput{broken}
	}
	switch {
	case env == "" && err != nil:
		return "", err
	case env == "":
		running, _ := runningClusters() // without a registry none is known
		if only := onlyOne(path, running); only != path && !isLocal(args) {
			_, _ = fmt.Fprintf(errOut, "minikcm: using the cluster %s (%s)\n", running[0].Name, only)
			path = only
		} else if _, err := os.Stat(path); err != nil {
			missing = path
		}
	case isOurs(env), names(args, "--context", "--cluster", "--server", "-s"), isLocal(args):
		return "", nil
	case err != nil || !answers(ctx, path):
		return "", fmt.Errorf("KUBECONFIG=%s is not a minikcm cluster, and no \"minikcm up\" is running: start one, or use minikcm kubectl --kubeconfig %s ... for that cluster", env, shellQuote(env))
	default:
		_, _ = fmt.Fprintf(errOut, "minikcm: using the cluster of \"minikcm up\" (%s), not that of KUBECONFIG=%s\n", path, env)
	}
	if err := os.Setenv(clientcmd.RecommendedConfigPathEnvVar, path); err != nil {
		return "", fmt.Errorf("setting KUBECONFIG: %w", err)
	}
	return missing, nil
}

// replaceNames replaces the name of a running cluster after --kubeconfig with the path of its kubeconfig.
func replaceNames(args []string) {
	running, _ := runningClusters() // without a registry none is known
	for i, arg := range args {
		flag, value, joined := strings.Cut(arg, "=")
		switch {
		case arg == "--":
			return
		case flag != "--kubeconfig":
		case joined:
			args[i] = flag + "=" + named(value, running)
		case i+1 < len(args):
			args[i+1] = named(args[i+1], running)
		}
	}
}

// isLocal reports whether kubectl's arguments need no cluster.
func isLocal(args []string) bool {
	return len(args) == 0 || names(args, "--help", "-h") ||
		slices.Contains([]string{"completion", "config", "help", "kustomize", "options", "plugin", "__complete"}, args[0])
}

// withoutServer is the server that kubectl uses if no kubeconfig names one.
const withoutServer = "localhost:8080"

// printFatal prints kubectl's fatal error, and how to get a cluster if there is none.
func printFatal(w io.Writer, message, missing string) {
	if message == "" {
		return
	}
	// A failed write to stderr cannot be reported anywhere.
	_, _ = fmt.Fprintln(w, strings.TrimSuffix(message, "\n"))
	if missing != "" && strings.Contains(message, withoutServer) {
		running, _ := runningClusters() // without a registry none is known
		_, _ = fmt.Fprintf(w, "The kubeconfig %s does not exist: %s.\n", missing, instead(running))
	}
}

// names reports whether the arguments before "--" contain one of the flags.
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
