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
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/clockapi"
)

// startOn starts a cluster whose virtual clock runs at a speed; 0 means a real clock.
func startOn(t *testing.T, speed float64, with ...func(*minikcm.Options)) (*minikcm.Cluster, *clockapi.Client) {
	t.Helper()
	opts := minikcm.Options{API: minikcm.APIOptions{NoHTTPS: true, Extensions: []minikcm.Extension{clockapi.Extension()}}, Seed: 1, Security: minikcm.SecurityOptions{AuthorizationModes: []string{"AlwaysAllow"}}}
	if speed > 0 {
		opts.Clock.Mode, opts.Clock.Speed = clock.ModeVirtual, speed
	}
	for _, change := range with {
		change(&opts)
	}
	cluster, err := minikcm.Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	return cluster, clockapi.NewClient(cluster.Client().Discovery().RESTClient())
}

// must returns the state that a request returns.
func must(t *testing.T) func(state *clockapi.State, err error) *clockapi.State {
	return func(state *clockapi.State, err error) *clockapi.State {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return state
	}
}

// A paused clock stands still, and only Advance and Step move it, exactly.
func TestPausedClock(t *testing.T) {
	_, client := startOn(t, 1)
	paused := must(t)(client.Pause(t.Context()))
	if paused.Mode != clock.ModeVirtual || paused.Factor != 1 || !paused.Paused || paused.NextTimer == nil {
		t.Errorf("paused, it is %+v", paused)
	}
	again := must(t)(client.Get(t.Context()))
	if !again.Now.Equal(paused.Now) {
		t.Errorf("it does not stand still: %v, then %v", paused.Now, again.Now)
	}
	later := must(t)(client.Advance(t.Context(), time.Hour))
	if want := paused.Now.Add(time.Hour); !later.Now.Equal(want) || later.Moving {
		t.Errorf("an hour later it is %+v, want %v", later, want)
	}
	stepped := must(t)(client.Step(t.Context()))
	if !stepped.Now.Equal(*later.NextTimer) {
		t.Errorf("a step moved it to %v, want %v", stepped.Now, later.NextTimer)
	}
	fast := must(t)(client.SetSpeed(t.Context(), 100))
	if fast.Factor != 100 || !fast.Paused || !fast.Now.Equal(stepped.Now) {
		t.Errorf("with another speed, it is %+v", fast)
	}
}

// While the work is paused, nothing follows from a write but by steps, and each step does one piece of
// work: the writes that a scale-up leads to come one after the other.
func TestPausedWork(t *testing.T) {
	cluster, client := startOn(t, 1)
	one := int32(1)
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: appsv1.DeploymentSpec{
		Replicas: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx"}}}},
	}}
	deployments := cluster.Client().AppsV1().Deployments("default")
	_, err := deployments.Create(t.Context(), web, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	must(t)(client.Advance(t.Context(), time.Second))
	paused := must(t)(client.PauseWork(t.Context()))
	if !paused.Paused || !paused.PausedWork {
		t.Errorf("paused, it is %+v", paused)
	}
	// What was under way ends by steps.
	for state := paused; state.Waiting > 0; {
		state = must(t)(client.Step(t.Context()))
	}
	before := len(cluster.Writes().Writes(nil))
	if _, err := deployments.Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec": {"replicas": 3}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	state := must(t)(client.Get(t.Context()))
	for state.NextStep == "" { // the event is on its way
		state = must(t)(client.Get(t.Context()))
	}
	if writes := cluster.Writes().Writes(nil); len(writes) != before+1 || !strings.HasPrefix(state.NextStep, "deployment-controller") {
		t.Fatalf("without a step, there are %d writes; next is %q", len(writes)-before, state.NextStep)
	}
	var took []string
	for steps := 0; state.Waiting > 0; steps++ {
		if steps > 200 {
			t.Fatalf("the work does not end: %v", took)
		}
		took = append(took, state.NextStep)
		state = must(t)(client.Step(t.Context()))
		if !state.Now.Equal(paused.Now) {
			t.Errorf("a step of work moves the time from %v to %v", paused.Now, state.Now)
		}
	}
	list, err := cluster.Client().CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 3 {
		t.Fatalf("there are %d pods, error %v; steps: %v", len(list.Items), err, took)
	}
	for _, controller := range []string{"deployment-controller", "replicaset-controller", "default-scheduler"} {
		if !slices.ContainsFunc(took, func(step string) bool { return strings.HasPrefix(step, controller) }) {
			t.Errorf("no step is one of %s: %v", controller, took)
		}
	}
	must(t)(client.Resume(t.Context()))
}

// A clock that is resumed runs by itself, at its speed: timers fire.
func TestRunningClock(t *testing.T) {
	cluster, client := startOn(t, 1)
	must(t)(client.Pause(t.Context()))
	timer := cluster.Clock().NewTimer(time.Hour)
	defer timer.Stop()
	must(t)(client.SetSpeed(t.Context(), clock.MaxSpeed))
	if state := must(t)(client.Resume(t.Context())); state.Paused {
		t.Errorf("resumed, it is %+v", state)
	}
	select {
	case <-timer.C():
	case <-t.Context().Done():
		t.Error("the timer does not fire")
	}
}

