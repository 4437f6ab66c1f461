package kwok_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/internal/golden"
	"minikcm.dev/minikcm/internal/kwok"
	"minikcm.dev/minikcm/internal/kwokcel"
	"minikcm.dev/minikcm/internal/usage"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func read(t testing.TB, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func podOf(namespace, name string, annotations map[string]string, containers ...string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID(namespace + name), Annotations: annotations, CreationTimestamp: metav1.NewTime(epoch.Add(-2 * time.Minute)),
	}}
	for _, c := range containers {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
			Name: c, Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("200m")}},
		})
	}
	return pod
}

func TestSplit(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"../stages/testdata/pods.yaml":  "Stage begin, Stage complete, Stage remove",
		"../stages/testdata/chaos.yaml": "Stage fail, Stage survive, Stage copy",
		"../stages/testdata/nodes.yaml": "Stage node-begin, Stage node-heartbeat, Stage node-break",
		"testdata/usages.yaml":          "ClusterResourceUsage as-annotated, ClusterResourceUsage a-shop, ResourceUsage shop/web",
		"testdata/metrics.yaml":         "Metric all-kinds",
	} {
		all, err := kwok.Split(read(t, file))
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		var names []string
		for i := range all {
			names = append(names, all[i].String())
			if again, err := kwok.Split(all[i].JSON); err != nil || len(again) != 1 || again[0].String() != all[i].String() {
				t.Errorf("%s of %s does not survive JSON: %v", &all[i], file, err)
			}
		}
		if got := strings.Join(names, ", "); got != want {
			t.Errorf("%s has %s, want %s", file, got, want)
		}
	}
	if all, err := kwok.Split([]byte("# nothing\n---\n\n---\n# at all\n")); err != nil || len(all) > 0 {
		t.Errorf("empty documents: %v, %v", all, err)
	}
}

