package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/processgroup"
)

// detachedVariable is set in the environment of the process that runs a cluster in the background, to
// the descriptor of the file to which it reports.
const detachedVariable = "MINIKCM_DETACHED"

// readiness is a report of a process in the background: its progress, or the output of the command once the
// cluster is ready.
type readiness struct {
	// Progress is a line about the start; empty: the cluster is ready.
	Progress string `json:",omitempty"`
	// Out and Err are the command's standard output and standard error.
	Out, Err string
	// Link opens the live page once; empty: there is none.
	Link string
}

// isDetached reports whether this process runs a cluster in the background.
func isDetached() bool { return os.Getenv(detachedVariable) != "" }

// reports returns the file of the reports to the process that started this one.
var reports = sync.OnceValues(func() (*os.File, error) {
	descriptor, err := strconv.ParseUint(os.Getenv(detachedVariable), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%s in the environment: %w", detachedVariable, err)
	}
	return os.NewFile(uintptr(descriptor), "ready"), nil
})

// report sends the readiness for which the parent process waits. It is the last report.
func (r *readiness) report() error {
	file, err := reports()
	if err != nil {
		return err
	}
	return errors.Join(json.NewEncoder(file).Encode(r), file.Close())
}

// reportProgress sends texts about the progress of this process until end is called.
func reportProgress(ctx context.Context, text progressText) (end func()) {
	return repeat(ctx, clock.Stopwatch(), text, func(line string) {
		if file, err := reports(); err == nil { // report returns the error
			_ = json.NewEncoder(file).Encode(readiness{Progress: line}) // fails only if nothing waits any more
		}
	}, func() {})
}

// logPath returns the file with the output of a cluster in the background: in the user's folder or, if there can
// be none, beside the kubeconfig.
func logPath(name, kubeconfig string) (string, error) {
	dir, err := ownFolder()
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	switch {
	case err == nil:
		return filepath.Join(dir, name+".log"), nil
	case kubeconfig == "":
		return "", fmt.Errorf("making the folder for the cluster's log (give a file with --kubeconfig to have it there): %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(kubeconfig), 0o700); err != nil {
		return "", fmt.Errorf("making the folder for the cluster's log: %w", err)
	}
	return kubeconfig + ".log", nil
}

// detach runs this command again in the background, with the same arguments, and returns when its
// cluster is ready. The output of the other process is in a file.
func detach(cmd *cobra.Command, name, kubeconfig string, open bool) error {
	path, err := logPath(name, kubeconfig)
	if err != nil {
		return err
	}
	log, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("starting in the background: %w", err)
	}
	defer log.Close() // the other process has its own
	read, write, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("starting in the background: %w", err)
	}
	defer read.Close() // it has been read
	self, err := executable()
	if err != nil {
		return fmt.Errorf("starting in the background: %w", err)
	}
	child := exec.Command(self, os.Args[1:]...)
	processgroup.Detach(child)
	descriptor, err := processgroup.Inherit(child, write)
	if err != nil {
		return errors.Join(fmt.Errorf("starting in the background: %w", err), write.Close())
	}
	child.Env = append(os.Environ(), fmt.Sprintf("%s=%d", detachedVariable, descriptor))
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, log, log
	if err := errors.Join(child.Start(), write.Close()); err != nil {
		return fmt.Errorf("starting in the background: %w", err)
	}
	ready, err := awaitReady(cmd.Context(), cmd.ErrOrStderr(), child, read)
	if err != nil {
		return errors.Join(err, copyLog(cmd.ErrOrStderr(), log))
	}
	_, _ = fmt.Fprint(cmd.ErrOrStderr(), ready.Err)
	_, err = fmt.Fprint(cmd.OutOrStdout(), ready.Out)
	if open && ready.Link != "" {
		openLink(cmd.ErrOrStderr(), ready.Link)
	}
	return err
}

// awaitReady returns the readiness that the process reports. If it ends before, the error has its exit code. If ctx
// ends, the process is stopped.
func awaitReady(ctx context.Context, errOut io.Writer, child *exec.Cmd, from io.Reader) (*readiness, error) {
	var progress atomic.Pointer[string]
	defer showProgress(ctx, errOut, func(_ context.Context, elapsed time.Duration) string {
		if of := progress.Load(); of != nil {
			return *of
		}
		return fmt.Sprintf("Starting in the background (%v)", elapsed.Round(time.Second))
	})()
	reported := make(chan *readiness, 1)
	go func() { reported <- readReports(from, func(text string) { progress.Store(&text) }) }()
	select {
	case r := <-reported:
		if r != nil {
			return r, child.Process.Release()
		}
	case <-ctx.Done():
		_ = processgroup.Terminate(child.Process) // fails only if it has ended
	}
	if err := childError(child, child.Wait()); err != nil {
		return nil, err
	}
	return nil, exitCode(1)
}

// readReports calls progressed with the texts about the progress of the process in the background, and returns its last
// report; nil: it has ended without one.
func readReports(from io.Reader, progressed func(text string)) *readiness {
	for decoder := json.NewDecoder(from); ; {
		var r readiness
		switch err := decoder.Decode(&r); {
		case err != nil:
			return nil
		case r.Progress == "":
			return &r
		}
		progressed(r.Progress)
	}
}

// copyLog prints the output of a process that has ended.
func copyLog(w io.Writer, log *os.File) error {
	if _, err := log.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := io.Copy(w, log)
	return err
}
