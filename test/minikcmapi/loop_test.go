package minikcmapi

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/loop"
	"minikcm.dev/minikcm/internal/loopapi"
	"minikcm.dev/minikcm/minikcmtest"
)

func startLoops(t *testing.T) *minikcmtest.Cluster {
	t.Helper()
	return minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(1), minikcmtest.WithOptions(func(o *minikcm.Options) {
		o.API.Extensions = []minikcm.Extension{loopapi.Extension()}
	}))
}

// askLoops sends a request, and returns the response.
func askLoops(ctx context.Context, t *testing.T, config *rest.Config, method, path string) *http.Response {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, method, config.Host+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

func replicaSet(replicas int32) *appsv1.ReplicaSet {
	labels := map[string]string{"app": "web"}
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: ptr.To(replicas), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx"}}}},
		},
	}
}

// A stream has the way of an event: handled, queued, reconciled, planned, written.
func TestFollowLoop(t *testing.T) {
	t.Parallel()
	cluster := startLoops(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	lines := bufio.NewScanner(askLoops(ctx, t, cluster.Config(), http.MethodGet, loopapi.Path+"/replicaset-controller?follow=true").Body)
	lines.Buffer(nil, 1<<20)
	var last loopapi.Loops
	next := func() []loop.Step {
		t.Helper()
		if !lines.Scan() {
			t.Fatalf("the stream ends: %v", lines.Err())
		}
		last = loopapi.Loops{}
		if err := json.Unmarshal(lines.Bytes(), &last); err != nil {
			t.Fatal(err)
		}
		return last.Steps
	}
	if steps := next(); len(steps) > 0 || len(last.Loops) == 0 || last.Controller != "replicaset-controller" || last.Now.IsZero() {
		t.Fatalf("the first line is %+v", last)
	}
	if _, err := cluster.Client().AppsV1().ReplicaSets("default").Create(t.Context(), replicaSet(2), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var seen []string
	done := func(want string) bool {
		return slices.ContainsFunc(seen, func(s string) bool { return strings.HasPrefix(s, want) })
	}
	for !done("wrote create Pod/web-") || !done("ended") {
		for _, s := range next() {
			if s.Time.IsZero() || s.Error != "" {
				t.Errorf("a step is %+v", s)
			}
			seen = append(seen, strings.Join(strings.Fields(strings.Join([]string{string(s.Stage), s.Event, s.Verb, s.Object, s.Key, strings.Join(s.Keys, ",")}, " ")), " "))
		}
	}
	at := -1
	for _, want := range []string{"handled Added ReplicaSet/web default/web", "queued default/web", "began default/web", "planned create Pod/web-", "wrote create Pod/web-", "ended default/web"} {
		i := slices.IndexFunc(seen, func(s string) bool { return strings.HasPrefix(s, want) })
		if i <= at {
			t.Errorf("%q is not after what comes before it: %q", want, seen)
		}
		at = i
	}
}

// A read has what is in the informers, the queues and with the workers.
func TestGetLoop(t *testing.T) {
	t.Parallel()
	cluster := startLoops(t)
	var shown loopapi.Loops
	if err := json.NewDecoder(askLoops(t.Context(), t, cluster.Config(), http.MethodGet, loopapi.Path+"/node-lifecycle-controller").Body).Decode(&shown); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, l := range shown.Loops {
		for _, w := range l.Watches {
			kinds[w.Kind] = max(kinds[w.Kind], w.Objects)
		}
	}
	if kinds["Node"] != 1 {
		t.Errorf("the informers have %v, want one Node: %+v", kinds, shown)
	}
	for _, r := range []struct {
		method, path string
		code         int
	}{
		{http.MethodGet, "/nothing", http.StatusNotFound},
		{http.MethodGet, "", http.StatusNotFound},
		{http.MethodGet, "/replicaset-controller?follow=perhaps", http.StatusBadRequest},
		{http.MethodPost, "/replicaset-controller", http.StatusMethodNotAllowed},
	} {
		if res := askLoops(t.Context(), t, cluster.Config(), r.method, loopapi.Path+r.path); res.StatusCode != r.code {
			t.Errorf("%s %s is answered with %s", r.method, r.path, res.Status)
		}
	}
}
