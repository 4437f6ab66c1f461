package kwokcel_test

import (
	"math"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/internal/kwokcel"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// sample returns an input with all that an expression can ask for.
func sample() *kwokcel.Input {
	one := int64(1)
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node-0", CreationTimestamp: metav1.NewTime(epoch.Add(-time.Hour))},
		Status:     corev1.NodeStatus{Allocatable: corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi")}},
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "web", Namespace: "shop", CreationTimestamp: metav1.NewTime(epoch.Add(-2 * time.Minute)),
			Annotations: map[string]string{"usage": "250m"}, Labels: map[string]string{"app": "web"},
		},
		Spec: corev1.PodSpec{
			NodeName: "node-0", TerminationGracePeriodSeconds: &one,
			Containers: []corev1.Container{{Name: "c", Image: "nginx", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("100m")}}}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	return &kwokcel.Input{
		Node: node, Pod: pod, Container: &pod.Spec.Containers[0], Now: epoch,
		Random:  func() float64 { return 0.25 },
		Started: func(string) int64 { return 3 },
		Usage: func(of kwokcel.Subject, name string, cumulative bool) float64 {
			v := map[string]float64{"cpu": 2, "memory": 1024}[name]
			if cumulative {
				v *= 10
			}
			if of.Node != "" {
				v *= 100
			}
			if of.Container == "c" {
				v++
			}
			return v
		},
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]float64{
		`1`: 1, `2u`: 2, `0.5`: 0.5, `true`: 1, `false`: 0, `duration("1s")`: 1e9, `dyn(7)`: 7,
		`Quantity("100m")`: 0.1, `"1Ki".Quantity()`: 1024, `-Quantity("1")`: -1,
		`Quantity("1Mi") * (pod.SinceSecond() / 60.0)`:     2 << 20,
		`Quantity("1Gi") * 3 / 2u - Quantity("1")`:         1.5*(1<<30) - 1,
		`Quantity("1m") * 0.5`:                             0.0005,
		`Quantity("5") > Quantity("5000m") ? 1 : 2`:        2,
		`Quantity("5") == Quantity("5000m") ? 1 : 2`:       1,
		`Quantity("1e3") >= Quantity("1k") ? 1 : 2`:        1,
		`SinceSecond(node)`:                                3600,
		`Now().UnixSecond() - UnixSecond(now()) + 1.0`:     1,
		`UnixSecond(node.metadata.creationTimestamp)`:      float64(epoch.Unix() - 3600),
		`UnixSecond(pod.metadata.deletionTimestamp) < 0.0`: 1,
		`Rand() * 4.0`:                                            1,
		`node.StartedContainersTotal()`:                           3,
		`StartedContainersTotal(node.metadata.name)`:              3,
		`startedContainersTotal(node) + 0.5`:                      3.5,
		`node.status.allocatable["cpu"]`:                          4,
		`node.status.allocatable["example.com/gpu"]`:              0,
		`"memory" in node.status.allocatable`:                     1,
		`pod.spec.containers[0].resources.requests["cpu"] * 2`:    0.2,
		`container.resources.requests["cpu"]`:                     0.1,
		`"usage" in pod.metadata.annotations`:                     1,
		`"usage" in node.metadata.annotations`:                    0,
		`has(pod.metadata.deletionTimestamp)`:                     0,
		`has(pod.spec.terminationGracePeriodSeconds)`:             1,
		`pod.spec.terminationGracePeriodSeconds`:                  1,
		`pod.spec.activeDeadlineSeconds`:                          0,
		`pod.spec.securityContext.runAsUser`:                      0,
		`size(pod.spec.containers)`:                               1,
		`pod.spec.containers.filter(c, c.name == "c").size()`:     1,
		`dyn(pod).spec.containers[0].name == container.name`:      1,
		`pod.spec.containers[0] == container`:                     1,
		`pod.status.phase == "Running" ? 5 : 6`:                   5,
		`pod.metadata.name.matches("^w.b$")`:                      1,
		`Quantity(pod.metadata.annotations["usage"])`:             0.25,
		`pod.metadata.annotations.map(k, k).size()`:               1,
		`node.status.allocatable.map(k, k).size()`:                2,
		`size(node.status.allocatable)`:                           2,
		`pod.spec.containers[0].livenessProbe.periodSeconds`:      0,
		`pod.spec.containers.all(c, !has(c.livenessProbe))`:       1,
		`pod.kind == "" && pod.spec.hostNetwork == false`:         1,
		`[Quantity("1"), Quantity("2")].exists(q, q.matchesit())`: math.NaN(),
	} {
		e, err := kwokcel.NewCompiler().Number(source, kwokcel.OfUsage)
		if math.IsNaN(want) {
			if err == nil {
				t.Errorf("%s compiled", source)
			}
			continue
		}
		if err != nil {
			t.Error(err)
			continue
		}
		if got, err := e.Number(sample()); err != nil || math.Abs(got-want) > 1e-9*max(1, math.Abs(want)) {
			t.Errorf("%s = %v, %v, want %v", source, got, err, want)
		}
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]float64{
		`pod.Usage("cpu")`: 2, `Usage(pod, "memory")`: 1024, `pod.Usage("cpu", container.name)`: 3, `Usage(pod, "cpu", "other")`: 2,
		`node.Usage("cpu")`: 200, `pod.CumulativeUsage("cpu")`: 20, `node.CumulativeUsage("memory")`: 1024 * 1000,
		`CumulativeUsage(pod, "cpu", container.name)`: 21, `pod.Usage("other")`: 0,
	} {
		e, err := kwokcel.NewCompiler().Number(source, kwokcel.OfContainer)
		if err != nil {
			t.Error(err)
			continue
		}
		if got, err := e.Number(sample()); err != nil || got != want || !e.Varies() {
			t.Errorf("%s = %v, %v, want %v", source, got, err, want)
		}
	}
	e, err := kwokcel.NewCompiler().Text(`pod.metadata.namespace + "/" + pod.metadata.name`, kwokcel.OfPod)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := e.Text(sample()); err != nil || got != "shop/web" || e.Varies() {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestVaries(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]bool{
		`1`: false, `Quantity(pod.metadata.annotations["a"])`: false, `node.metadata.creationTimestamp.UnixSecond()`: false,
		`Now().UnixSecond()`: true, `pod.SinceSecond()`: true, `1 > 2 ? Rand() : 0.0`: true, `[1].map(x, Rand())[0]`: true, `node.StartedContainersTotal()`: true,
	} {
		e, err := kwokcel.NewCompiler().Number(source, kwokcel.OfUsage)
		if err != nil {
			t.Error(err)
		} else if e.Varies() != want {
			t.Errorf("%s: varies is %v", source, e.Varies())
		}
	}
}

// TestErrors has expressions that do not compile, and those that fail when they are evaluated.
func TestErrors(t *testing.T) {
	t.Parallel()
	compiled := func(source string, in kwokcel.Scope, want string) {
		t.Helper()
		if _, err := kwokcel.NewCompiler().Number(source, in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %q", source, err, want)
		}
	}
	compiled(``, kwokcel.OfUsage, "is empty")
	compiled(strings.Repeat("1+", kwokcel.MaxExpression)+"1", kwokcel.OfUsage, "more than 4096")
	compiled(`pod.metadata.anotations["a"]`, kwokcel.OfUsage, "undefined field 'anotations'")
	compiled(`"a"`, kwokcel.OfUsage, "returns string, and must return a number")
	compiled(`pod.Usage("cpu")`, kwokcel.OfUsage, "undeclared reference to 'Usage'")
	compiled(`pod.SinceSecond()`, kwokcel.OfNode, "undeclared reference to 'pod'")
	compiled(`pod.CumulativeUsage("cpu", container.name)`, kwokcel.OfPod, "undeclared reference to 'container'")
	compiled(`"1".SinceSecond()`, kwokcel.OfUsage, "no matching overload for 'SinceSecond'")
	compiled(`Now(1)`, kwokcel.OfUsage, "no matching overload for 'Now'")
	compiled(`Quantity("1") + 1`, kwokcel.OfUsage, "no matching overload for '_+_'")
	compiled(`@input`, kwokcel.OfUsage, "Syntax error")
	if _, err := kwokcel.NewCompiler().Text(`1`, kwokcel.OfNode); err == nil || !strings.Contains(err.Error(), "must return a string") {
		t.Error(err)
	}
	evaluated := func(source, want string) {
		t.Helper()
		e, err := kwokcel.NewCompiler().Number(source, kwokcel.OfUsage)
		if err != nil {
			t.Error(err)
			return
		}
		if got, err := e.Number(sample()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s = %v, %v, want %q", source, got, err, want)
		}
	}
	evaluated(`Quantity("a lot")`, `"a lot" is not a quantity`)
	evaluated(`Quantity(pod.metadata.annotations["none"])`, "no such key")
	evaluated(`Quantity("1") / 0`, "division by zero")
	evaluated(`Quantity("1") * 1e30`, "is not a quantity")
	evaluated(`dyn("a")`, "returned string, which is no number")
	evaluated(`dyn(pod).nothing`, "no such")
	evaluated(`pod.spec.containers[1].name == "a" ? 1 : 2`, "index out of bounds")
	evaluated(`"x".matches("(((a{0,10}){0,10}){0,10})*")`, "too many steps")
	list := "[" + strings.Repeat("1,", 99) + "1]"
	evaluated(list+".map(a, "+list+".map(b, "+list+".map(c, a+b+c)))[0][0][0]", "cost limit")
}

// A quantity whose exponent is huge is refused before it is computed.
func TestHugeQuantities(t *testing.T) {
	t.Parallel()
	for text, fails := range map[string]bool{"1e999999999": true, "1E-999999999": true, "-1e99999999999999999999": true, "9e18": false, "1e30": false, "1e-30": false, "1E": false, "9223372036854775807Ei": false} {
		e, err := kwokcel.NewCompiler().Number(`Quantity("`+text+`") + Quantity("1n") > Quantity("1m") ? 1 : 2`, kwokcel.OfUsage)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := e.Number(sample()); (err != nil) != fails {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

func FuzzNumber(f *testing.F) {
	for _, source := range []string{
		`Quantity("1Mi") * (pod.SinceSecond() / 60.0)`, `"a" in pod.metadata.annotations ? Quantity(pod.metadata.annotations["a"]) : Quantity("1m")`,
		`node.status.allocatable["cpu"] + container.resources.limits["memory"]`, `has(pod.spec.securityContext.runAsUser) ? 1 : 2`,
		`pod.spec.containers.map(c, c.name).size()`, `Rand() + Now().UnixSecond()`, `dyn(pod) == dyn(node) ? 1 : 2`, `pod.spec.containers[0].ports[0].hostPort`,
		`pod.metadata.name.matches("a*")`, `dyn(pod.spec.volumes)`, `type(pod) == type(node) ? 1 : 2`, `pod.Usage("cpu", container.name)`, `core.v1.Pod{}.spec.priority`,
	} {
		f.Add(source)
	}
	c := kwokcel.NewCompiler()
	f.Fuzz(func(t *testing.T, source string) {
		for _, in := range []kwokcel.Scope{kwokcel.OfUsage, kwokcel.OfNode, kwokcel.OfContainer} {
			e, err := c.Number(source, in)
			if err != nil {
				continue
			}
			first, err1 := e.Number(sample())
			second, err2 := e.Number(sample())
			if (err1 == nil) != (err2 == nil) || first != second && !math.IsNaN(first) {
				t.Errorf("%s = %v, %v, and then %v, %v", source, first, err1, second, err2)
			}
		}
	})
}
