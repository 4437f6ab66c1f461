package stages

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// dice is a source of chance that repeats its numbers.
type dice struct {
	n int
	f float64
}

func (d dice) IntN(n int) int   { return min(d.n, n-1) }
func (d dice) Float64() float64 { return d.f }
func (d dice) Uint64() uint64   { return uint64(d.n) }

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func objectOf(t testing.TB, text string) *Object {
	t.Helper()
	o := &Object{}
	if err := yaml.Unmarshal([]byte(text), &o.Content); err != nil {
		t.Fatal(err)
	}
	return o
}

// stageOf returns a Stage for pods with the given rest of its spec.
func stageOf(t testing.TB, name, spec string) *Stage {
	t.Helper()
	s, err := Parse([]byte(manifestOf(name, spec)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func manifestOf(name, spec string) string {
	return "apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stage\nmetadata: {name: " + name + "}\nspec:\n  resourceRef: {apiGroup: v1, kind: Pod}\n  " +
		strings.ReplaceAll(spec, "\n", "\n  ") + "\n"
}

func TestInvalidStages(t *testing.T) {
	for name, test := range map[string]struct{ manifest, want string }{
		"another kind":         {"apiVersion: v1\nkind: Pod\nmetadata: {name: p}", `a document is a "Pod"`},
		"unknown field":        {manifestOf("a", "selectors: {}"), `unknown field "selectors"`},
		"no name":              {"apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stage\nspec: {resourceRef: {kind: Pod}}", "no metadata.name"},
		"no kind":              {"apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stage\nmetadata: {name: a}\nspec: {resourceRef: {apiGroup: v1}}", "spec.resourceRef.kind is missing"},
		"negative weight":      {manifestOf("a", "weight: -1"), "must not be negative"},
		"negative delay":       {manifestOf("a", "delay: {durationMilliseconds: -1}"), "spec.delay.duration"},
		"long delay":           {manifestOf("a", "delay: {jitterDurationMilliseconds: 9223372036854775807}"), "spec.delay.jitterDuration"},
		"operator":             {manifestOf("a", "selector: {matchExpressions: [{key: .a, operator: Is}]}"), `matchExpressions[0]: the operator "Is"`},
		"no values":            {manifestOf("a", "selector: {matchExpressions: [{key: .a, operator: In}]}"), "needs values"},
		"values":               {manifestOf("a", "selector: {matchExpressions: [{key: .a, operator: Exists, values: [b]}]}"), "takes no values"},
		"jq syntax":            {manifestOf("a", "selector: {matchExpressions: [{key: '.a[', operator: Exists}]}"), "parsing the jq expression"},
		"endless jq":           {manifestOf("a", "selector: {matchExpressions: [{key: 'def f: f; f', operator: Exists}]}"), "must not define"},
		"looping jq":           {manifestOf("a", "selector: {matchExpressions: [{key: 'repeat(.)', operator: Exists}]}"), "must not call repeat"},
		"reducing jq":          {manifestOf("a", "selector: {matchExpressions: [{key: 'reduce .a[] as $x (0; . + 1)', operator: Exists}]}"), "must not loop"},
		"growing jq":           {manifestOf("a", "selector: {matchExpressions: [{key: '.+.|.+.|.+.|.+.|.+.|.+.|.+.|.+.', operator: Exists}]}"), "more than 6"},
		"multiplying jq":       {manifestOf("a", `selector: {matchExpressions: [{key: '"x" * 1000000000', operator: Exists}]}`), "must not multiply"},
		"environment in jq":    {manifestOf("a", "selector: {matchExpressions: [{key: 'env', operator: Exists}]}"), "must not call env"},
		"variable of jq":       {manifestOf("a", "selector: {matchExpressions: [{key: '$ENV', operator: Exists}]}"), "must not call $ENV"},
		"long jq":              {manifestOf("a", "selector: {matchExpressions: [{key: '."+strings.Repeat("a", maxExpression)+"', operator: Exists}]}"), "more than 4096"},
		"nested jq":            {manifestOf("a", "selector: {matchExpressions: [{key: '"+strings.Repeat("(", 1000)+"', operator: Exists}]}"), "nested deeper"},
		"jq and CEL":           {manifestOf("a", "selector: {matchExpressions: [{key: .a, cel: {expression: 'true'}}]}"), "both"},
		"CEL":                  {manifestOf("a", "selector: {matchExpressions: [{cel: {expression: 'self.'}}]}"), "compiling the CEL expression"},
		"template":             {manifestOf("a", "next: {statusTemplate: '{{ range .a'}"), "spec.next, step 1: patch: parsing the template"},
		"function of template": {manifestOf("a", "next: {statusTemplate: '{{ genCA }}'}"), `function "genCA" not defined`},
		"patch type":           {manifestOf("a", "steps: [{patch: {type: apply, template: a}}]"), `the type "apply" is not known`},
		"event type":           {manifestOf("a", "next: {event: {type: Odd}}"), "neither Normal nor Warning"},
		"large":                {manifestOf("a", "next: {statusTemplate: '"+strings.Repeat("a", MaxManifest)+"'}"), "more than 262144"},
		"many steps":           {manifestOf("a", "steps: ["+strings.Repeat("{delete: true},", 65)+"]"), "more than 64"},
	} {
		if _, err := Parse([]byte(test.manifest)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
}

func TestMatching(t *testing.T) {
	pod := objectOf(t, `
metadata: {name: p, labels: {app: web}, annotations: {a: "1"}, generation: 3, ownerReferences: [{kind: Job}]}
spec: {hostNetwork: true}
status: {phase: Running, conditions: [{type: Ready, status: "True"}, {type: Other, status: "False"}]}`)
	const ready = `'.status.conditions.[] | select( .type == "Ready" ) | .status'`
	for selector, want := range map[string]bool{
		`{}`:                                  true,
		`{matchLabels: {app: web}}`:           true,
		`{matchLabels: {app: db}}`:            false,
		`{matchLabels: {none: ""}}`:           false,
		`{matchAnnotations: {a: "1"}}`:        true,
		`{matchAnnotations: {a: "1", b: ""}}`: false,
		`{matchExpressions: [{key: .status.phase, operator: In, values: [Pending, Running]}]}`:                   true,
		`{matchExpressions: [{key: .status.phase, operator: NotIn, values: [Running]}]}`:                         false,
		`{matchExpressions: [{key: .metadata.deletionTimestamp, operator: Exists}]}`:                             false,
		`{matchExpressions: [{key: .metadata.deletionTimestamp, operator: DoesNotExist}]}`:                       true,
		`{matchExpressions: [{key: .metadata.deletionTimestamp, operator: NotIn, values: [x]}]}`:                 true,
		`{matchExpressions: [{key: ` + ready + `, operator: In, values: ["True"]}]}`:                             true,
		`{matchExpressions: [{key: ` + ready + `, operator: NotIn, values: ["True"]}]}`:                          false,
		`{matchExpressions: [{key: '.metadata.ownerReferences.[].kind', operator: In, values: [Job]}]}`:          true,
		`{matchExpressions: [{key: '.status.containerStatuses.[].state', operator: DoesNotExist}]}`:              true, // null cannot be iterated over
		`{matchExpressions: [{key: '.status.containerStatuses.[].state', operator: Exists}]}`:                    false,
		`{matchExpressions: [{key: .spec.hostNetwork, operator: In, values: ["true"]}]}`:                         true,
		`{matchExpressions: [{key: .metadata.generation, operator: In, values: ["3"]}]}`:                         true,
		`{matchExpressions: [{key: 'now', operator: In, values: ["1777636800"]}]}`:                               true,
		`{matchExpressions: [{jq: {key: .status.phase, operator: In, values: [Running]}}]}`:                      true,
		`{matchExpressions: [{cel: {expression: "self.status.phase == 'Running'"}}]}`:                            true,
		`{matchExpressions: [{cel: {expression: "has(self.metadata.deletionTimestamp)"}}]}`:                      false,
		`{matchLabels: {app: web}, matchExpressions: [{key: .status.phase, operator: In, values: [Succeeded]}]}`: false,
	} {
		set := NewSet([]*Stage{stageOf(t, "s", "selector: "+selector)})
		matching, err := set.Matching(set.Kinds()[0], pod, now)
		if got := len(matching) == 1; got != want || err != nil {
			t.Errorf("%s: %v, %v, want %v", selector, got, err, want)
		}
	}
	none := NewSet([]*Stage{stageOf(t, "s", "weight: 1")})
	if matching, _ := none.Matching(none.Kinds()[0], pod, now); len(matching) != 0 {
		t.Error("a Stage without a selector matches")
	}
}

func TestFailingSelector(t *testing.T) {
	set := NewSet([]*Stage{
		stageOf(t, "bad", "selector: {matchExpressions: [{cel: {expression: 'self.metadata.none.deeper'}}]}"),
		stageOf(t, "slow", "selector: {matchExpressions: [{key: '[.list[] | select(.)] | map([.]) | length', operator: Exists}]}"),
		stageOf(t, "good", "selector: {}"),
	})
	o := &Object{Content: map[string]any{"metadata": map[string]any{}, "list": make([]any, 50_000)}}
	stage, err := set.Choose(set.Kinds()[0], o, now, dice{})
	if stage == nil || stage.Name != "good" {
		t.Errorf("%v was chosen", stage)
	}
	if err == nil || !strings.Contains(err.Error(), "Stage bad") || !strings.Contains(err.Error(), "did not end within") {
		t.Errorf("the error is %v", err)
	}
}

func TestChoose(t *testing.T) {
	o := objectOf(t, `metadata: {annotations: {w: "5", bad: x, empty: ""}}`)
	stage := func(name, rest string) *Stage { return stageOf(t, name, "selector: {}\n"+rest) }
	from := func(key string) string { return `weightFrom: {expressionFrom: '.metadata.annotations["` + key + `"]'}` }
	for name, test := range map[string]struct {
		stages []*Stage
		n      int
		want   string
	}{
		"one, of no weight":       {[]*Stage{stage("a", "weight: 0")}, 9, "a"},
		"all of no weight":        {[]*Stage{stage("a", ""), stage("b", "")}, 1, "b"},
		"none of no weight":       {[]*Stage{stage("a", ""), stage("b", "weight: 1")}, 0, "b"},
		"by weight, low":          {[]*Stage{stage("a", "weight: 3"), stage("b", "weight: 1")}, 2, "a"},
		"by weight, high":         {[]*Stage{stage("a", "weight: 3"), stage("b", "weight: 1")}, 3, "b"},
		"from the object":         {[]*Stage{stage("a", "weight: 1"), stage("b", from("w"))}, 5, "b"},
		"default":                 {[]*Stage{stage("a", "weight: 1"), stage("b", "weight: 2\n"+from("none"))}, 2, "b"},
		"invalid weights do not":  {[]*Stage{stage("a", "weight: 1"), stage("b", "weight: 100\n"+from("bad"))}, 50, "a"},
		"empty weights do not":    {[]*Stage{stage("a", "weight: 1"), stage("b", "weight: 100\n"+from("empty"))}, 50, "a"},
		"only invalid weights do": {[]*Stage{stage("a", from("bad")), stage("b", from("bad"))}, 1, "b"},
	} {
		set := NewSet(test.stages)
		got, err := set.Choose(set.Kinds()[0], o, now, dice{n: test.n})
		if err != nil || got == nil || got.Name != test.want {
			t.Errorf("%s: %v, %v, want %s", name, got, err, test.want)
		}
	}
}

func TestDelay(t *testing.T) {
	o := objectOf(t, `metadata: {deletionTimestamp: "2026-05-01T12:00:30Z", annotations: {d: 7s, past: "2026-05-01T11:00:00Z", bad: soon, empty: ""}}`)
	from := func(key string) string { return `{expressionFrom: '.metadata.annotations["` + key + `"]'}` }
	for spec, want := range map[string]time.Duration{
		``:                                    0,
		`delay: {durationMilliseconds: 1500}`: 1500 * time.Millisecond,
		`delay: {durationMilliseconds: 1000, jitterDurationMilliseconds: 5000}`:                                               2 * time.Second,
		`delay: {durationMilliseconds: 1000, jitterDurationMilliseconds: 400}`:                                                400 * time.Millisecond,
		`delay: {durationMilliseconds: 1000, durationFrom: ` + from("d") + `}`:                                                7 * time.Second,
		`delay: {durationMilliseconds: 1000, durationFrom: ` + from("none") + `}`:                                             time.Second,
		`delay: {durationMilliseconds: 1000, durationFrom: ` + from("bad") + `}`:                                              time.Second,
		`delay: {durationMilliseconds: 1000, durationFrom: ` + from("empty") + `}`:                                            0,
		`delay: {durationMilliseconds: 1000, durationFrom: ` + from("past") + `}`:                                             0,
		`delay: {durationMilliseconds: 10000, jitterDurationFrom: {expressionFrom: .metadata.deletionTimestamp}}`:             15 * time.Second,
		`delay: {durationMilliseconds: 10000, jitterDurationFrom: {expressionFrom: .metadata.none}}`:                          10 * time.Second,
		`delay: {jitterDurationMilliseconds: 4000}`:                                                                           time.Second,
		`delay: {durationFrom: {cel: {expression: "duration('3s')"}}}`:                                                        3 * time.Second,
		`delay: {durationFrom: {cel: {expression: "timestamp(self.metadata.deletionTimestamp)"}}}`:                            30 * time.Second,
		`delay: {durationMilliseconds: 1, jitterDurationMilliseconds: 2, jitterDurationFrom: {jq: {expression: '"4001ms"'}}}`: 1001 * time.Millisecond,
	} {
		got, err := stageOf(t, "s", "selector: {}\n"+spec).Delay(o, now, dice{f: 0.25})
		if got != want || err != nil {
			t.Errorf("%s: %v, %v, want %v", spec, got, err, want)
		}
	}
}

func TestActions(t *testing.T) {
	o := objectOf(t, `{metadata: {name: p, uid: u, finalizers: [a, b]}, spec: {nodeName: n, containers: [{name: c, image: i}]}, status: {count: 3}}`)
	env := &Env{
		Now: now, Version: "v", Node: "n", NodePort: 10250, Random: dice{n: 5},
		NodeIPs: func(node string) []string { return []string{"10.0.0.1 of " + node} },
		PodIPs:  func(node, uid string) ([]string, error) { return []string{node + "/" + uid}, nil },
	}
	for spec, want := range map[string]string{
		`next: {event: {type: Normal, reason: R, message: M}, delete: true}`:                              `event R; delete`,
		`next: {finalizers: {add: [{value: c}, {value: a}]}}`:                                             `application/json-patch+json "" [{"op":"test","path":"/metadata/finalizers/0","value":"a"},{"op":"test","path":"/metadata/finalizers/1","value":"b"},{"op":"add","path":"/metadata/finalizers","value":["a","b","c"]}]`,
		`next: {finalizers: {empty: true}}`:                                                               `application/json-patch+json "" [{"op":"test","path":"/metadata/finalizers/0","value":"a"},{"op":"test","path":"/metadata/finalizers/1","value":"b"},{"op":"remove","path":"/metadata/finalizers"}]`,
		`next: {finalizers: {remove: [{value: x}]}}`:                                                      ``,
		`next: {statusTemplate: 'at: {{ Now | Quote }}'}`:                                                 `application/strategic-merge-patch+json "status" {"status":{"at":"2026-05-01T12:00:00Z"}}`,
		`next: {statusSubresource: scale, statusTemplate: 'a: {{ .status.count }}'}`:                      `application/strategic-merge-patch+json "scale" {"status":{"a":3}}`,
		`next: {patches: [{template: 'a: {{ NodeIP }}'}], statusTemplate: unused}`:                        `application/strategic-merge-patch+json "" {"a":"10.0.0.1 of n"}`,
		`next: {patches: [{root: spec, type: json, template: '[{op: add, path: /a, value: 1}]'}]}`:        `application/json-patch+json "" [{"op":"add","path":"/spec/a","value":1}]`,
		`steps: [{patch: {type: merge, template: 'a: {{ PodIPWith "n" false "u" "" "" }}'}}]`:             `application/merge-patch+json "" {"a":"n/u"}`,
		`steps: [{delete: true}, {patch: {template: 'a: b'}}, {event: {type: Normal, reason: After}}]`:    `delete; event After`,
		`steps: [{apply: {template: 'kind: {{ .metadata.name }}'}}]`:                                      `apply application/apply-patch+yaml "" {"kind":"p"}`,
		`steps: [{patch: {impersonation: {username: jane}, template: 'a: {{ dict "k" 1 | toJson }}'}}]`:   `application/strategic-merge-patch+json "" {"a":{"k":1}} as jane`,
		`steps: [{patch: {template: "a:\n{{ YAML .spec.containers 1 }}"}}]`:                               `application/strategic-merge-patch+json "" {"a":[{"image":"i","name":"c"}]}`,
		`steps: [{patch: {template: 'a: {{ or .status.none "x" }}-{{ default 4 .status.count }}'}}]`:      `application/strategic-merge-patch+json "" {"a":"x-3"}`,
		`steps: [{patch: {template: 'a: {{ randAlphaNum 3 | Quote }}'}}]`:                                 `application/strategic-merge-patch+json "" {"a":"555"}`,
		`steps: [{patch: {template: '{{ range $i, $c := .spec.containers }}{{ $c.name }}: 1{{ end }}'}}]`: `application/strategic-merge-patch+json "" {"c":1}`,
	} {
		actions, err := stageOf(t, "s", "selector: {}\n"+spec).Actions(o, env)
		if got := described(actions); got != want || err != nil {
			t.Errorf("%s:\n%s, %v, want\n%s", spec, got, err, want)
		}
	}
}

func described(actions []Action) string {
	var all []string
	patch := func(p *Patch) string {
		subresource, _ := json.Marshal(p.Subresource)
		s := string(p.Type) + " " + string(subresource) + " " + string(p.Data)
		if p.User != "" {
			s += " as " + p.User
		}
		return s
	}
	for _, a := range actions {
		switch {
		case a.Event != nil:
			all = append(all, "event "+a.Event.Reason)
		case a.Patch != nil:
			all = append(all, patch(a.Patch))
		case a.Apply != nil:
			all = append(all, "apply "+patch(a.Apply))
		case a.Delete:
			all = append(all, "delete")
		}
	}
	return strings.Join(all, "; ")
}

func TestHostileTemplates(t *testing.T) {
	for template, want := range map[string]string{
		`{{ range 1000000000 }}{{ range 1000000000 }}{{ end }}{{ end }}`:                        "loops for too long",
		`{{ define "a" }}{{ template "a" . }}{{ template "a" . }}{{ end }}{{ template "a" . }}`: "loops for too long",
		`{{ if true }}{{ range 1000000000 }}{{ else }}{{ end }}{{ end }}`:                       "loops for too long",
		`{{ range until 10000 }}{{ repeat 1000 "x" }}{{ end }}`:                                 "more than 1048576 bytes",
		`{{ repeat 1000000000 "x" }}`:                                                           "more than 1048576 bytes",
		`{{ indent 1000000000 "x" }}`:                                                           "more than 1048576 bytes",
		`{{ until 1000000000 }}`:                                                                "not between",
		`{{ $a := "xxxxxxxxxxxxxxxx" }}{{ range 100 }}{{ $a = print $a $a }}{{ end }}`:          "more than 1048576 bytes",
		`{{ $a := list 1 }}{{ range 100 }}{{ $a = list $a $a }}{{ end }}{{ toJson $a }}`:        "more than 1048576 bytes",
		`{{ $a := "\\" }}{{ range 100 }}{{ $a = js $a }}{{ end }}`:                              "more than 1048576 bytes",
		`{{ $a := "'" }}{{ range 100 }}{{ $a = quote $a }}{{ end }}`:                            "",
		`{{ printf "%*d" 1000000 1 }}`:                                                          "width",
		`{{ printf "%1000000d" 1 }}`:                                                            "width",
		`{{ range 5000 }}{{ if repeat 1000000 "x" }}{{ end }}{{ end }}`:                         "functions handle more than",
		`{{ range 20000 }}{{ if contains "y" (repeat 1000000 "x") }}{{ end }}{{ end }}`:         "functions handle more than",
		`{{ fail "no" }}`:   "no",
		`a: [`:              "invalid YAML",
		`{{/* nothing */}}`: "empty document",
		`{{ with .spec.none.deeper }}{{ . }}{{ end }}`: "empty document",
		`{{ index .spec.containers 7 }}`:               "index out of range",
		"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]": "excessive aliasing",
	} {
		b, err := newBody(template)
		if err != nil {
			t.Errorf("%s: %v", template, err)
			continue
		}
		_, err = b.render(objectOf(t, `spec: {containers: []}`), &Env{Random: dice{}})
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %s", template, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, file := range []string{"pods", "chaos", "nodes"} {
		data, err := os.ReadFile("testdata/" + file + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		for _, document := range strings.Split(string(data), "\n---\n") {
			f.Add(document)
		}
	}
	o := map[string]any{"metadata": map[string]any{"name": "p", "labels": map[string]any{"chaos": "true"}}, "status": map[string]any{"phase": "Running"}}
	f.Fuzz(func(t *testing.T, document string) {
		s, err := Parse([]byte(document))
		if err != nil {
			return
		}
		object := &Object{Content: o}
		// Whatever they return, they end.
		_, _ = NewSet([]*Stage{s}).Choose(s.Kind, object, now, dice{})
		_, _ = s.Delay(object, now, dice{})
		_, _ = s.Actions(object, &Env{Now: now, Random: dice{}})
	})
}

func FuzzQuery(f *testing.F) {
	for _, seed := range []string{`.status.phase`, `.a.[] | select( .type == "Ready" ) | .status`, `.a["b/c"]`, `[.a[] | tojson] | length`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		q, err := newQuery(source)
		if err != nil {
			return
		}
		_, _, _ = q.run(map[string]any{"a": []any{"x", 1.0, map[string]any{"b": nil}}}, now)
	})
}

func FuzzTemplate(f *testing.F) {
	for _, seed := range []string{`a: {{ Now | Quote }}`, `{{ range .a }}{{ . }}{{ end }}`, `{{ define "a" }}{{ end }}{{ template "a" }}`, `{{ YAML . 1 }}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		b, err := newBody(source)
		if err != nil {
			return
		}
		_, _ = b.render(&Object{Content: map[string]any{"a": []any{"x", "y"}}}, &Env{Now: now, Random: dice{}})
	})
}
