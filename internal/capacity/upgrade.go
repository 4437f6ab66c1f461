package capacity

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/kubeletsim"
)

// upgrade replaces nodes by new ones of the same kind, as managed node pools do: at most surge old nodes are
// being replaced at a time. With a surge, the new node is Ready before its old one is cordoned and drained;
// without one, the new node is added after the old one is deleted, one at a time. A drain that a budget
// does not let finish holds the upgrade up for ever: providers may go on by force after a time.
type upgrade struct {
	fork  *Fork
	surge int
	// waiting are the old nodes that are to be replaced, and going the replacements under way.
	waiting []corev1.Node
	going   []*replacement
	// taken are the names of nodes, so that new ones get others.
	taken map[string]bool
	// drains have begun, in this order.
	drains []*draining
}

// replacement is one old node, and the new one.
type replacement struct {
	old     corev1.Node
	as      string
	drain   *draining
	removed bool
}

func (f *Fork) upgrade(names []string, surge int, existing []corev1.Node) *upgrade {
	u := &upgrade{fork: f, surge: surge, taken: map[string]bool{}}
	for i := range existing {
		u.taken[existing[i].Name] = true
		if slices.Contains(names, existing[i].Name) {
			u.waiting = append(u.waiting, existing[i])
		}
	}
	return u
}

// step takes every replacement as far as it goes, and begins further ones.
func (u *upgrade) step(ctx context.Context, now time.Time) (done bool, err error) {
	for {
		moved, err := u.advance(ctx, now)
		if err != nil || !moved {
			return !slices.ContainsFunc(u.going, func(r *replacement) bool { return !r.failed() }), err
		}
	}
}

// failed reports whether the old node has pods that no drain evicts. The replacement is given up then, and
// holds up those that wait for it.
func (r *replacement) failed() bool { return r.drain != nil && r.drain.command.Err() != nil }

func (u *upgrade) advance(ctx context.Context, now time.Time) (moved bool, err error) {
	for len(u.waiting) > 0 && len(u.going) < max(u.surge, 1) {
		r := &replacement{old: u.waiting[0]}
		u.waiting = u.waiting[1:]
		u.going = append(u.going, r)
		if u.surge > 0 {
			if r.as, err = u.add(ctx, &r.old); err != nil {
				return false, err
			}
		}
		moved = true
	}
	var left []*replacement
	for _, r := range u.going {
		if r.failed() {
			left = append(left, r)
			continue
		}
		over, went, err := u.replace(ctx, r, now)
		if err != nil {
			return false, err
		}
		moved = moved || went
		if !over {
			left = append(left, r)
		}
	}
	u.going = left
	return moved, nil
}

// replace takes the next step of a replacement: wait for the new node, drain the old one, delete it. With no
// surge, the new node comes last.
func (u *upgrade) replace(ctx context.Context, r *replacement, now time.Time) (over, moved bool, err error) {
	if r.drain == nil {
		if ready, err := u.isReady(ctx, r.as); err != nil || !ready {
			return false, false, err
		}
		if err := u.fork.cordon(ctx, []string{r.old.Name}); err != nil {
			return false, false, err
		}
		r.drain = u.fork.drain([]string{r.old.Name})
		u.drains = append(u.drains, r.drain)
	}
	if !r.removed {
		done, err := r.drain.step(ctx, now)
		if err != nil || !done || r.failed() {
			return false, false, err
		}
		if err := u.fork.remove(ctx, []string{r.old.Name}); err != nil {
			return false, false, err
		}
		r.removed = true
		if u.surge == 0 {
			if r.as, err = u.add(ctx, &r.old); err != nil {
				return false, false, err
			}
		}
		r.drain.results[0].ReplacedBy = r.as
		return u.surge > 0, true, nil
	}
	ready, err := u.isReady(ctx, r.as)
	return ready, ready, err
}

// add creates a node like an old one.
func (u *upgrade) add(ctx context.Context, old *corev1.Node) (name string, err error) {
	for number := 1; ; number++ {
		name = fmt.Sprintf("%s-new-%d", old.Name, number)
		if !u.taken[name] {
			break
		}
	}
	u.taken[name] = true
	spec := kubeletsim.NodeSpecLike(old)
	return name, u.fork.createNode(ctx, name, &spec)
}

// isReady reports whether a node takes pods; true without a name.
func (u *upgrade) isReady(ctx context.Context, name string) (bool, error) {
	if name == "" {
		return true, nil
	}
	node, err := u.fork.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("getting node %s: %w", name, err)
	}
	fresh := slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeNotReady })
	return nodeReady(node) && !fresh, nil
}

// awaits reports whether a new node is still to be Ready.
func (u *upgrade) awaits() bool {
	return slices.ContainsFunc(u.going, func(r *replacement) bool { return r.drain == nil || r.removed })
}

// next returns when the next step is due: a second after a node was added, or when a drain goes on.
func (u *upgrade) next(now time.Time) time.Time {
	next := now.Add(time.Minute)
	for _, r := range u.going {
		if r.failed() {
			continue
		}
		due := now.Add(time.Second)
		if r.drain != nil && !r.removed {
			due = r.drain.next(now)
		}
		next = earlier(next, due)
	}
	return next
}

// report adds the outcome to a report: the drains in their order, and those that have not begun.
func (u *upgrade) report(r *Report) {
	for _, d := range u.drains {
		d.report(r)
	}
	for i := range u.waiting {
		r.Drains = append(r.Drains, DrainResult{Node: u.waiting[i].Name, Waiting: true})
	}
}
