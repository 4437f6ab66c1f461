package minikcmapi

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/loopapi"
)

// debugged is a cluster with the debugger.
type debugged struct {
	*minikcm.Cluster
	t    *testing.T
	http *http.Client
}

func startDebugged(t *testing.T) *debugged {
	t.Helper()
	cluster, _ := startOn(t, 1000, func(o *minikcm.Options) {
		o.API.Extensions = append(o.API.Extensions, loopapi.Extension(), loopapi.DebuggerExtension())
		o.Nodes.Count = 2
	})
	client, err := rest.HTTPClientFor(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	return &debugged{Cluster: cluster, t: t, http: client}
}

// hold begins a session, and returns its stream.
func (d *debugged) hold() (lines *bufio.Scanner, leave func()) {
	d.t.Helper()
	ctx, cancel := context.WithCancel(d.t.Context())
	d.t.Cleanup(cancel)
	res := askLoops(ctx, d.t, d.Config(), http.MethodGet, loopapi.DebuggerPath+"?follow=true")
	if res.StatusCode != http.StatusOK {
		d.t.Fatal(res.Status)
	}
	lines = bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<22)
	if !lines.Scan() {
		d.t.Fatal("the stream has no first line")
	}
	return lines, cancel
}

func (d *debugged) step(body string) (state loopapi.Debugger, code int) {
	d.t.Helper()
	req, err := http.NewRequestWithContext(d.t.Context(), http.MethodPost, d.Config().Host+loopapi.DebuggerPath+"/step", strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	res, err := d.http.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	if res.StatusCode == http.StatusOK {
		if err := json.Unmarshal(data, &state); err != nil {
			d.t.Fatal(err)
		}
	}
	return state, res.StatusCode
}

// deploy creates a Deployment and a Service, and returns when the pods are available.
func (d *debugged) deploy(replicas int32) {
	d.t.Helper()
	set := replicaSet(replicas)
	deployment := &appsv1.Deployment{ObjectMeta: set.ObjectMeta, Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: set.Spec.Selector, Template: set.Spec.Template}}
	if _, err := d.Client().AppsV1().Deployments("default").Create(d.t.Context(), deployment, metav1.CreateOptions{}); err != nil {
		d.t.Fatal(err)
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{Selector: set.Spec.Template.Labels, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(80)}}}}
	if _, err := d.Client().CoreV1().Services("default").Create(d.t.Context(), service, metav1.CreateOptions{}); err != nil {
		d.t.Fatal(err)
	}
	d.available(replicas)
}

func (d *debugged) available(replicas int32) {
	d.t.Helper()
	written := make(chan struct{}, 1)
	defer d.Writes().Observe(func(*minikcm.Write) {
		select {
		case written <- struct{}{}:
		default:
		}
	})()
	for {
		web, err := d.Client().AppsV1().Deployments("default").Get(d.t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			d.t.Fatal(err)
		}
		if web.Status.AvailableReplicas == replicas && web.Status.ObservedGeneration == web.Generation {
			return
		}
		select {
		case <-written:
		case <-d.t.Context().Done():
			d.t.Fatal("the pods do not become available")
		}
	}
}

func (d *debugged) scale(replicas string) {
	d.t.Helper()
	patch := []byte(`{"spec":{"replicas":` + replicas + `}}`)
	if _, err := d.Client().AppsV1().Deployments("default").Patch(d.t.Context(), "web", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		d.t.Fatal(err)
	}
}

