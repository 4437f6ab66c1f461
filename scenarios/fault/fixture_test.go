package fault

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
)

const user = "minikcm:scenario"

// bench is a cluster that faults are done to.
type bench struct {
	*testing.T
	cluster *minikcm.Cluster
	client  kubernetes.Interface // the scenario's own
	other   kubernetes.Interface // another user's

	mu     sync.Mutex
	notes  []string
	undone []func(context.Context) error
}

// read decodes and checks a fault.
func read(t *testing.T, text string) *Fault {
	t.Helper()
	f := &Fault{}
	decoder := yaml.NewDecoder(strings.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(f); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if problems := f.Validate(); len(problems) > 0 {
		t.Fatalf("%s: %v", text, problems)
	}
	return f
}

func newBench(t *testing.T, faults ...*Fault) *bench {
	t.Helper()
	return newBenchWith(t, func(o *minikcm.Options) { Prepare(o, faults...) })
}

func newBenchWith(t *testing.T, change func(*minikcm.Options)) *bench {
	t.Helper()
	options := minikcm.Options{Nodes: minikcm.NodeOptions{Count: 3}, API: minikcm.APIOptions{NoHTTPS: true}, Clock: minikcm.ClockOptions{Mode: clock.ModeVirtual}, Seed: 1}
	change(&options)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cluster, err := minikcm.Start(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	b := &bench{T: t, cluster: cluster}
	if b.client, err = kubernetes.NewForConfig(cluster.ConfigFor(user, "system:masters")); err != nil {
		t.Fatal(err)
	}
	if b.other, err = kubernetes.NewForConfig(cluster.ConfigFor("other", "system:masters")); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) env() Env {
	return Env{
		Cluster: b.cluster, Client: b.client, Clock: b.cluster.Clock(), Random: clock.NewRandom(1), Exempt: []string{user},
		Note: func(format string, args ...any) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.notes = append(b.notes, fmt.Sprintf(format, args...))
		},
		Defer: func(undo func(context.Context) error) { b.undone = append(b.undone, undo) },
	}
}

// begin runs a fault beside what comes next; the function returned waits for its end.
func (b *bench) begin(ctx context.Context, f *Fault) (wait func() error) {
	b.Helper()
	return b.beginWith(ctx, f, func(*Env) {})
}

func (b *bench) beginWith(ctx context.Context, f *Fault, change func(*Env)) (wait func() error) {
	b.Helper()
	env := b.env()
	change(&env)
	done := make(chan struct{})
	var err error
	work := inflight.Begin(b.cluster.Ledger(), inflight.Action)
	go func() {
		defer close(done)
		defer work.End()
		err = f.Run(inflight.With(ctx, work), env)
	}()
	return func() error {
		b.wait(done)
		return err
	}
}

func (b *bench) wait(done <-chan struct{}) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	if err := b.cluster.Wait(ctx, done); err != nil {
		b.Fatal(err)
	}
}

// run runs a fault to its end.
func (b *bench) run(f *Fault) {
	b.Helper()
	if err := b.begin(b.Context(), f)(); err != nil {
		b.Fatal(err)
	}
}

// over takes back what lasts to the end.
func (b *bench) over() {
	b.Helper()
	for _, undo := range b.undone {
		if err := undo(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.undone = nil
}

func (b *bench) advance(d time.Duration) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	if err := b.cluster.Advance(ctx, d); err != nil {
		b.Fatal(err)
	}
}

// web makes a Deployment of so many pods and waits for them.
func (b *bench) web(replicas int32, change ...func(*corev1.PodSpec)) {
	b.Helper()
	labels := map[string]string{"app": "web"}
	spec := corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx"}}}
	for _, c := range change {
		c(&spec)
	}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec},
		},
	}
	_, err := b.call(func(ctx context.Context) error {
		_, err := b.client.AppsV1().Deployments("default").Create(ctx, deployment, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	for range 12 {
		b.advance(10 * time.Second)
		if b.ready() == int(replicas) {
			return
		}
	}
	b.Fatalf("%d of %d pods are ready", b.ready(), replicas)
}

// budget creates a budget for the pods of web.
func (b *bench) budget(name string, spec policyv1.PodDisruptionBudgetSpec) {
	b.Helper()
	spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
	if _, err := b.client.PolicyV1().PodDisruptionBudgets(metav1.NamespaceDefault).Create(b.Context(), budget, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) pods() []corev1.Pod {
	b.Helper()
	var list *corev1.PodList
	_, err := b.call(func(ctx context.Context) (err error) {
		list, err = b.client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return list.Items
}

func (b *bench) names() map[string]bool {
	b.Helper()
	names := map[string]bool{}
	for _, pod := range b.pods() {
		names[pod.Name] = true
	}
	return names
}

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func (b *bench) ready() int {
	b.Helper()
	n := 0
	for _, pod := range b.pods() {
		if isReady(&pod) && pod.DeletionTimestamp == nil {
			n++
		}
	}
	return n
}

func (b *bench) wantReady(want int) {
	b.Helper()
	if got := b.ready(); got != want {
		b.Errorf("%d pods are ready, want %d", got, want)
	}
}

func (b *bench) nodeCondition(name string, condition corev1.NodeConditionType) corev1.ConditionStatus {
	b.Helper()
	node, err := b.client.CoreV1().Nodes().Get(b.Context(), name, metav1.GetOptions{})
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range node.Status.Conditions {
		if c.Type == condition {
			return c.Status
		}
	}
	return ""
}
