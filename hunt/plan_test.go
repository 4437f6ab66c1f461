package hunt

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestDisturbancesAsText(t *testing.T) {
	t.Parallel()
	points := []Point{
		{Verb: "create", Resource: "configmaps", Namespace: "default", Name: "home-*", Nth: 1},
		{Verb: "update", Resource: "sites.example.com/status", Namespace: "default", Name: "home", Nth: 2},
		{Verb: "delete", Resource: "namespaces", Name: "x", Nth: 1},
	}
	all := plan(points, []string{"configmaps", "sites.example.com"}, []Disturbance{
		{Action: Edit, Resource: "sites.example.com", Object: "default/home", Path: "spec.owner", Value: `"a: b=c, from d"`}, {Action: Recreate, Resource: "namespaces", Object: "x"}, {Action: NodeLost},
	})
	for _, d := range all {
		got, err := ParseDisturbance(d.String())
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff(d, got); diff != "" {
			t.Errorf("%q is read as another disturbance (-want +got):\n%s", d, diff)
		}
	}
	for _, text := range []string{"", "crash", "crash after", "crash after create", "late events of create pods default/x", "stale restart with pods after create pods default/x"} {
		if d, err := ParseDisturbance(text); err == nil {
			t.Errorf("%q is read as %+v", text, d)
		}
	}
}

func FuzzParseDisturbance(f *testing.F) {
	f.Add("crash after create configmaps default/home-0 (2)")
	f.Add("stale restart with pods as before create pods default/x, after delete pods default/x")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseDisturbance(text)
		if err != nil {
			return
		}
		if again, err := ParseDisturbance(d.String()); err != nil || again != d {
			t.Errorf("%q becomes %q, which becomes %+v (%v)", text, d, again, err)
		}
	})
}

func TestPlan(t *testing.T) {
	t.Parallel()
	points := []Point{{Verb: "create", Resource: "pods", Name: "a", Nth: 1}, {Verb: "update", Resource: "pods", Name: "a", Nth: 1}}
	var got []string
	for _, d := range plan(points, []string{"pods"}, []Disturbance{{Action: Recreate, Resource: "pods", Object: "a"}}) {
		got = append(got, d.String())
	}
	want := []string{
		"crash after create pods a", "crash before create pods a", "crash after update pods a", "crash before update pods a",
		"lost answer of create pods a", "server error at create pods a",
		"lost answer of update pods a", "conflict at update pods a", "server error at update pods a",
		"late events of pods from create pods a", "late events of pods from update pods a",
		"missed events of pods from create pods a", "missed events of pods from update pods a",
		"late arrival of create pods a", "webhook outage at create pods a", "late arrival of update pods a", "webhook outage at update pods a",
		"repeated events of pods from create pods a", "repeated events of pods from update pods a",
		"recreation of pods a from create pods a", "recreation of pods a from update pods a",
		"webhook denial of create pods a", "too many requests at create pods a", "slow answer of create pods a",
		"webhook denial of update pods a", "too many requests at update pods a", "slow answer of update pods a",
		"stale restart with pods as before create pods a, after create pods a",
		"stale restart with pods as before update pods a, after update pods a",
		"stale restart with pods as before create pods a, after update pods a",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the plan differs (-want +got):\n%s", diff)
	}
}

// Names that the server generates are the same in all runs, wherever they are mentioned.
func TestWithout(t *testing.T) {
	t.Parallel()
	h := &hunter{
		settings: newSettings([]Option{Without(QuotaExceeded, CrashBefore)}),
		points:   []Point{{Verb: "create", Resource: "pods", Namespace: "default", Name: "a", Nth: 1}}, base: &outcome{},
	}
	for _, d := range h.singles() {
		if d.Action == QuotaExceeded || d.Action == CrashBefore {
			t.Errorf("%s is tried", d)
		}
	}
	if len(h.singles()) == 0 {
		t.Error("nothing is tried")
	}
}