// Stepping through the scale-up of a Deployment shows every write that the write record has between its start and its end, and none
// more, and each stage of each controller on the way.
func TestDebugScaleUp(t *testing.T) {
	t.Parallel()
	d := startDebugged(t)
	d.deploy(1)
	lines, leave := d.hold()
	for { // what was in flight
		if state, _ := d.step(""); state.Next == nil {
			break
		}
	}
	before := map[int64]bool{}
	for _, w := range d.Writes().Writes(nil) {
		before[w.Revision] = true
	}
	d.scale("3")
	var stages, says []string
	last := 0
	for range 2000 {
		state, code := d.step("")
		if code != http.StatusOK {
			t.Fatal(code)
		}
		for _, p := range state.Passed {
			last = p.Number
			if p.Stop != nil {
				stages = append(stages, strings.TrimSpace(p.Stop.Controller+" "+p.Stop.Stage))
				says = append(says, p.Stop.Says)
			}
		}
		if state.Next == nil {
			break
		}
	}
	// The stream has the steps, and what clients wrote between them.
	shown := map[int64]bool{}
	for read := 0; read < last && lines.Scan(); {
		var line loopapi.Debugger
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		for _, p := range line.Passed {
			read = p.Number
			for _, w := range p.Writes {
				if shown[w.Revision] {
					t.Errorf("revision %d is shown twice", w.Revision)
				}
				if !before[w.Revision] {
					shown[w.Revision] = true
				}
			}
		}
	}
	for _, w := range d.Writes().Writes(nil) {
		if before[w.Revision] {
			continue
		}
		if !shown[w.Revision] {
			t.Errorf("the write of revision %d is not shown: %s %s %s by %s", w.Revision, w.Verb, w.Resource.Resource, w.Name, w.UserAgent)
		}
		delete(shown, w.Revision)
	}
	if len(shown) > 0 {
		t.Errorf("writes are shown that the record does not have: %v", shown)
	}
	at := -1
	for _, want := range []string{
		"event", "queue", "deployment-controller handler", "deployment-controller key", "deployment-controller decision", "deployment-controller write",
		"replicaset-controller handler", "replicaset-controller key", "replicaset-controller decision", "replicaset-controller write", "default-scheduler work",
	} {
		i := slices.Index(stages[at+1:], want)
		if i < 0 {
			t.Fatalf("%q does not come after what is before it: %q", want, stages)
		}
		at += i + 1
	}
	if !slices.ContainsFunc(says, func(s string) bool { return strings.Contains(s, "wants 3 pods and has 1: create 2 Pods") }) {
		t.Errorf("no stop says why pods are created:\n%s", strings.Join(says, "\n"))
	}
	leave()
	d.available(3)
}

// A session that ends while work waits lets it go on, as the clock ran before.
func TestDebuggerLeaves(t *testing.T) {
	t.Parallel()
	d := startDebugged(t)
	d.deploy(1)
	_, leave := d.hold()
	_, leaveToo := d.hold()
	d.scale("2")
	if state, _ := d.step(`{"until": {"controller": "replicaset-controller", "verb": "create", "kind": "Pod"}}`); state.Reason != "breakpoint" || state.Next.Stage != "write" || state.Next.Object.Kind != "Pod" {
		t.Errorf("the run to a breakpoint ends with %q at %+v", state.Reason, state.Next)
	}
	leave()
	if pace, _ := d.Pacer().Pace(); !pace.Work {
		t.Error("the work goes on although a client is there")
	}
	leaveToo()
	d.available(2)
	if _, code := d.step(""); code != http.StatusConflict {
		t.Errorf("a step without a session is answered with %d", code)
	}
	lines, _ := d.hold()
	d.scale("1")
	if _, code := d.step(`{"steps": -1}`); code != http.StatusBadRequest {
		t.Errorf("a negative number of steps is answered with %d", code)
	}
	d.Pacer().Resume()
	last := loopapi.Debugger{Holding: true}
	for lines.Scan() {
		if err := json.Unmarshal(lines.Bytes(), &last); err != nil {
			t.Fatal(err)
		}
	}
	if last.Holding {
		t.Error("the stream does not say that the hold has ended")
	}
	d.available(1)
}

// A cluster may close while its work is held at stages.
func TestCloseWhileDebugged(t *testing.T) {
	t.Parallel()
	d := startDebugged(t)
	d.deploy(1)
	d.hold()
	d.scale("2")
	if state, _ := d.step(`{"until": {"controller": "deployment-controller", "verb": "update"}}`); state.Reason != "breakpoint" {
		t.Errorf("the run ends with %q", state.Reason)
	}
	d.step("")
}
