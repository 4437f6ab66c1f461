package runner

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	utilexec "k8s.io/utils/exec"

	"minikcm.dev/minikcm/internal/containerpaths"
	"minikcm.dev/minikcm/internal/processgroup"
)

// process is the command during one run of the container.
type process struct {
	pod *corev1.Pod
	// run is the ID of the container's run.
	run string
	// stop sends SIGTERM to the command and its children and, after the grace period, SIGKILL.
	stop context.CancelFunc
	// ended is closed when the command has ended; code is then its exit code, as a shell shows it.
	ended chan struct{}
	code  int
	// stopped means that the runner has stopped it.
	stopped bool
}

// Shells show the end by signal N as exit code 128 + N, and a command that cannot be started as
// 126.
const (
	exitSignaled   = 128
	exitNotStarted = 126
)

// logTime bounds the time that the log may take to reach the cluster after the command's end.
const logTime = 2 * time.Second

// start starts the command for a run of the container. It finds the volumes at the shown paths.
func (r *runner) start(pod *corev1.Pod, run string, argv, env, shown []string) (*process, error) {
	ctx, stop := context.WithCancel(context.Background()) // it ends by stop, so that it can be stopped gently
	output := newOutputBuffer()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = env
	cmd.Stdout, cmd.Stderr = io.MultiWriter(r.opts.Out, output), io.MultiWriter(r.opts.ErrOut, output)
	cmd.WaitDelay = grace(pod)
	processgroup.Lead(cmd)
	var err error
	if len(shown) > 0 {
		err = containerpaths.Show(cmd, r.root(), shown)
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		stop()
		if len(shown) > 0 {
			err = containerpaths.Explain(err)
		}
		return nil, err
	}
	p := &process{pod: pod, run: run, stop: stop, ended: make(chan struct{})}
	r.running.Go(func() {
		defer stop()
		var logging sync.WaitGroup
		logCtx, cancel := context.WithCancel(context.Background())
		defer cancel()
		logging.Go(func() {
			err := r.exec(logCtx, pod, output, nil, "sh", "-c", "cat > /proc/1/fd/1")
			var exit utilexec.ExitError
			if errors.As(err, &exit) && exit.ExitStatus() == 1 { // anything else is the end of the container, or of this
				r.say("the log of pod/%s does not have the output: that of the container's own command is simulated", pod.Name)
			}
		})
		p.code = codeOf(cmd.Wait())
		processgroup.End(cmd.Process.Pid)
		output.Close()
		timer := r.opts.Clock.AfterFunc(logTime, cancel)
		logging.Wait()
		timer.Stop()
		close(p.ended)
		r.poke()
	})
	return p, nil
}

// codeOf returns the exit code of a command, as a shell shows it.
func codeOf(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return 0
	case !errors.As(err, &exit):
		return exitNotStarted
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return exitSignaled + int(status.Signal())
	}
	return exit.ExitCode()
}

// grace returns the grace period of a pod.
func grace(pod *corev1.Pod) time.Duration {
	seconds := int64(corev1.DefaultTerminationGracePeriodSeconds)
	if given := pod.Spec.TerminationGracePeriodSeconds; given != nil {
		seconds = *given
	}
	return max(time.Duration(seconds)*time.Second, time.Second) // zero would wait forever
}