// What is due within an advance has happened when it returns.
func TestAdvanceWaitsForWork(t *testing.T) {
	cluster, client := startOn(t, 1)
	must(t)(client.Pause(t.Context()))
	must(t)(client.Advance(t.Context(), time.Minute)) // the kubelet writes the node's first lease
	before, err := cluster.Client().CoordinationV1().Leases("kube-node-lease").Get(t.Context(), "node-0", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	state := must(t)(client.Advance(t.Context(), time.Hour))
	after, err := cluster.Client().CoordinationV1().Leases("kube-node-lease").Get(t.Context(), "node-0", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if age := state.Now.Sub(after.Spec.RenewTime.Time); after.Spec.RenewTime.Equal(before.Spec.RenewTime) || age > 15*time.Second {
		t.Errorf("an hour later, the node's lease is %v old", age)
	}
}

func TestRealClock(t *testing.T) {
	_, client := startOn(t, 0)
	if state := must(t)(client.Get(t.Context())); state.Mode != clock.ModeReal || state.NextTimer != nil || state.Now.IsZero() {
		t.Errorf("it is %+v", state)
	}
	_, err := client.Pause(t.Context())
	if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), "start the cluster with --clock=virtual") {
		t.Errorf("pausing it: %v", err)
	}
}

// askClock sends a request as a user, and returns the response.
func askClock(ctx context.Context, t *testing.T, config *rest.Config, method, path, body string) *http.Response {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, method, config.Host+path, strings.NewReader(body))
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

func TestWrongClockRequests(t *testing.T) {
	cluster, _ := startOn(t, 1)
	for _, test := range []struct {
		method, path, body string
		code               int
		message            string
	}{
		{http.MethodPost, "", "", 405, "not supported"},
		{http.MethodGet, "/pause", "", 405, "not supported"},
		{http.MethodPost, "/rewind", "", 404, `"rewind" not found`},
		{http.MethodGet, "?follow=maybe", "", 400, "neither true nor false"},
		{http.MethodPost, "/pause", `{"for": "1h"}`, 400, `unknown field "for"`},
		{http.MethodPost, "/speed", "", 422, "speed: Required value"},
		{http.MethodPost, "/speed", `{"speed": 0}`, 422, "must be above 0"},
		{http.MethodPost, "/speed", `{"speed": 1e7}`, 422, "at most 1000000"},
		{http.MethodPost, "/speed", `{"speed": "fast"}`, 400, "cannot unmarshal string"},
		{http.MethodPost, "/speed", `{"speed": 1} {}`, 400, "more than one JSON value"},
		{http.MethodPost, "/advance", `{}`, 422, "duration: Required value"},
		{http.MethodPost, "/advance", `{"duration": "a day"}`, 422, "must be a duration"},
		{http.MethodPost, "/advance", `{"duration": "-1h"}`, 422, "time does not go back"},
		{http.MethodPost, "/advance", `{"duration": "` + strings.Repeat("1h", 3000) + `"}`, 413, "may have 4096 bytes"},
	} {
		res := askClock(t.Context(), t, cluster.Config(), test.method, clockapi.Path+test.path, test.body)
		data, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		var status metav1.Status
		if err := json.Unmarshal(data, &status); err != nil || res.StatusCode != test.code || !strings.Contains(status.Message, test.message) {
			t.Errorf("%s %s %.40s: %d %s, want %d and %q", test.method, test.path, test.body, res.StatusCode, data, test.code, test.message)
		}
	}
	if res := askClock(t.Context(), t, cluster.ConfigFor("jane"), http.MethodPost, clockapi.Path+"/pause", ""); res.StatusCode != http.StatusForbidden {
		t.Errorf("jane may pause the clock: %s", res.Status)
	}
	if state, _ := cluster.Pacer().Pace(); state.Paused || state.Speed != 1 {
		t.Errorf("the requests changed the clock: %+v", state)
	}
}

// A stream has a line for each change, and ends when the cluster closes.
func TestFollowClock(t *testing.T) {
	cluster, client := startOn(t, 1)
	stream := askClock(t.Context(), t, cluster.Config(), http.MethodGet, clockapi.Path+"?follow=true", "")
	lines := bufio.NewScanner(stream.Body)
	until := func(wanted func(*clockapi.State) bool) {
		t.Helper()
		for lines.Scan() {
			var state clockapi.State
			if err := json.Unmarshal(lines.Bytes(), &state); err != nil {
				t.Fatalf("%s: %v", lines.Text(), err)
			}
			if wanted(&state) {
				return
			}
		}
		t.Fatal("the stream ended:", lines.Err())
	}
	until(func(s *clockapi.State) bool { return !s.Paused })
	must(t)(client.Pause(t.Context()))
	until(func(s *clockapi.State) bool { return s.Paused })
	must(t)(client.SetSpeed(t.Context(), 7))
	until(func(s *clockapi.State) bool { return s.Factor == 7 })
	if err := cluster.Close(); err != nil {
		t.Error(err)
	}
	for lines.Scan() { // what was sent before
	}
}

// An advance ends early, and leaves the clock where it is, when its client goes.
func TestAbandonedAdvance(t *testing.T) {
	cluster, client := startOn(t, 1)
	must(t)(client.Pause(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	_, changed := cluster.Pacer().Pace()
	done := make(chan error, 1)
	go func() {
		_, err := client.Advance(ctx, 24*365*100*time.Hour)
		done <- err
	}()
	<-changed // it has begun
	cancel()
	if err := <-done; err == nil {
		t.Error("a century took no time")
	}
	for {
		pace, changed := cluster.Pacer().Pace()
		if !pace.Moving {
			return
		}
		<-changed
	}
}