// TestInvalid has documents with one mistake each.
func TestInvalid(t *testing.T) {
	t.Parallel()
	head := "apiVersion: kwok.x-k8s.io/v1alpha1\n"
	use := func(usages string) string {
		return head + "kind: ClusterResourceUsage\nmetadata: {name: a}\nspec: {usages: [" + usages + "]}"
	}
	metric := func(path, metrics string) string {
		return head + "kind: Metric\nmetadata: {name: a}\nspec: {path: '" + path + "', metrics: [" + metrics + "]}"
	}
	for text, want := range map[string]string{
		"a: [":                                   "decoding it",
		"apiVersion: v1\nkind: Pod":              `it is a "Pod" of "v1", and must be of kwok.x-k8s.io/v1alpha1`,
		head + "kind: Exec\nmetadata: {name: a}": `it is a "Exec"`,
		head + "kind: Stage\nmetadata: {name: a}\nspec: {resourceRef: {apiGroup: v1}}":         "spec.resourceRef.kind is missing",
		head + "kind: ResourceUsage\nspec: {}":                                                 "metadata.name is missing",
		head + "kind: ResourceUsage\nmetadata: {name: a}\nspec: {usage: []}":                   `unknown field "usage"`,
		head + "kind: ResourceUsage\nmetadata: {name: a}\nspec: {selector: {matchNames: [a]}}": "spec.selector is a field of ClusterResourceUsage only",
		use("{containers: ['']}"):                                                                               "spec.usages[0].containers: a name is empty",
		use("{usage: {cpu: {}}}"):                                                                               "spec.usages[0].usage.cpu has neither a value nor an expression",
		use("{}, {usage: {cpu: {value: much}}}"):                                                                `spec.usages[1].usage.cpu.value: "much" is not a quantity`,
		use("{usage: {cpu: {value: 1e999999999}}}"):                                                             "the exponent of the quantity",
		use("{usage: {cpu: {value: -1}}}"):                                                                      "usage.cpu.value is -1",
		use("{usage: {cpu: {value: [1]}}}"):                                                                     "a value is neither a string nor a number",
		use("{usage: {memory: {expression: 'pod.spec.nodes'}}}"):                                                "spec.usages[0].usage.memory.expression: compiling the CEL expression \"pod.spec.nodes\": ERROR: <input>:1:9: undefined field 'nodes'",
		use("{usage: {cpu: {expression: 'pod.metadata.name'}}}"):                                                "returns string, and must return a number or a Quantity",
		use("{usage: {cpu: {expression: 'pod.Usage(\"memory\")'}}}"):                                            "undeclared reference to 'Usage'",
		metric("/other", ""):                                                                                    "spec.path: \"/other\" does not begin with /metrics/",
		metric("/metrics/../a", ""):                                                                             `has the segment ".."`,
		metric("/metrics/{node}", ""):                                                                           `has the segment "{node}"`,
		metric("/metrics/{nodeName}/{nodeName}", ""):                                                            "more than once",
		metric("/metrics/a", "{name: 'a b', kind: gauge, value: '1'}"):                                          `spec.metrics[0].name "a b" is no name of a metric`,
		metric("/metrics/a", "{name: a, kind: summary, value: '1'}"):                                            `kind "summary" is none of counter, gauge, histogram`,
		metric("/metrics/a", "{name: a, kind: gauge, dimension: cluster, value: '1'}"):                          `dimension "cluster"`,
		metric("/metrics/a", "{name: a, kind: gauge}"):                                                          "value: the expression is empty",
		metric("/metrics/a", "{name: a, kind: gauge, value: pod.SinceSecond()}"):                                "undeclared reference to 'pod'",
		metric("/metrics/a", "{name: a, kind: histogram}"):                                                      "buckets: a histogram needs some",
		metric("/metrics/a", "{name: a, kind: histogram, value: '1'}"):                                          "value: a histogram has buckets instead",
		metric("/metrics/a", "{name: a, kind: counter, value: '1', buckets: [{le: 1, value: '1'}]}"):            "buckets: a counter has none",
		metric("/metrics/a", "{name: a, kind: histogram, buckets: [{le: 1, value: '1'}, {le: 1, value: '2'}]}"): "buckets[1].le 1 is negative or there twice",
		metric("/metrics/a", "{name: a, kind: gauge, value: '1', labels: [{name: __a, value: '\"\"'}]}"):        `labels[0].name "__a" is no name of a label`,
		metric("/metrics/a", "{name: a, kind: gauge, value: '1', labels: [{name: a, value: '1'}]}"):             "labels[0].value: the CEL expression \"1\" returns int, and must return a string",
		metric("/metrics/a", "{name: a, kind: gauge, value: '1'}, {name: a, kind: counter, value: '1'}"):        "spec.metrics[1].name: spec.metrics[0] is a, too",
		metric("/metrics/a", strings.Repeat("{name: a, kind: gauge, value: '1'},", 513)):                        "more than 512 expressions",
		metric("/metrics/a", "{name: a, kind: gauge, value: '1', help: "+strings.Repeat("a", 257<<10)+"}"):      "more than 262144",
	} {
		if all, err := kwok.Split([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.200s\n%v, %v, want %q", text, all, err, want)
		}
	}
}

// usagesIn returns the usages of documents, and the text to which their failures are written.
func usagesIn(t testing.TB, data []byte) (*kwok.Usages, *[]string) {
	t.Helper()
	all, err := kwok.Split(data)
	if err != nil {
		t.Fatal(err)
	}
	parser, failures := kwok.NewParser(), &[]string{}
	var parsed []*kwok.Usage
	for _, m := range all {
		u, err := parser.Usage(m.JSON)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, u)
	}
	return kwok.NewUsages(parsed, kwok.UsageOptions{Seed: 7, Started: func(string) int64 { return 1 }, Failed: func(of kwok.Ref, err error) {
		*failures = append(*failures, fmt.Sprintf("%s/%s: %v", of.Kind, of.Name, err))
	}}), failures
}