func TestGeneratedNames(t *testing.T) {
	t.Parallel()
	object := func(name, content, mentions string) unstructured.Unstructured {
		return unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"namespace": "default", "name": name, "generateName": "a-"},
			"data":     map[string]any{"content": content, "mentions": mentions},
		}}
	}
	one := named([]unstructured.Unstructured{object("a-xxxxx", "1", "a-yyyyy"), object("a-yyyyy", "2", "none")})
	other := named([]unstructured.Unstructured{object("a-ppppp", "2", "none"), object("a-qqqqq", "1", "a-ppppp")})
	if d := differences(one, other); len(d) > 0 {
		t.Errorf("the states differ: %v", d)
	}
	less := named([]unstructured.Unstructured{object("a-zzzzz", "1", "a-zzzzz")})
	d := differences(less, one)
	if !slices.ContainsFunc(d, func(d difference) bool { return d.without == "exists" && d.name == "default/a-*2" }) {
		t.Errorf("one object less differs in %v", d)
	}
	for name, want := range map[string]string{
		"pvc-0b5a2a41-8f1e-4b53-9c2c-1f0f2a9a7f10":                             "pvc-*", // of a claim's UID
		"csi-9eced8043d18afda938cce7a40c3bf2f688aeae5d2a20a116fb5869b6d84cf1d": "csi-*", // of a volume's and a node's name
		"a-xxxxx":            "a-*",
		"web-69899ccd4":      "web-69899ccd4", // of a template
		"a":                  "a",
		"0b5a2a41-8f1e-4b53": "0b5a2a41-8f1e-4b53",
	} {
		if got := nameOf(&metav1.ObjectMeta{Name: name, GenerateName: "a-"}); got != want {
			t.Errorf("%s is %s in all runs, want %s", name, got, want)
		}
	}
}

// If a repair has changed the writes, the disturbance is made at the others of its resource.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	pods := func(name string) Point { return Point{Verb: "create", Resource: "pods", Name: name, Nth: 1} }
	h := &hunter{points: []Point{pods("b"), {Verb: "create", Resource: "secrets", Name: "b", Nth: 1}, pods("c")}}
	gone, there := Disturbance{Action: CrashBefore, At: pods("a")}, Disturbance{Action: Conflict, At: pods("c")}
	want := [][]Disturbance{{{Action: CrashBefore, At: pods("b")}, there}, {{Action: CrashBefore, At: pods("c")}, there}}
	if diff := cmp.Diff(want, h.elsewhere([]Disturbance{gone, there}, []Disturbance{gone})); diff != "" {
		t.Errorf("the lists differ (-want +got):\n%s", diff)
	}
	gone.At.Resource = "nodes"
	if lists := h.elsewhere([]Disturbance{gone}, []Disturbance{gone}); len(lists) > 0 {
		t.Errorf("without a write of the resource there are the lists %v", lists)
	}
}

// Runs that are made again count as findings how often they end in another way; if their write never occurs, that is an error.
func TestRepeat(t *testing.T) {
	t.Parallel()
	at := Disturbance{Action: CrashBefore, At: Point{Verb: "create", Resource: "pods", Name: "a", Nth: 1}}
	hunterOf := func(attempt func(run int) *outcome) *hunter {
		h := &hunter{settings: settings{repeats: 3, parallel: 1}, base: &outcome{}, stopped: func() bool { return false }}
		runs := 0
		h.attempt = func(uint64, []Step, []Disturbance) *outcome {
			runs++
			return attempt(runs)
		}
		return h
	}
	h := hunterOf(func(run int) *outcome {
		if run == 2 {
			return &outcome{}
		}
		return &outcome{failure: "it ended", disturbances: []Disturbance{at}}
	})
	if err := h.repeat([]Disturbance{at}); err != nil || len(h.findings) != 1 || h.findings[0].cameBack != 2 || h.findings[0].repeated != 3 {
		t.Errorf("%v, findings %+v", err, h.findings)
	}
	h = hunterOf(func(int) *outcome { return &outcome{unmet: []Disturbance{at}} })
	if err := h.repeat([]Disturbance{at}); err == nil || err.Error() != "\"crash before create pods a\" is not possible: its write does not occur, nor another one of the resource, or its object does not exist. The operator's writes: none" {
		t.Errorf("a write that does not occur: %v", err)
	}
}

// A run that came about by chance gives way to one of the same end that comes back.
func TestRepeatFinding(t *testing.T) {
	t.Parallel()
	chance, rule := []Disturbance{{Action: CrashBefore}}, []Disturbance{{Action: CrashAfter}}
	ended := func(list []Disturbance) *outcome { return &outcome{failure: "it ended", disturbances: list} }
	h := &hunter{settings: settings{repeats: 4, parallel: 1}, base: &outcome{}}
	h.attempt = func(_ uint64, _ []Step, list []Disturbance) *outcome {
		if list[0] == rule[0] {
			return ended(list)
		}
		return &outcome{disturbances: list}
	}
	for _, list := range [][]Disturbance{chance, chance, rule, chance} {
		h.add(ended(list), h.judge(ended(list), h.base))
	}
	f := h.findings[0]
	h.repeatFinding(f)
	if f.cameBack != 4 || f.repeated != 4 || f.first.disturbances[0] != rule[0] {
		t.Errorf("%v came back %d times of %d", f.first.disturbances, f.cameBack, f.repeated)
	}
}
