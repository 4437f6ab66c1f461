package reach_test

import (
	"fmt"
	"math"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/network/reach"
)

// The ways of a question are those that single connections may take, with the shares in which they do.
func TestWays(t *testing.T) {
	c := load(t, "testdata/cluster.yaml")
	complete := func(q *reach.Query) {
		q.Listens = func(*corev1.Pod, int32, corev1.Protocol) *reach.Listener { return &reach.Listener{} }
	}
	for _, ask := range []reach.Ask{
		{Namespace: "shop", From: "pod/client", To: "web"},
		{Namespace: "shop", From: "pod/client", To: "svc/web"},
		{From: "ns/shop", To: "web.shop"},
		{Namespace: "shop", From: "node/n0", To: "svc/web"},
		{Namespace: "shop", From: "outside", To: "node/n1", Port: "30080"},
		{Namespace: "shop", From: "pod/client", To: "nothing"},
		{Namespace: "shop", From: "pod/client", To: "svc/none"},
	} {
		ways, err := c.Ways(&ask, complete)
		if err != nil {
			t.Errorf("%+v: %v", ask, err)
			continue
		}
		sum, targets := 0.0, map[string]float64{}
		for _, w := range ways {
			sum += w.Share
			targets[fmt.Sprint(w.Path.Outcome, " ", w.Path.Target)] += w.Share
		}
		t.Logf("%+v: %v", ask, targets)
		if math.Abs(sum-1) > 1e-9 {
			t.Errorf("%+v: the shares have the sum %v", ask, sum)
		}
	}
	for _, ask := range []reach.Ask{{From: "deploy/none", To: "web"}, {Namespace: "shop", From: "pod/client", To: "svc/web:x y"}, {From: "x/y", To: "web"}} {
		if _, err := c.Ways(&ask, complete); err == nil {
			t.Errorf("%+v has an answer", ask)
		}
	}
	ways, err := c.Ways(&reach.Ask{Namespace: "shop", From: "pod/client", To: "svc/web"}, complete)
	if err != nil || len(ways) != 2 || ways[0].Path.Target == ways[1].Path.Target || ways[0].Share != 0.5 {
		t.Errorf("the client reaches %+v: %v", ways, err)
	}
}
