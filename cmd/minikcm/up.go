package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"minikcm.dev/minikcm"
)

func newUp() *cobra.Command {
	var flags clusterFlags
	var kubeconfig, history string
	var with upExtras
	var stopWithStdin bool
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run a cluster until interrupted",
		Long: `Start a cluster, write its kubeconfig, print the shell command that makes kubectl use it,
and run in the foreground until SIGINT (Ctrl-C) or SIGTERM.`,
		Example: `  minikcm up --nodes 3
  minikcm up --nodes pools.yaml
  minikcm up --pool name=small,nodes=4,cpu=4,memory=8Gi --pool name=gpu,cpu=32,nvidia.com/gpu=8,taint=gpu=yes:NoSchedule
  minikcm up --data-dir ./cluster --port 6443
  minikcm up --from-objects dump.yaml
  minikcm up --ui`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if stopWithStdin {
				if slices.Contains(flags.objects.paths, "-") {
					return badInput{errors.New("--stop-with-stdin and --from-objects - both read standard input: give the objects in a file")}
				}
				ctx, stop := untilEOF(cmd.Context(), cmd.InOrStdin())
				defer stop()
				cmd.SetContext(ctx)
			}
			opts, err := flags.options()
			if err != nil {
				return err
			}
			if history != "" {
				if opts.History, err = minikcm.ParseHistory(history); err != nil {
					return badInput{fmt.Errorf("--history: %w", err)}
				}
			}
			opts.KubeconfigPath = kubeconfig
			if kubeconfig == "" {
				if opts.KubeconfigPath, err = freeKubeconfigPath(cmd.Context(), opts.DataDir); err != nil {
					return err
				}
			}
			return up(cmd, opts, with)
		},
	}
	flags.register(cmd)
	cmd.Flags().BoolVar(&with.chaosMesh, "chaos-mesh", false, "install Chaos Mesh's PodChaos, Schedule and Workflow kinds, and run their objects")
	cmd.Flags().BoolVar(&with.ui, "ui", false, "serve a live page of the cluster to browsers on this machine, and print a link that opens it once")
	cmd.Flags().StringVar(&history, "history", "", "keep the history of this much of the cluster's time, such as 1h, or this number of revisions, so that the page can look back and lists at earlier resourceVersions work (default 5m)")
	cmd.Flags().BoolVar(&stopWithStdin, "stop-with-stdin", false, "also stop at the end of standard input, so that the cluster does not outlive the program that started it")
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "where to write the kubeconfig, as JSON if its name ends in .json (default $HOME/.minikcm/kubeconfig, or DATA-DIR/kubeconfig)")
	return cmd
}

// upExtras are what "minikcm up" runs beside the cluster.
type upExtras struct {
	chaosMesh, ui bool
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
