package kubeletsim

import (
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The annotations of a pod that tell how it behaves. Except for AnnotationStartDelay
// each holds for all containers of the pod that are no init containers, or, with a
// dot and a container's name appended, for that one. Durations are written as in
// Go ("90s", "1h30m").
const (
	// AnnotationStartDelay is how long the pod's sandbox takes to be made.
	AnnotationStartDelay = "minikcm.dev/start-delay"
	// AnnotationReadyDelay is from a container's start until its readiness probe
	// succeeds; "never" for never.
	AnnotationReadyDelay = "minikcm.dev/ready-delay"
	// AnnotationExitAfter is how long each run of a container takes; "never" when it
	// runs until it is stopped.
	AnnotationExitAfter = "minikcm.dev/exit-after"
	// AnnotationExitCode is what a container that ends by itself exits with.
	AnnotationExitCode = "minikcm.dev/exit-code"
	// AnnotationStopDelay is from the signal to stop until the container has ended;
	// the grace period cuts it short.
	AnnotationStopDelay = "minikcm.dev/stop-delay"
	// AnnotationPullError is why the container's image cannot be pulled, unless the
	// node has it already.
	AnnotationPullError = "minikcm.dev/pull-error"
	// AnnotationLog is what each run of a container writes when it begins, line by
	// line, in place of what its command would write.
	AnnotationLog = "minikcm.dev/log"
	// AnnotationLogEvery is after what time the container writes AnnotationLog again.
	AnnotationLogEvery = "minikcm.dev/log-every"
)

// forever is the duration of what does not end.
const forever = time.Duration(1<<63 - 1)

// behaviour is what one container's process does.
type behaviour struct {
	// runs is how long a run takes; exitCode is what it ends with.
	runs     time.Duration
	exitCode int32
	// stops is from the signal until the end; stopCode is what it ends with then.
	stops    time.Duration
	stopCode int32
	// live is whether only running its command can tell what it does.
	live bool
}

// behaviourOf reads what a container does in its run after so many restarts from the pod's annotations, then from its
// command as far as that can be understood, then from the defaults.
func behaviourOf(pod *corev1.Pod, c *corev1.Container, kind containerKind, restarts int32, lat *Latencies) behaviour {
	b := behaviour{runs: forever, stops: lat.ContainerStop}
	b.runs = defaultRun(pod, kind, lat)
	if len(c.Command)+len(c.Args) > 0 {
		program := programOf(pod, c)
		program.id = containerID(pod.UID, c.Name, restarts)
		if code, runs, ok := program.timing(); ok {
			b.runs, b.exitCode, b.stopCode = runs, code, exitTerminated
		} else if b.live = livesFrom(program, c); b.live {
			b.stopCode = exitTerminated
		}
	}
	if hook := preStop(c); hook > 0 {
		b.stops = sum(b.stops, hook)
	}
	if len(pod.Annotations) == 0 {
		return b
	}
	a := annotations{pod: pod, container: c.Name, own: kind == initContainer}
	if a.duration(AnnotationStopDelay, &b.stops) {
		b.stopCode = 0
	}
	if a.int32(AnnotationExitCode, &b.exitCode) {
		b.live, b.stopCode = false, 0
		if b.runs == forever {
			b.runs = lat.JobRun
		}
	}
	if a.duration(AnnotationExitAfter, &b.runs) {
		b.live, b.stopCode = false, 0
	}
	return b
}

// defaultRun is how long a container runs of which nothing is known.
func defaultRun(pod *corev1.Pod, kind containerKind, lat *Latencies) time.Duration {
	switch {
	case kind == initContainer:
		return lat.InitRun
	case kind != appContainer || pod.Spec.RestartPolicy == corev1.RestartPolicyAlways:
		return forever
	}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil && owner.Kind == "Job" {
		return lat.JobRun
	}
	return forever
}

// preStop is how long a container's preStop hook takes.
func preStop(c *corev1.Container) time.Duration {
	if c.Lifecycle == nil || c.Lifecycle.PreStop == nil {
		return 0
	}
	hook := c.Lifecycle.PreStop
	switch {
	case hook.Sleep != nil:
		return time.Duration(hook.Sleep.Seconds) * time.Second
	case hook.Exec != nil:
		if _, runs, ok := interpret(hook.Exec.Command, nil); ok {
			return runs
		}
	}
	return 0
}

// startDelay is from a pod's admission until its sandbox is there.
func startDelay(pod *corev1.Pod, lat *Latencies) time.Duration {
	delay := lat.PodStart
	annotations{pod: pod}.duration(AnnotationStartDelay, &delay)
	return delay
}

// annotations reads a pod's annotations for one container.
type annotations struct {
	pod       *corev1.Pod
	container string
	// own is whether only what names the container is meant for it.
	own bool
}

func (a annotations) get(key string) (string, bool) {
	if a.container != "" {
		if v, ok := a.pod.Annotations[key+"."+a.container]; ok {
			return v, true
		}
	}
	if a.own {
		return "", false
	}
	v, ok := a.pod.Annotations[key]
	return v, ok
}

// duration and int32 leave the value as it is when the annotation is missing or
// cannot be read; badAnnotations tells the user.
func (a annotations) duration(key string, value *time.Duration) (ok bool) {
	text, ok := a.get(key)
	if !ok {
		return false
	}
	d, err := parseDuration(text)
	if err != nil {
		return false
	}
	*value = d
	return true
}

func (a annotations) int32(key string, value *int32) (ok bool) {
	text, _ := a.get(key)
	n, err := parseExitCode(text)
	if err != nil {
		return false
	}
	*value = n
	return true
}

func parseDuration(text string) (time.Duration, error) {
	if text == "never" {
		return forever, nil
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a duration such as 5s, nor never", text)
	case d < 0:
		return 0, fmt.Errorf("%q is negative", text)
	}
	return d, nil
}

func parseExitCode(text string) (int32, error) {
	n, err := strconv.ParseUint(text, 10, 8)
	if err != nil {
		return 0, fmt.Errorf("%q is not an exit code from 0 to 255", text)
	}
	return int32(n), nil
}

// badAnnotations says which of the pod's annotations are not understood, in the
// order of the constants.
func badAnnotations(pod *corev1.Pod) []string {
	var bad []string
	for _, key := range []string{AnnotationStartDelay, AnnotationReadyDelay, AnnotationExitAfter, AnnotationExitCode, AnnotationStopDelay, AnnotationLogEvery, AnnotationCPU, AnnotationMemory, AnnotationHTTP, AnnotationGRPC} {
		check := func(text string) error { _, err := parseDuration(text); return err }
		switch key {
		case AnnotationExitCode:
			check = func(text string) error { _, err := parseExitCode(text); return err }
		case AnnotationHTTP:
			check = func(text string) error { _, err := parseHTTP(text); return err }
		case AnnotationGRPC:
			check = func(text string) error { _, err := parseGRPC(text); return err }
		case AnnotationCPU, AnnotationMemory:
			check = func(text string) error { _, err := ParseLoad(text); return err }
		}
		names := []string{key}
		for i := range pod.Spec.InitContainers {
			names = append(names, key+"."+pod.Spec.InitContainers[i].Name)
		}
		for i := range pod.Spec.Containers {
			names = append(names, key+"."+pod.Spec.Containers[i].Name)
		}
		for _, name := range names {
			text, ok := pod.Annotations[name]
			if !ok {
				continue
			}
			if err := check(text); err != nil {
				bad = append(bad, fmt.Sprintf("annotation %s is ignored: %v", name, err))
			}
		}
	}
	return append(bad, badMetrics(pod.Annotations)...)
}
