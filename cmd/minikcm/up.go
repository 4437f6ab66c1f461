package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/outside"
)

func newUp() *cobra.Command {
	var f upFlags
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run a cluster until interrupted",
		Long: `Start a cluster, write its kubeconfig, print the shell command that makes kubectl use it,
and run in the foreground until SIGINT (Ctrl-C), SIGTERM or "minikcm down". With --detach, run in the
background and return when the cluster is ready.

--config names a file with the same settings. A setting has the name of its flag, in camel case
(startDelay for --start-delay); a flag on the command line comes before it:

  apiVersion: minikcm.dev/v1alpha1
  kind: Cluster
  metadata: {name: shop}
  spec:
    nodes: 3
    clock: virtual
    pool: ["name=gpu,cpu=32,nvidia.com/gpu=8"]`,
		Example: `  minikcm up --nodes 3 --ui
  minikcm up --nodes pools.yaml
  minikcm up --name a -d && minikcm down a
  minikcm up --config cluster.yaml
  minikcm up --pool name=small,nodes=4,cpu=4,memory=8Gi --pool name=gpu,cpu=32,nvidia.com/gpu=8,taint=gpu=yes:NoSchedule
  minikcm up --data-dir ./cluster --port 6443
  minikcm up --from-objects dump.yaml`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.register(cmd)
	return cmd
}

// upFlags are the flags of "minikcm up".
type upFlags struct {
	clusterFlags
	name, kubeconfig, history, config, uiAddress string
	detach, open, stopWithStdin                  bool
	with                                         upExtras
}

func (f *upFlags) register(cmd *cobra.Command) {
	f.clusterFlags.register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.config, "config", "", "file with these settings: a Cluster of minikcm.dev/v1alpha1")
	flags.StringVar(&f.name, "name", "", "name of the cluster, for \"minikcm down\" and --kubeconfig of other commands (default "+defaultName+")")
	flags.BoolVarP(&f.detach, "detach", "d", false, "run in the background, and return when the cluster is ready")
	flags.BoolVar(&f.with.chaosMesh, "chaos-mesh", false, "install Chaos Mesh's PodChaos, NetworkChaos, DNSChaos, HTTPChaos, Schedule and Workflow kinds, and run their objects")
	flags.BoolVar(&f.with.ui, "ui", false, "serve a live page of the cluster to browsers on this machine, and print a link that opens it once")
	flags.BoolVar(&f.with.entrances.Proxy, "proxy", false, "serve a proxy (HTTP, CONNECT and SOCKS5) on a port of 127.0.0.1, which connects programs on this machine with the pods and Services of the cluster, from outside")
	registerPublish(flags, &f.with.entrances)
	flags.BoolVar(&f.open, "open", false, "open the live page in a browser; implies --ui")
	flags.StringVar(&f.uiAddress, "ui-address", "", "address of the live page, 127.0.0.1:PORT or localhost:PORT; implies --ui (default a free port of 127.0.0.1)")
	flags.StringVar(&f.history, "history", "", "keep the history of this much of the cluster's time, such as 1h, or this number of revisions, so that the page can look back and lists at earlier resourceVersions work (default 5m)")
	flags.BoolVar(&f.stopWithStdin, "stop-with-stdin", false, "also stop at the end of standard input, so that the cluster does not outlive the program that started it")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "where to write the kubeconfig, as JSON if its name ends in .json (default $HOME/.minikcm/kubeconfig, or kubeconfig-NAME beside it with --name, or DATA-DIR/kubeconfig)")
	showClusterSections(cmd)
}

// registerPublish adds the flag that publishes Services.
func registerPublish(flags *pflag.FlagSet, into *outside.Options) {
	flags.BoolVar(&into.Publish, "publish", false, "let Services of type LoadBalancer listen on addresses of 127.0.0.0/8 (on Linux; elsewhere on ports of 127.0.0.1), and node ports on 127.0.0.1")
}

