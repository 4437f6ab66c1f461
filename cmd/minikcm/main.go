package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	_ "time/tzdata" // time zones of CronJobs, also on machines without tzdata

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/internal/containerpaths"
	"minikcm.dev/minikcm/internal/scenario/spec"
)

func main() {
	containerpaths.Enter()
	prepareConsole()
	os.Exit(run(newRootFor(os.Args[0]), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// exitCode is an error that sets the exit code and is not printed.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// newRootFor returns the command for the name under which the program is called: in the folder
// of "minikcm envtest" that is the name of the program that minikcm replaces.
func newRootFor(program string) *cobra.Command {
	switch strings.TrimSuffix(filepath.Base(program), ".exe") {
	case programAPIServer:
		return newKubeAPIServer()
	case programEtcd:
		return newEtcdServer()
	case programKubectl:
		return newPlainKubectl()
	}
	return newRoot()
}

// run executes the command root and returns its exit code. The first SIGINT or SIGTERM starts a
// clean shutdown; a second one ends the process at once.
func run(root *cobra.Command, args []string, in io.Reader, out, errOut io.Writer) int {
	ctx, stop := untilSignal()
	defer stop()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(context.WithValue(ctx, writtenKey{}, args))
	var code exitCode
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	}
	prefix := root.Name() + ": "
	var problems spec.Problems
	if errors.As(err, &problems) {
		prefix = "" // each problem starts with file:line, which editors and CI systems parse
	}
	_, _ = fmt.Fprintf(errOut, "%s%v%s\n", prefix, err, advice(err))
	var bad badInput
	if errors.As(err, &bad) {
		return 2
	}
	return 1
}

// advice returns a line that says what to do about an error of the machine, or "".
func advice(err error) string {
	var of *fs.PathError
	if !errors.As(err, &of) || of.Path != os.TempDir() && (of.Op != "mkdir" || filepath.Dir(of.Path) != filepath.Clean(os.TempDir())) {
		return ""
	}
	variable := "TMPDIR"
	if runtime.GOOS == "windows" {
		variable = "TMP"
	}
	return "\nSet " + variable + " to a directory in which temporary files can be made"
}

// untilSignal returns a context that the first SIGINT or SIGTERM cancels. After that, signals
// have their default effect again: a second one ends the process.
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
		Long: `Run a whole Kubernetes control loop in one process: an embedded etcd, an API server, the
controllers of the kube-controller-manager, a scheduler and simulated nodes. Use it for
demos without a network, for tests of operators without a cluster, and to rehearse
failures. It works with any Kubernetes client. Containers are simulated and never run.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          aCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var verbosity int
	root.PersistentFlags().IntVar(&verbosity, "log-level", 0, "verbosity of the log on stderr: 0 logs nothing, 1 and 2 log errors and events, 4 and higher are for debugging")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		announcing(cmd)
		return setLogging(cmd.ErrOrStderr(), verbosity)
	}
	root.AddCommand(newUp(), newExec(), newClock(), newDemo(), newKubectl(), newScenario(), newControllerManager(), newControllers(), newDown(), newEnvtest(), newEtcdSnapshot(), newExample(), newFault(), newFit(), newHunt(), newImages(), newList(), newNode(), newOpen(), newRBAC(), newReach(), newReset(), newRunDeployment(), newSample(), newStatus(), newUI(), newUser(), newWhatif(), newWhy(), newWrites(), newVersion())
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	beStrict(root)
	completeFlags(root)
	return root
}

// setLogging sends the log to w. Verbosity 0 discards it, since client-go logs errors that
// are normal while a cluster stops. Errors that a user must know are returned by the command, or printed
// as notices while it runs.
func setLogging(w io.Writer, verbosity int) error {
	if verbosity < 0 {
		return badInput{fmt.Errorf("--log-level must not be negative, but is %d", verbosity)}
	}
	if err := setLogFlags(map[string]string{"logtostderr": "false", "stderrthreshold": "FATAL", "one_output": "true", "v": strconv.Itoa(verbosity)}); err != nil {
		return fmt.Errorf("setting up logging: %w", err)
	}
	if verbosity == 0 {
		w = io.Discard
	}
	klog.SetOutput(w)
	return nil
}

// setLogFlags sets flags of klog.
func setLogFlags(values map[string]string) error {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	for name, value := range values {
		if err := flags.Set(name, value); err != nil {
			return err
		}
	}
	return nil
}
