package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	appslisters "k8s.io/client-go/listers/apps/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/podspec"
)

// ProcessAnnotation on a pod names the process that stands for its container, as HOST/PID of the
// runner.
const ProcessAnnotation = "minikcm.dev/process"

// Options configure Run. All are required except Container and Ports.
type Options struct {
	Config                *rest.Config
	Namespace, Deployment string
	// Container is the name of the container that the command stands for; empty: the default
	// container.
	Container string
	// Command is the command line. $(NAME) in it is a variable of the command's environment, as in
	// a container's command.
	Command []string
	// Ports maps ports of the container to the ports that the command listens on, where they
	// differ.
	Ports map[int32]int32
	// ContainerPaths means that the command finds the content of volumes at their paths in the
	// container, too, where containerpaths can show it.
	ContainerPaths bool
	// NoProxy means that the command gets no proxy to the cluster's network.
	NoProxy bool
	// SimulatedProbes means that the probes of the container do not reach the command.
	SimulatedProbes bool
	// Exit ends the container of a pod with an exit code.
	Exit func(ctx context.Context, pod types.NamespacedName, container string, code int) error
	// Out and ErrOut get the command's output, and Say gets messages. Say may be called concurrently.
	Out, ErrOut io.Writer
	Say         func(message string)
	Clock       clock.Clock
}

const (
	// refreshInterval is the time after which volumes are read again also without a change, because
	// tokens are renewed. It is real time.
	refreshInterval = time.Minute
	// restoreTime limits the requests that restore the cluster.
	restoreTime = 10 * time.Second
	// retryInterval is the time after a failed request.
	retryInterval = 5 * time.Second
)

// finalError is an error that ends Run. After others, it tries again.
type finalError struct{ error }

func (e finalError) Unwrap() error { return e.error }

// runner is one call of Run. Its fields belong to the goroutine of Run.
type runner struct {
	opts      Options
	client    kubernetes.Interface
	container string
	program   string
	dir       string
	owner     string
	wake      chan struct{}
	running   sync.WaitGroup

	deployments appslisters.DeploymentLister
	sets        appslisters.ReplicaSetLister
	pods        corelisters.PodLister
	services    corelisters.ServiceLister
	stale       staleness

	// takesOver means that an earlier runner was killed and has left its annotations.
	takesOver bool
	led       map[types.UID]*led
	// pod is the pod that the command stands for; waits means that its absence was reported.
	pod     *corev1.Pod
	waits   bool
	marked  map[types.UID]marked
	process *process
	proxy   *podProxy // nil: there is none
	// done is the last run of the container for which the command has ended.
	done string
}

