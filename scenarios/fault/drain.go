package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// evictAgain is the delay after which kubectl drain retries an eviction that a disruption
// budget has refused.
const evictAgain = 5 * time.Second

// drain evicts the pods of a node as kubectl drain does, and retries the evictions that a
// disruption budget refuses. The pods of DaemonSets and static pods stay.
type drain struct {
	node string
	// refused has the pods that stay for now, by namespace and name, with the reason.
	refused map[string]string
}

// attempt evicts every pod that is left. done is true if no eviction was refused.
func (d *drain) attempt(ctx context.Context, env *Env) (done bool, err error) {
	pods, err := env.Client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + d.node})
	if err != nil {
		return false, fmt.Errorf("listing the pods of node %s: %w", d.node, err)
	}
	before := d.refused
	d.refused = map[string]string{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if !drainable(pod) {
			continue
		}
		refused, err := Evict(ctx, env.Client, pod, nil)
		if err != nil && !errors.Is(err, ErrGone) {
			return false, err
		}
		key := pod.Namespace + "/" + pod.Name
		if refused != "" {
			d.refused[key] = refused
		}
		switch {
		case err != nil:
		case refused == "":
			env.note("pod/%s evicted", pod.Name)
		case before[key] == "":
			env.note("pod/%s stays for now: %s", pod.Name, refused)
		}
	}
	if len(d.refused) == 0 {
		env.note("node/%s drained", d.node)
	}
	return len(d.refused) == 0, nil
}

func drainable(pod *corev1.Pod) bool { return pod.DeletionTimestamp == nil && Drains(pod) }

// Drains reports whether a drain evicts a pod: it does not if the pod belongs to a
// DaemonSet or mirrors a static pod.
func Drains(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return (owner == nil || owner.Kind != "DaemonSet") && pod.Annotations[corev1.MirrorPodAnnotationKey] == ""
}

// ErrGone is returned if the pod was deleted meanwhile.
var ErrGone = errors.New("the pod was gone already")

// String says which pods stay, and why.
func (d *drain) String() string {
	var lines []string
	for pod, refused := range d.refused {
		lines = append(lines, fmt.Sprintf("pod %s stays on node %s: %s", pod, d.node, refused))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// finishDrains retries the refused evictions every 5 s, until none is refused or until over;
// the zero time is no limit. What the API server failed to handle is retried as well: another
// fault may have caused that. If ctx ends first, it returns the cause with the pods that
// stay.
func (e *Env) finishDrains(ctx context.Context, over time.Time) error {
	for len(e.drains) > 0 {
		wait := evictAgain
		if !over.IsZero() {
			if wait = min(wait, over.Sub(e.Clock.Now())); wait <= 0 {
				return nil
			}
		}
		if err := e.sleep(ctx, wait); err != nil {
			return fmt.Errorf("%w: %w", err, e.unfinished())
		}
		var left []*drain
		for _, d := range e.drains {
			done, err := d.attempt(ctx, e)
			if Unanswered(err) {
				e.note("%v", err)
			} else if err != nil {
				return err
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

// EvictOnce is Evict with the outcome as a text. It returns no error if the pod is gone.
func EvictOnce(ctx context.Context, client kubernetes.Interface, pod metav1.Object, grace *int64) (note string, err error) {
	refused, err := Evict(ctx, client, pod, grace)
	if errors.Is(err, ErrGone) {
		return fmt.Sprintf("pod/%s was gone already", pod.GetName()), nil
	}
	if refused != "" {
		return fmt.Sprintf("pod/%s was not evicted: %s", pod.GetName(), refused), nil
	}
	return fmt.Sprintf("pod/%s evicted", pod.GetName()), err
}

// Evict evicts a pod. If a budget refuses, refused is the API's reason, which names the
// budget. The error is ErrGone if the pod is gone, or if another one has its name.
func Evict(ctx context.Context, client kubernetes.Interface, pod metav1.Object, grace *int64) (refused string, err error) {
	err = client.CoreV1().Pods(pod.GetNamespace()).EvictV1(ctx, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Name: pod.GetName(), Namespace: pod.GetNamespace()},
		DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: grace, Preconditions: metav1.NewUIDPreconditions(string(pod.GetUID()))},
	})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return "", ErrGone
	case apierrors.IsTooManyRequests(err):
		return refusal(err), nil
	case err != nil:
		return "", fmt.Errorf("evicting pod %s: %w", pod.GetName(), err)
	}
	return "", nil
}

// refusal returns the cause that names the budget, if the error has one.
func refusal(err error) string {
	if cause, ok := apierrors.StatusCause(err, policyv1.DisruptionBudgetCause); ok && cause.Message != "" {
		return cause.Message
	}
	return err.Error()
}