func (f *upFlags) run(cmd *cobra.Command) error {
	if err := applyConfigFile(cmd, f.config); err != nil {
		return badInput{err}
	}
	if err := f.check(); err != nil {
		return badInput{err}
	}
	name, err := freeName(f.name)
	if err != nil {
		return err
	}
	if f.detach && !isDetached() {
		return detach(cmd, name, f.kubeconfig, f.open)
	}
	if f.stopWithStdin {
		ctx, stop := untilEOF(cmd.Context(), cmd.InOrStdin())
		defer stop()
		cmd.SetContext(ctx)
	}
	opts, err := f.options()
	if err != nil {
		return err
	}
	if f.history != "" {
		if opts.Storage.History, err = minikcm.ParseHistory(f.history); err != nil {
			return badInput{fmt.Errorf("--history: %w", err)}
		}
	}
	if opts.API.KubeconfigPath = f.kubeconfig; f.kubeconfig == "" {
		if opts.API.KubeconfigPath, err = freeKubeconfigPath(cmd.Context(), opts.Storage.DataDir, f.name); err != nil {
			return err
		}
	} else if err := checkUnused(f.kubeconfig); err != nil {
		return err
	}
	with := f.with
	with.name, with.clock, with.open = name, f.clock, f.open && !isDetached()
	with.ui = with.ui || f.open || f.uiAddress != ""
	with.uiPort, _ = uiPort(f.uiAddress) // check has read it
	return up(cmd, opts, with)
}

// check returns an error for flags that are wrong or exclude each other.
func (f *upFlags) check() error {
	if _, err := uiPort(f.uiAddress); err != nil {
		return err
	}
	switch {
	case isDirectory(f.kubeconfig):
		return fmt.Errorf("--kubeconfig %s is a directory: give a file", f.kubeconfig)
	case f.name != "" && !validName.MatchString(f.name):
		return fmt.Errorf("--name %s must consist of lower case letters, digits and -, such as a-1", f.name)
	case f.stopWithStdin && slices.Contains(f.objects.paths, "-"):
		return errors.New("--stop-with-stdin and --from-objects - both read standard input: give the objects in a file")
	case f.stopWithStdin && f.detach:
		return errors.New("--stop-with-stdin and --detach exclude each other: one ends the cluster with the program that started it, the other lets it outlive that")
	}
	return nil
}

// uiPort reads the port of --ui-address; 0: a free one. The page is served on the loopback interface only.
func uiPort(address string) (int, error) {
	if address == "" {
		return 0, nil
	}
	host, text, err := net.SplitHostPort(address)
	if err == nil && host != "127.0.0.1" && host != "localhost" {
		err = errors.New("the page is served on 127.0.0.1 only; for a browser on another machine, make a tunnel to it")
	}
	port, bad := strconv.ParseUint(text, 10, 16)
	if err == nil && (bad != nil || port == 0) {
		err = fmt.Errorf("%q is not a port", text)
	}
	if err != nil {
		return 0, fmt.Errorf("--ui-address %s: must be 127.0.0.1:PORT or localhost:PORT: %w", address, err)
	}
	return int(port), nil
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// upExtras selects the parts that "minikcm up" runs beside the cluster, and the name and clock that
// it registers.
type upExtras struct {
	chaosMesh, ui, open bool
	entrances           outside.Options
	name, clock         string
	uiPort              int
}

// untilEOF returns a context that also ends with in. Only the end of the process stops reading.
func untilEOF(ctx context.Context, in io.Reader) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, in) // a broken pipe is an end, too
		cancel()
	}()
	return ctx, cancel
}

// startError returns the error for a cluster that did not start.
func startError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted before the cluster was ready")
	}
	return fmt.Errorf("starting the cluster: %w", err)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// shellQuote quotes a path for a POSIX shell if necessary.
func shellQuote(path string) string {
	for _, c := range path {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case c == '/', c == '.', c == '-', c == '_':
		default:
			quoted := ""
			for _, c := range path {
				if c == '\'' {
					quoted += `'\''`
				} else {
					quoted += string(c)
				}
			}
			return "'" + quoted + "'"
		}
	}
	return path
}
