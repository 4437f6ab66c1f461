package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	_ "time/tzdata" // CronJobs have time zones, also where the machine has none.

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/scenarios/spec"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// exitCode is an error that only says with which code to end.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// run is main without the process: it returns the exit code. The first SIGINT or
// SIGTERM asks for a clean stop, a second one ends the process at once.
func run(args []string, in io.Reader, out, errOut io.Writer) int {
	ctx, stop := untilSignal()
	defer stop()
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	var code exitCode
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	}
	prefix := "minikcm: "
	var problems spec.Problems
	if errors.As(err, &problems) {
		prefix = "" // each begins with its file and line, as editors and CI know it
	}
	_, _ = fmt.Fprintf(errOut, "%s%v\n", prefix, err)
	var bad badInput
	if errors.As(err, &bad) {
		return 2
	}
	return 1
}

// untilSignal returns a context that the first SIGINT or SIGTERM ends. By then, a
// second one is up to the system again: it ends the process.
func untilSignal() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer cancel()
		defer signal.Stop(signals)
		select {
		case <-signals:
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel()
		<-ended
	}
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "minikcm",
		Short: "A whole Kubernetes control loop in one process",
		Long: `minikcm runs an embedded etcd, a REST apiserver, the controllers of the
kube-controller-manager, a scheduler and simulated nodes in one process: for demos
without a network, for tests of operators without a cluster, and for rehearsing
failures. Any Kubernetes client can use it. No container is ever run.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          aCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var verbosity int
	root.PersistentFlags().IntVar(&verbosity, "log-level", 0, "how much to log to stderr: 0 is nothing, 1 and 2 are errors and what happens, 4 and more are for debugging")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		return setLogging(cmd.ErrOrStderr(), verbosity)
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w\n%q lists the flags", err, cmd.CommandPath()+" --help")
	})
	root.AddCommand(newUp(), newExec(), newKubectl(), newScenario(), newControllerManager(), newControllers(), newEtcdSnapshot(), newFault(), newFit(), newList(), newNode(), newReset(), newStatus(), newWhatif(), newWhy(), newVersion())
	return root
}

// setLogging sends what is logged to w; nothing by default, since client-go reports
// as an error much that is ordinary when a cluster stops. What a user must know is
// an error of the command.
func setLogging(w io.Writer, verbosity int) error {
	if verbosity < 0 {
		return fmt.Errorf("--log-level must not be negative, but is %d", verbosity)
	}
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{"logtostderr": "false", "stderrthreshold": "FATAL", "v": strconv.Itoa(verbosity)} {
		if err := flags.Set(name, value); err != nil {
			return fmt.Errorf("setting up logging: %w", err)
		}
	}
	if verbosity == 0 {
		w = io.Discard
	}
	klog.SetOutput(w)
	return nil
}
