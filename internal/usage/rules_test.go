package usage

import (
	"fmt"
	"math"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// rulesOf are the rules for all containers, by resource.
type rulesOf map[corev1.ResourceName]ruleOf

// ruleOf is an amount at a time; fixed means that it does not vary.
type ruleOf struct {
	amount func(of *Target, at time.Time) (float64, bool)
	fixed  bool
}

func (r rulesOf) Rule(_ *corev1.Pod, _ string, name corev1.ResourceName) Rule {
	if rule, ok := r[name]; ok {
		return rule
	}
	return nil
}

func (r rulesOf) Resources(*corev1.Pod, string) []corev1.ResourceName {
	if _, ok := r["gpu"]; ok {
		return []corev1.ResourceName{"gpu"}
	}
	return nil
}

func (r ruleOf) Varies() bool { return !r.fixed }

func (r ruleOf) Amount(of *Target, at time.Time) (float64, bool) { return r.amount(of, at) }

func fixed(amount float64) ruleOf {
	return ruleOf{func(*Target, time.Time) (float64, bool) { return amount, true }, true}
}

func TestRules(t *testing.T) {
	failing := ruleOf{func(*Target, time.Time) (float64, bool) { return 7, false }, true}
	web := containerWith("web", amounts("200m", "64Mi"), amounts("2", "256Mi"))
	for name, test := range map[string]struct {
		rules       Rules
		annotations map[string]string
		want        string
	}{
		"none":             {nil, nil, "100m 32Mi"},
		"no rule":          {rulesOf{}, nil, "100m 32Mi"},
		"cpu":              {rulesOf{"cpu": fixed(0.75)}, nil, "750m 32Mi"},
		"both":             {rulesOf{"cpu": fixed(0.75), "memory": fixed(64 << 20)}, nil, "750m 64Mi"},
		"annotation first": {rulesOf{"cpu": fixed(0.75)}, map[string]string{AnnotationCPU: "50m"}, "50m 32Mi"},
		"failing":          {rulesOf{"cpu": failing}, nil, "100m 32Mi"},
		"above the limit":  {rulesOf{"cpu": fixed(5), "memory": fixed(1 << 30)}, nil, "2 256Mi"},
		"of the node": {rulesOf{"cpu": ruleOf{func(of *Target, _ time.Time) (float64, bool) {
			return float64(len(of.Node.Name)) / 10, true
		}, true}}, nil, "400m 32Mi"},
		"other": {rulesOf{"gpu": fixed(3)}, nil, "100m 32Mi map[gpu:3]"},
	} {
		pod := usedPod("a", test.annotations, web)
		pod.Spec.NodeName = "node"
		used, known := Model{Rules: test.rules}.Containers(pod, nil, usageNow)
		if !known {
			t.Fatalf("%s: the usage is unknown", name)
		}
		got := fmt.Sprintf("%s %s", &used[0].CPU, &used[0].Memory)
		if used[0].Others != nil {
			got += fmt.Sprint(" ", used[0].Others)
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// A shared load is added to the load that a rule declares, as to the pod's own load.
func TestRulesWithSharedLoad(t *testing.T) {
	pod := usedPod("a", nil, containerWith("web", nil, nil))
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{AnnotationLoad + "cpu": "500m"}},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "web"}},
	}
	model := Model{Rules: rulesOf{"cpu": fixed(0.25)}}
	shares := model.Shares([]Object{service}, []*corev1.Pod{pod}, usageNow)
	used, _ := model.Containers(pod, shares, usageNow)
	if want := resource.MustParse("750m"); used[0].CPU.Cmp(want) != 0 {
		t.Errorf("the pod uses %s, want %s", &used[0].CPU, &want)
	}
}

func TestDemandOfRules(t *testing.T) {
	since := usageNow.Truncate(demandStep)
	calls := 0
	growing := ruleOf{amount: func(_ *Target, at time.Time) (float64, bool) {
		calls++
		return at.Sub(since).Seconds(), at.Sub(since) != 20*time.Second
	}}
	c := containerWith("web", nil, nil)
	pod := usedPod("a", nil, c)
	model := Model{Rules: rulesOf{corev1.ResourceMemory: growing, ResourcePIDs: fixed(5)}}
	if !model.DeclaresDemand(pod) || (Model{}).DeclaresDemand(pod) || (Model{Rules: rulesOf{"cpu": fixed(1)}}).DeclaresDemand(pod) {
		t.Error("the declared demands are wrong")
	}
	memory, declared := model.DemandOf(pod, &c, corev1.ResourceMemory, since)
	if !declared || !math.IsInf(memory.Most(), 1) {
		t.Errorf("the demand of memory is declared: %v, at most %v", declared, memory.Most())
	}
	for after, want := range map[time.Duration]float64{0: 0, 9 * time.Second: 0, 10 * time.Second: 10, 19 * time.Second: 10, 30 * time.Second: 30} {
		if got := memory.At(since.Add(after)); got != want {
			t.Errorf("after %s, the demand is %v, want %v", after, got, want)
		}
	}
	memory.At(since.Add(10 * time.Second))
	if got := memory.At(since.Add(20 * time.Second)); got != 10 {
		t.Errorf("when the rule fails, the demand is %v, want the last", got)
	}
	before := calls
	for range 10 {
		memory.At(since.Add(20 * time.Second))
	}
	if calls != before {
		t.Errorf("the rule was applied %d times more within one step", calls-before)
	}
	if pids, declared := model.DemandOf(pod, &c, ResourcePIDs, since); !declared || pids.Most() != 5 || pids.At(usageNow) != 5 {
		t.Errorf("the demand of PIDs is %v", pids)
	}
	if got := model.RuledDemand(pod, since); len(got) != 1 || got[0] != 5 {
		t.Errorf("the demands that do not vary are %v", got)
	}
}

// Amounts of memory and other resources add up, as CPU time does.
func TestAmountsOfCounters(t *testing.T) {
	var c Counters
	used := &Container{CPU: resource.MustParse("500m"), Memory: resource.MustParse("1Ki"), Others: map[corev1.ResourceName]float64{"gpu": 2}}
	c.Add(15*time.Second, used)
	used.Others = nil
	c.Add(5*time.Second, used)
	if c.CPU != 10*time.Second || c.Amounts[corev1.ResourceMemory] != 20*1024 || c.Amounts["gpu"] != 30 {
		t.Errorf("the counters are %v, %v", c.CPU, c.Amounts)
	}
}
