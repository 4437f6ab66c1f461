package scenarios

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/scenario/faultapi"
	"minikcm.dev/minikcm/minikcmtest"
)

// elsewhere is a cluster as "minikcm up" runs it, which a scenario reaches by HTTPS.
type elsewhere struct {
	*minikcmtest.Cluster
	t       *testing.T
	options Options
	faults  *faultapi.Client
}

func newElsewhere(t *testing.T, change ...minikcmtest.Option) *elsewhere {
	t.Helper()
	c := minikcmtest.New(t, append([]minikcmtest.Option{minikcmtest.WithNodes(3), minikcmtest.WithHTTPS(), minikcmtest.WithOptions(func(o *minikcm.Options) {
		o.Clock.Mode, o.Clock.Speed = clock.ModeScaled, 240
		o.Faults.API, o.Faults.Store = true, true
		o.API.Extensions = []minikcm.Extension{FaultExtension(User)}
	})}, change...)...)
	config, err := c.HTTPSConfig()
	if err != nil {
		t.Fatal(err)
	}
	faults, err := faultapi.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	return &elsewhere{Cluster: c, t: t, options: Options{Config: config}, faults: faults}
}

// states returns the state of every injected fault.
func (e *elsewhere) states() string {
	e.t.Helper()
	list, err := e.faults.List(e.t.Context())
	if err != nil {
		e.t.Fatal(err)
	}
	var states []string
	for i := range list.Items {
		one := &list.Items[i]
		states = append(states, strings.TrimSpace(fmt.Sprint(one.Title, ": ", one.State, " ", one.Error)))
	}
	return strings.Join(states, "\n")
}

// A scenario breaks a cluster that runs in another process as it does its own, and leaves
// it whole.
func TestFaultsElsewhere(t *testing.T) {
	t.Parallel()
	e := newElsewhere(t)
	result, tr := runScenario(t, header+`
  timeout: 100h
  steps:
    - fault: {nodes: {action: crash, names: [node-1]}, for: 5m}
      background: true
    - wait: {target: node/node-1, for: condition=Ready=Unknown, within: 10h}
    - wait: {target: node/node-1, for: condition=Ready, within: 10h}
    - kill: {node: node-2}
    - wait: {target: node/node-2, for: condition=Ready=Unknown, within: 10h}
    - fault: {controllers: {action: pause, names: [deployment-controller]}}
    - fault: {apiserver: {action: error, code: 503}}
    - apply: {objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: made-all-the-same, namespace: default}}]}
    - fault: {etcd: {action: slow, delay: 10s}, every: 1m, for: 5s, times: 2}
    - sleep: 5m
    - expect: {cel: ["now - timestamp(made.metadata.creationTimestamp) > duration('5m')"], given: {made: {target: cm/made-all-the-same}}}
`, e.options)
	if result.Failure != nil {
		t.Fatalf("it fails:\n%s", tr)
	}
	e.Eventually("node-2 to be Ready again", func(ctx context.Context, client kubernetes.Interface) error {
		node, err := client.CoreV1().Nodes().Get(ctx, "node-2", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
				return fmt.Errorf("it is Ready: %s", c.Status)
			}
		}
		return nil
	})
	want := `crash nodes node-1 for 5m0s: Over
cut off nodes node-2: Stopped
pause deployment-controller: Stopped
let the API server answer 503: Stopped
slow down etcd by 10s for 5s every 1m0s, 2 times: Over`
	if got := e.states(); got != want {
		t.Errorf("the faults are\n%s\nwant\n%s", got, want)
	}
	if result.Run.Scenario.Clock != "scaled=240" {
		t.Errorf("the record says that its clock is %s", result.Run.Scenario.Clock)
	}
	if !strings.Contains(tr.String(), "node/node-2 is cut off") || !strings.Contains(tr.String(), "let the API server answer 503") {
		t.Errorf("no note says what was done:\n%s", tr)
	}
}