func TestUsages(t *testing.T) {
	t.Parallel()
	usages, failures := usagesIn(t, read(t, "testdata/usages.yaml"))
	amount := func(pod *corev1.Pod, container string, name corev1.ResourceName) string {
		rule := usages.Rule(pod, container, name)
		if rule == nil {
			return "none"
		}
		for i := range pod.Spec.Containers {
			if c := &pod.Spec.Containers[i]; c.Name == container {
				v, ok := rule.Amount(&usage.Target{Node: &corev1.Node{}, Pod: pod, Container: c}, epoch)
				return fmt.Sprint(v, ok, rule.Varies())
			}
		}
		return "no container"
	}
	web, cart := podOf("shop", "web", nil, "main", "side", "more"), podOf("shop", "cart", nil, "proxy", "main")
	other := podOf("shop", "other", map[string]string{"load/cpu": "1500m", "load/memory": "a lot"}, "main")
	for _, test := range []struct {
		pod             *corev1.Pod
		container, want string
		name            corev1.ResourceName
	}{
		{web, "main", "0.4 true false", "cpu"},
		{web, "side", "2.097152e+06 true true", "memory"},
		{web, "more", "none", "cpu"}, // the pod's own usage hides the cluster's
		{cart, "proxy", "0.1 true false", "cpu"},
		{cart, "proxy", "none", "memory"},
		{cart, "main", "0.3 true false", "cpu"},
		{cart, "main", "1 true false", "example.com/gpu"},
		{other, "main", "1.5 true false", "cpu"},
		{other, "main", "0 false false", "memory"},
		{podOf("default", "web", nil, "main"), "main", "0.002 true false", "cpu"},
	} {
		if got := amount(test.pod, test.container, test.name); got != test.want {
			t.Errorf("%s of %s in pod %s/%s is %s, want %s", test.name, test.container, test.pod.Namespace, test.pod.Name, got, test.want)
		}
	}
	if names := usages.Resources(cart, "main"); len(names) != 1 || names[0] != "example.com/gpu" {
		t.Errorf("the other resources are %v", names)
	}
	if len(*failures) != 1 || !strings.Contains((*failures)[0], `ClusterResourceUsage/as-annotated: the usage of memory by container main of pod shop/other: evaluating`) {
		t.Errorf("failures: %q", *failures)
	}
}

// Rand follows from the seed, the time and the container alone.
func TestRandomUsage(t *testing.T) {
	t.Parallel()
	document := []byte("apiVersion: kwok.x-k8s.io/v1alpha1\nkind: ClusterResourceUsage\nmetadata: {name: a}\nspec: {usages: [{usage: {cpu: {expression: 'Rand() * 100.0 + Rand()'}}}]}")
	seen := map[float64]bool{}
	for _, name := range []string{"a", "b"} {
		for _, at := range []time.Time{epoch, epoch.Add(time.Second)} {
			var values []float64
			for range 2 {
				usages, _ := usagesIn(t, document)
				pod := podOf("default", name, nil, "c")
				v, ok := usages.Rule(pod, "c", "cpu").Amount(&usage.Target{Node: &corev1.Node{}, Pod: pod, Container: &pod.Spec.Containers[0]}, at)
				if !ok || v < 0 || v >= 101 {
					t.Errorf("the usage is %v", v)
				}
				values = append(values, v)
			}
			if values[0] != values[1] || seen[values[0]] {
				t.Errorf("%v is not the same again, or that of another pod or time", values)
			}
			seen[values[0]] = true
		}
	}
}

