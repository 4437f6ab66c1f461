package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/internal/drain"
)

// draining is a drain of nodes that goes on.
type draining struct{ drain.Command }

// beginDrain makes the first attempt to drain nodes, which are cordoned already, as kubectl drain does. The
// drain goes on in finishDrains unless it is done.
func (n *Nodes) beginDrain(ctx context.Context, env *Env, nodes []corev1.Node) error {
	d := &draining{}
	for i := range nodes {
		name := nodes[i].Name
		d.Nodes = append(d.Nodes, &drain.Node{
			Name: name, Options: drain.Options{Force: n.Force, DeleteEmptyDirData: n.DeleteEmptydirData},
			Note: func(pod *corev1.Pod, refused string) {
				if refused == "" {
					env.note("pod/%s evicted", pod.Name)
				} else {
					env.note("pod/%s stays for now: %s", pod.Name, refused)
				}
			},
			End: func(err error) {
				if err == nil {
					env.note("node/%s drained", name)
				}
			},
		})
	}
	done, err := d.Step(ctx, env.Client, env.Clock.Now())
	switch {
	case done:
		return d.Err()
	case Unanswered(err):
		env.note("%v", err)
	case err != nil:
		return err
	}
	env.drains = append(env.drains, d)
	return nil
}

// String says which pods stay, and why, and for which nodes the drain has not begun.
func (d *draining) String() string {
	at := d.Current()
	if at == nil {
		return ""
	}
	var lines []string
	for _, r := range at.Refused() {
		lines = append(lines, fmt.Sprintf("pod %s/%s stays on node %s: %s", r.Pod.Namespace, r.Pod.Name, at.Name, r.Reason))
	}
	slices.Sort(lines)
	if len(lines) == 0 {
		lines = []string{fmt.Sprintf("the pods of node %s have not ended", at.Name)}
	}
	return strings.Join(lines, "\n")
}

// undrainedError says that nodes were not drained in the time of the fault.
type undrainedError struct{ stays error }

func (e *undrainedError) Error() string { return fmt.Sprintf("not drained in time: %v", e.stays) }

// finishDrains goes on with the drains until they are done. It fails if they are not by over; the zero time is
// no limit. What the API server failed to handle is retried: another fault may have caused that. If ctx
// ends first, it returns the cause with the pods that stay.
func (e *Env) finishDrains(ctx context.Context, over time.Time) error {
	for len(e.drains) > 0 {
		now := e.Clock.Now()
		next := over
		for _, d := range e.drains {
			if due := d.Next(now); next.IsZero() || due.Before(next) {
				next = due
			}
		}
		if !over.IsZero() && !over.After(now) {
			return &undrainedError{e.unfinished()}
		}
		if err := e.sleep(ctx, next.Sub(now)); err != nil {
			return fmt.Errorf("%w: %w", err, e.unfinished())
		}
		var left []*draining
		for _, d := range e.drains {
			done, err := d.Step(ctx, e.Client, e.Clock.Now())
			switch {
			case Unanswered(err):
				e.note("%v", err)
			case err != nil:
				return err
			case done && d.Err() != nil:
				return d.Err()
			}
			if !done {
				left = append(left, d)
			}
		}
		e.drains = left
	}
	return nil
}

func (e *Env) unfinished() error {
	var errs []error
	for _, d := range e.drains {
		errs = append(errs, errors.New(d.String()))
	}
	return errors.Join(errs...)
}

// evict makes one attempt to evict a pod. It notes a refusal by a budget, and returns no
// error for it.
func evict(ctx context.Context, env *Env, pod *corev1.Pod, grace *int64) error {
	note, err := EvictOnce(ctx, env.Client, pod, grace)
	if err == nil {
		env.note("%s", note)
	}
	return err
}

// EvictOnce is drain.Evict with the outcome as a text. It returns no error if the pod is gone.
func EvictOnce(ctx context.Context, client kubernetes.Interface, pod metav1.Object, grace *int64) (note string, err error) {
	refused, err := drain.Evict(ctx, client, pod, grace)
	if errors.Is(err, drain.ErrGone) {
		return fmt.Sprintf("pod/%s was gone already", pod.GetName()), nil
	}
	if refused != "" {
		return fmt.Sprintf("pod/%s was not evicted: %s", pod.GetName(), refused), nil
	}
	return fmt.Sprintf("pod/%s evicted", pod.GetName()), err
}
