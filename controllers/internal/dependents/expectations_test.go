package dependents

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"minikcm.dev/minikcm/internal/loop"
)

const me = "me"

func at(p *corev1.Pod, revision string) *corev1.Pod {
	q := p.DeepCopy()
	q.ResourceVersion = revision
	return q
}

func terminating(p *corev1.Pod) *corev1.Pod {
	q := p.DeepCopy()
	q.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	return q
}

func TestExpectations(t *testing.T) {
	mine := pod("p", "web", me)
	added := loop.Event{Type: loop.Added, Object: at(mine, "5")}
	for name, tt := range map[string]struct {
		do  func(e *Expectations)
		met bool
	}{
		"nothing written": {func(*Expectations) {}, true},
		"created, not seen": {func(e *Expectations) {
			e.Begin(me)
			e.Written(me, at(mine, "5"))
			e.End(me)
		}, false},
		"created, then seen": {func(e *Expectations) {
			e.Begin(me)
			e.Written(me, at(mine, "5"))
			e.End(me)
			e.Observe(added)
		}, true},
		"seen before the answer": {func(e *Expectations) {
			e.Begin(me)
			e.Observe(added)
			e.Written(me, at(mine, "5"))
			e.End(me)
		}, true},
		"came and went before the answer": {func(e *Expectations) {
			e.Begin(me)
			e.Observe(added)
			e.Observe(loop.Event{Type: loop.Deleted, Object: at(mine, "6")})
			e.Written(me, at(mine, "5"))
			e.End(me)
		}, true},
		"seen in an older state": {func(e *Expectations) {
			e.Begin(me)
			e.Written(me, at(mine, "5"))
			e.End(me)
			e.Observe(loop.Event{Type: loop.Updated, Object: at(mine, "4"), Old: mine})
		}, false},
		"deleted, other updates": {func(e *Expectations) {
			e.Begin(me)
			e.Deleting(me, mine)
			e.End(me)
			e.Observe(loop.Event{Type: loop.Updated, Object: at(mine, "9"), Old: mine})
		}, false},
		"deleted, seen terminating": {func(e *Expectations) {
			e.Begin(me)
			e.Deleting(me, mine)
			e.End(me)
			e.Observe(loop.Event{Type: loop.Updated, Object: terminating(at(mine, "9")), Old: mine})
		}, true},
		"deleted, seen gone": {func(e *Expectations) {
			e.Begin(me)
			e.Deleting(me, mine)
			e.End(me)
			e.Observe(loop.Event{Type: loop.Deleted, Object: mine})
		}, true},
		"not deleted after all": {func(e *Expectations) {
			e.Begin(me)
			e.Deleting(me, mine)
			e.Kept(me, mine)
			e.End(me)
		}, true},
		"another object of the name": {func(e *Expectations) {
			e.Begin(me)
			e.Written(me, at(mine, "5"))
			e.End(me)
			other := at(mine, "7")
			other.UID = "other"
			e.Observe(loop.Event{Type: loop.Added, Object: other})
		}, false},
		"taken away by another controller": {func(e *Expectations) {
			e.Begin(me)
			e.Written(me, at(mine, "5"))
			e.End(me)
			e.Observe(loop.Event{Type: loop.Updated, Object: at(pod("p", "web", "they"), "6"), Old: mine})
		}, true},
		"own status": {func(e *Expectations) {
			e.Begin(me)
			e.Written(me, at(pod(me, "web", ""), "5"))
			e.End(me)
			e.ObserveOwner(loop.Event{Type: loop.Updated, Object: at(pod(me, "web", ""), "5")})
		}, true},
		"owner gone": {func(e *Expectations) {
			e.Begin(me)
			e.Written(me, at(mine, "5"))
			e.End(me)
			e.ObserveOwner(loop.Event{Type: loop.Deleted, Object: pod(me, "web", "")})
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			e := NewExpectations(clocktesting.NewFakeClock(time.Unix(0, 0)))
			tt.do(e)
			if met, _ := e.Met(me); met != tt.met {
				t.Errorf("Met() = %v, want %v", met, tt.met)
			}
			if tt.met && len(e.owners) != 0 {
				t.Errorf("%d owners are remembered for nothing", len(e.owners))
			}
		})
	}
}

func TestExpectationsTimeOut(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Unix(0, 0))
	e := NewExpectations(clk)
	e.Begin(me)
	e.Written(me, at(pod("p", "web", me), "5"))
	e.End(me)
	clk.Step(time.Minute)
	if met, left := e.Met(me); met || left != 4*time.Minute {
		t.Errorf("Met() after a minute = %v, %v", met, left)
	}
	clk.Step(4 * time.Minute)
	if met, _ := e.Met(me); !met {
		t.Error("Met() = false after the timeout")
	}
}
