package drain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// kubectl's times: the delay before a refused eviction is tried again, and between two looks whether
// an evicted pod is gone.
const (
	Retry = 5 * time.Second
	Look  = time.Second
)

// Node is the drain of one node, whose Node is cordoned already.
type Node struct {
	Name    string
	Options Options
	// Note, if not nil, is called when the eviction of a pod is granted, with an empty text, and when
	// it is refused for the first time.
	Note func(pod *corev1.Pod, refused string)
	// End, if not nil, is called once, when the drain is done, with Err.
	End func(err error)
	// Warnings are the Warnings of the Selection.
	Warnings []string

	selected, ended bool
	victims         []*victim
	failures        []error
}

// victim is a pod that is to go.
type victim struct {
	pod corev1.Pod
	// evicted means that the eviction was granted. Otherwise it was refused, unless the reason is
	// empty, and is tried again at retry.
	evicted bool
	refused string
	retry   time.Time
}

// Step makes the evictions that are due, and looks which pods are gone. A refused eviction does not
// delay the evictions of other pods. Done is true when all pods are gone, or the drain has failed
// (Err). It returns an error if the API server did not handle a request: the next Step makes that
// request again.
func (n *Node) Step(ctx context.Context, client kubernetes.Interface, now time.Time) (done bool, err error) {
	pods, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + n.Name})
	if err != nil {
		return false, fmt.Errorf("listing the pods of node %s: %w", n.Name, err)
	}
	if !n.selected {
		if err := n.begin(ctx, client, pods.Items); err != nil {
			return false, err
		}
	}
	there := map[types.UID]bool{}
	for i := range pods.Items {
		there[pods.Items[i].UID] = true
	}
	var errs []error
	n.victims = slices.DeleteFunc(n.victims, func(v *victim) bool {
		if !there[v.pod.UID] {
			return true
		}
		if v.evicted || now.Before(v.retry) {
			return false
		}
		failed, err := n.evict(ctx, client, v, now)
		errs = append(errs, err)
		return failed
	})
	if err := errors.Join(errs...); err != nil || len(n.victims) > 0 {
		return false, err
	}
	if n.End != nil && !n.ended {
		n.End(n.Err())
	}
	n.ended = true
	return true, nil
}

// begin selects the pods to evict.
func (n *Node) begin(ctx context.Context, client kubernetes.Interface, pods []corev1.Pod) error {
	found, err := Select(pods, n.Options, DaemonSets(ctx, client))
	if err != nil {
		return err
	}
	n.selected, n.Warnings = true, found.Warnings
	if err := found.Err(); err != nil {
		n.failures = append(n.failures, err)
		return nil
	}
	for i := range found.Evict {
		n.victims = append(n.victims, &victim{pod: found.Evict[i]})
	}
	return nil
}

// evict makes one attempt to evict a pod. With an answer that no further attempt changes, the drain
// has failed for this pod.
func (n *Node) evict(ctx context.Context, client kubernetes.Interface, v *victim, now time.Time) (failed bool, err error) {
	before := v.refused
	v.retry = now.Add(Retry)
	v.refused, err = Evict(ctx, client, &v.pod, nil)
	switch {
	case errors.Is(err, ErrGone):
		return false, nil // the next Step does not find it
	case err != nil && isFinal(err):
		n.failures = append(n.failures, fmt.Errorf("error when evicting pods/%q -n %q: %w", v.pod.Name, v.pod.Namespace, err))
		return true, nil
	case err != nil:
		return false, err
	}
	v.evicted = v.refused == ""
	if n.Note != nil && (v.evicted || before == "") {
		n.Note(&v.pod, v.refused)
	}
	return false, nil
}

// isFinal reports whether an answer ends kubectl's attempts to evict a pod. Internal errors other than
// the one about several budgets come from faults here, and may not last.
func isFinal(err error) bool {
	if apierrors.IsInternalError(err) {
		return strings.Contains(err.Error(), "more than one PodDisruptionBudget")
	}
	return apierrors.ReasonForError(err) != metav1.StatusReasonUnknown &&
		!apierrors.IsServiceUnavailable(err) && !apierrors.IsServerTimeout(err) && !apierrors.IsTimeout(err)
}

// Next returns when the next Step is due after one at now.
func (n *Node) Next(now time.Time) time.Time {
	next := now.Add(Retry)
	for _, v := range n.victims {
		due := now.Add(Look)
		if !v.evicted && v.retry.After(due) {
			due = v.retry
		}
		if due.Before(next) {
			next = due
		}
	}
	return next
}

// Err returns why the drain does not succeed: the node has pods that it does not evict, or an
// eviction failed. It is nil as long as the drain may succeed.
func (n *Node) Err() error {
	if len(n.failures) == 0 {
		return nil
	}
	return errors.Join(n.failures...)
}

// Refused is a pod whose last eviction was refused.
type Refused struct {
	Pod    *corev1.Pod
	Reason string
}

// Refused returns the pods that stay for now, in the order of the API.
func (n *Node) Refused() []Refused {
	var all []Refused
	for _, v := range n.victims {
		if v.refused != "" {
			all = append(all, Refused{&v.pod, v.refused})
		}
	}
	return all
}

// Leaving returns the pods that were evicted and are still there.
func (n *Node) Leaving() []*corev1.Pod {
	var all []*corev1.Pod
	for _, v := range n.victims {
		if v.evicted {
			all = append(all, &v.pod)
		}
	}
	return all
}

// Command is one kubectl drain: of nodes that are cordoned already, one after the other.
type Command struct {
	Nodes []*Node
	at    int
}

// Step is Node.Step for the node whose turn it is, and for the next ones when it is done.
func (c *Command) Step(ctx context.Context, client kubernetes.Interface, now time.Time) (done bool, err error) {
	for c.at < len(c.Nodes) {
		if done, err := c.Nodes[c.at].Step(ctx, client, now); !done || err != nil {
			return false, err
		}
		c.at++
	}
	return true, nil
}

// Next returns when the next Step is due after one at now.
func (c *Command) Next(now time.Time) time.Time {
	if c.at < len(c.Nodes) {
		return c.Nodes[c.at].Next(now)
	}
	return now
}

// Current returns the node whose turn it is; nil: all are done.
func (c *Command) Current() *Node {
	if c.at < len(c.Nodes) {
		return c.Nodes[c.at]
	}
	return nil
}

// Err returns why nodes were not drained.
func (c *Command) Err() error {
	var errs []error
	for _, n := range c.Nodes {
		if err := n.Err(); err != nil {
			errs = append(errs, fmt.Errorf("unable to drain node %q due to error: %w", n.Name, err))
		}
	}
	return errors.Join(errs...)
}