// Run runs the command until ctx ends, and returns nil then. It fails if there is no such
// Deployment, or the command cannot be started.
func Run(ctx context.Context, opts Options) (err error) {
	r := &runner{opts: opts, wake: make(chan struct{}, 1), led: map[types.UID]*led{}, marked: map[types.UID]marked{}}
	if r.program, err = exec.LookPath(opts.Command[0]); err != nil {
		return fmt.Errorf("cannot run the command %q: %w", opts.Command[0], err)
	}
	if r.client, err = kubernetes.NewForConfig(opts.Config); err != nil {
		return fmt.Errorf("creating a client for the cluster: %w", err)
	}
	if err := r.prepare(ctx); err != nil {
		return err
	}
	if r.dir, err = os.MkdirTemp("", "minikcm-run-"); err != nil {
		return fmt.Errorf("creating a folder for the container's files: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.dir)) }()
	if err := errors.Join(os.Mkdir(r.root(), 0o700), writeKubeconfig(r.kubeconfig(), opts.Config, opts.Namespace, r.root())); err != nil {
		return fmt.Errorf("writing the kubeconfig of the command: %w", err)
	}
	if !opts.NoProxy {
		if r.proxy, err = listenProxy(ctx, opts.Config); err != nil {
			return err
		}
		defer r.proxy.close()
	}
	stop, err := r.watch(ctx)
	if err != nil {
		return err
	}
	defer stop()
	defer func() { err = errors.Join(err, r.restore()) }()
	return r.loop(ctx)
}

func (r *runner) root() string       { return filepath.Join(r.dir, "root") }
func (r *runner) kubeconfig() string { return filepath.Join(r.dir, "kubeconfig") }

func (r *runner) say(format string, args ...any) { r.opts.Say(fmt.Sprintf(format, args...)) }

// poke wakes the loop.
func (r *runner) poke() {
	select {
	case r.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// prepare checks that the Deployment has the container, and that no other runner stands for it.
func (r *runner) prepare(ctx context.Context) error {
	deployment, err := r.client.AppsV1().Deployments(r.opts.Namespace).Get(ctx, r.opts.Deployment, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading deployment/%s in namespace %s: %w", r.opts.Deployment, r.opts.Namespace, err)
	}
	container := containerOf(&deployment.Spec.Template, r.opts.Container)
	if container == nil {
		return fmt.Errorf("deployment/%s has no container %q", deployment.Name, r.opts.Container)
	}
	r.container = container.Name
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	r.owner = ownerName(host, os.Getpid())
	selector, err := metav1.LabelSelectorAsSelector(deployment.Spec.Selector)
	if err != nil {
		return err
	}
	pods, err := r.client.CoreV1().Pods(r.opts.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		return err
	}
	for i := range pods.Items {
		switch owner, marked := pods.Items[i].Annotations[ProcessAnnotation]; {
		case !marked:
		case hasEnded(owner, host):
			r.takesOver = true
		default:
			return fmt.Errorf("the process %s (HOST/PID) runs a command in place of pod/%s: end it, or remove the annotation %s from the pod", owner, pods.Items[i].Name, ProcessAnnotation)
		}
	}
	return nil
}

// loop brings the command in line with the cluster after each change.
func (r *runner) loop(ctx context.Context) error {
	refresh := r.opts.Clock.NewTicker(refreshInterval)
	defer refresh.Stop()
	retry := r.opts.Clock.NewTimer(refreshInterval)
	defer retry.Stop()
	for {
		if err := r.step(ctx); err != nil && ctx.Err() == nil {
			var final finalError
			if errors.As(err, &final) {
				return err
			}
			r.say("%v: trying again in %v", err, retryInterval)
			retry.Reset(retryInterval)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-r.wake:
		case <-retry.C():
		case <-refresh.C():
			r.stale.set()
		}
	}
}

func (r *runner) step(ctx context.Context) error {
	deployment, err := r.deployments.Deployments(r.opts.Namespace).Get(r.opts.Deployment)
	if apierrors.IsNotFound(err) {
		return finalError{fmt.Errorf("deployment/%s was deleted", r.opts.Deployment)}
	}
	if err != nil {
		return err
	}
	if err := r.leadServices(ctx, deployment); err != nil {
		return err
	}
	if err := r.changePod(ctx, deployment); err != nil {
		return err
	}
	run := runOf(r.pod, r.container)
	if err := r.reap(ctx, run); err != nil {
		return err
	}
	switch {
	case r.process != nil && r.process.run != run:
		r.stopProcess("the container has ended")
	case r.process == nil && run != "" && run != r.done:
		return r.begin(ctx, run)
	case r.process != nil && r.stale.take():
		r.refresh(ctx)
	}
	return nil
}

// changePod looks for the pod that the command stands for, and marks it.
func (r *runner) changePod(ctx context.Context, deployment *appsv1.Deployment) error {
	sets, err := r.sets.ReplicaSets(r.opts.Namespace).List(labels.Everything())
	if err != nil {
		return err
	}
	pods, err := r.pods.Pods(r.opts.Namespace).List(labels.Everything())
	if err != nil {
		return err
	}
	var present types.UID
	if r.pod != nil {
		present = r.pod.UID
	}
	pod := choose(present, deployment, sets, pods, r.container)
	if pod == nil {
		if !r.waits {
			r.say("deployment/%s has no running pod: waiting for one", deployment.Name)
		}
		r.pod, r.waits = nil, true
		return nil
	}
	r.waits = false
	if err := r.mark(ctx, pod); err != nil {
		return fmt.Errorf("marking pod/%s: %w", pod.Name, err)
	}
	r.pod = pod
	if r.proxy != nil {
		r.proxy.pod.Store(&types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name})
	}
	return nil
}

// reap looks at a command that has ended. If its run of the container has not, the container ends
// with the command's exit code.
func (r *runner) reap(ctx context.Context, run string) error {
	if r.process == nil {
		return nil
	}
	select {
	case <-r.process.ended:
	default:
		return nil
	}
	ended := r.process
	r.process, r.done = nil, ended.run
	r.say("the command has ended with exit code %d", ended.code)
	if ended.run != run || ended.stopped {
		return nil
	}
	name := types.NamespacedName{Namespace: ended.pod.Namespace, Name: ended.pod.Name}
	if err := r.opts.Exit(ctx, name, r.container, ended.code); err != nil {
		return finalError{fmt.Errorf("ending container %s of pod/%s: %w", r.container, name.Name, err)}
	}
	return nil
}

// begin starts the command for a run of the container.
func (r *runner) begin(ctx context.Context, run string) error {
	variables, err := r.variables(ctx, r.pod)
	if err == nil {
		r.stale.take()
		err = r.fetch(ctx, r.pod, false)
	}
	if err != nil {
		if now, getErr := r.client.CoreV1().Pods(r.pod.Namespace).Get(ctx, r.pod.Name, metav1.GetOptions{}); getErr == nil && runOf(now, r.container) == run {
			return err
		}
		return nil // the container has just ended
	}
	place := apiVariables(r.opts.Config.Host)
	place[kubeconfigVariable], place[RootVariable] = r.kubeconfig(), r.root()
	if r.proxy != nil {
		maps.Copy(place, r.proxy.variables())
	}
	env := environment(os.Environ(), variables, place)
	argv := []string{r.program}
	known := podspec.VariablesOf(env)
	for _, arg := range r.opts.Command[1:] {
		expanded, _ := known.Expand(arg)
		argv = append(argv, expanded)
	}
	shown, err := r.shownPaths()
	if err != nil {
		return finalError{err}
	}
	if r.process, err = r.start(r.pod, run, argv, env, shown); err != nil {
		return finalError{fmt.Errorf("starting %s: %w", r.program, err)}
	}
	r.say("%s runs in place of container %s of pod/%s; its files are in %s", filepath.Base(r.program), r.container, r.pod.Name, r.root())
	return nil
}

// refresh writes changed files.
func (r *runner) refresh(ctx context.Context) {
	if err := r.fetch(ctx, r.pod, true); err != nil && ctx.Err() == nil && runOf(r.pod, r.container) == r.process.run {
		r.say("The files may be out of date: %v", err)
	}
}

func (r *runner) stopProcess(why string) {
	if !r.process.stopped {
		r.process.stopped = true
		r.say("stopping the command: %s", why)
		r.process.stop()
	}
}

// restore stops the command and takes everything back.
func (r *runner) restore() error {
	if r.process != nil {
		r.process.stop()
	}
	r.running.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), restoreTime)
	defer cancel()
	failed := r.releaseServices(ctx)
	pods, err := r.pods.Pods(r.opts.Namespace).List(labels.Everything())
	for _, pod := range pods {
		if pod.Annotations[ProcessAnnotation] == r.owner || r.pod != nil && pod.UID == r.pod.UID {
			failed = append(failed, r.unmark(ctx, pod))
		}
	}
	return errors.Join(append(failed, err)...)
}
