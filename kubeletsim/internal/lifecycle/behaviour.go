package lifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/internal/span"
	"minikcm.dev/minikcm/kubeletsim/internal/script"
)

// behaviour describes the process of one run of a container.
type behaviour struct {
	// runs is the duration of a run and exitCode its exit code.
	runs     time.Duration
	exitCode int32
	// exitReason and exitMessage are the reason and message of the termination; an empty reason
	// follows from the code.
	exitReason, exitMessage string
	// stops is the time from the termination signal to the process's end, and stopCode the exit
	// code then.
	stops    time.Duration
	stopCode int32
	// live means that the command cannot be predicted and has to be run, and quiet that it is known to listen on no port.
	live, quiet bool
}

// behaviourOf returns the behaviour of a container's run after that many restarts. Annotations
// take precedence over what was observed of the container, that over the prediction of the command,
// and that over the defaults.
func behaviourOf(pod *corev1.Pod, c *corev1.Container, kind podspec.Kind, restarts int32, lat *Latencies, seen Observed) behaviour {
	b, predicted := behaviour{runs: span.Forever, stops: lat.ContainerStop}, false
	b.runs = defaultRun(pod, kind, lat)
	if len(c.Command)+len(c.Args) == 0 {
		if podspec.Pauses(c) {
			b.runs, b.quiet = span.Forever, true
		}
	} else {
		program := script.ProgramOf(pod, c)
		program.ID = ContainerID(podspec.RuntimeUID(pod), c.Name, restarts)
		code, runs, ok := program.Predict()
		if ok && code != 0 && c.TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError {
			ok = !script.RunsLive(program, c) // the end of its output is the termination message
		}
		if ok {
			b.runs, b.exitCode, b.stopCode, predicted, b.quiet = runs, code, exitTerminated, true, true
		} else if b.live = script.RunsLive(program, c); b.live {
			b.stopCode = exitTerminated
		}
	}
	b.follow(seen, predicted)
	if hook := preStop(c, seen.Course != 0); hook > 0 {
		b.stops = span.Sum(b.stops, hook)
	}
	if len(pod.Annotations) == 0 {
		return b
	}
	a := podspec.Annotations{Pod: pod, Container: c.Name, NamedOnly: kind == podspec.InitContainer}
	if a.Duration(podspec.AnnotationStopDelay, &b.stops) {
		b.stopCode = 0
	}
	if a.ExitCode(podspec.AnnotationExitCode, &b.exitCode) {
		b.live, b.stopCode, b.exitReason, b.exitMessage = false, 0, "", ""
		if b.runs == span.Forever {
			b.runs = lat.JobRun
		}
	}
	if a.Duration(podspec.AnnotationExitAfter, &b.runs) {
		b.live, b.stopCode = false, 0
	}
	return b
}

// follow replaces the prediction by the observation of the container.
func (b *behaviour) follow(seen Observed, predicted bool) {
	b.quiet = b.quiet && seen.Course == 0
	switch seen.Course {
	case Crashes:
		b.live, b.runs, b.exitCode, b.exitReason, b.exitMessage = false, seen.After, seen.ExitCode, seen.Reason, seen.Message
	case Serves, Lasts, NeverReady, NeverStarted:
		if !predicted || seen.Steady {
			b.live, b.runs, b.exitCode = false, span.Forever, 0
		}
	}
}

// DefaultRun is the duration of a run of a container whose command is unknown: span.Forever, or less.
func DefaultRun(pod *corev1.Pod, kind podspec.Kind) time.Duration {
	return defaultRun(pod, kind, &Latencies{})
}

// defaultRun is the duration of a run that neither an annotation nor the command determines.
func defaultRun(pod *corev1.Pod, kind podspec.Kind, lat *Latencies) time.Duration {
	switch {
	case kind == podspec.InitContainer:
		return lat.InitRun
	case kind != podspec.AppContainer || pod.Spec.RestartPolicy == corev1.RestartPolicyAlways:
		return span.Forever
	}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil && owner.Kind == "Job" {
		return lat.JobRun
	}
	return span.Forever
}

// preStop returns the duration of the container's preStop hook. Commands of an observed container are not run.
func preStop(c *corev1.Container, observed bool) time.Duration {
	if c.Lifecycle == nil || c.Lifecycle.PreStop == nil {
		return 0
	}
	hook := c.Lifecycle.PreStop
	switch {
	case hook.Sleep != nil:
		return time.Duration(hook.Sleep.Seconds) * time.Second
	case hook.Exec != nil:
		if !observed && runsCommand(hook.Exec.Command) {
			return 0 // it is run
		}
		return script.Takes(hook.Exec.Command)
	}
	return 0
}

// startDelay returns the time from a pod's admission until its sandbox is ready.
func startDelay(pod *corev1.Pod, lat *Latencies) time.Duration {
	delay := lat.PodStart
	podspec.Annotations{Pod: pod}.Duration(podspec.AnnotationStartDelay, &delay)
	return delay
}