// Faults end with a run that is interrupted or fails, and with one that dies.
func TestFaultsElsewhereEndWithTheRun(t *testing.T) {
	t.Parallel()
	const steps = "  timeout: 10000h\n  steps:\n    - fault: {nodes: {action: cordon, names: [node-0]}}\n    - fault: {nodes: {action: taint, taint: 'a=b:NoSchedule', all: true}, for: 1000h}\n      background: true\n"
	for name, test := range map[string]struct {
		text string
		run  func(ctx context.Context, cancel func()) context.Context
		want string
	}{
		"interrupted":      {text: header + steps + "    - sleep: 1000h\n", want: "interrupted"},
		"failed":           {text: header + steps + "    - wait: {target: cm/none, for: create, within: 1m}\n", want: "cm/none"},
		"fault interrupts": {text: header + steps + "    - fault: {nodes: {action: hang, all: true}, for: 1000h}\n", want: "interrupted"},
		"fault fails":      {text: header + steps + "    - fault: {nodes: {action: hang, names: [node-9]}}\n", want: "not all of nodes node-9 exist"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newElsewhere(t)
			found, err := Parse("scenario.yaml", []byte(test.text), nil)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if test.want == "interrupted" {
				cancelWhenTainted(ctx, t, e.Client(), cancel)
			}
			tr := &transcript{}
			e.options.Progress = tr
			result, err := Run(ctx, found[0], e.options)
			if err != nil {
				t.Fatal(err)
			}
			if result.Failure == nil || !strings.Contains(result.Failure.Error(), test.want) {
				t.Errorf("it ends with %v", result.Failure)
			}
			for line := range strings.Lines(e.states()) {
				if line = strings.TrimSpace(line); !strings.HasSuffix(line, ": Stopped") && !strings.HasPrefix(line, "hang nodes node-9: Failed") {
					t.Errorf("there is left: %s", line)
				}
			}
			node, err := e.Client().CoreV1().Nodes().Get(t.Context(), "node-0", metav1.GetOptions{})
			if err != nil || node.Spec.Unschedulable || isTainted(node) {
				t.Errorf("the node is left as %+v: %v", node.Spec, err)
			}
		})
	}
}

func isTainted(node *corev1.Node) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Key == "a" {
			return true
		}
	}
	return false
}

// cancelWhenTainted calls cancel when all nodes are isTainted.
func cancelWhenTainted(ctx context.Context, t *testing.T, client kubernetes.Interface, cancel func()) {
	t.Helper()
	watcher, err := client.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() {
		watcher.Stop()
		<-done
	})
	go func() {
		defer close(done)
		all := map[string]bool{}
		for event := range watcher.ResultChan() {
			if node, ok := event.Object.(*corev1.Node); ok && isTainted(node) {
				if all[node.Name] = true; len(all) == 3 {
					cancel()
				}
			}
		}
	}()
}

// A cluster of minikcm's without the API of faults is one as any other, and what cannot be
// done to it is refused.
func TestPlaces(t *testing.T) {
	t.Parallel()
	without := newElsewhere(t, minikcmtest.WithNodes(0), minikcmtest.WithOptions(func(o *minikcm.Options) { o.API.Extensions = nil }))
	with := newElsewhere(t, minikcmtest.WithNodes(0))
	for _, test := range []struct {
		options Options
		want    Place
	}{{Options{}, OwnCluster}, {with.options, RunningCluster}, {without.options, ForeignCluster}} {
		if got, err := FindPlace(t.Context(), test.options.Config); err != nil || got != test.want {
			t.Errorf("got %v, want %v: %v", got, test.want, err)
		}
	}
	found, err := Parse("scenario.yaml", []byte(header+"  steps:\n    - fault: {etcd: {action: noSpace}}\n    - kill: {node: node-0}\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), found[0], without.options); !errors.Is(err, errNoMachines) && (err == nil || !strings.Contains(err.Error(), "cannot be done to an existing cluster")) {
		t.Errorf("got %v", err)
	}
	if err := Possible(found[0], RunningCluster); err != nil {
		t.Error(err)
	}
}

// Time on a cluster that runs elsewhere passes as fast as there.
func TestTimeElsewhere(t *testing.T) {
	t.Parallel()
	e := newElsewhere(t, minikcmtest.WithNodes(0))
	before := e.Clock().Now()
	result, tr := runScenario(t, header+"  timeout: 100h\n  steps: [{sleep: 10m}]\n", e.options)
	if result.Failure != nil {
		t.Fatalf("it fails:\n%s", tr)
	}
	if passed := e.Clock().Since(before); result.Cluster < 10*time.Minute || passed < 10*time.Minute {
		t.Errorf("%v have passed there, and %v for the scenario", passed, result.Cluster)
	}
}
