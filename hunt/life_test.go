package hunt

import (
	"testing"

	"minikcm.dev/minikcm/minikcmtest"
)

// Only the life after a StaleRestart lists a resource as it was before.
func TestStaleForOneLife(t *testing.T) {
	t.Parallel()
	write := Point{Verb: "create", Resource: "pods", Name: "a", Nth: 1}
	c := newCourse(minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(0)).Cluster, DefaultUser,
		[]Disturbance{{Action: StaleRestart, At: write, Since: write, Resource: "pods"}})
	first := c.begins()
	if _, action, _ := first.meets(Point{Verb: "create", Resource: "pods", Name: "a"}); action != StaleRestart {
		t.Fatalf("the write meets %q, want %q", action, StaleRestart)
	}
	second, third := c.begins(), c.begins()
	if len(first.stale) > 0 || second.stale["pods"] == 0 || len(third.stale) > 0 {
		t.Errorf("the lives list as of the revisions %v, %v and %v, want one of the second life only", first.stale, second.stale, third.stale)
	}
}