func metricIn(t testing.TB, text []byte) *kwok.Metric {
	t.Helper()
	m, err := kwok.NewParser().Metric(text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func viewOf(pods ...*corev1.Pod) *kwok.View {
	return &kwok.View{
		Node: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-0"}}, Pods: pods, Now: epoch, Seed: 7,
		Started: func(string) int64 { return 5 },
		Usage: func(of kwokcel.Subject, _ string, cumulative bool) float64 {
			if cumulative {
				return 12.5
			}
			return float64(len(of.Container)) / 8
		},
	}
}

func TestWriteMetric(t *testing.T) {
	t.Parallel()
	m := metricIn(t, read(t, "testdata/metrics.yaml"))
	var out bytes.Buffer
	failed, err := m.Write(&out, viewOf(podOf("shop", "a", map[string]string{"amount": "7"}, "main", "side"), podOf("shop", "b\"\n", nil, "main")))
	if err != nil || failed == nil || !strings.Contains(failed.Error(), "the metric fails_for_some: evaluating") {
		t.Errorf("failed: %v, %v", failed, err)
	}
	golden.Compare(t, "testdata/metrics.golden", out.Bytes())
}

// The expressions of one answer have a common budget.
func TestWriteMetricBudget(t *testing.T) {
	t.Parallel()
	list := "[" + strings.Repeat("1,", 15) + "1]"
	m := metricIn(t, []byte("apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Metric\nmetadata: {name: a}\nspec:\n  path: /metrics/a\n  metrics:\n"+
		"  - {name: a, kind: gauge, dimension: pod, value: '"+list+".map(a, "+list+".map(b, a+b))[0][0] + 1', labels: [{name: pod, value: pod.metadata.name}]}"))
	var pods []*corev1.Pod
	for i := range 10_000 {
		pods = append(pods, podOf("default", fmt.Sprint(i), nil, "c"))
	}
	var out bytes.Buffer
	failed, err := m.Write(&out, viewOf(pods...))
	if err != nil || !errors.Is(failed, kwokcel.ErrBudget) {
		t.Errorf("%v, %v", failed, err)
	}
	if n := bytes.Count(out.Bytes(), []byte("\n")); n < 100 || n > 9_999 {
		t.Errorf("%d lines were written", n)
	}
}

func TestFindMetric(t *testing.T) {
	t.Parallel()
	at := func(name, path string) *kwok.Metric {
		return metricIn(t, []byte("apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Metric\nmetadata: {name: "+name+"}\nspec: {path: '"+path+"', metrics: []}"))
	}
	set, taken := kwok.NewMetrics([]*kwok.Metric{at("c", "/metrics/nodes/{nodeName}/x"), at("b", "/metrics/nodes/{nodeName}/x"), at("node-1", "/metrics/resource"), at("node-2", "/metrics/resource")})
	if len(taken) != 1 || taken[0].Name != "c" {
		t.Errorf("taken: %v", taken)
	}
	for path, want := range map[string]string{
		"node-0 /metrics/nodes/node-7/x": "b node-7", "node-0 /metrics/nodes//x": "", "node-0 /metrics/nodes/a/b/x": "", "node-0 /metrics/nodes/node-7/x/": "",
		"node-0 /metrics/resource": "", "node-1 /metrics/resource": "node-1 node-1", "node-2 /metrics/resource": "node-2 node-2",
	} {
		kubelet, path, _ := strings.Cut(path, " ")
		got := ""
		if m, node := set.Find(path, kubelet); m != nil {
			got = m.Name + " " + node
		}
		if got != want {
			t.Errorf("%s on %s: %q, want %q", path, kubelet, got, want)
		}
	}
	if m, _ := (*kwok.Metrics)(nil).Find("/metrics/resource", "node-0"); m != nil {
		t.Error("nil has a Metric")
	}
}

// FuzzSplit evaluates the objects that it can read.
func FuzzSplit(f *testing.F) {
	for _, file := range []string{"usages", "metrics"} {
		for _, document := range strings.Split(string(read(f, "testdata/"+file+".yaml")), "\n---\n") {
			f.Add([]byte(document))
		}
	}
	pod := podOf("shop", "web", map[string]string{"load/cpu": "1"}, "main")
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := kwok.Split(data)
		if err != nil {
			return
		}
		parser := kwok.NewParser()
		for _, m := range all {
			if u, err := parser.Usage(m.JSON); err == nil {
				set := kwok.NewUsages([]*kwok.Usage{u}, kwok.UsageOptions{Started: func(string) int64 { return 1 }})
				if rule := set.Rule(pod, "main", "cpu"); rule != nil {
					target := &usage.Target{Node: &corev1.Node{}, Pod: pod, Container: &pod.Spec.Containers[0]}
					first, ok := rule.Amount(target, epoch)
					if second, again := rule.Amount(target, epoch); first != second || ok != again || first < 0 {
						t.Errorf("the usage is %v, %v, and then %v, %v", first, ok, second, again)
					}
				}
			}
			if metric, err := parser.Metric(m.JSON); err == nil {
				var out bytes.Buffer
				if _, err := metric.Write(&out, viewOf(pod)); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

// BenchmarkUsage is one evaluation of a usage that reads an annotation.
func BenchmarkUsage(b *testing.B) {
	usages, _ := usagesIn(b, read(b, "testdata/usages.yaml"))
	pod := podOf("default", "a", map[string]string{"load/cpu": "250m"}, "c")
	target := &usage.Target{Node: &corev1.Node{}, Pod: pod, Container: &pod.Spec.Containers[0]}
	b.ReportAllocs()
	for b.Loop() {
		if v, ok := usages.Rule(pod, "c", "cpu").Amount(target, epoch); v != 0.25 || !ok {
			b.Fatal(v, ok)
		}
	}
}
