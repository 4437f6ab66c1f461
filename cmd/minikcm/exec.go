package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/outside"
)

func newExec() *cobra.Command {
	var flags clusterFlags
	var entrances outside.Options
	cmd := &cobra.Command{
		Use:   "exec [flags] -- COMMAND [ARG...]",
		Short: "Run a command with a temporary cluster",
		Long: `Start a cluster, run the command with KUBECONFIG set to that cluster, stop the cluster,
and return the command's exit code.`,
		Example: `  minikcm exec --nodes 3 -- kubectl get nodes
  minikcm exec -- go test ./...`,
		Args: someArgs("a command to run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts, err := flags.options()
			if err != nil {
				return err
			}
			if entrances.Publish {
				openEntrances(&opts, entrances)
			}
			return execIn(cmd, opts, args)
		},
	}
	flags.register(cmd)
	registerPublish(cmd.Flags(), &entrances)
	showClusterSections(cmd)
	cmd.Flags().SetInterspersed(false) // flags after COMMAND belong to it, even without "--"
	return cmd
}

func execIn(cmd *cobra.Command, opts minikcm.Options, args []string) (err error) {
	path, err := exec.LookPath(args[0])
	if err != nil {
		return badInput{fmt.Errorf("cannot run the command %q: %w%s", args[0], err, hintContainer(cmd, args))}
	}
	dir, err := os.MkdirTemp("", "minikcm-exec-")
	if err != nil {
		return fmt.Errorf("creating a directory for the kubeconfig: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	opts.API.KubeconfigPath = filepath.Join(dir, "kubeconfig")
	opts.API.Flags = flagValues(cmd)
	p := &starting{doing: "Starting the cluster"}
	opts.Progress = p.count
	started := showProgress(cmd.Context(), cmd.ErrOrStderr(), p.text)
	cluster, err := minikcm.Start(cmd.Context(), opts)
	started()
	if err != nil {
		return asBadSnapshot(opts.Storage.Snapshot, startError(cmd.Context(), err))
	}
	defer func() {
		if closeErr := cluster.Close(); err == nil {
			err = closeErr
		}
	}()
	if err := printLoaded(cmd, cluster); err != nil {
		return err
	}
	child := exec.Command(path, args[1:]...) // the user asked to run it
	child.Env = append(os.Environ(), "KUBECONFIG="+opts.API.KubeconfigPath)
	child.Stdin, child.Stdout, child.Stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	return runChild(child)
}

// runChild runs a command until it ends and returns its exit code as a shell does (128 + N
// for signal N). It forwards the signals that would terminate minikcm. Ctrl-C is not
// forwarded if stdin is a terminal: the terminal sends SIGINT to the command, too.
func runChild(child *exec.Cmd) error {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	typed := isTerminal(child.Stdin)
	defer signal.Stop(signals)
	if err := child.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", child.Path, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	for {
		select {
		case s := <-signals:
			if typed && s == os.Interrupt {
				continue
			}
			// This fails only if the command has ended.
			_ = child.Process.Signal(s)
		case err := <-ended:
			return childError(child, err)
		}
	}
}

func childError(child *exec.Cmd, err error) error {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &exit):
		return fmt.Errorf("running %s: %w", child.Path, err)
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return exitCode(128 + int(status.Signal()))
	}
	return exitCode(exit.ExitCode())
}
